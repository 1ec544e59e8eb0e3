"""Rejected events: not fetched again, and tried again when what they waited for has arrived.

An id is remembered with its reason. Where the reason may change, so is what the event waits for (rules.waiting), and
as long as there is room the event itself. One whose event is no longer here is fetched anew from the peer that had it.
Decides nothing about rules; a retried event goes the same way as any other. What is saved of one that is being tried
again stays saved until it was accepted, so that a crash in between costs nothing.
"""

from hashlib import sha256
from typing import NamedTuple

from graspd.nostr.event import Event, load_event
from graspd.rules.policy import Policy, RepoList
from graspd.rules.verdict import Reason
from graspd.rules.waiting import waits_for
from graspd.sync.effects import Source, Way
from graspd.sync.limits import SyncLimits
from graspd.sync.records import RejectedRecord
from graspd.sync.unsaved import Unsaved
from graspd.types import EventId, RelayUrl, UnixTime


class Rejected(NamedTuple):
    """One rejected event."""

    reason: Reason
    until: UnixTime
    source: Source
    keys: tuple[str, ...]
    event: Event | None  # only where it may be accepted later and there was room
    others: tuple[RelayUrl, ...] = ()  # of one from the future: who else has it; no signature was checked yet


class RejectedMemory:
    """Bounded by count, age and bytes; the oldest go first."""

    def __init__(self, limits: SyncLimits, policy: Policy, unsaved: Unsaved) -> None:
        self._limits = limits
        self._future_s_max = policy.future_s_max
        self._rules = rules_digest(policy)
        self._unsaved = unsaved
        self._by_id: dict[EventId, Rejected] = {}
        self._ids_by_key: dict[str, dict[EventId, None]] = {}
        self._early: dict[EventId, None] = {}  # from the future: their time will come
        self._kept: dict[EventId, int] = {}  # bytes of the events that are here, oldest first
        self._kept_bytes = 0
        self._woken: dict[EventId, None] = {}  # being tried again, and still saved

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
        early = reason is Reason.FROM_THE_FUTURE
        until = UnixTime(now + self._limits.rejected_s)
        if early:
            until = UnixTime(event.created_at - self._future_s_max)
        self._put(event.id, Rejected(reason, until, source, keys, event if keys or early else None))
        self._unsaved.rejected(event.id)
        self._make_room()

    def _put(self, event_id: EventId, entry: Rejected) -> None:
        self._by_id[event_id] = entry
        if entry.reason is Reason.FROM_THE_FUTURE:
            self._early[event_id] = None
        for key in entry.keys:
            self._ids_by_key.setdefault(key, {})[event_id] = None
        if entry.event is not None:
            self._kept[event_id] = len(entry.event.raw)
            self._kept_bytes += len(entry.event.raw)

    def knows(self, event_id: EventId, now: UnixTime) -> bool:
        """Whether an id was rejected and is not worth fetching. Forgotten after a week: rules may have changed."""
        entry = self._by_id.get(event_id)
        if entry is None:
            return False
        # A clock that was set back must not make it last longer than it was meant to. Those from the future have a
        # time of their own, at which they are tried again.
        if event_id in self._early or 0 <= entry.until - now <= self._limits.rejected_s:
            return True
        self.forget(event_id)
        return False

    def offered(self, event_id: EventId, peer: RelayUrl) -> None:
        """One that is remembered has been sent, or is claimed, by this peer."""
        if event_id not in self._early:
            return
        entry = self._by_id[event_id]
        if peer not in (entry.source.peer, *entry.others) and len(entry.others) < self._limits.relays_per_announcement:
            self._by_id[event_id] = entry._replace(others=(*entry.others, peer))

    def wake(self, keys: tuple[str, ...]) -> list[tuple[EventId, Rejected]]:
        """Take out those that waited for one of these keys, to be tried again."""
        found: dict[EventId, None] = {}
        for key in keys:
            found.update(self._ids_by_key.get(key, {}))
        return self._take(list(found))

    def wake_early(self, now: UnixTime) -> list[tuple[EventId, Rejected]]:
        """Take out those from the future whose time has come."""
        return self._take([event_id for event_id in self._early if self._by_id[event_id].until <= now])

    def wake_waiting(self) -> list[tuple[EventId, Rejected]]:
        """Take out all that wait for anything: what they waited for may have come unnoticed."""
        return self._take([event_id for event_id, entry in self._by_id.items() if entry.keys])

    def wake_kept(self) -> list[tuple[EventId, Rejected]]:
        """Take out those of them that are here with their event."""
        return self._take([event_id for event_id in self._kept if self._by_id[event_id].keys])

    def _take(self, ids: list[EventId]) -> list[tuple[EventId, Rejected]]:
        woken = [(event_id, self._by_id[event_id]) for event_id in ids]
        for event_id in ids:
            self._drop(event_id)
            self._woken[event_id] = None
        while len(self._woken) > self._limits.rejected_max:
            self.accepted(next(iter(self._woken)))
        return woken

    def accepted(self, event_id: EventId) -> None:
        """It was tried again, and taken."""
        if event_id in self._woken:
            del self._woken[event_id]
            self._unsaved.unrejected(event_id)

    def forget(self, event_id: EventId) -> None:
        """Remember it no longer."""
        self._woken.pop(event_id, None)
        if event_id in self._by_id:
            self._drop(event_id)
            self._unsaved.unrejected(event_id)

    def _drop(self, event_id: EventId) -> None:
        entry = self._by_id.pop(event_id)
        for key in entry.keys:
            ids = self._ids_by_key[key]
            del ids[event_id]
            if not ids:
                del self._ids_by_key[key]
        self._early.pop(event_id, None)
        self._kept_bytes -= self._kept.pop(event_id, 0)

    def _make_room(self) -> None:
        while len(self._by_id) > self._limits.rejected_max:
            self.forget(next(iter(self._by_id)))
        while self._kept_bytes > self._limits.rejected_bytes_max:
            event_id = next(iter(self._kept))
            self._kept_bytes -= self._kept.pop(event_id)
            self._by_id[event_id] = self._by_id[event_id]._replace(event=None)

    # Between two lives

    def restore(self, records: tuple[RejectedRecord, ...]) -> None:
        """Remember what was saved, where the rules are still the same."""
        names = Reason.__members__
        for record in records:
            if record.rules != self._rules or record.reason not in names:
                self._unsaved.unrejected(record.id)
                continue
            source = Source(Way.CATCH_UP, record.peer)
            event = load_event(record.raw.encode()) if record.raw else None
            self._put(record.id, Rejected(names[record.reason], record.until, source, record.keys, event))
        self._make_room()

    def record(self, event_id: EventId) -> RejectedRecord | None:
        """As it is saved."""
        entry = self._by_id.get(event_id)
        if entry is None:
            return None
        raw = entry.event.raw.decode() if entry.event is not None else ""
        return RejectedRecord(event_id, entry.reason.name, entry.until, entry.source.peer, entry.keys, self._rules, raw)


def rules_digest(policy: Policy) -> str:
    """A short name for the rules under which an event was rejected: under others it may be accepted."""
    parts = [
        repr(policy.domain),
        *_spelled(policy.archive),
        *_spelled(policy.blocked_repositories),
        *sorted(policy.blocked_authors),
        repr((policy.event_bytes_max, policy.event_tags_max, policy.future_s_max)),
    ]
    return sha256("\n".join(parts).encode()).hexdigest()[:8]


def _spelled(listed: RepoList) -> list[str]:
    repositories = sorted(f"{owner}/{identifier}" for owner, identifier in listed.repositories)
    return [repr(listed.everything), *sorted(listed.owners), *repositories, *sorted(listed.identifiers), "."]
