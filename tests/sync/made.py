"""Announcements, roots and replies for tests of sync, about the service of tests/rules/world.py."""

from collections.abc import Sequence

from graspd.nostr import kinds
from graspd.nostr.event import Event
from graspd.types import PubKey, RelayUrl
from tests.nostr.made import made
from tests.rules.world import ALICE, HOST, clone_url

ONE, TWO, THREE = (RelayUrl(f"wss://{name}.example") for name in ("one", "two", "three"))


def announced(
    relays: Sequence[str], identifier: str = "proj", at: int = 1000, by: PubKey = ALICE, host: str = HOST
) -> Event:
    """An announcement that lists us and these relays."""
    clone = ["clone", clone_url(by, identifier, host)]
    return made(kinds.ANNOUNCEMENT, by, at, [["d", identifier], clone, ["relays", f"wss://{host}", *relays]])


def reply(to: Event, at: int = 3000, by: PubKey = ALICE, tag: str = "e", content: str = "") -> Event:
    """A comment on a root event."""
    return made(1111, by, at, [[tag, to.id]], content)
