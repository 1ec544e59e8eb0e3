"""A walk through everything a peer has for one filter, by pages, newest first, to a proven end.

Relays cap answers without saying so, so a page's size proves nothing by itself. The walk asks again at the very second
a page ended in, so that ties are not skipped, and ends at a page that brings nothing new and is smaller than one the
peer has given before (or is empty, or carries the NIP-67 hint). Where one second fills a page, time cannot part its
events: that second is asked for with the filter's values halved, down to one; what even then fills a page is a hole,
and is named. Pure: it is told what came, and says what to ask next.
"""

from dataclasses import dataclass, replace
from enum import Enum

from graspd.nostr.event import Event
from graspd.nostr.filter import Filter, Matcher
from graspd.sync.inputs import EoseHint
from graspd.sync.limits import SyncLimits
from graspd.types import EventId, UnixTime


class Taken(Enum):
    """What an event is to a walk."""

    NEW = "new"
    SEEN = "seen"  # on an earlier page, or twice on this one
    UNASKED = "unasked"


@dataclass(slots=True)
class _Page:
    """What one answer has brought so far."""

    asked: Filter
    matcher: Matcher
    is_part: bool  # of an overfull second
    ids: set[EventId]
    fresh: int
    oldest: UnixTime | None
    at_oldest: set[EventId]


class Walk:
    """One filter with one peer."""

    def __init__(self, wanted: Filter, page_limit: int, limits: SyncLimits) -> None:
        self._wanted = wanted
        self._page_limit = page_limit
        self._pages_left = limits.pages_max
        self._largest = limits.page_cap_min  # a page smaller than this was not cut short
        self._until: UnixTime | None = wanted.until
        self._border: set[EventId] = set()  # seen at the second `until`
        self._overfull = False  # that second is being asked for in parts
        self._parts: list[Filter] = []  # still to be asked for
        self.count = 0
        self.holes: list[UnixTime] = []  # seconds that hold more than can be asked for
        self.ended = False
        self.endless = False
        self._page = self._whole_page()

    @property
    def request(self) -> Filter:
        """What to ask next."""
        assert not self.ended
        return self._page.asked

    def restart_page(self) -> None:
        """The answer broke off: what it brought stays counted, the page is asked for again."""
        self._page = _page(self._page.asked, is_part=self._page.is_part)

    def take(self, event: Event) -> Taken:
        """An event of the current page."""
        page = self._page
        if self.ended or not page.matcher.matches(event):
            return Taken.UNASKED
        if event.id in page.ids:
            return Taken.SEEN
        page.ids.add(event.id)
        if page.oldest is None or event.created_at < page.oldest:
            page.oldest, page.at_oldest = event.created_at, set()
        if event.created_at == page.oldest:
            page.at_oldest.add(event.id)
        if event.id in self._border:
            return Taken.SEEN
        page.fresh += 1
        self.count += 1
        if event.created_at == self._until:
            self._border.add(event.id)
        return Taken.NEW

    def end_page(self, hint: EoseHint) -> None:
        """The peer says that the current page has ended."""
        if self.ended:
            return
        if self._page.is_part:
            self._end_part(self._page, hint)
        else:
            self._end_whole(self._page, hint)
        self._pages_left -= 1
        if not self._is_over():
            self._go_on()

    def _is_over(self) -> bool:
        if not self.ended and self._pages_left == 0:
            self.endless = self.ended = True
        return self.ended

    def _end_whole(self, page: _Page, hint: EoseHint) -> None:
        if hint is EoseHint.FINISH or page.oldest is None:
            self.ended = True
        elif page.fresh:
            self._largest = max(self._largest, len(page.ids))
            if page.oldest != self._until:
                self._until, self._border = page.oldest, page.at_oldest
        elif len(page.ids) < self._largest and hint is not EoseHint.MORE:
            self.ended = True
        else:
            # Nothing new, and as many as the peer ever gives: either the second of the border holds more than a page,
            # or exactly this is all there is. Parts of the filter tell.
            assert self._until is not None
            self._overfull = True
            self._split(replace(self._wanted, since=self._until, until=self._until))

    def _end_part(self, page: _Page, hint: EoseHint) -> None:
        if hint is EoseHint.MORE or (hint is EoseHint.NONE and len(page.ids) >= self._largest):
            self._split(replace(page.asked, limit=None))

    def _split(self, overfull: Filter) -> None:
        parts = halves(overfull)
        if parts:
            self._parts.extend(parts)
        else:
            assert overfull.until is not None
            self.holes.append(overfull.until)

    def _go_on(self) -> None:
        if self._parts:
            self._page = _page(replace(self._parts.pop(), limit=self._page_limit), is_part=True)
            return
        if self._overfull:
            assert self._until is not None
            if self._until <= (0 if self._wanted.since is None else self._wanted.since):
                self.ended = True
                return
            self._until, self._border, self._overfull = UnixTime(self._until - 1), set(), False
        self._page = self._whole_page()

    def _whole_page(self) -> _Page:
        return _page(replace(self._wanted, until=self._until, limit=self._page_limit), is_part=False)


def _page(asked: Filter, *, is_part: bool) -> _Page:
    return _Page(asked, Matcher.of(asked), is_part, set(), 0, None, set())


def halves(wanted: Filter) -> tuple[Filter, ...]:
    """A filter as two that ask for the same between them; none where nothing is left to halve."""
    for at, (letter, values) in enumerate(wanted.tags):
        if len(values) > 1:
            middle = len(values) // 2
            return tuple(
                replace(wanted, tags=(*wanted.tags[:at], (letter, part), *wanted.tags[at + 1 :]))
                for part in (values[:middle], values[middle:])
            )
    if wanted.kinds is not None and len(wanted.kinds) > 1:
        middle = len(wanted.kinds) // 2
        return tuple(replace(wanted, kinds=part) for part in (wanted.kinds[:middle], wanted.kinds[middle:]))
    return ()
