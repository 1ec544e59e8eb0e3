"""What outlives the process: one PeerRecord for each peer, one Mark for each repository confirmed with it.

Times are wall clock. A record is believed for what it says and no more: a peer seen last too long ago, or in the
future, is synced afresh, so an old or lost state costs traffic and never events.
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from graspd.types import EventId, RelayUrl, RepoAddr, UnixTime

NEVER: Final = UnixTime(0)


class Speech(Enum):
    """What we know of a peer and negentropy (NIP-77)."""

    UNKNOWN = "unknown"
    WORKS = "works"
    REFUSED = "refused for now"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True, slots=True)
class Capability:
    """Whether a peer speaks negentropy; `why` and `until` for the two kinds of no."""

    speech: Speech = Speech.UNKNOWN
    why: str = ""
    until: UnixTime = NEVER


@dataclass(frozen=True, slots=True)
class HealthRecord:
    """Consecutive failures to connect, and when the next try is due."""

    failures: int = 0
    failing_since: UnixTime | None = None
    retry_at: UnixTime = NEVER


@dataclass(frozen=True, slots=True)
class ReliabilityRecord:
    """Counted over the whole life of a peer."""

    attempts: int = 0
    failures: int = 0
    up_s: int = 0
    down_s: int = 0
    events_received: int = 0  # new to us
    events_lacking: int = 0  # ours that it lacked, at the last reconciliation
    events_compared: int = 0  # ours that it was asked about, at the last reconciliation
    gaps: int = 0  # found by catching up, though live should have brought them
    sustained_gaps: int = 0  # found by the daily sync

    @property
    def uptime(self) -> float | None:
        """Share of the time in which it was reachable."""
        total = self.up_s + self.down_s
        return self.up_s / total if total else None

    @property
    def coverage(self) -> float | None:
        """Share of our events that it has too; unknown without negentropy."""
        return 1 - self.events_lacking / self.events_compared if self.events_compared else None


@dataclass(frozen=True, slots=True)
class PeerRecord:
    """A peer as it is saved."""

    url: RelayUrl
    seen_at: UnixTime | None = None  # when its link was last known to be live; for a lost link, when it was lost
    layer1_confirmed: bool = False
    daily_at: UnixTime | None = None
    health: HealthRecord = HealthRecord()
    rest_until: UnixTime = NEVER  # misbehaved, left alone until then
    rests: int = 0
    capability: Capability = Capability()
    reliability: ReliabilityRecord = ReliabilityRecord()
    refuses_limit_zero: bool = False
    phantoms: tuple[tuple[EventId, UnixTime], ...] = ()  # ids claimed and never served, and when that was seen


class Method(Enum):
    """How a transfer compares."""

    RECONCILED = "reconciled"  # negentropy: proven equal
    WALKED = "walked"  # paged to the end: weaker, nothing proves that the peer showed everything


@dataclass(frozen=True, slots=True)
class Certificate:
    """What a finished batch proves about us and a peer.

    RECONCILED without `unserved`: at `at` we held everything the peer held for these items, rejected ids counted as
    held. WALKED: the peer showed everything it would show. Ids in `unserved` were claimed and never served.
    """

    method: Method
    at: UnixTime
    count: int  # events the peer showed or was found equal in
    fingerprint: str  # of our sets as they were compared, where reconciled; else empty
    unserved: tuple[EventId, ...] = ()
    holes: tuple[UnixTime, ...] = ()  # seconds in which a walked peer has more than it can be asked for

    @property
    def proven(self) -> bool:
        """Whether this is a proof of equality."""
        return self.method is Method.RECONCILED and not self.unserved


@dataclass(frozen=True, slots=True)
class Mark:
    """A repository and exactly these root events of it (count and digest of their ids) are confirmed with a peer."""

    peer: RelayUrl
    repo: RepoAddr
    roots: int
    digest: str
    certificate: Certificate | None = None  # what proved it


@dataclass(frozen=True, slots=True)
class RejectedRecord:
    """An event that was rejected, so that it is neither fetched again nor forgotten when its time comes."""

    id: EventId
    reason: str  # the name of a rules.verdict.Reason
    until: UnixTime  # from then on it counts as unknown again
    peer: RelayUrl | None  # who has it
    keys: tuple[str, ...]  # what it waits for, as in rules.waiting
    rules: str  # under which it was rejected: under others it counts as unknown
    raw: str = ""  # the event itself, where it may be accepted later and there was room


@dataclass(frozen=True, slots=True)
class SavedState:
    """What the engine is given at its start."""

    records: tuple[PeerRecord, ...] = field(default=())
    marks: tuple[Mark, ...] = field(default=())
    rejected: tuple[RejectedRecord, ...] = field(default=())
