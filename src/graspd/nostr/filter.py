"""What a client asks for (NIP-01), and whether an event is that.

A `Filter` keeps its values in the order they came in, so that it can be written out again the same way;
a `Matcher` is the same filter with its values as sets, made once for each subscription.
"""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from graspd.nostr.event import Event, Malformed
from graspd.nostr.hex64 import is_hex64
from graspd.nostr.kinds import KIND_MAX
from graspd.nostr.prefix import Prefix
from graspd.nostr.tags import is_indexed
from graspd.types import EventId, PubKey, UnixTime

_TIME_MAX: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Filter:
    """One filter of a REQ, COUNT or NEG-OPEN. None means: any; an empty tuple matches nothing."""

    ids: tuple[EventId, ...] | None = None
    authors: tuple[PubKey, ...] | None = None
    kinds: tuple[int, ...] | None = None
    tags: tuple[tuple[str, tuple[str, ...]], ...] = ()  # by letter: (("e", (...)), ("t", (...)))
    since: UnixTime | None = None
    until: UnixTime | None = None
    limit: int | None = None

    @property
    def matches_nothing(self) -> bool:
        """An empty list of values asks for nothing at all."""
        lists = (self.ids, self.authors, self.kinds, *(values for _, values in self.tags))
        if any(values == () for values in lists):
            return True
        return self.since is not None and self.until is not None and self.since > self.until

    @property
    def value_count(self) -> int:
        """How many values it names: what it costs to keep and to look up."""
        lists = (self.ids or (), self.authors or (), self.kinds or (), *(values for _, values in self.tags))
        return sum(map(len, lists))

    def to_json(self) -> dict[str, Any]:
        """The filter as it goes over the wire."""
        fields: dict[str, Any] = {
            "ids": self.ids,
            "authors": self.authors,
            "kinds": self.kinds,
            **{f"#{letter}": values for letter, values in self.tags},
            "since": self.since,
            "until": self.until,
            "limit": self.limit,
        }
        return {name: value for name, value in fields.items() if value is not None}


class Matcher(NamedTuple):
    """A filter made ready to be asked often."""

    ids: frozenset[str] | None
    authors: frozenset[str] | None
    kinds: frozenset[int] | None
    tags: tuple[tuple[str, frozenset[str]], ...]
    since: int
    until: int

    @classmethod
    def of(cls, wanted: Filter) -> "Matcher":
        """The matcher of a filter."""
        return cls(
            None if wanted.ids is None else frozenset(wanted.ids),
            None if wanted.authors is None else frozenset(wanted.authors),
            None if wanted.kinds is None else frozenset(wanted.kinds),
            tuple((letter, frozenset(values)) for letter, values in wanted.tags),
            0 if wanted.since is None else wanted.since,
            _TIME_MAX if wanted.until is None else wanted.until,
        )

    def matches(self, event: Event) -> bool:
        """Whether the event is what the filter asks for; `limit` plays no part in that."""
        return (
            self.since <= event.created_at <= self.until
            and (self.kinds is None or event.kind in self.kinds)
            and (self.authors is None or event.pubkey in self.authors)
            and (self.ids is None or event.id in self.ids)
            and all(_has_tag(event, letter, values) for letter, values in self.tags)
        )


def _has_tag(event: Event, letter: str, values: frozenset[str]) -> bool:
    return any(tag[0] == letter and len(tag) > 1 and tag[1] in values for tag in event.tags)


def parse_filter(value: Any) -> Filter | Malformed:
    """Turn decoded JSON into a filter, or say what is wrong with it."""
    if type(value) is not dict:
        return Malformed("a filter is not an object")
    fields: dict[str, Any] = {}
    tags: list[tuple[str, tuple[str, ...]]] = []
    for name, given in value.items():
        parsed = _parse_field(name, given)
        if isinstance(parsed, Malformed):
            return parsed
        if name[0] == "#":
            tags.append((name[1], parsed))
        else:
            fields[name] = parsed
    return Filter(tags=tuple(tags), **fields)


def _parse_field(name: str, value: Any) -> Any:
    match name:
        case "ids" | "authors":
            return _hex_values(name, value)
        case "kinds":
            if type(value) is not list or not all(type(kind) is int and 0 <= kind <= KIND_MAX for kind in value):
                return Malformed("kinds is not an array of kind numbers")
            return tuple(dict.fromkeys(value))
        case "since" | "until" | "limit":
            if type(value) is not int or not 0 <= value <= _TIME_MAX:
                return Malformed(f"{name} is not a whole number")
            return value
        case _ if len(name) == 2 and name[0] == "#" and is_indexed(name[1]):
            return _tag_values(name, value)
        case _:
            # NIP-01 has this very case: to leave out what we cannot tell apart would answer another question.
            return Malformed(f"filter field {name[:32]!r} is not known here", prefix=Prefix.UNSUPPORTED)


def _hex_values(name: str, value: Any) -> tuple[str, ...] | Malformed:
    # NIP-01: ids, authors, #e and #p hold exact 64-character lower-case hex values.
    if type(value) is not list or not all(type(item) is str and is_hex64(item) for item in value):
        return Malformed(f"{name} is not an array of 64 lower-case hex digits each")
    return tuple(dict.fromkeys(value))


def _tag_values(name: str, value: Any) -> tuple[str, ...] | Malformed:
    if name in ("#e", "#p"):
        return _hex_values(name, value)
    if type(value) is not list or not all(type(item) is str for item in value):
        return Malformed(f"{name} is not an array of strings")
    return tuple(dict.fromkeys(value))
