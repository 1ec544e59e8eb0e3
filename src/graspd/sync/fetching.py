"""A transfer by ids: what a reconciliation found missing, or rejected events that can be accepted now.

Works through a `Fetch`: looks ids up in the own relay, claims them in the ledger, asks for a hundred at a time.
"""

from graspd.nostr.event import Event
from graspd.nostr.filter import Filter
from graspd.sync.desk import Desk, Settlement
from graspd.sync.fetch import Fetch
from graspd.sync.inputs import EoseHint
from graspd.sync.jobs import JobId
from graspd.sync.ledger import Standing
from graspd.sync.records import Method
from graspd.sync.reports import Offence
from graspd.sync.transfer import Done, Line, Outcome, Transfer
from graspd.types import EventId, Monotonic

_LOOK_UP_MAX = 1000  # ids in one look-up: enough for ten requests, and little to hold


class Fetcher(Transfer):
    """Ends when every id was delivered by somebody, is held, or was given up."""

    def __init__(self, line: Line, desk: Desk, batch: int, ids: bytes = b"") -> None:
        super().__init__(line, desk, batch)
        self._fetch: Fetch | None = Fetch(ids, line.page_limit, desk.limits) if ids else None
        self._looking: JobId | None = None
        self._looked_up: list[EventId] = []
        self._claims_until: Monotonic | None = None
        self._idle_at: Monotonic | None = None
        self.unserved: list[EventId] = []
        self.delivered = 0
        self.phantoms_only = True  # nothing was found unserved in this transfer that was not known before

    @property
    def fetching(self) -> bool:
        """Whether ids are being fetched."""
        return self._fetch is not None

    def add_ids(self, ids: bytes) -> None:
        """Fetch these too."""
        assert self._fetch is None
        self._fetch = Fetch(ids, self.line.page_limit, self.desk.limits) if ids else None

    def pump(self) -> None:
        if self.sub is None and self.outcome is None:
            if self._fetch is not None:
                self.pump_fetch()
            else:
                self._end_by_ids()

    def _end_by_ids(self) -> None:
        if self.trouble:
            self.fail(self.trouble)
        elif not self.waits:
            self.end(Done(Method.WALKED, self.delivered, unserved=tuple(dict.fromkeys(self.unserved))))

    def pump_fetch(self) -> None:
        """Look up, ask, or see that nothing is left."""
        fetch = self._fetch
        assert fetch is not None
        if self._looking is None and fetch.unsorted and not fetch.can_ask:
            self._sort(fetch)
        if fetch.can_ask and self.line.can_request() and not self.desk.is_congested_for(self.peer):
            self._ask(fetch)
        if fetch.idle and self._looking is None and not self.waits:
            self.delivered += fetch.delivered
            self._fetch = None
            self.on_fetched()
            self.desk.touched[self.peer] = None

    def on_fetched(self) -> None:
        """Everything has been fetched."""

    def _sort(self, fetch: Fetch) -> None:
        """Look at the next ids: held, left to another, given up before, or to be looked up."""
        limits = self.desk.limits
        scanned = 0
        while fetch.unsorted and len(self._looked_up) < _LOOK_UP_MAX:
            if scanned >= limits.scanned_at_once or len(self.waits) >= limits.deferred_max:
                break
            for event_id in fetch.slice(1):
                scanned += 1
                if self.line.is_phantom(event_id):
                    self.unserved.append(event_id)
                elif not self._leave(event_id):
                    self._looked_up.append(event_id)
        if self._looked_up:
            self._looking = self.desk.look_up(tuple(self._looked_up), self.number)
            self.deadline = Monotonic(self.desk.now.mono + limits.job_s)
        elif scanned >= limits.scanned_at_once:
            self.desk.touched[self.peer] = None

    def _leave(self, event_id: EventId) -> bool:
        """Whether an id is held, or being fetched by somebody else whom we wait for."""
        if self.desk.is_held(event_id, self.peer):
            return True
        if self.desk.ledger.standing(event_id) is Standing.FREE:
            return False
        self._wait(event_id)
        return True

    def _wait(self, event_id: EventId) -> None:
        if event_id not in self.waits:
            self.waits.add(event_id)
            self.desk.ledger.wait(event_id, self.number)

    def on_known(self, known: frozenset[EventId]) -> None:
        self._looking = None
        self.deadline = None
        looked_up, self._looked_up = self._looked_up, []
        if self._fetch is not None:
            for event_id in looked_up:
                if event_id not in known:
                    self._fetch.ask(event_id)

    def _ask(self, fetch: Fetch) -> None:
        while len(fetch.asked) < fetch.ids_max:
            event_id = fetch.take_askable()
            if event_id is None:
                break
            if not self._leave(event_id):
                self.desk.ledger.claim(event_id, self.number)
                fetch.asking(event_id)
        if fetch.asked:
            self.sub = self.line.request(self, Filter(ids=tuple(fetch.asked), limit=len(fetch.asked)))
            self._claims_until = Monotonic(self.desk.now.mono + self.desk.limits.claim_s)
            self.progressed()

    def progressed(self) -> None:
        super().progressed()
        self._idle_at = self.deadline
        if self._claims_until is not None and self.deadline is not None:
            self.deadline = min(self.deadline, self._claims_until)

    def on_event(self, event: Event) -> None:
        if self._fetch is None or not self._fetch.deliver(event.id):
            self.line.offend(Offence.UNASKED, "an id that was not asked for")
            return
        self.progressed()
        self.take(event)

    def on_eose(self, _hint: EoseHint, /) -> None:
        self.close()
        self._end_request(missed=True)

    def _end_request(self, *, missed: bool) -> None:
        """The request is over. `missed`: what it did not bring, the peer did not serve; else it is asked for again."""
        self.deadline = self._claims_until = self._idle_at = None
        fetch = self._fetch
        if fetch is None:
            return
        for event_id in fetch.end_request():
            if self._leave_after(event_id):
                continue
            self.desk.release(event_id, self.number)
            if not missed:
                fetch.ask(event_id)
            elif fetch.miss(event_id):
                self._give_up(event_id)

    def _leave_after(self, event_id: EventId) -> bool:
        """Whether somebody else has brought, or is bringing, what our request did not."""
        standing = self.desk.ledger.standing(event_id)
        if standing is Standing.CLAIMED and self.desk.ledger.claimed_by(event_id) == self.number:
            return False
        return self._leave(event_id)

    def _give_up(self, event_id: EventId) -> None:
        self.phantoms_only = False
        self.unserved.append(event_id)
        self.line.add_phantom(event_id)
        self.line.offend(Offence.UNSERVED, event_id)

    def on_interrupted(self) -> None:
        self.sub = None
        self._end_request(missed=False)

    def on_deadline(self) -> None:
        now = self.desk.now.mono
        if self._looking is not None:
            self.fail("own relay: no answer in time")
        elif self._idle_at is not None and now >= self._idle_at:
            self.line.offend(Offence.STALLED, "ids were not served in time")
            self.fail("no answer in time")
        else:
            self._free_claims()

    def _free_claims(self) -> None:
        """Too slow: others who need the same may ask elsewhere. What still comes here is welcome."""
        self._claims_until = None
        self.deadline = self._idle_at
        if self._fetch is not None:
            for event_id in list(self._fetch.asked):
                self.desk.release(event_id, self.number)

    def settled(self, event_id: EventId, settlement: Settlement) -> None:
        self.settle_fetched(event_id, settlement)

    def settle_fetched(self, event_id: EventId, settlement: Settlement) -> None:
        """What became of an id that we waited for."""
        self.waits.discard(event_id)
        if settlement is Settlement.LOST:
            self.trouble = "own relay: an event could not be stored"
        elif settlement is Settlement.FORGED:
            self._give_up(event_id)
        elif settlement is Settlement.FREED and self._fetch is not None:
            self._fetch.ask(event_id)

    def end(self, outcome: Outcome) -> None:
        if self._fetch is not None:
            for event_id in self._fetch.end_request():
                self.desk.release(event_id, self.number)
        super().end(outcome)
