"""Who wants to hear of an event: an inverted index, so that the cost grows with those who do and not with all.

Each filter is filed under its most telling list: under every id it names, else every value of one tag, else every
author, else every kind; a filter that names none of these is asked about every event.
"""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from graspd.nostr.event import Event
from graspd.nostr.filter import Filter, Matcher

Owner = TypeVar("Owner")
Key = tuple[str, str | int]
_ANY: Key = ("any", "")


@dataclass(slots=True, eq=False)
class _Filed(Generic[Owner]):
    """One filter of a subscription, and where it is filed."""

    owner: Owner
    matcher: Matcher
    keys: tuple[Key, ...]


@dataclass(slots=True)
class SubscriptionIndex(Generic[Owner]):
    """Owners by what they want to hear of."""

    _filed_by_key: dict[Key, dict[_Filed[Owner], None]] = field(default_factory=dict)
    _filed_by_owner: dict[Owner, list[_Filed[Owner]]] = field(default_factory=dict)

    def add(self, owner: Owner, filters: tuple[Filter, ...]) -> None:
        """File an owner's filters, in place of those it had."""
        self.remove(owner)
        filed = [_Filed(owner, Matcher.of(one), _keys(one)) for one in filters if not one.matches_nothing]
        self._filed_by_owner[owner] = filed
        for one in filed:
            for key in one.keys:
                self._filed_by_key.setdefault(key, {})[one] = None

    def remove(self, owner: Owner) -> None:
        """Take an owner out."""
        for one in self._filed_by_owner.pop(owner, ()):
            for key in one.keys:
                shelf = self._filed_by_key[key]
                del shelf[one]
                if not shelf:
                    del self._filed_by_key[key]

    def wanting(self, event: Event) -> list[Owner]:
        """The owners who want this event, each once."""
        shelves = (self._filed_by_key.get(key) for key in _event_keys(event))
        found = {one.owner: None for shelf in shelves if shelf for one in shelf if one.matcher.matches(event)}
        return list(found)

    def __len__(self) -> int:
        return len(self._filed_by_owner)


def _keys(wanted: Filter) -> tuple[Key, ...]:
    if wanted.ids is not None:
        return tuple(("id", value) for value in wanted.ids)
    if wanted.tags:
        letter, values = min(wanted.tags, key=lambda tag: len(tag[1]))
        return tuple((f"#{letter}", value) for value in values)
    if wanted.authors is not None:
        return tuple(("author", value) for value in wanted.authors)
    if wanted.kinds is not None:
        return tuple(("kind", value) for value in wanted.kinds)
    return (_ANY,)


def _event_keys(event: Event) -> dict[Key, None]:
    keys: dict[Key, None] = {("id", event.id): None, ("author", event.pubkey): None, ("kind", event.kind): None}
    keys[_ANY] = None
    for tag in event.tags:
        if len(tag) > 1 and len(tag[0]) == 1:
            keys[f"#{tag[0]}", tag[1]] = None
    return keys
