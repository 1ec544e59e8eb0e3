"""The live subscriptions of one link: which items they hold, when they are rebuilt, and what does not fit.

Opened before anything is transferred. New items join the last, small subscription; when there are too many filters or
subscriptions, all are rebuilt as few full ones (consolidation), the new ones opened before the old are closed. What a
peer's limits cannot hold is shed, and looked at in turn (`link`). Decides nothing about history.
"""

from array import array
from collections import deque
from dataclasses import dataclass, field
from typing import Protocol

from graspd.nostr.filter import Filter
from graspd.sync.desk import Desk
from graspd.sync.filters import (
    LAYER1_CELL,
    REPO_TAGS,
    Cell,
    Room,
    cells_of,
    filter_count,
    live,
    pack,
    values_per_filter,
)
from graspd.sync.reports import Consolidated, LiveShed
from graspd.sync.selection import main_requests, select
from graspd.types import RelayUrl, SubId, UnixTime

_RESERVE_FILTERS = 6  # for what is added after a rebuilding, until the next


class LiveLine(Protocol):
    """A link, as far as live subscriptions use it."""

    peer: RelayUrl

    @property
    def room(self) -> Room:
        """What the peer takes."""
        ...

    @property
    def refuses_limit_zero(self) -> bool:
        """Whether `since` must stand in for `limit: 0`."""
        ...

    def can_subscribe(self, sub: SubId) -> bool:
        """Whether a live request may be sent now."""
        ...

    def subscribe(self, sub: SubId, filters: tuple[Filter, ...]) -> None:
        """Send a live request."""
        ...

    def unsubscribe(self, sub: SubId) -> None:
        """Close one."""
        ...


@dataclass(slots=True)
class Shed:
    """What is not held live."""

    layer1: bool
    repos: list[int]
    roots: "array[int]"

    def __len__(self) -> int:
        return self.layer1 + len(self.repos) + len(self.roots)

    def take(self, cells: tuple[Cell, ...]) -> None:
        """These are not held live either."""
        for cell in cells:
            if not cell.tags:
                self.layer1 = True
            elif cell.of_roots:
                self.roots.extend(cell.numbers)
            else:
                self.repos.extend(cell.numbers)


@dataclass(slots=True)
class _Change:
    """Requests still to be sent, and subscriptions to be closed when they are."""

    requests: deque[tuple[SubId, tuple[Cell, ...]]]
    since: UnixTime | None
    closes: list[SubId] = field(default_factory=list)


class Live:
    """What is open, and what is about to be."""

    def __init__(self, line: LiveLine, desk: Desk) -> None:
        self._line = line
        self._desk = desk
        self.open: dict[SubId, tuple[Cell, ...]] = {}
        self._changes: deque[_Change] = deque()
        self._tail: SubId | None = None  # the small one that grows
        self.shed = Shed(False, [], array("i"))

    # What is there

    @property
    def settled(self) -> bool:
        """Whether everything that is to be live has been asked for."""
        return not self._changes

    @property
    def filter_count(self) -> int:
        """Open filters, and those about to be opened."""
        cells = [cell for held in self.open.values() for cell in held]
        cells += [cell for change in self._changes for _, held in change.requests for cell in held]
        return sum(cell.filter_count for cell in cells)

    @property
    def subscription_count(self) -> int:
        """Open subscriptions, and those about to be opened."""
        return len(self.open) + sum(len(change.requests) for change in self._changes)

    # What is to be there

    def rebuild(self, repos: list[int], since: UnixTime | None) -> None:
        """Hold everything that these repositories need, in as few requests as possible, instead of what is open."""
        limits, room, interest = self._desk.limits, self._line.room, self._desk.interest
        requests_max, filters_max = main_requests(room, limits), max(4, limits.filters_max - _RESERVE_FILTERS)
        chosen = select(repos, requests_max, filters_max - 1, room, interest)
        values = values_per_filter(len(chosen.repos), len(chosen.roots), filters_max, room, limits)
        cells = [LAYER1_CELL, *cells_of(chosen.repos, chosen.roots, values, room, interest)]
        requests = pack(cells, room)
        self.shed = Shed(False, chosen.shed_repos, array("i", chosen.shed_roots.astype("int32").tobytes()))
        self._trim(requests, requests_max, filters_max)
        self._tail = None
        before = self.filter_count
        self._replace_all(requests, since)
        self._desk.work += len(chosen.repos) + len(chosen.roots)
        if before:
            self._desk.report(Consolidated(self._line.peer, before, self.filter_count))
        if self.shed:
            self._desk.report(LiveShed(self._line.peer, len(self.shed)))

    def _trim(self, requests: list[tuple[Cell, ...]], requests_max: int, filters_max: int) -> None:
        """Shed from the end what still does not fit: estimates of size can be low where values are odd."""
        while len(requests) > 1 and (
            len(requests) > requests_max or sum(cell.filter_count for held in requests for cell in held) > filters_max
        ):
            self.shed.take(requests.pop())

    def _replace_all(self, requests: list[tuple[Cell, ...]], since: UnixTime | None) -> None:
        old = list(self.open)
        for change in self._changes:
            old.extend(sub for sub in change.closes if sub not in self.open)
        self._changes.clear()
        room = self._line.room
        together = len(old) + len(requests) <= room.subscriptions - room.transfers(self._desk.limits)
        if together:
            subs = [self._desk.sub() for _ in requests]
        else:
            # NIP-01: a request with an open id takes its place. No more are open at any time than before, and `since`
            # covers the moment between.
            subs = [old[at] if at < len(old) else self._desk.sub() for at in range(len(requests))]
        closes = [sub for sub in old if sub not in subs]
        self._changes.append(_Change(deque(zip(subs, requests, strict=True)), since, closes))

    def fits(self, repos: int, roots: int) -> bool:
        """Whether so many more items can be added without rebuilding."""
        limits, room = self._desk.limits, self._line.room
        if self._joins_tail(repos + roots):
            return self.filter_count + len(REPO_TAGS) <= limits.filters_max
        more = filter_count(repos, roots, limits.filter_values) - 1
        subs = -(-more // room.filters_per_request)
        return (
            self.filter_count + more <= limits.filters_max
            and self.subscription_count + subs <= room.live_subscriptions(limits)
        )

    def add(self, repos: list[int], roots: list[int]) -> None:
        """Hold these too; together with the last subscription while that is small."""
        limits, room, interest = self._desk.limits, self._line.room, self._desk.interest
        closes: list[SubId] = []
        if self._tail is not None and self._joins_tail(len(repos) + len(roots)):
            closes.append(self._tail)
            for cell in self._tail_cells():
                into = roots if cell.of_roots else repos
                into.extend(number for number in cell.numbers if number not in into)
        cells = cells_of(repos, roots, limits.filter_values, room, interest)
        requests = [(self._desk.sub(), held) for held in pack(cells, room)]
        self._changes.append(_Change(deque(requests), None, closes))
        self._tail = requests[-1][0] if len(requests) == 1 else None

    def _tail_cells(self) -> tuple[Cell, ...]:
        assert self._tail is not None
        for change in self._changes:
            for sub, held in change.requests:
                if sub == self._tail:
                    return held
        return self.open.get(self._tail, ())

    def _joins_tail(self, items: int) -> bool:
        if self._tail is None:
            return False
        return sum(len(cell.numbers) for cell in self._tail_cells()) + items <= self._desk.limits.filter_values

    def reopen(self, cells: tuple[Cell, ...], since: UnixTime | None) -> None:
        """Hold again what the peer closed."""
        self._changes.append(_Change(deque([(self._desk.sub(), cells)]), since))

    def closed(self, sub: SubId) -> tuple[Cell, ...]:
        """The peer closed a subscription; returns what it held."""
        if self._tail == sub:
            self._tail = None
        return self.open.pop(sub, ())

    # Sending

    def pump(self) -> None:
        """Send what can be sent now."""
        while self._changes:
            change = self._changes[0]
            while change.requests:
                sub, cells = change.requests[0]
                if not self._line.can_subscribe(sub):
                    return
                change.requests.popleft()
                self._subscribe(sub, cells, change.since)
            for sub in change.closes:
                if self.open.pop(sub, None) is not None:
                    self._line.unsubscribe(sub)
            self._changes.popleft()

    def _subscribe(self, sub: SubId, cells: tuple[Cell, ...], since: UnixTime | None) -> None:
        filters = [wanted for cell in cells for wanted in cell.filters(self._desk.interest)]
        if not filters:
            return
        if since is None and self._line.refuses_limit_zero:
            since = self._desk.limits.asked_from(self._desk.now.wall)
        self.open[sub] = cells
        self._line.subscribe(sub, live(filters, since))
