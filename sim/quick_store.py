"""The model of the store, with indexes: the same answers as the plainest model, fast enough for a year of days.

Only the ways of looking things up differ from `MemoryStore`; a property holds the two together.
"""

from collections import Counter

import numpy as np

from graspd.nostr.event import Event
from graspd.nostr.filter import Filter, Matcher
from graspd.nostr.kinds import ANNOUNCEMENT, REQUEST_KINDS
from graspd.nostr.nip34 import read_announcement
from graspd.rules.changes import Change, Put
from graspd.rules.expiry import has_expired
from graspd.rules.facts import Facts, Held, Inquiry, Version
from graspd.store.ports import Columns
from graspd.types import Address, EventId, PubKey, UnixTime
from sim.store import MemoryStore


class QuickStore(MemoryStore):
    """Knows what it serves by address, by identifier and by what is spoken of."""

    def __init__(self) -> None:
        super().__init__()
        self._by_address: dict[Address, Event] = {}
        self._announcements: dict[str, dict[Address, Event]] = {}  # by identifier
        self._spoken_of: Counter[str] = Counter()
        self._authors: Counter[PubKey] = Counter()
        self._indexed: dict[EventId, Event] = {}
        self._buried_by: dict[EventId, set[PubKey]] = {}
        self._buried_seen = 0

    def _apply(self, change: Change) -> None:
        super()._apply(change)
        if isinstance(change, Put):
            self._index(change.event)
        elif len(self._indexed) != len(self.served):
            for event_id in [event_id for event_id in self._indexed if event_id not in self.served]:
                self._unindex(self._indexed.pop(event_id))

    def _index(self, event: Event) -> None:
        if event.id in self._indexed:
            return
        self._indexed[event.id] = event
        self._count(event, 1)
        if event.address is not None:
            self._by_address[event.address] = event
            if event.kind == ANNOUNCEMENT:
                self._announcements.setdefault(event.identifier, {})[event.address] = event

    def _unindex(self, event: Event) -> None:
        self._count(event, -1)
        if event.address is not None and self._by_address.get(event.address) is event:
            del self._by_address[event.address]
            if event.kind == ANNOUNCEMENT:
                del self._announcements[event.identifier][event.address]

    def _count(self, event: Event, count: int) -> None:
        self._authors[event.pubkey] += count
        if event.kind not in REQUEST_KINDS:
            spoken = event.references
            for value in (*spoken.ids, *spoken.addresses):
                self._spoken_of[value] += count

    def facts(self, inquiry: Inquiry) -> Facts:
        """The same, looked up."""
        ids, addresses = inquiry.ids | inquiry.related_ids, inquiry.addresses | inquiry.related_addresses
        facts = Facts(
            gone={event_id: self.gone[event_id] for event_id in ids if event_id in self.gone},
            buried={(event_id, by) for event_id in ids for by in self._buriers(event_id)},
            floors={address: self.floors[address] for address in addresses if address in self.floors},
            vanished={pubkey: self.vanished[pubkey] for pubkey in inquiry.authors if pubkey in self.vanished},
            present_authors=inquiry.newcomers & {*self.gone.values(), *(+self._authors)},
            tagged_ids={event_id for event_id in inquiry.lonely_ids if self._spoken_of[event_id]},
            tagged_addresses={address for address in inquiry.lonely_addresses if self._spoken_of[address]},
        )
        for event in self.waiting.values():
            if event.pubkey in inquiry.authors:
                facts.waiting.setdefault(event.pubkey, []).append(event)
        for event_id in ids:
            if event_id in self.served:
                facts.held[event_id] = _held(self.served[event_id])
        for address in addresses:
            if address in self._by_address:
                event = self._by_address[address]
                facts.held[event.id] = _held(event)
                facts.versions[address] = Version(event.created_at, event.id)
        for identifier in inquiry.identifiers:
            announced = self._announcements.get(identifier)
            if announced:
                facts.announcements[identifier] = {one.pubkey: read_announcement(one) for one in announced.values()}
        return facts

    def _buriers(self, event_id: EventId) -> set[PubKey]:
        if self._buried_seen != len(self.buried):
            self._buried_by.clear()
            for buried, by in self.buried:
                self._buried_by.setdefault(buried, set()).add(by)
            self._buried_seen = len(self.buried)
        return self._buried_by.get(event_id, set())

    def columns(self, wanted: Filter, now: UnixTime) -> Columns:
        """The same, sorting only what matches."""
        matcher = Matcher.of(wanted)
        found = [event for event in self.served.values() if matcher.matches(event) and not has_expired(event, now)]
        found.sort(key=lambda event: (event.created_at, event.id))
        ids = bytes.fromhex("".join(event.id for event in found))
        return Columns(
            np.array([event.created_at for event in found], np.uint64), np.frombuffer(ids, np.uint8).reshape(-1, 32)
        )

    def knows(self, event_id: EventId) -> bool:
        """Whether an id need not be fetched: held, gone or buried."""
        if event_id in self.served or event_id in self.waiting or event_id in self.gone:
            return True
        return bool(self._buriers(event_id))


def _held(event: Event) -> Held:
    return Held(event.pubkey, event.kind, event.address, event.created_at)
