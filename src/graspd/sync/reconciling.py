"""A transfer by negentropy: read our items, find the difference, fetch what is missing.

Falls back to walking where the peer does not reconcile. `blocked:` with too many records is answered by halving the
time range. Ids claimed and not served are phantoms: named, remembered with the peer, never asked for in a loop.
"""

from dataclasses import replace

import numpy as np

from graspd.negentropy import ItemSet
from graspd.nostr.event import Event
from graspd.nostr.filter import Filter
from graspd.nostr.prefix import Prefix
from graspd.sync import capability
from graspd.sync.desk import Desk, Settlement
from graspd.sync.fetching import Fetcher
from graspd.sync.inputs import EoseHint
from graspd.sync.jobs import JobId
from graspd.sync.reconcile import Agreed, Broken, Reconciliation, Round
from graspd.sync.records import Method
from graspd.sync.reports import Offence
from graspd.sync.spans import Span, halved
from graspd.sync.transfer import Done, FallBack, Line
from graspd.types import EventId, Monotonic


class Reconciler(Fetcher):
    """Reading, then rounds for each time range, then fetching."""

    def __init__(self, line: Line, desk: Desk, batch: int, wanted: Filter) -> None:
        super().__init__(line, desk, batch)
        self._wanted = wanted
        self._items: ItemSet | None = None
        self._job: JobId | None = None
        self._session: Reconciliation | None = None
        self._spans: list[Span] = [(wanted.since, wanted.until)]
        self._splits = 0
        self._answered = False  # by this peer, in this session
        self._again = False  # what was found is only a part: begin anew when it is fetched
        self._lacking = 0
        self._fingerprint = ""

    def pump(self) -> None:
        if self.sub is not None or self.outcome is not None or self._job is not None:
            return
        if self.fetching:
            self.pump_fetch()
        elif (self._items is None or self._spans) and not self.line.may_reconcile():
            self.end(FallBack("refused meanwhile"))
        elif self._items is None:
            self._read()
        elif self._spans:
            self._open()
        else:
            self._end_once_judged()

    def _read(self) -> None:
        self._job = self.desk.read_items(self._wanted, self.number)
        self.deadline = Monotonic(self.desk.now.mono + self.desk.limits.job_s)

    def on_items(self, items: ItemSet) -> None:
        self._job = None
        self.deadline = None
        self._items = items
        self._fingerprint = fingerprint_of(items)

    def _open(self) -> None:
        assert self._items is not None
        if not self.line.can_reconcile() or self.desk.is_congested_for(self.peer):
            return
        since, until = self._spans[-1]
        items = self._items.between(since or 0, until if until is not None else 2**63)
        self._session = Reconciliation(items, self.desk.limits)
        self._answered = False
        wanted = replace(self._wanted, since=since, until=until)
        self.sub = self.line.neg_open(self, wanted, self._session.open())
        self.deadline = Monotonic(self.desk.now.mono + self.desk.limits.negentropy_first_s)

    @property
    def awaits_first_answer(self) -> bool:
        return self._session is not None and self.sub is not None and not self._answered

    def on_neg_msg(self, message: bytes) -> None:
        if self._session is None or self.sub is None:
            return
        result = self._session.take(message)
        match result:
            case Round(reply):
                self._note_answer()
                self.line.neg_msg(self.sub, reply)
                self.progressed()
            case Agreed(whole):
                self._note_answer()
                self._agree(self._session, whole)
            case Broken(why, restless):
                if restless:
                    self.line.offend(Offence.RESTLESS, why)
                self._refuse(why)

    def _note_answer(self) -> None:
        if not self._answered:
            self._answered = True
            self.line.set_capability(capability.WORKS)

    def _agree(self, session: Reconciliation, whole: bool) -> None:
        self.close()
        self.deadline = None
        self._session = None
        self._spans.pop()
        self._lacking += session.have_count
        if not whole:
            self._again = True
            self._spans.clear()
        self.add_ids(session.need())

    def _refuse(self, why: str) -> None:
        """It cannot be reconciled here for now."""
        now, limits = self.desk.now.wall, self.desk.limits
        self.line.set_capability(capability.refused(why, now, limits))
        self.end(FallBack(why))

    def on_neg_err(self, prefix: Prefix | None, text: str, records_max: int | None) -> None:
        if self._session is None:
            return
        self.sub = None
        too_many = records_max is not None or prefix is Prefix.BLOCKED or "too many" in text.lower()
        if too_many and self._split():
            self.line.set_capability(capability.WORKS)
        elif prefix is Prefix.CLOSED and self._answered:
            self.fail(f"session dropped: {text}")
        else:
            self._refuse(text)

    def _split(self) -> bool:
        """Halve the time range, at the middle of our own items where there are any."""
        assert self._items is not None
        parts = halved(self._spans[-1], self._items, self.desk.now.wall)
        self._splits += 1
        if parts is None or self._splits > self.desk.limits.range_splits_max:
            return False
        self._spans[-1:] = parts
        self._session = None
        self.deadline = None
        return True

    def on_closed(self, text: str) -> None:
        self.sub = None
        if self._session is not None:
            self._deny(text)
        else:
            self.fail(f"closed: {text}")

    def on_notice(self, text: str) -> None:
        if capability.denies_negentropy(text):
            self._deny(text)

    def _deny(self, why: str) -> None:
        """It does not speak negentropy."""
        now, limits = self.desk.now.wall, self.desk.limits
        self.line.set_capability(capability.unsupported(why, now, limits))
        self.end(FallBack(why))

    def on_interrupted(self) -> None:
        if self._session is None:
            super().on_interrupted()
            return
        self.sub = None
        self.deadline = None
        self._session = None

    def on_deadline(self) -> None:
        if self._job is not None:
            self.fail("own relay: no answer in time")
        elif self.awaits_first_answer and self.line.heard:
            # Silence is an answer too, and not a fault: many relays drop what they do not know.
            self._deny("no answer to NEG-OPEN")
        elif self._session is not None:
            self.line.offend(Offence.STALLED, "a reconciliation stopped")
            self.fail("no answer in time")
        else:
            super().on_deadline()

    def on_event(self, event: Event) -> None:
        if self.fetching:
            super().on_event(event)
        else:
            self.line.offend(Offence.UNASKED, "an event in a reconciliation")

    def on_eose(self, hint: EoseHint, /) -> None:
        if self.fetching:
            super().on_eose(hint)

    def on_fetched(self) -> None:
        """Everything found so far has been fetched."""
        if self._again and self.delivered:
            self._again = False
            self._items = None
            self._spans = [(self._wanted.since, self._wanted.until)]
        elif self._again:
            self.fail("claimed ids and served none")

    def _end_once_judged(self) -> None:
        if self.trouble:
            self.fail(self.trouble)
        elif self.unserved and not self.delivered and not self.phantoms_only:
            # Some relays answer look-ups by id sparsely or not at all; by tags they give the same events.
            self.end(FallBack("claimed ids and served none"))
        elif not self.waits:
            assert self._items is not None
            ours = len(self._items)
            self.line.compared(ours, self._lacking)
            self.end(
                Done(Method.RECONCILED, ours + self.delivered, self._fingerprint, tuple(dict.fromkeys(self.unserved)))
            )

    def settled(self, event_id: EventId, settlement: Settlement) -> None:
        self.settle_fetched(event_id, settlement)


def fingerprint_of(items: ItemSet) -> str:
    """The fingerprint of a whole set, in hex."""
    rows = items.fingerprints(np.zeros(1, np.int64), np.full(1, len(items), np.int64))
    return bytes(rows[0]).hex()
