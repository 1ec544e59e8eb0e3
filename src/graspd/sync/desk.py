"""What all peers share: interest, ledger, rejected memory, numbers, and the list of effects of the current step.

The only place where an event is handed to Ingest and where its verdict is spread to those who wait for it. Knows
transfers by number and through one narrow protocol, and peers not at all.
"""

from collections import deque
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from graspd.negentropy import ItemSet
from graspd.nostr.event import Event
from graspd.nostr.filter import Filter
from graspd.rules.policy import Policy
from graspd.rules.verdict import Reason, Verdict
from graspd.rules.waiting import provides, waits_for
from graspd.sync.effects import Effect, Ingest, LookUpIds, ReadItems, Report, Source
from graspd.sync.entropy import Entropy
from graspd.sync.interest import Interest
from graspd.sync.jobs import JobId
from graspd.sync.ledger import Ledger, Standing
from graspd.sync.limits import SyncLimits
from graspd.sync.rejected import Rejected, RejectedMemory
from graspd.sync.reports import Finding
from graspd.sync.unsaved import Unsaved
from graspd.types import EventId, LinkId, Monotonic, Now, RelayUrl, SubId, UnixTime


class Gap(Enum):
    """Whether an event should have come earlier by another way."""

    NONE = "none"
    GAP = "gap"
    SUSTAINED = "sustained"


class Settlement(Enum):
    """How it ended with an event that somebody waited for."""

    TAKEN = "taken"  # stored, known or rejected for good: held, as far as sync goes
    FREED = "freed"  # whoever was to deliver it did not, or delivered a forgery
    FORGED = "forged"  # what this very transfer delivered had a wrong signature
    LOST = "lost"  # the own relay could not store it


class Waiter(Protocol):
    """A transfer, as far as the desk knows it."""

    peer: RelayUrl

    def on_items(self, items: ItemSet) -> None:
        """The own relay's items, where they were asked for."""
        ...

    def on_known(self, known: frozenset[EventId]) -> None:
        """The own relay's look-up, where one was asked for."""
        ...

    def on_read_failed(self, text: str) -> None:
        """The own relay could not answer."""
        ...

    def settled(self, event_id: EventId, settlement: Settlement) -> None:
        """An event it waited for has been judged, or is free to be asked for."""
        ...


@dataclass(frozen=True, slots=True)
class Judging:
    """An event with Ingest, and the transfer that brought this copy of it."""

    event: Event
    source: Source
    gap: Gap
    transfer: int | None
    at: Monotonic


class Desk:
    """Numbers come from counters, so that the same inputs give the same effects."""

    def __init__(self, policy: Policy, limits: SyncLimits, entropy: Entropy, interest: Interest) -> None:
        self.limits = limits
        self.entropy = entropy
        self.interest = interest
        self.ledger: Ledger[int] = Ledger(limits.recent_max)
        self.unsaved = Unsaved()
        self.rejected = RejectedMemory(limits, policy, self.unsaved)
        self.out: list[Effect] = []
        self.now = Now(Monotonic(0.0), UnixTime(0))
        self.waiters: dict[int, Waiter] = {}  # transfers by number
        self.judging: dict[JobId, Judging] = {}
        self.reading: dict[JobId, int] = {}  # ReadItems and LookUpIds, by transfer
        self.touched: dict[RelayUrl, None] = {}  # peers that have something to do at the end of this step
        self.to_refetch: list[tuple[EventId, RelayUrl]] = []  # from whom
        self.to_retry: deque[tuple[Event, Source]] = deque()
        self.unstored: deque[tuple[Event, Source]] = deque()  # came live, and the own relay could not store them
        self.missed: dict[RelayUrl, UnixTime] = {}  # peers that brought more than could be kept, and since when
        self.work = 0  # items handled in this step: large work is cut when this is large
        self._judged_at = Monotonic(0.0)  # when the own relay last answered
        self._also_from: dict[EventId, dict[RelayUrl, None]] = {}  # of events in hand: who else has them
        self._provided: dict[str, int] = {}  # keys that stored events brought while others were being judged
        self._erased: dict[EventId, None] = {}  # lately: what speaks of these was asked for a moment ago
        self._held_up: dict[RelayUrl, None] = {}
        self._number = 0

    def begin(self, now: Now) -> None:
        """A step begins."""
        self.now = now
        self.out = []
        self.work = 0

    # Numbers and effects

    def number(self) -> int:
        """A number that was never used."""
        self._number += 1
        return self._number

    def sub(self) -> SubId:
        """An id for a request: unique over all links, so that no answer is taken for another's."""
        return SubId(f"g{self.number()}")

    def job(self) -> JobId:
        """An id for a job."""
        return JobId(self.number())

    def link(self) -> LinkId:
        """An id for a link."""
        return LinkId(self.number())

    def emit(self, effect: Effect) -> None:
        """Have it done."""
        self.out.append(effect)

    def report(self, finding: Finding) -> None:
        """Have it told."""
        self.out.append(Report(finding))

    def read_items(self, wanted: Filter, transfer: int) -> JobId:
        """Ask the own relay what it holds."""
        job = self.job()
        self.reading[job] = transfer
        self.emit(ReadItems(job, wanted))
        return job

    def look_up(self, ids: tuple[EventId, ...], transfer: int) -> JobId:
        """Ask the own relay which ids need not be fetched."""
        job = self.job()
        self.reading[job] = transfer
        self.emit(LookUpIds(job, ids))
        return job

    def take_reader(self, job: JobId) -> Waiter | None:
        """Who asked for a reading that has ended, if it still waits."""
        number = self.reading.pop(job, None)
        waiter = None if number is None else self.waiters.get(number)
        if waiter is not None:
            self.touched[waiter.peer] = None
        return waiter

    # Events

    def is_held(self, event_id: EventId, peer: RelayUrl | None) -> bool:
        """Whether an id that a peer offers need not be fetched, as far as we remember without asking the own relay."""
        if self.ledger.standing(event_id) is Standing.RECENT:
            return True
        if peer is not None:
            self.rejected.offered(event_id, peer)
        return self.rejected.knows(event_id, self.now.wall)

    def take(self, event: Event, source: Source, gap: Gap, transfer: int | None) -> bool:
        """An event has arrived. Returns whether the transfer now waits for its verdict."""
        standing = self.ledger.standing(event.id)
        if standing is not Standing.IN_HAND:
            if self.is_held(event.id, source.peer):
                return False
            self._ingest(event, source, gap, transfer)
        elif transfer is None and source.peer is not None:
            self._note_others(event.id, (source.peer,))
        if transfer is not None:
            self.ledger.wait(event.id, transfer)
        return transfer is not None

    def _note_others(self, event_id: EventId, peers: tuple[RelayUrl, ...]) -> None:
        self._also_from.setdefault(event_id, {}).update(dict.fromkeys(peers))
        while len(self._also_from) > self.limits.recent_max:
            del self._also_from[next(iter(self._also_from))]

    def _ingest(self, event: Event, source: Source, gap: Gap, transfer: int | None = None) -> None:
        self.ledger.arrived(event.id)
        job = self.job()
        self.judging[job] = Judging(event, source, gap, transfer, self.now.mono)
        self.emit(Ingest(job, source, (event,)))

    def judged(self, job: JobId, judging: Judging, verdict: Verdict) -> Settlement:
        """The own relay has decided about an event: remember, and tell whoever waited."""
        event = judging.event
        self._judged_at = self.now.mono
        settlement = _settlement(verdict)
        if verdict.accepted:
            self.rejected.accepted(event.id)
        elif settlement is Settlement.TAKEN:
            self._reject(job, judging, verdict.reason)
        waiting = self.ledger.judged(event.id, settled=verdict.accepted)
        if settlement is Settlement.LOST and not waiting:
            self._keep_unstored(judging)
        also_from = self._also_from.pop(event.id, {})
        if settlement is Settlement.FORGED:
            # Copies that came meanwhile were not looked at, and one of them may be the true one.
            for peer in also_from:
                self.refetch(event.id, peer)
            self._tell([number for number in waiting if number != judging.transfer], event.id, Settlement.FREED)
            waiting = [number for number in waiting if number == judging.transfer]
        self._tell(waiting, event.id, settlement)
        return settlement

    def refetch(self, event_id: EventId, peer: RelayUrl) -> None:
        """Ask a peer for an event that it has offered."""
        self.to_refetch.append((event_id, peer))

    def _keep_unstored(self, judging: Judging) -> None:
        """Nobody would ask for this event again, so it is kept; past the bound, its peer is caught up with later."""
        if len(self.unstored) < self.limits.in_hand_max:
            self.unstored.append((judging.event, judging.source))
        elif judging.source.peer is not None:
            self.missed.setdefault(judging.source.peer, self.now.wall)

    def _reject(self, job: JobId, judging: Judging, reason: Reason) -> None:
        event = judging.event
        if any(self._provided.get(key, 0) > job for key in waits_for(event, reason)):
            # What it waited for was stored between its judgement and this answer: nothing would wake it later.
            self.to_retry.append((event, judging.source))
        else:
            self.rejected.add(event, reason, judging.source, self.now.wall)

    def release(self, event_id: EventId, transfer: int) -> None:
        """A transfer does not deliver this id: whoever waited for it may ask elsewhere."""
        self._tell(self.ledger.release(event_id, transfer), event_id, Settlement.FREED)

    def _tell(self, transfers: list[int], event_id: EventId, settlement: Settlement) -> None:
        for number in transfers:
            waiter = self.waiters.get(number)
            if waiter is not None:
                waiter.settled(event_id, settlement)
                self.touched[waiter.peer] = None

    # Rejected events

    def stored(self, event: Event) -> None:
        """The own relay has stored an event: what waited for it is tried again, in slices, or fetched again."""
        keys = provides(event)
        if self.judging:
            number = self.number()
            self._provided.update(dict.fromkeys(keys, number))
            while len(self._provided) > self.limits.recent_max:
                del self._provided[next(iter(self._provided))]
        else:
            self._provided.clear()
        self._wake(self.rejected.wake(keys))

    def wake_early(self) -> None:
        """Time has passed: events from the future may be of the present now."""
        self._wake(self.rejected.wake_early(self.now.wall))

    def wake_waiting(self) -> None:
        """The feed of the own relay has lost something: whatever waits may have missed what it waits for."""
        self._wake(self.rejected.wake_waiting())

    def wake_kept(self) -> None:
        """We have started: an earlier life may have ended between what an event waited for and its second try."""
        self._wake(self.rejected.wake_kept())

    def _wake(self, woken: list[tuple[EventId, Rejected]]) -> None:
        for event_id, entry in woken:
            if entry.others:
                self._note_others(event_id, entry.others)
            if entry.event is not None:
                self.to_retry.append((entry.event, entry.source))
            elif entry.source.peer is not None:
                self.refetch(event_id, entry.source.peer)

    @property
    def may_retry(self) -> bool:
        """Whether there are events to try again, and the own relay has room for them."""
        return bool(self.to_retry) and self.ledger.in_hand < self.limits.in_hand_max

    def retry_some(self) -> None:
        """Try the next slice of woken events again."""
        for _ in range(self.limits.retried_at_once):
            if not self.may_retry:
                return
            event, source = self.to_retry.popleft()
            if self.ledger.standing(event.id) is Standing.FREE:
                self._ingest(event, source, Gap.NONE)

    def retry_unstored(self) -> None:
        """The own relay may be able to store again."""
        self.to_retry.extend(self.unstored)
        self.unstored.clear()

    def give_up_judging(self) -> None:
        """What a silent own relay has not answered in all this time, it will not: its events count as not stored."""
        for reading in [job for job, transfer in self.reading.items() if transfer not in self.waiters]:
            del self.reading[reading]
        oldest = self.now.mono - self.limits.job_s
        if self._judged_at > oldest:
            return  # it works, and will come to them
        overdue = [(job, judging) for job, judging in self.judging.items() if judging.at <= oldest]
        for job, judging in overdue:
            del self.judging[job]
            self.judged(job, judging, Verdict(Reason.STORE_FAILED, "no answer in time"))

    # Erased events

    def erased(self, event_id: EventId) -> None:
        """The own relay serves an event no longer."""
        self.interest.erase(event_id)
        self.ledger.forget(event_id)
        self._erased[event_id] = None
        if len(self._erased) > self.limits.recent_max:
            del self._erased[next(iter(self._erased))]

    def concerns(self, event: Event) -> bool:
        """Whether an event is of the kind that our live filters ask for, or asked for until lately."""
        if self.interest.concerns(event):
            return True
        return any(event_id in self._erased for event_id in event.references.ids)

    # Congestion

    def is_congested_for(self, peer: RelayUrl) -> bool:
        """Whether the own relay has enough to do for now; the peer is told when that is over."""
        if self.ledger.in_hand < self.limits.in_hand_max:
            return False
        self._held_up[peer] = None
        return True

    def relieve(self) -> None:
        """Events have been judged: those held up go on, once there is room again."""
        if self._held_up and self.ledger.in_hand < self.limits.in_hand_max // 2:
            self.touched.update(self._held_up)
            self._held_up.clear()


def _settlement(verdict: Verdict) -> Settlement:
    match verdict.reason:
        case Reason.STORE_FAILED | Reason.RATE:
            return Settlement.LOST
        case Reason.BAD_SIGNATURE | Reason.MALFORMED:
            return Settlement.FORGED
        case _:
            return Settlement.TAKEN
