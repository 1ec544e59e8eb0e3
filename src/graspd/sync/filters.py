"""From items to filters, and from filters to requests that a peer takes.

Layer 1 is announcements and states; layer 2 whatever tags a repository (#a, #A, #q), of all kinds; layer 3 whatever
tags a root event (#e, #E, #q). Decides sizes: how many values a filter holds, how many filters a request. Knows
nothing of what is open.
"""

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from graspd.nostr.filter import Filter
from graspd.nostr.kinds import ANNOUNCEMENT, STATE
from graspd.sync.inputs import PeerTerms
from graspd.sync.interest import VALUE_OVERHEAD, Interest
from graspd.sync.limits import SyncLimits
from graspd.types import UnixTime

LAYER1: Final = Filter(kinds=(ANNOUNCEMENT, STATE))
REPO_TAGS: Final = ("a", "A", "q")
ROOT_TAGS: Final = ("e", "E", "q")

_REQUEST_OVERHEAD: Final = 128  # ["REQ","<id>",...] and brackets
_FILTER_OVERHEAD: Final = 64  # {"#e":[],"since":...,"limit":0},
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

    def within(self, other: "Room | None") -> "Room":
        """No more than both take."""
        if other is None:
            return self
        return Room(
            min(self.message_bytes, other.message_bytes),
            min(self.subscriptions, other.subscriptions),
            min(self.filters_per_request, other.filters_per_request),
            min(self.page_limit, other.page_limit),
        )

    @property
    def filter_bytes(self) -> int:
        """Bytes of a request that its filters can take, some room for their frames set aside."""
        return self.message_bytes - _REQUEST_OVERHEAD - self.filters_per_request * _FILTER_OVERHEAD

    def live_subscriptions(self, limits: SyncLimits) -> int:
        """Of its subscriptions, those that live filters may take."""
        return max(1, self.subscriptions - limits.subscriptions_for_transfers)

    def transfers(self, limits: SyncLimits) -> int:
        """Requests besides live that may be open at once."""
        return max(1, min(limits.transfers_at_once, self.subscriptions - self.live_subscriptions(limits)))

    def values_max(self) -> int:
        """Ids that one filter can hold where its three tags share a message."""
        a_third = (self.message_bytes - _REQUEST_OVERHEAD) // len(ROOT_TAGS)
        return max(1, (a_third - _FILTER_OVERHEAD) // (_HEX_ID + VALUE_OVERHEAD))

    def roots_max(self, total_bytes: int, filters: int) -> int:
        """How many roots fit into so many bytes of requests and so many filters, each root in three filters."""
        by_bytes = total_bytes // (len(ROOT_TAGS) * (_HEX_ID + VALUE_OVERHEAD))
        return max(0, min(by_bytes, filters // len(ROOT_TAGS) * self.values_max()))


@dataclass(frozen=True, slots=True)
class Cell:
    """Items that share filters, one for each tag. Numbers instead of values: live filters are kept for months."""

    tags: tuple[str, ...]  # none: layer 1
    of_roots: bool
    numbers: "array[int]"  # of repositories or roots in the interest
    filter_bytes: int  # room one of its filters takes

    @property
    def filter_count(self) -> int:
        """Filters it stands for."""
        return len(self.tags) or 1

    @property
    def bytes(self) -> int:
        """Room its filters take in a request."""
        return self.filter_bytes * self.filter_count

    def filters(self, interest: Interest) -> list[Filter]:
        """The filters themselves. Roots removed meanwhile are left out; with none left there is no filter."""
        if not self.tags:
            return [LAYER1]
        values = self.values(interest)
        return [Filter(tags=((tag, values),)) for tag in self.tags] if values else []

    def values(self, interest: Interest) -> tuple[str, ...]:
        """What stands in each of its filters."""
        return _root_ids(self.numbers, interest) if self.of_roots else _addresses(self.numbers, interest)


LAYER1_CELL: Final = Cell((), False, array("i"), _FILTER_OVERHEAD)


def _root_ids(numbers: "array[int]", interest: Interest) -> tuple[str, ...]:
    found = map(interest.roots.id, numbers)
    return tuple([key.hex() for key in found if key is not None])


def _addresses(numbers: "array[int]", interest: Interest) -> tuple[str, ...]:
    return tuple([interest.repo(number).addr for number in numbers])


def filter_count(repos: int, roots: int, values: int) -> int:
    """Filters that so many repositories and roots take, layer 1 among them."""
    return 1 + len(REPO_TAGS) * -(-repos // values) + len(ROOT_TAGS) * -(-roots // values)


def values_per_filter(repos: int, roots: int, filters_max: int, room: Room, limits: SyncLimits) -> int:
    """How many values a filter holds: 100, or as many more as it takes to stay within so many filters."""
    values = limits.filter_values
    most = room.values_max()
    while values < most and filter_count(repos, roots, values) > filters_max:
        values += max(1, limits.filter_values // 2)
    return min(values, most)


def cells_of(repos: Iterable[int], roots: Iterable[int], values: int, room: Room, interest: Interest) -> list[Cell]:
    """Layers 2 and 3 for these items: at most so many values a filter, and each cell within one request."""
    # The filters of a cell go in one request where the peer takes that many, else each stands alone.
    together = room.filters_per_request >= len(REPO_TAGS)
    bytes_max = (room.message_bytes - _REQUEST_OVERHEAD) // (len(REPO_TAGS) if together else 1) - _FILTER_OVERHEAD
    cells: list[Cell] = []
    for tags, of_roots, numbers in ((REPO_TAGS, False, repos), (ROOT_TAGS, True, roots)):
        groups = (tags,) if together else tuple((tag,) for tag in tags)
        for chunk, size in _chunks(numbers, of_roots, values, bytes_max, interest):
            cells.extend(Cell(group, of_roots, chunk, size + _FILTER_OVERHEAD) for group in groups)
    return cells


def _chunks(
    numbers: Iterable[int], of_roots: bool, count_max: int, bytes_max: int, interest: Interest
) -> Iterator[tuple["array[int]", int]]:
    chunk, size = array("i"), 0
    for number in numbers:
        cost = _HEX_ID + VALUE_OVERHEAD if of_roots else interest.repo(number).value_bytes
        if chunk and (len(chunk) == count_max or size + cost > bytes_max):
            yield chunk, size
            chunk, size = array("i"), 0
        chunk.append(number)
        size += cost
    if chunk:
        yield chunk, size


def pack(cells: Iterable[Cell], room: Room) -> list[tuple[Cell, ...]]:
    """Cells together in as few requests as the peer's limits allow, in their order."""
    requests: list[tuple[Cell, ...]] = []
    current: list[Cell] = []
    count, size = 0, _REQUEST_OVERHEAD
    for cell in cells:
        full = count + cell.filter_count > room.filters_per_request or size + cell.bytes > room.message_bytes
        if current and full:
            requests.append(tuple(current))
            current, count, size = [], 0, _REQUEST_OVERHEAD
        current.append(cell)
        count += cell.filter_count
        size += cell.bytes
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
