"""People with keys, and the events they sign about repositories on one relay."""

import hashlib
import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from coincurve import PrivateKey

from graspd.nostr import kinds
from graspd.nostr.event import Event
from graspd.nostr.nip19 import encode_npub
from graspd.types import PubKey
from tests.nostr.made import signed

REPO: Final = "proj"
_numbers = itertools.count()
_run: Final = str(time.time_ns())


def now() -> int:
    """The wall clock, as relays read it."""
    return int(time.time())


@dataclass(frozen=True)
class Person:
    """Somebody nobody has met: every one made has a new key, so that tests can share a relay."""

    name: str = "somebody"
    secret: bytes = field(default_factory=lambda: hashlib.sha256(f"{_run} {next(_numbers)}".encode()).digest())

    @property
    def pubkey(self) -> PubKey:
        return PubKey(PrivateKey(self.secret).public_key_xonly.format().hex())

    @property
    def repo(self) -> str:
        """The address of this person's repository."""
        return f"{kinds.ANNOUNCEMENT}:{self.pubkey}:{REPO}"

    def signs(self, kind: int, *tags: Sequence[str], at: int | None = None, content: str = "") -> Event:
        """Any event."""
        return signed(self.secret, kind, now() - 100 if at is None else at, tags, content)

    def announces(self, domain: str, *extra: Sequence[str], at: int | None = None, identifier: str = REPO) -> Event:
        """A repository on the relay at this domain."""
        clone = f"http://{domain}/{encode_npub(self.pubkey)}/{identifier}.git"
        tags = [["d", identifier], ["clone", clone], ["relays", f"ws://{domain}"], *extra]
        return self.signs(kinds.ANNOUNCEMENT, *tags, at=at)

    def opens_issue(self, repo: str, *extra: Sequence[str], at: int | None = None, content: str = "") -> Event:
        """An issue about a repository."""
        return self.signs(kinds.ISSUE, ["a", repo], *extra, at=at, content=content)

    def deletes(self, *tags: Sequence[str], at: int | None = None) -> Event:
        """A deletion request."""
        return self.signs(kinds.DELETION, *tags, at=at)
