"""The engine as others may see it: immutable, and made anew when asked for."""

from dataclasses import dataclass
from enum import Enum

from graspd.sync.lifecycle import State
from graspd.sync.records import Capability, Certificate, ReliabilityRecord
from graspd.types import LinkId, Monotonic, RelayUrl, RepoAddr, UnixTime


class Health(Enum):
    """How a peer's connections have gone lately."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class PeerView:
    """One peer. Counts of items count repositories and root events together."""

    url: RelayUrl
    bootstrap: bool
    state: State
    health: Health
    failures: int
    dial_at: Monotonic | None
    rate_limited_until: Monotonic | None
    rest_until: Monotonic | None
    link: LinkId | None
    seen_at: UnixTime | None
    daily_at: UnixTime | None
    capability: Capability
    reliability: ReliabilityRecord
    repositories_wanted: int
    layer1_confirmed: bool
    items_wanted: int
    items_confirmed: int
    items_pending: int
    batches: int
    batches_retrying: int
    live_subscriptions: int
    live_filters: int
    items_off_live: int
    requests_open: int
    requests_per_s: float  # what the peer is asked at most, now
    budget_left: float
    last_fault: str
    waiting_for: str  # why this peer is not caught up, for people; empty where it is


@dataclass(frozen=True, slots=True)
class RepoPeerView:
    """How far one repository is synced with one peer."""

    peer: RelayUrl
    confirmed: bool  # the repository and all its root events
    roots_confirmed: int
    certificate: Certificate | None  # the weakest and oldest of those that make up the whole, once it is whole


@dataclass(frozen=True, slots=True)
class RepoView:
    """One repository."""

    repo: RepoAddr
    roots: int
    peers: tuple[RepoPeerView, ...]


@dataclass(frozen=True, slots=True)
class EngineView:
    """All of it."""

    peers: tuple[PeerView, ...]
    repositories: int
    roots: int
    history_read: bool
    window_open: bool
    claims: int
    in_hand: int
    recent: int
    rejected: int
    rejected_kept: int  # with their event, ready to be tried again
    rejected_bytes: int
    jobs: int
    dials: int
    events_by_way: tuple[tuple[str, int], ...]
    gaps: int
    sustained_gaps: int
    unsaved: int
