"""Root events by number: half a million of them in little memory.

Ids stand end to end in one column; they are found by a sorted column of their first eight bytes, and those added lately
in a dict until there are enough of them to be sorted in. A number is never used twice. Knows which repositories (by
number) a root belongs to, and when it was last active; nothing of peers.
"""

from array import array
from typing import Final

import numpy as np

from graspd.types import EventId, UnixTime

_ACTIVE_MAX: Final = 2**32 - 1
_ID_BYTES: Final = 32
_PREFIX_BYTES: Final = 8
_RECENT_MAX: Final = 16_384  # sorting these in takes a few milliseconds, whatever the number of the others


class Roots:
    """Everything in columns by number."""

    def __init__(self) -> None:
        self._ids = bytearray()
        self._is_there = bytearray()
        self._count = 0
        self._recent: dict[bytes, int] = {}
        self._prefixes = np.zeros(0, np.uint64)  # ascending
        self._numbers = np.zeros(0, np.int32)  # of the ids with these prefixes
        self._repo = array("i")  # the first repository of each
        self._further: dict[int, tuple[int, ...]] = {}  # the others, of the few that have several
        self.active_at = array("I")

    def __len__(self) -> int:
        return self._count

    @property
    def ever(self) -> int:
        """How many numbers have been given out."""
        return len(self._is_there)

    def find(self, event_id: EventId) -> int | None:
        """The number of a root event, if it is one."""
        key = bytes.fromhex(event_id)
        number = self._recent.get(key)
        if number is not None or not len(self._prefixes):
            return number
        prefix = np.uint64(int.from_bytes(key[:_PREFIX_BYTES]))
        at = int(np.searchsorted(self._prefixes, prefix))
        while at < len(self._prefixes) and self._prefixes[at] == prefix:
            number = int(self._numbers[at])
            if self.id(number) == key:
                return number
            at += 1
        return None

    def add(self, event_id: EventId, repos: tuple[int, ...], created_at: UnixTime) -> int:
        """Give a number to a new root of these repositories, one at least."""
        key = bytes.fromhex(event_id)
        number = self.ever
        self._ids += key
        self._is_there.append(1)
        self._count += 1
        self._recent[key] = number
        self._repo.append(repos[0])
        if len(repos) > 1:
            self._further[number] = repos[1:]
        self.active_at.append(min(created_at, _ACTIVE_MAX))
        if len(self._recent) > _RECENT_MAX:
            self._sort_in()
        return number

    def _sort_in(self) -> None:
        prefixes = np.array([int.from_bytes(key[:_PREFIX_BYTES]) for key in self._recent], np.uint64)
        numbers = np.fromiter(self._recent.values(), np.int32, len(self._recent))
        order = np.argsort(prefixes, kind="stable")
        at = np.searchsorted(self._prefixes, prefixes[order])
        self._prefixes = np.insert(self._prefixes, at, prefixes[order])
        self._numbers = np.insert(self._numbers, at, numbers[order])
        self._recent = {}

    def remove(self, number: int) -> tuple[int, ...]:
        """Forget a root; returns the repositories it belonged to."""
        key = self.id(number)
        assert key is not None
        repos = self.repos(number)
        self._is_there[number] = 0
        self._count -= 1
        self._recent.pop(key, None)
        self._further.pop(number, None)
        return repos

    def repos(self, number: int) -> tuple[int, ...]:
        """The repositories a root belongs to."""
        return (self._repo[number], *self._further.get(number, ()))

    def id(self, number: int) -> bytes | None:
        """The id of a root; None once it was removed."""
        if not self._is_there[number]:
            return None
        return bytes(self._ids[number * _ID_BYTES : (number + 1) * _ID_BYTES])

    def touch(self, number: int, created_at: UnixTime) -> None:
        """Somebody spoke in this conversation."""
        if created_at > self.active_at[number]:
            self.active_at[number] = min(created_at, _ACTIVE_MAX)
