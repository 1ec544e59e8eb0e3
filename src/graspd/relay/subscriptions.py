"""Who wants to hear of an event: an inverted index, so that the cost grows with those who do and not with all.

Each filter is filed under its most telling list: under every id it names, else every value of one tag, else every
author, else every kind; a filter that names none of these is asked about every event.
"""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from graspd.nostr.event import Event
from graspd.nostr.filter import Filter, Matcher

Owner = TypeVar("Owner")
# Where a filter is filed: by what, and under which values. What stands in quotes is no name of a tag.
Place = tuple[str, tuple[str | int, ...]]
_ID, _AUTHOR, _KIND, _ANYTHING = "id", "author", "kind", "anything"


@dataclass(slots=True, eq=False)
class _Filed(Generic[Owner]):
    """One filter of a subscription, and where it is filed."""

    owner: Owner
    matcher: Matcher
    place: Place


Shelf = dict[_Filed[Owner], None]


@dataclass(slots=True)
class SubscriptionIndex(Generic[Owner]):
    """Owners by what they want to hear of."""

    _shelves: dict[str, dict[str | int, Shelf[Owner]]] = field(default_factory=dict)
    _filed_by_owner: dict[Owner, list[_Filed[Owner]]] = field(default_factory=dict)

    def add(self, owner: Owner, filters: tuple[Filter, ...]) -> None:
        """File an owner's filters, in place of those it had."""
        self.remove(owner)
        filed = [_Filed(owner, Matcher.of(one), _place(one)) for one in filters if not one.matches_nothing]
        self._filed_by_owner[owner] = filed
        for one in filed:
            by, values = one.place
            for value in values:
                self._shelves.setdefault(by, {}).setdefault(value, {})[one] = None

    def remove(self, owner: Owner) -> None:
        """Take an owner out."""
        for one in self._filed_by_owner.pop(owner, ()):
            by, values = one.place
            shelves = self._shelves[by]
            for value in values:
                shelf = shelves[value]
                del shelf[one]
                if not shelf:
                    del shelves[value]
            if not shelves:
                del self._shelves[by]

    def wanting(self, event: Event) -> list[Owner]:
        """The owners who want this event, each once."""
        if not self._shelves:
            return []
        found: dict[Owner, None] = {}
        for shelf in self._concerned(event):
            for one in shelf:
                if one.owner not in found and one.matcher.matches(event):
                    found[one.owner] = None
        return list(found)

    def _concerned(self, event: Event) -> list[Shelf[Owner]]:
        places: list[tuple[str, str | int]] = [
            (_ID, event.id),
            (_AUTHOR, event.pubkey),
            (_KIND, event.kind),
            (_ANYTHING, ""),
        ]
        places += [(tag[0], tag[1]) for tag in event.tags if len(tag) > 1 and len(tag[0]) == 1]
        found = (self._shelves[by].get(value) for by, value in places if by in self._shelves)
        return [shelf for shelf in found if shelf is not None]

    def __len__(self) -> int:
        return len(self._filed_by_owner)


def _place(wanted: Filter) -> Place:
    if wanted.ids is not None:
        return _ID, wanted.ids
    if wanted.tags:
        return min(wanted.tags, key=lambda tag: len(tag[1]))
    if wanted.authors is not None:
        return _AUTHOR, wanted.authors
    if wanted.kinds is not None:
        return _KIND, wanted.kinds
    return _ANYTHING, ("",)
