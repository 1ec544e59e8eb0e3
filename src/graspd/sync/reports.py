"""What the engine finds worth telling: typed, so that a log line, a metric and a checker read the same thing."""

from dataclasses import dataclass
from enum import Enum

from graspd.sync.lifecycle import State, Trigger
from graspd.sync.records import Method
from graspd.types import EventId, RelayUrl, RepoAddr


class Level(Enum):
    """How loud a finding is."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Offence(Enum):
    """What a peer does at a price."""

    JUNK = "sent something meaningless"
    UNASKED = "sent an event that was not asked for"
    FORGED = "sent an event with a wrong signature"
    UNSERVED = "claimed an id and did not serve it"
    RESTLESS = "reconciled without coming nearer"
    ENDLESS = "sent pages without end"
    STALLED = "left a request without an answer"


class SyncKind(Enum):
    """Why a peer's items are transferred."""

    FRESH = "fresh"  # never synced, or away too long
    QUICK = "quick"  # away for a short while
    DAILY = "daily"
    ADDED = "added"  # became wanted while connected
    ROTA = "rota"  # cannot be held live, looked at in turn
    REFETCH = "refetch"  # rejected once, can be accepted now


@dataclass(frozen=True, slots=True)
class PeerMoved:
    """A peer changed its state. `why` is a fault, a reason or empty."""

    peer: RelayUrl
    was: State
    trigger: Trigger
    became: State
    why: str = ""
    failures: int = 0  # in a row, where the move is one
    retry_s: float = 0.0  # until it is dialled again
    level = Level.INFO


@dataclass(frozen=True, slots=True)
class PeerDied:
    """A peer has failed for so long that it is tried once a day only."""

    peer: RelayUrl
    failing_s: int
    level = Level.ERROR


@dataclass(frozen=True, slots=True)
class SyncStarted:
    """A link was opened, or the daily time came."""

    peer: RelayUrl
    kind: SyncKind
    level = Level.INFO


@dataclass(frozen=True, slots=True)
class BatchEnded:
    """The transfers of a batch have ended: well, and its items are confirmed; or badly, and it is tried again."""

    peer: RelayUrl
    kind: SyncKind
    confirmed: bool
    items: int
    method: Method
    unserved: tuple[EventId, ...] = ()
    why: str = ""
    level = Level.DEBUG


@dataclass(frozen=True, slots=True)
class GapFound:
    """Catching up brought an event that live should have brought."""

    peer: RelayUrl
    event_id: EventId
    level = Level.WARNING


@dataclass(frozen=True, slots=True)
class SustainedGapFound:
    """The daily sync brought an event that neither live nor catching up had brought."""

    peer: RelayUrl
    event_id: EventId
    level = Level.ERROR


@dataclass(frozen=True, slots=True)
class RateLimited:
    """A peer asked us to slow down."""

    peer: RelayUrl
    for_s: float
    text: str
    level = Level.WARNING


@dataclass(frozen=True, slots=True)
class NegentropyRefused:
    """A peer does not reconcile, now or at all; its transfers are paged."""

    peer: RelayUrl
    why: str
    level = Level.WARNING


@dataclass(frozen=True, slots=True)
class PeerLacks:
    """A reconciliation showed events of ours that the peer does not have."""

    peer: RelayUrl
    count: int
    level = Level.WARNING


@dataclass(frozen=True, slots=True)
class Offended:
    """A peer spent some of its budget."""

    peer: RelayUrl
    offence: Offence
    left: float
    text: str = ""
    level = Level.DEBUG


@dataclass(frozen=True, slots=True)
class LiveShed:
    """What cannot be held live with a peer within its limits, and is looked at in turn instead."""

    peer: RelayUrl
    items: int
    level = Level.WARNING


@dataclass(frozen=True, slots=True)
class Consolidated:
    """Open filters of a peer were rebuilt as fewer."""

    peer: RelayUrl
    before: int
    after: int
    level = Level.INFO


@dataclass(frozen=True, slots=True)
class CapReached:
    """A bound on what announcements may ask of us took hold."""

    what: str
    repo: RepoAddr | None
    level = Level.WARNING


@dataclass(frozen=True, slots=True)
class StoreTroubled:
    """The own relay could not read or save; the engine goes on and tries again."""

    text: str
    level = Level.ERROR


Finding = (
    PeerMoved
    | PeerDied
    | SyncStarted
    | BatchEnded
    | GapFound
    | SustainedGapFound
    | RateLimited
    | NegentropyRefused
    | PeerLacks
    | Offended
    | LiveShed
    | Consolidated
    | CapReached
    | StoreTroubled
)
