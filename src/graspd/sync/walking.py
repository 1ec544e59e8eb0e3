"""A transfer by pages: sends what `paging.Walk` asks for, one page at a time."""

from graspd.nostr.event import Event
from graspd.nostr.filter import Filter
from graspd.sync.desk import Desk, Settlement
from graspd.sync.inputs import EoseHint
from graspd.sync.paging import Taken, Walk
from graspd.sync.records import Method
from graspd.sync.reports import Offence
from graspd.sync.transfer import Done, Line, Transfer
from graspd.types import EventId


class Walker(Transfer):
    """Ends when the walk has, and everything it brought has been judged."""

    def __init__(self, line: Line, desk: Desk, batch: int, wanted: Filter) -> None:
        super().__init__(line, desk, batch)
        self._walk = Walk(wanted, line.page_limit, desk.limits)
        self._page_events = 0
        self._forged: list[EventId] = []

    def pump(self) -> None:
        if self.sub is not None or self.outcome is not None:
            return
        if self._walk.ended:
            self._end_once_judged()
        elif self.line.can_request() and not self.desk.is_congested_for(self.peer):
            self.sub = self.line.request(self, self._walk.request)
            self._page_events = 0
            self.progressed()

    def _end_once_judged(self) -> None:
        if self.trouble:
            self.fail(self.trouble)
        elif not self.waits:
            walk = self._walk
            self.end(
                Done(Method.WALKED, walk.count, unserved=tuple(dict.fromkeys(self._forged)), holes=tuple(walk.holes))
            )

    def on_event(self, event: Event) -> None:
        self._page_events += 1
        if self._page_events > self.desk.limits.page_events_max:
            self.line.offend(Offence.ENDLESS, "a page without end")
            self.fail("a page without end")
            return
        match self._walk.take(event):
            case Taken.NEW:
                self.progressed()
                self.take(event)
            case Taken.UNASKED:
                self.line.offend(Offence.UNASKED, f"kind {event.kind} on a page")
            case Taken.SEEN:
                pass

    def on_eose(self, hint: EoseHint, /) -> None:
        # NIP-01: a subscription stays open after EOSE; left so, historic ones would pile up against the peer's limit.
        self.close()
        self.deadline = None
        self._walk.end_page(hint)
        if self._walk.endless:
            self.line.offend(Offence.ENDLESS, "pages without end")
            self.fail("pages without end")

    def on_interrupted(self) -> None:
        self.sub = None
        self.deadline = None
        self._walk.restart_page()

    def on_deadline(self) -> None:
        self.line.offend(Offence.STALLED, "a page did not end")
        self.fail("no answer in time")

    def settled(self, event_id: EventId, settlement: Settlement) -> None:
        self.waits.discard(event_id)
        if settlement is Settlement.LOST:
            self.trouble = "own relay: an event could not be stored"
        elif settlement is Settlement.FORGED:
            self._forged.append(event_id)
        elif settlement is Settlement.FREED:
            # Another peer's copy was judged in place of ours, and was a forgery.
            self.desk.refetch(event_id, self.peer)
