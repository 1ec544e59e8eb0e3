"""Rejected events: not fetched again, and tried again when what they waited for has arrived.

An id is remembered with its reason. Where the reason may change, so is what the event waits for (rules.waiting), and
as long as there is room the event itself. One whose event is no longer here is fetched anew from the peer that had it.
Decides nothing about rules; a retried event goes the same way as any other.
"""

from typing import NamedTuple

from graspd.nostr.event import Event
from graspd.rules.verdict import Reason
from graspd.rules.waiting import waits_for
from graspd.sync.effects import Source
from graspd.sync.limits import SyncLimits
from graspd.types import EventId, UnixTime


class Rejected(NamedTuple):
    """One rejected event."""

    reason: Reason
    at: UnixTime
    source: Source
    keys: tuple[str, ...]
    event: Event | None  # only where it may be accepted later and there was room


class RejectedMemory:
    """Bounded by count, age and bytes; the oldest go first."""

    def __init__(self, limits: SyncLimits) -> None:
        self._limits = limits
        self._by_id: dict[EventId, Rejected] = {}
        self._ids_by_key: dict[str, dict[EventId, None]] = {}
        self._kept: dict[EventId, int] = {}  # bytes of the events that are here, oldest first
        self._kept_bytes = 0

    def __len__(self) -> int:
        return len(self._by_id)

    @property
    def kept(self) -> int:
        """How many are here with their event."""
        return len(self._kept)

    @property
    def kept_bytes(self) -> int:
        """Room these events take."""
        return self._kept_bytes

    def add(self, event: Event, reason: Reason, source: Source, now: UnixTime) -> None:
        """Remember a rejection."""
        self.forget(event.id)
        keys = waits_for(event, reason)
        entry = Rejected(reason, now, source, keys, event if keys else None)
        self._by_id[event.id] = entry
        for key in keys:
            self._ids_by_key.setdefault(key, {})[event.id] = None
        if keys:
            self._kept[event.id] = len(event.raw)
            self._kept_bytes += len(event.raw)
        self._make_room()

    def knows(self, event_id: EventId, now: UnixTime) -> bool:
        """Whether an id was rejected and is not worth fetching. Forgotten after a week: rules may have changed."""
        entry = self._by_id.get(event_id)
        if entry is None:
            return False
        if 0 <= now - entry.at <= self._limits.rejected_s:
            return True
        self.forget(event_id)
        return False

    def wake(self, keys: tuple[str, ...]) -> list[tuple[EventId, Rejected]]:
        """Take out those that waited for one of these keys, to be tried again."""
        found: dict[EventId, None] = {}
        for key in keys:
            found.update(self._ids_by_key.get(key, {}))
        woken = [(event_id, self._by_id[event_id]) for event_id in found]
        for event_id in found:
            self.forget(event_id)
        return woken

    def forget(self, event_id: EventId) -> None:
        """Remember it no longer."""
        entry = self._by_id.pop(event_id, None)
        if entry is None:
            return
        for key in entry.keys:
            ids = self._ids_by_key[key]
            del ids[event_id]
            if not ids:
                del self._ids_by_key[key]
        self._kept_bytes -= self._kept.pop(event_id, 0)

    def _make_room(self) -> None:
        while len(self._by_id) > self._limits.rejected_max:
            self.forget(next(iter(self._by_id)))
        while self._kept_bytes > self._limits.rejected_bytes_max:
            event_id = next(iter(self._kept))
            self._kept_bytes -= self._kept.pop(event_id)
            self._by_id[event_id] = self._by_id[event_id]._replace(event=None)
