"""Fetching events by id from one peer: which ids to look up, which to ask for, which it never served.

Ids come from a reconciliation, thousands at a time, and are sorted here slice by slice: those we hold or rejected are
skipped, those another transfer has claimed are left to it, the rest is looked up in the own relay and then asked for.
What a request does not bring is asked for once more while the peer makes progress, and is then a phantom. Pure
bookkeeping; reconciling.py sends.
"""

from collections import deque
from collections.abc import Iterator

from graspd.sync.limits import SyncLimits
from graspd.types import EventId

_ID_BYTES = 32


class Fetch:
    """The ids of one transfer."""

    def __init__(self, ids: bytes, page_limit: int, limits: SyncLimits) -> None:
        self._limits = limits
        self._ids = ids
        self._at = 0
        self._to_ask: deque[EventId] = deque()
        self._tries: dict[EventId, int] = {}
        self.asked: dict[EventId, None] = {}  # by the request that is open
        self._asked_count = 0
        self._stuck = False  # the last request brought nothing at all
        self.ids_max = min(limits.fetch_ids, page_limit)  # a request
        self.delivered = 0

    @property
    def unsorted(self) -> bool:
        """Whether there are ids not looked at yet."""
        return self._at < len(self._ids)

    @property
    def idle(self) -> bool:
        """Whether there is nothing to look at, to ask for, or to come."""
        return not self.unsorted and not self._to_ask and not self.asked

    def slice(self, count: int) -> Iterator[EventId]:
        """The next so many ids, each once."""
        end = min(self._at + count * _ID_BYTES, len(self._ids))
        while self._at < end:
            at = self._at
            self._at += _ID_BYTES
            yield EventId(self._ids[at : at + _ID_BYTES].hex())

    def ask(self, event_id: EventId) -> None:
        """The id is missing and free."""
        self._to_ask.append(event_id)

    @property
    def can_ask(self) -> bool:
        """Whether a request can be made."""
        return bool(self._to_ask) and not self.asked

    def take_askable(self) -> EventId | None:
        """The next id to ask for."""
        return self._to_ask.popleft() if self._to_ask else None

    def asking(self, event_id: EventId) -> None:
        """The id is part of the request about to be sent."""
        self.asked[event_id] = None
        self._asked_count += 1

    def deliver(self, event_id: EventId) -> bool:
        """An event came. Returns whether it was asked for."""
        if event_id not in self.asked:
            return False
        del self.asked[event_id]
        self.delivered += 1
        return True

    def end_request(self) -> list[EventId]:
        """The request has ended; returns the ids that it did not bring. `miss` or drop each."""
        missing = list(self.asked)
        brought = self._asked_count - len(missing)
        self._stuck = not brought
        if missing and brought:
            # Relays cap look-ups by id as well: as many as it gave are asked for from now on.
            self.ids_max = min(self.ids_max, brought)
        self.asked.clear()
        self._asked_count = 0
        return missing

    def miss(self, event_id: EventId) -> bool:
        """An id was not brought: ask again, at once while others were brought. Returns whether it is given up."""
        tries = self._tries.get(event_id, 0) + self._stuck
        if tries >= self._limits.fetch_tries:
            self._tries.pop(event_id, None)
            return True
        self._tries[event_id] = tries
        self._to_ask.append(event_id)
        return False
