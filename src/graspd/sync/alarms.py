"""One timer for many: the next of all deadlines, each under a name, kept in a heap.

A deadline that was moved or cancelled stays in the heap until it comes up, and is then passed over. Knows nothing of
what is to be done.
"""

from collections.abc import Hashable
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

from graspd.types import Monotonic

Name = TypeVar("Name", bound=Hashable)

_STALE_SHARE_MAX = 4  # heap entries for each name that counts, before the stale ones are swept out


class Alarms(Generic[Name]):
    """Deadlines by name. Those of the same instant come up in the order in which they were set."""

    def __init__(self) -> None:
        self._heap: list[tuple[Monotonic, int, Name]] = []
        self._set: dict[Name, tuple[Monotonic, int]] = {}
        self._turn = 0

    def set(self, name: Name, at: Monotonic | None) -> None:
        """Move the deadline of this name; None cancels it."""
        held = self._set.get(name)
        if at is None:
            if held is not None:
                del self._set[name]
            return
        if held is not None and held[0] == at:
            return
        self._turn += 1
        self._set[name] = (at, self._turn)
        heappush(self._heap, (at, self._turn, name))
        if len(self._heap) > _STALE_SHARE_MAX * len(self._set) + 64:
            self._heap = [(when, turn, name) for name, (when, turn) in self._set.items()]
            heapify(self._heap)

    def is_set(self, name: Name) -> bool:
        """Whether this name has a deadline."""
        return name in self._set

    def next(self) -> Monotonic | None:
        """The earliest deadline."""
        while self._heap:
            at, turn, name = self._heap[0]
            if self._set.get(name) == (at, turn):
                return at
            heappop(self._heap)
        return None

    def pop_due(self, now: Monotonic) -> Name | None:
        """The name whose deadline has passed first, taken out; None when none has."""
        at = self.next()
        if at is None or at > now:
            return None
        name = heappop(self._heap)[2]
        del self._set[name]
        return name
