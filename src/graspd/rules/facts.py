"""What must be known to judge a batch, and what is known.

The store answers an `Inquiry` with `Facts` in a few indexed look-ups for the whole batch. As events of the batch are
accepted, `Facts.put` adds them, so that the events of one batch see each other.
"""

from dataclasses import dataclass, field
from typing import Final, NamedTuple, assert_never

from graspd.nostr.event import Event, version_rank
from graspd.nostr.kinds import ANNOUNCEMENT, GRASP_LIST, REQUEST_KINDS, STATE, VANISH
from graspd.nostr.nip34 import Announcement, read_announcement
from graspd.rules.changes import Bury, Change, Erase, Forget, Hold, Miss, Put, RaiseFloor, Release
from graspd.types import Address, EventId, PubKey, UnixTime

# Judged by who wrote them and what they list, not by what tags them.
_UNRELATED_KINDS: Final = (ANNOUNCEMENT, STATE, GRASP_LIST)


class Version(NamedTuple):
    """One version of a replaceable event."""

    created_at: UnixTime
    id: EventId


class Floor(NamedTuple):
    """The version of an address below which nothing is taken; `seen` where some version of it was here, or came.

    That version itself is not below its own floor. An id of "" is lower than any other, so it stands for the whole
    second: nothing of that second is taken either.
    """

    created_at: UnixTime
    id: EventId
    seen: bool


class Held(NamedTuple):
    """What we know of a stored event without reading it."""

    pubkey: PubKey
    kind: int
    address: Address | None
    created_at: UnixTime


@dataclass(slots=True)
class Inquiry:
    """The questions that a batch raises."""

    ids: set[EventId] = field(default_factory=set)  # of the batch itself
    related_ids: set[EventId] = field(default_factory=set)
    addresses: set[Address] = field(default_factory=set)  # of the batch itself
    related_addresses: set[Address] = field(default_factory=set)
    identifiers: set[str] = field(default_factory=set)  # of announcements and states
    authors: set[PubKey] = field(default_factory=set)
    newcomers: set[PubKey] = field(default_factory=set)  # authors of whom it matters whether they were here before
    lonely_ids: set[EventId] = field(default_factory=set)  # of the batch, those it matters whether something speaks of
    lonely_addresses: set[Address] = field(default_factory=set)


@dataclass(slots=True)
class Facts:
    """The answers."""

    held: dict[EventId, Held] = field(default_factory=dict)
    versions: dict[Address, Version] = field(default_factory=dict)  # the version we hold of an address
    tagged_ids: set[EventId] = field(default_factory=set)  # of those asked about, what a stored event speaks of
    tagged_addresses: set[Address] = field(default_factory=set)
    announcements: dict[str, dict[PubKey, Announcement]] = field(default_factory=dict)  # by identifier and author
    gone: dict[EventId, PubKey] = field(default_factory=dict)  # never a deletion or vanish request
    buried: set[tuple[EventId, PubKey]] = field(default_factory=set)
    floors: dict[Address, Floor] = field(default_factory=dict)
    vanished: dict[PubKey, UnixTime] = field(default_factory=dict)
    present_authors: set[PubKey] = field(default_factory=set)  # of those asked about, who has, or had, an event here
    waiting: dict[PubKey, list[Event]] = field(default_factory=dict)  # held deletion and vanish requests

    def put(self, event: Event) -> None:
        """Take an accepted event into account for those that follow it in the batch."""
        self.held[event.id] = Held(event.pubkey, event.kind, event.address, event.created_at)
        self.present_authors.add(event.pubkey)
        if event.address is not None:
            self.versions[event.address] = Version(event.created_at, event.id)
        if event.kind == ANNOUNCEMENT:
            self.announcements.setdefault(event.identifier, {})[event.pubkey] = read_announcement(event)
        if event.kind not in REQUEST_KINDS:
            ids, addresses = event.references
            self.tagged_ids.update(ids)
            self.tagged_addresses.update(addresses)

    def apply(self, change: Change) -> None:
        """Follow one change of a segment. Forget and Hold end their segment: nothing after them asks these facts."""
        match change:
            case Put(event):
                self.put(event)
            case Erase(event_id):
                was = self.held.pop(event_id, None)
                if was is not None:
                    self._forget_version(event_id, was)
            case Miss(event_id, pubkey):
                self.gone[event_id] = pubkey
                self.present_authors.add(pubkey)
            case Bury(event_id, pubkey):
                self.buried.add((event_id, pubkey))
            case RaiseFloor(address, created_at, event_id, seen):
                self.floors[address] = raised(self.floors.get(address), Floor(created_at, event_id, seen))
            case Release(event_id):
                for requests in self.waiting.values():
                    requests[:] = [request for request in requests if request.id != event_id]
            case Forget() | Hold():
                pass
            case _:
                assert_never(change)

    def _forget_version(self, event_id: EventId, was: Held) -> None:
        if was.kind not in REQUEST_KINDS:
            self.gone[event_id] = was.pubkey
        if was.address is None or self.versions.get(was.address) != (was.created_at, event_id):
            return
        del self.versions[was.address]
        if was.kind == ANNOUNCEMENT:
            identifier = was.address.split(":", 2)[2]
            self.announcements.get(identifier, {}).pop(was.pubkey, None)


def raised(floor: Floor | None, to: Floor) -> Floor:
    """The higher of two floors: the later second, at equal seconds the lower id, which is the version that stays."""
    if floor is None:
        return to
    created_at, event_id, _ = min(floor, to, key=lambda one: version_rank(one.created_at, one.id))
    return Floor(created_at, event_id, floor.seen or to.seen)


def inquiry_of(events: list[Event]) -> Inquiry:
    """What must be known to judge these events."""
    asked = Inquiry()
    for event in events:
        asked.ids.add(event.id)
        asked.authors.add(event.pubkey)
        address = event.address
        if address is not None:
            asked.addresses.add(address)
        if event.kind in (ANNOUNCEMENT, STATE):
            asked.identifiers.add(event.identifier)
        if event.kind in (GRASP_LIST, VANISH):
            asked.newcomers.add(event.pubkey)
        if event.kind == VANISH:
            continue
        ids, addresses = event.references
        asked.related_ids.update(ids)
        asked.related_addresses.update(addresses)
    return asked


def inquiry_of_lonely(events: list[Event]) -> Inquiry:
    """What must be known besides, where what these events speak of is not here: whether something here speaks of them.

    The dearest question, asked last: most events name their repository.
    """
    judged_by_tags = [event for event in events if event.kind not in (*_UNRELATED_KINDS, *REQUEST_KINDS)]
    return Inquiry(
        lonely_ids={event.id for event in judged_by_tags},
        lonely_addresses={event.address for event in judged_by_tags if event.address is not None},
    )


def segments(events: list[Event]) -> list[list[Event]]:
    """A batch cut where the facts of what went before no longer hold, so that what follows asks anew.

    A deletion or vanish request stands alone: it changes more of the store than facts can follow. An event that can
    take the place of another takes that one's tags away, and with them what was related only by being tagged there.
    """
    cut: list[list[Event]] = []
    replaces = False
    for event in events:
        sweeps = event.kind in REQUEST_KINDS
        if not cut or sweeps or cut[-1][-1].kind in REQUEST_KINDS or (replaces and event.kind not in _UNRELATED_KINDS):
            cut.append([])
            replaces = False
        cut[-1].append(event)
        replaces |= event.address is not None
    return cut
