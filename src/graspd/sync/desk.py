"""What all peers share: interest, ledger, rejected memory, numbers, and the list of effects of the current step.

The only place where an event is handed to Ingest and where its verdict is spread to those who wait for it. Knows
transfers by number and through one narrow protocol, and peers not at all.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Protocol, assert_never

from graspd.nostr.event import Event
from graspd.nostr.filter import Filter
from graspd.rules.policy import Policy
from graspd.rules.verdict import Reason, Verdict
from graspd.sync.effects import Effect, Ingest, LookUpIds, ReadItems, Report, Source, Way
from graspd.sync.entropy import Entropy
from graspd.sync.interest import Interest
from graspd.sync.jobs import JobId
from graspd.sync.ledger import Ledger, Standing
from graspd.sync.limits import SyncLimits
from graspd.sync.rejected import RejectedMemory
from graspd.sync.reports import Finding
from graspd.types import EventId, LinkId, Monotonic, Now, RelayUrl, SubId, UnixTime


class Gap(Enum):
    """Whether an event should have come earlier by another way."""

    NONE = "none"
    GAP = "gap"
    SUSTAINED = "sustained"


class Settlement(Enum):
    """How it ended with an event that somebody waited for."""

    TAKEN = "taken"  # stored, known or rejected for good: held, as far as sync goes
    FREED = "freed"  # whoever was to deliver it did not
    FORGED = "forged"  # what was delivered had a wrong signature; the true one may be elsewhere
    LOST = "lost"  # the own relay could not store it


class Waiter(Protocol):
    """A transfer, as far as the desk knows it."""

    peer: RelayUrl

    def settled(self, event_id: EventId, settlement: Settlement) -> None:
        """An event it waited for has been judged, or is free to be asked for."""
        ...


@dataclass(frozen=True, slots=True)
class Judging:
    """An event with Ingest."""

    event: Event
    source: Source
    gap: Gap


class Desk:
    """Numbers come from counters, so that the same inputs give the same effects."""

    def __init__(self, policy: Policy, limits: SyncLimits, entropy: Entropy, own_urls: tuple[RelayUrl, ...]) -> None:
        self.limits = limits
        self.entropy = entropy
        self.interest = Interest(policy, limits, own_urls)
        self.ledger: Ledger[int] = Ledger(limits.recent_max)
        self.rejected = RejectedMemory(limits)
        self.out: list[Effect] = []
        self.now = Now(Monotonic(0.0), UnixTime(0))
        self.waiters: dict[int, Waiter] = {}  # transfers by number
        self.judging: dict[JobId, Judging] = {}
        self.reading: dict[JobId, int] = {}  # ReadItems and LookUpIds, by transfer
        self.touched: dict[RelayUrl, None] = {}  # peers that have something to do at the end of this step
        self.woken: list[tuple[EventId, RelayUrl]] = []  # rejected once, to be fetched again
        self.to_retry: list[tuple[Event, Source]] = []
        self._number = 0

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

    # Events

    def is_held(self, event_id: EventId) -> bool:
        """Whether an id need not be fetched, as far as we remember without asking the own relay."""
        if self.ledger.standing(event_id) is Standing.RECENT:
            return True
        return self.rejected.knows(event_id, self.now.wall)

    def take(self, event: Event, source: Source, gap: Gap, transfer: int | None) -> bool:
        """An event has arrived. Returns whether the transfer now waits for its verdict."""
        standing = self.ledger.standing(event.id)
        if standing is Standing.IN_HAND:
            if transfer is not None:
                self.ledger.wait(event.id, transfer)
            return transfer is not None
        if self.is_held(event.id):
            return False
        self.ledger.arrived(event.id)
        if transfer is not None:
            self.ledger.wait(event.id, transfer)
        self._ingest(event, source, gap)
        return transfer is not None

    def _ingest(self, event: Event, source: Source, gap: Gap) -> None:
        job = self.job()
        self.judging[job] = Judging(event, source, gap)
        self.emit(Ingest(job, source, (event,)))

    def judged(self, judging: Judging, verdict: Verdict) -> Settlement:
        """The own relay has decided about an event: remember, and tell whoever waited."""
        event, reason = judging.event, verdict.reason
        settlement = _settlement(verdict)
        if settlement is Settlement.TAKEN and not verdict.accepted:
            self.rejected.add(event, reason, judging.source, self.now.wall)
        waiting = self.ledger.judged(event.id, settled=settlement is Settlement.TAKEN and verdict.accepted)
        self._tell(waiting, event.id, settlement)
        return settlement

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

    def wake(self, keys: tuple[str, ...]) -> None:
        """Something was stored: what waited for it is tried again, in slices, or fetched again."""
        for event_id, entry in self.rejected.wake(keys):
            if entry.event is not None:
                self.to_retry.append((entry.event, entry.source))
            elif entry.source.peer is not None:
                self.woken.append((event_id, entry.source.peer))

    def retry_some(self) -> bool:
        """Try the next slice of woken events again. Returns whether there are more."""
        most = self.limits.retried_at_once
        now, self.to_retry = self.to_retry[:most], self.to_retry[most:]
        for event, source in now:
            if self.ledger.standing(event.id) is Standing.FREE:
                self.ledger.arrived(event.id)
                self._ingest(event, source, Gap.NONE)
        return bool(self.to_retry)

    @property
    def congested(self) -> bool:
        """Whether the own relay has enough to do for now."""
        return self.ledger.in_hand >= self.limits.in_hand_max


def _settlement(verdict: Verdict) -> Settlement:
    match verdict.reason:
        case Reason.STORE_FAILED | Reason.RATE:
            return Settlement.LOST
        case Reason.BAD_SIGNATURE | Reason.MALFORMED:
            return Settlement.FORGED
        case _:
            return Settlement.TAKEN


def gap_way(gap: Gap, way: Way) -> bool:
    """Whether an event that came this way can be a gap at all."""
    match gap:
        case Gap.NONE:
            return False
        case Gap.GAP:
            return way is Way.CATCH_UP
        case Gap.SUSTAINED:
            return way is Way.DAILY
        case _:
            assert_never(gap)
