"""The small world that the tests of the rules share: one relay, a few people, their repositories."""

from collections.abc import Sequence
from typing import Final

from graspd.nostr import kinds
from graspd.nostr.event import Event
from graspd.nostr.nip19 import encode_npub
from graspd.nostr.relay_url import Domain
from graspd.rules.policy import Policy
from graspd.types import PubKey, UnixTime
from sim.store import MemoryStore, take
from tests.nostr.made import author, made

ALICE: Final = author("alice")
BOB: Final = author("bob")
CAROL: Final = author("carol")
DAVE: Final = author("dave")
MALLORY: Final = author("mallory")

HOST: Final = "grasp.example"
POLICY: Final = Policy(Domain(HOST))
NOW: Final = UnixTime(1_700_000_000)
REPO: Final = "proj"


def clone_url(by: PubKey, identifier: str = REPO, host: str = HOST) -> str:
    return f"https://{host}/{encode_npub(by)}/{identifier}.git"


def announcement(
    by: PubKey = ALICE,
    identifier: str = REPO,
    at: int = 1000,
    host: str = HOST,
    maintainers: Sequence[PubKey] = (),
    extra: Sequence[Sequence[str]] = (),
) -> Event:
    tags = [["d", identifier], ["clone", clone_url(by, identifier, host)], ["relays", f"wss://{host}"]]
    if maintainers:
        tags.append(["maintainers", *maintainers])
    return made(kinds.ANNOUNCEMENT, by, at, [*tags, *extra])


def state(by: PubKey = ALICE, identifier: str = REPO, at: int = 1000) -> Event:
    return made(
        kinds.STATE, by, at, [["d", identifier], ["refs/heads/main", "a" * 40], ["HEAD", "ref: refs/heads/main"]]
    )


def repo(by: PubKey = ALICE, identifier: str = REPO) -> str:
    return f"{kinds.ANNOUNCEMENT}:{by}:{identifier}"


def issue(by: PubKey = BOB, at: int = 1000, about: str | None = None, content: str = "") -> Event:
    return made(kinds.ISSUE, by, at, [["a", about or repo()]], content)


def deletion(by: PubKey, at: int, *tags: Sequence[str]) -> Event:
    return made(kinds.DELETION, by, at, tags)


def vanish(by: PubKey, at: int, relay: str = "ALL_RELAYS") -> Event:
    return made(kinds.VANISH, by, at, [["relay", relay]])


def store_with(*events: Event, policy: Policy = POLICY, now: UnixTime = NOW) -> MemoryStore:
    """A store that took these events, in this order, each by itself."""
    store = MemoryStore()
    for event in events:
        (verdict,) = take(store, [event], policy, now)
        assert verdict.accepted, verdict
    return store
