"""From items to filters, and from filters to requests that a peer takes.

Layer 1 is announcements and states; layer 2 whatever tags a repository (#a, #A, #q), of all kinds; layer 3 whatever
tags a root event (#e, #E, #q). Decides sizes: how many values a filter holds, how many filters a request. Knows
nothing of what is open.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from graspd.nostr.filter import Filter
from graspd.nostr.kinds import ANNOUNCEMENT, STATE
from graspd.sync.inputs import PeerTerms
from graspd.sync.limits import SyncLimits
from graspd.types import RepoAddr, UnixTime

LAYER1: Final = Filter(kinds=(ANNOUNCEMENT, STATE))
REPO_TAGS: Final = ("a", "A", "q")
ROOT_TAGS: Final = ("e", "E", "q")

_REQUEST_OVERHEAD: Final = 128  # ["REQ","<id>",...] and brackets
_FILTER_OVERHEAD: Final = 64  # {"#e":[],"since":...,"limit":0},
_VALUE_OVERHEAD: Final = 3  # two quotes and a comma
_HEX_ID: Final = 64


@dataclass(frozen=True, slots=True)
class Room:
    """What a peer takes, by its own word or by experience."""

    message_bytes: int
    subscriptions: int
    filters_per_request: int
    page_limit: int

    @classmethod
    def of(cls, terms: PeerTerms | None, limits: SyncLimits) -> "Room":
        """What a peer's NIP-11 document promises, within our own limits; ours where it is silent."""
        terms = terms or PeerTerms()
        message = min(terms.message_bytes_max or limits.message_bytes, limits.message_bytes_max)
        filters = min(terms.filters_max or limits.filters_per_request, limits.filters_per_request)
        return cls(
            message_bytes=max(message, limits.message_bytes_min),
            subscriptions=max(2, min(terms.subscriptions_max or limits.subscriptions, limits.subscriptions)),
            filters_per_request=max(1, filters),
            page_limit=max(1, min(terms.limit_max or limits.page_limit, limits.page_limit)),
        )

    def live_subscriptions(self, limits: SyncLimits) -> int:
        """Of its subscriptions, those that live filters may take."""
        return max(1, self.subscriptions - limits.subscriptions_for_transfers)

    def transfers(self, limits: SyncLimits) -> int:
        """Requests besides live that may be open at once."""
        return max(1, min(limits.transfers_at_once, self.subscriptions - self.live_subscriptions(limits)))

    def values_max(self) -> int:
        """Ids that one filter can hold within a message."""
        return max(1, (self.message_bytes - _REQUEST_OVERHEAD - _FILTER_OVERHEAD) // (_HEX_ID + _VALUE_OVERHEAD))


def value_bytes(value: str) -> int:
    """Room that a value takes in a filter; escapes are rare, so what needs them is counted at its worst."""
    plain = value.isascii() and value.isprintable() and '"' not in value and "\\" not in value
    return (len(value) if plain else 6 * len(value.encode())) + _VALUE_OVERHEAD


def filter_bytes(wanted: Filter) -> int:
    """Room that a filter takes in a request."""
    values = sum(value_bytes(value) for _, tagged in wanted.tags for value in tagged)
    ids = len(wanted.ids or ()) * (_HEX_ID + _VALUE_OVERHEAD)
    return _FILTER_OVERHEAD + values + ids


def values_per_filter(repos: int, roots: int, room: Room, limits: SyncLimits) -> int:
    """How many values a filter holds: 100, or as many more as it takes to stay within the budget of open filters."""
    values = limits.filter_values
    most = room.values_max()
    while values < most and filter_count(repos, roots, values) > limits.filters_max:
        values = min(most, values + limits.filter_values // 2)
    return min(values, most)


def filter_count(repos: int, roots: int, values: int) -> int:
    """Filters that so many repositories and roots take, layer 1 among them."""
    return 1 + len(REPO_TAGS) * -(-repos // values) + len(ROOT_TAGS) * -(-roots // values)


def item_filters(
    repos: Sequence[RepoAddr], roots: Sequence[str], values: int, room: Room, *, triples: bool = True
) -> list[Filter]:
    """The filters of layers 2 and 3 for these items, at most so many values each and none larger than a message."""
    budget = (room.message_bytes - _REQUEST_OVERHEAD) // (len(REPO_TAGS) if triples else 1)
    found: list[Filter] = []
    for tags, all_values in ((REPO_TAGS, repos), (ROOT_TAGS, roots)):
        for chunk in _chunks(all_values, values, max(budget - _FILTER_OVERHEAD, 1)):
            found.extend(Filter(tags=((tag, chunk),)) for tag in tags)
    return found


def _chunks(values: Sequence[str], count_max: int, bytes_max: int) -> Iterable[tuple[str, ...]]:
    chunk: list[str] = []
    size = 0
    for value in values:
        cost = value_bytes(value)
        if chunk and (len(chunk) == count_max or size + cost > bytes_max):
            yield tuple(chunk)
            chunk, size = [], 0
        chunk.append(value)
        size += cost
    if chunk:
        yield tuple(chunk)


def pack(filters: Iterable[Filter], room: Room) -> list[tuple[Filter, ...]]:
    """Filters together in as few requests as the peer's limits allow, in their order."""
    requests: list[tuple[Filter, ...]] = []
    current: list[Filter] = []
    size = _REQUEST_OVERHEAD
    for wanted in filters:
        cost = filter_bytes(wanted)
        if current and (len(current) == room.filters_per_request or size + cost > room.message_bytes):
            requests.append(tuple(current))
            current, size = [], _REQUEST_OVERHEAD
        current.append(wanted)
        size += cost
    if current:
        requests.append(tuple(current))
    return requests


def live(filters: Iterable[Filter], since: UnixTime | None) -> tuple[Filter, ...]:
    """The same filters for new events only: `limit: 0`, or from a time on where that is wanted."""
    if since is None:
        return tuple(replace(wanted, limit=0) for wanted in filters)
    return tuple(replace(wanted, since=since) for wanted in filters)


def from_time(wanted: Filter, since: UnixTime | None) -> Filter:
    """The filter for a historic transfer."""
    return wanted if since is None else replace(wanted, since=since)
