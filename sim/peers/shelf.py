"""What a relay holds: events by id, the newest version of what can be replaced, found by what filters name."""

from collections.abc import Callable, Iterable, Iterator

from graspd.nostr.event import Event
from graspd.nostr.filter import Filter, Matcher
from graspd.nostr.kinds import DELETION
from graspd.types import Address, EventId

Key = tuple[str, str | int]


def newest_first(event: Event) -> tuple[int, str]:
    """NIP-01: ties by id, the lowest first."""
    return -event.created_at, event.id


def newest_first_high_ids(event: Event) -> tuple[int, int]:
    """As some relays have it: ties by id, the highest first."""
    return -event.created_at, -int(event.id, 16)


class Shelf:
    """Events of one relay."""

    def __init__(self, *, low_ids_first: bool = True) -> None:
        self.events: dict[EventId, Event] = {}
        self.rank: Callable[[Event], tuple[int, str] | tuple[int, int]] = (
            newest_first if low_ids_first else newest_first_high_ids
        )
        self._by_key: dict[Key, dict[EventId, Event]] = {}
        self._versions: dict[Address, Event] = {}

    def put(self, event: Event) -> bool:
        """Take an event, unless it is here or a newer version is."""
        if event.id in self.events:
            return False
        address = event.address
        if address is not None:
            version = self._versions.get(address)
            if version is not None:
                if not event.replaces(version.created_at, version.id):
                    return False
                self.remove(version.id)
            self._versions[address] = event
        self.events[event.id] = event
        for key in _keys(event):
            self._by_key.setdefault(key, {})[event.id] = event
        if event.kind == DELETION:
            self._delete(event)
        return True

    def _delete(self, request: Event) -> None:
        for value in request.tag_values("e"):
            held = self.events.get(EventId(value))
            if held is not None and held.pubkey == request.pubkey:
                self.remove(held.id)

    def remove(self, event_id: EventId) -> None:
        """Have an event no longer."""
        event = self.events.pop(event_id)
        for key in _keys(event):
            del self._by_key[key][event_id]
        if event.address is not None and self._versions.get(event.address) is event:
            del self._versions[event.address]

    def clear(self) -> None:
        """Have nothing."""
        self.events.clear()
        self._by_key.clear()
        self._versions.clear()

    def matching(self, wanted: Filter) -> list[Event]:
        """Everything that matches, newest first."""
        if wanted.matches_nothing:
            return []
        matcher = Matcher.of(wanted)
        found = {event.id: event for event in self._candidates(wanted) if matcher.matches(event)}
        return sorted(found.values(), key=self.rank)

    def _candidates(self, wanted: Filter) -> Iterator[Event]:
        if wanted.ids is not None:
            return (self.events[event_id] for event_id in wanted.ids if event_id in self.events)
        if wanted.tags:
            letter, values = wanted.tags[0]
            return self._under((letter, value) for value in values)
        if wanted.kinds is not None:
            return self._under(("kind", kind) for kind in wanted.kinds)
        return iter(self.events.values())

    def _under(self, keys: Iterable[Key]) -> Iterator[Event]:
        return (event for key in keys for event in self._by_key.get(key, {}).values())


def _keys(event: Event) -> dict[Key, None]:
    keys: dict[Key, None] = {("kind", event.kind): None}
    for tag in event.tags:
        if len(tag) > 1 and len(tag[0]) == 1:
            keys[tag[0], tag[1]] = None
    return keys
