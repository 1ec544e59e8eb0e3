"""The store as its plainest model: dicts and full scans, for the simulator and for properties to compare with.

It carries out rules.changes to the letter and answers every question by looking at everything. Nothing here is
clever, so that where another store disagrees with it, the other one is suspect.
"""

from collections.abc import Iterable, Sequence
from typing import assert_never

import numpy as np

from graspd.nostr.event import Event
from graspd.nostr.filter import Filter
from graspd.nostr.kinds import ANNOUNCEMENT, DELETION, REQUEST_KINDS
from graspd.nostr.nip34 import read_announcement
from graspd.rules.admission import judge_batch, learn
from graspd.rules.changes import Bury, Change, Erase, Forget, Hold, Miss, Put, RaiseFloor, Release
from graspd.rules.expiry import expiry, has_expired
from graspd.rules.facts import Facts, Floor, Held, Inquiry, Version, raised, segments
from graspd.rules.policy import Policy
from graspd.rules.verdict import Verdict
from graspd.store.ports import Columns
from graspd.types import Address, EventId, PubKey, UnixTime


class MemoryStore:
    """Events and the memory that outlives them."""

    def __init__(self) -> None:
        self.served: dict[EventId, Event] = {}
        self.waiting: dict[EventId, Event] = {}
        self.gone: dict[EventId, PubKey] = {}
        self.buried: set[tuple[EventId, PubKey]] = set()
        self.floors: dict[Address, Floor] = {}
        self.vanished: dict[PubKey, UnixTime] = {}

    def events(self) -> list[Event]:
        """Everything that is served, newest first, ties by id."""
        return sorted(self.served.values(), key=lambda event: (-event.created_at, event.id))

    def query(self, filters: Iterable[Filter], now: UnixTime) -> list[Event]:
        """The events that match any of the filters, each filter with its own limit; newest first, ties by id."""
        alive = [event for event in self.events() if not has_expired(event, now)]
        found: set[EventId] = set()
        for wanted in filters:
            found.update([event.id for event in alive if matches(wanted, event)][: wanted.limit])
        return [event for event in alive if event.id in found]

    def columns(self, wanted: Filter, now: UnixTime) -> Columns:
        """Every event that matches, without a limit, by created_at and id."""
        found = [event for event in self.events() if matches(wanted, event) and not has_expired(event, now)]
        found.sort(key=lambda event: (event.created_at, event.id))
        ids = b"".join(bytes.fromhex(event.id) for event in found)
        return Columns(
            np.array([event.created_at for event in found], np.uint64), np.frombuffer(ids, np.uint8).reshape(-1, 32)
        )

    def expire(self, now: UnixTime) -> None:
        """Erase what has expired, held requests too."""
        for event in [event for event in self.served.values() if has_expired(event, now)]:
            self.apply(expiry(event.id, _held(event)))
        for event in [event for event in self.waiting.values() if has_expired(event, now)]:
            self.apply([Release(event.id)])

    def apply(self, changes: Iterable[Change]) -> None:
        """Carry out changes in order."""
        for change in changes:
            self._apply(change)

    def _apply(self, change: Change) -> None:
        match change:
            case Put(event):
                self.served[event.id] = event
            case Erase(event_id):
                self._erase(event_id)
            case Miss(event_id, pubkey):
                self.gone[event_id] = pubkey
            case Bury(event_id, pubkey):
                self.buried.add((event_id, pubkey))
            case RaiseFloor(address, created_at, event_id, seen):
                self.floors[address] = raised(self.floors.get(address), Floor(created_at, event_id, seen))
            case Forget(pubkey, until):
                self._forget(pubkey, until)
            case Hold(event):
                self.waiting[event.id] = event
            case Release(event_id):
                self.waiting.pop(event_id, None)
            case _:
                assert_never(change)

    def _erase(self, event_id: EventId) -> None:
        event = self.served.pop(event_id, None)
        if event is not None and event.kind not in REQUEST_KINDS:
            self.gone[event_id] = event.pubkey

    def _forget(self, pubkey: PubKey, until: UnixTime) -> None:
        self.vanished[pubkey] = max(until, self.vanished.get(pubkey, until))
        for event in [*self.served.values()]:
            if event.pubkey == pubkey and event.created_at <= until:
                if event.address is not None:
                    self._apply(RaiseFloor(event.address, event.created_at, event.id, seen=True))
                self._erase(event.id)
        for event in [*self.waiting.values()]:
            if event.pubkey == pubkey and event.created_at <= until and event.kind == DELETION:
                del self.waiting[event.id]

    def facts(self, inquiry: Inquiry) -> Facts:
        """Answer the questions of a segment."""
        ids, addresses = inquiry.ids | inquiry.related_ids, inquiry.addresses | inquiry.related_addresses
        facts = Facts(
            gone={event_id: pubkey for event_id, pubkey in self.gone.items() if event_id in ids},
            buried={(event_id, pubkey) for event_id, pubkey in self.buried if event_id in ids},
            floors={address: floor for address, floor in self.floors.items() if address in addresses},
            vanished={pubkey: until for pubkey, until in self.vanished.items() if pubkey in inquiry.authors},
            present_authors=inquiry.newcomers & {*self.gone.values(), *(one.pubkey for one in self.served.values())},
        )
        for event in self.waiting.values():
            if event.pubkey in inquiry.authors:
                facts.waiting.setdefault(event.pubkey, []).append(event)
        for event in self.served.values():
            _add_served(facts, event, inquiry, ids, addresses)
        return facts


def take(store: MemoryStore, events: Sequence[Event], policy: Policy, now: UnixTime) -> list[Verdict]:
    """Judge a batch of events of good signature and carry out what follows, as ingest does."""
    verdicts = []
    for segment in segments([*events]):
        facts = learn(segment, store.facts, policy)
        for _, (verdict, changes) in judge_batch(segment, facts, policy, now):
            store.apply(changes)
            verdicts.append(verdict)
    return verdicts


def matches(wanted: Filter, event: Event) -> bool:
    """Whether an event is what a filter asks for, word by word as NIP-01 has it."""
    if wanted.ids is not None and event.id not in wanted.ids:
        return False
    if wanted.authors is not None and event.pubkey not in wanted.authors:
        return False
    if wanted.kinds is not None and event.kind not in wanted.kinds:
        return False
    if wanted.since is not None and event.created_at < wanted.since:
        return False
    if wanted.until is not None and event.created_at > wanted.until:
        return False
    for letter, values in wanted.tags:
        if not set(values) & {tag[1] for tag in event.tags if tag[0] == letter and len(tag) > 1}:
            return False
    return True


def _held(event: Event) -> Held:
    return Held(event.pubkey, event.kind, event.address, event.created_at)


def _add_served(facts: Facts, event: Event, inquiry: Inquiry, ids: set[EventId], addresses: set[Address]) -> None:
    if event.id in ids or event.address in addresses:
        facts.held[event.id] = _held(event)
    if event.address is not None and event.address in addresses:
        facts.versions[event.address] = Version(event.created_at, event.id)
    if event.kind == ANNOUNCEMENT and event.identifier in inquiry.identifiers:
        facts.announcements.setdefault(event.identifier, {})[event.pubkey] = read_announcement(event)
    # A request speaks of what must go, so it vouches for nothing.
    if event.kind not in REQUEST_KINDS:
        facts.tagged_ids |= inquiry.lonely_ids.intersection(event.references.ids)
        facts.tagged_addresses |= inquiry.lonely_addresses.intersection(event.references.addresses)
