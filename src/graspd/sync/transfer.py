"""What every transfer is: one filter of one batch, pumped forward until it has an outcome.

A transfer knows the line it talks over by one narrow protocol and the desk that all share. It never decides what is
transferred (plan) nor what becomes of a failure (batch).
"""

from dataclasses import dataclass
from typing import Protocol

from graspd.negentropy import ItemSet
from graspd.nostr.event import Event
from graspd.nostr.filter import Filter
from graspd.nostr.prefix import Prefix
from graspd.sync.desk import Desk, Gap, Settlement
from graspd.sync.effects import Source
from graspd.sync.inputs import EoseHint
from graspd.sync.records import Capability, Method
from graspd.sync.reports import Offence
from graspd.types import EventId, Monotonic, RelayUrl, SubId, UnixTime


@dataclass(frozen=True, slots=True)
class Done:
    """Everything the peer showed has been judged."""

    method: Method
    count: int
    fingerprint: str = ""
    unserved: tuple[EventId, ...] = ()
    holes: tuple[UnixTime, ...] = ()


@dataclass(frozen=True, slots=True)
class Bad:
    """It broke off; the batch is tried again."""

    why: str


@dataclass(frozen=True, slots=True)
class FallBack:
    """The peer does not reconcile this; it is to be walked."""

    why: str


Outcome = Done | Bad | FallBack


class Line(Protocol):
    """A link, as far as transfers use it."""

    peer: RelayUrl

    @property
    def heard(self) -> bool:
        """Whether the peer has said anything on this link."""
        ...

    @property
    def page_limit(self) -> int:
        """Events a page."""
        ...

    def can_request(self) -> bool:
        """Whether the peer may be sent one more request now."""
        ...

    def may_reconcile(self) -> bool:
        """Whether negentropy is worth trying with the peer."""
        ...

    def can_reconcile(self) -> bool:
        """Whether the peer may be sent one more NEG-OPEN now."""
        ...

    def request(self, transfer: "Transfer", wanted: Filter) -> SubId:
        """Send a REQ whose answers belong to this transfer."""
        ...

    def neg_open(self, transfer: "Transfer", wanted: Filter, message: bytes) -> SubId:
        """Send a NEG-OPEN."""
        ...

    def neg_msg(self, sub: SubId, message: bytes) -> None:
        """Send a NEG-MSG."""
        ...

    def hang_up(self, sub: SubId) -> None:
        """Close a request that is still open at the peer."""
        ...

    def offend(self, offence: Offence, text: str = "") -> None:
        """The peer did something that costs it."""
        ...

    def provenance(self, transfer: "Transfer", event: Event) -> tuple[Source, Gap]:
        """How an event of this transfer came, and whether it should have come earlier."""
        ...

    def is_phantom(self, event_id: EventId) -> bool:
        """Whether the peer claimed this id lately and did not serve it."""
        ...

    def add_phantom(self, event_id: EventId) -> None:
        """Remember that it did not."""
        ...

    def set_capability(self, capability: Capability) -> None:
        """What was learned about negentropy."""
        ...

    def compared(self, ours: int, lacking: int) -> None:
        """A reconciliation showed how many of our events the peer lacks."""
        ...


class Transfer:
    """Base of the two kinds. Subclasses send in `pump` and nowhere else."""

    def __init__(self, line: Line, desk: Desk, batch: int) -> None:
        self.line = line
        self.desk = desk
        self.batch = batch
        self.peer = line.peer
        self.number = desk.number()
        self.outcome: Outcome | None = None
        self.deadline: Monotonic | None = None
        self.sub: SubId | None = None  # the request that is open at the peer
        self.waits: set[EventId] = set()  # for a verdict, or for another's delivery
        self.trouble = ""
        self.interruptions = 0
        desk.waiters[self.number] = self

    def pump(self) -> None:
        """Do whatever can be done now."""
        raise NotImplementedError

    def on_event(self, event: Event) -> None:
        """An event of our request."""
        raise NotImplementedError

    def on_eose(self, hint: EoseHint, /) -> None:
        """The end of our request."""
        raise NotImplementedError

    def on_interrupted(self) -> None:
        """The request was closed for a reason that passes (rate limit, authentication): send it again later."""
        raise NotImplementedError

    def on_deadline(self) -> None:
        """No progress in time."""
        raise NotImplementedError

    def on_closed(self, text: str) -> None:
        """The peer closed our request for good."""
        self.sub = None
        self.fail(f"closed: {text}")

    def on_neg_msg(self, message: bytes) -> None:
        """A message of a reconciliation; meaningless to other transfers."""

    def on_neg_err(self, prefix: Prefix | None, text: str, records_max: int | None) -> None:
        """A refusal of a reconciliation; meaningless to other transfers."""

    def on_notice(self, text: str) -> None:
        """A NOTICE, which names no request."""

    def on_items(self, items: ItemSet) -> None:
        """The own relay's items, where they were asked for."""

    def on_known(self, known: frozenset[EventId]) -> None:
        """The own relay's look-up, where one was asked for."""

    def on_read_failed(self, text: str) -> None:
        """The own relay could not answer."""
        self.fail(f"own relay: {text}")

    def settled(self, event_id: EventId, settlement: Settlement) -> None:
        """An event it waited for has been judged, or is free to be asked for."""
        raise NotImplementedError

    @property
    def awaits_first_answer(self) -> bool:
        """Whether a NOTICE now may be the answer to our NEG-OPEN."""
        return False

    def progressed(self) -> None:
        """Something new has come: the idle deadline starts again."""
        self.interruptions = 0
        self.deadline = Monotonic(self.desk.now.mono + self.desk.limits.idle_s)

    def take(self, event: Event) -> None:
        """Hand an event on, and wait for its verdict where there will be one."""
        source, gap = self.line.provenance(self, event)
        if self.desk.take(event, source, gap, self.number):
            self.waits.add(event.id)

    def close(self) -> None:
        """Hang up, if a request is open."""
        if self.sub is not None:
            self.line.hang_up(self.sub)
            self.sub = None

    def fail(self, why: str) -> None:
        """End badly."""
        self.end(Bad(why))

    def end(self, outcome: Outcome) -> None:
        """End, leaving nothing behind."""
        self.close()
        self.outcome = outcome
        self.deadline = None
        self.desk.waiters.pop(self.number, None)
        for event_id in sorted(self.waits):
            self.desk.ledger.withdraw(event_id, self.number)
        self.waits.clear()
