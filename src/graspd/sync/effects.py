"""Everything the engine can ask for. Imperatives, performed by the shell in the order given.

An effect with a link or a job is answered by an input that carries the same id:

    ReadOwnHistory   OwnEventsRead..., OwnHistoryEnded   (or OwnFeedLagged)
    OpenLink         LinkOpened, later LinkLost; or LinkFailed
    SendAuth         AuthAnswered
    SendReq          EventArrived..., EoseArrived; or ClosedArrived
    SendNegOpen      NegMsgArrived; or NegErrArrived, a NOTICE, or nothing
    Ingest           IngestEnded
    ReadItems        ItemsRead or ReadFailed
    LookUpIds        IdsLookedUp or ReadFailed
    SaveState        StateSaved or SaveFailed

CloseLink, SendClose, SendNegClose and Report have no answer. What is sent on a link that was lost meanwhile is dropped.
"""

from dataclasses import dataclass
from enum import Enum

from graspd.nostr.event import Event
from graspd.nostr.filter import Filter
from graspd.sync.jobs import JobId
from graspd.sync.records import Mark, PeerRecord, RejectedRecord
from graspd.sync.reports import Finding
from graspd.types import EventId, LinkId, RelayUrl, RepoAddr, SubId


class Way(Enum):
    """How an event found us."""

    DIRECT = "direct"
    LIVE = "live"
    CATCH_UP = "catch-up"
    DAILY = "daily"


@dataclass(frozen=True, slots=True)
class Source:
    """How, and from whom, an event came. DIRECT has no peer and is never the engine's own."""

    way: Way
    peer: RelayUrl | None


@dataclass(frozen=True, slots=True)
class ReadOwnHistory:
    """Feed all announcements and root events that the own relay holds, without a limit on their number.

    The live feed must be open before the reading starts: an event stored meanwhile may come twice, never not at all.
    """

    job: JobId


@dataclass(frozen=True, slots=True)
class OpenLink:
    """Dial a peer once: resolve, check the address that is dialled, open a WebSocket, read NIP-11 beside it."""

    link: LinkId
    peer: RelayUrl


@dataclass(frozen=True, slots=True)
class CloseLink:
    """End a link, dialling or open. Its id never comes back."""

    link: LinkId


@dataclass(frozen=True, slots=True)
class SendAuth:
    """Answer the newest challenge of the link with an event signed by the service's stable key (NIP-42)."""

    link: LinkId


@dataclass(frozen=True, slots=True)
class SendReq:
    """REQ. A subscription id that is open already is replaced (NIP-01)."""

    link: LinkId
    sub: SubId
    filters: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class SendClose:
    """CLOSE."""

    link: LinkId
    sub: SubId


@dataclass(frozen=True, slots=True)
class SendNegOpen:
    """NEG-OPEN."""

    link: LinkId
    sub: SubId
    filter: Filter
    message: bytes


@dataclass(frozen=True, slots=True)
class SendNegMsg:
    """NEG-MSG."""

    link: LinkId
    sub: SubId
    message: bytes


@dataclass(frozen=True, slots=True)
class SendNegClose:
    """NEG-CLOSE."""

    link: LinkId
    sub: SubId


@dataclass(frozen=True, slots=True)
class Ingest:
    """Check the signatures, apply the rules, store. Ids already held are answered without checking a signature."""

    job: JobId
    source: Source
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class ReadItems:
    """The (created_at, id) of every event held that matches, sealed into an ItemSet."""

    job: JobId
    filter: Filter


@dataclass(frozen=True, slots=True)
class LookUpIds:
    """Which of these ids need not be fetched: held, gone or buried."""

    job: JobId
    ids: tuple[EventId, ...]


@dataclass(frozen=True, slots=True)
class SaveState:
    """Make these changes durable, in one transaction and in this order."""

    job: JobId
    forgotten: tuple[RelayUrl, ...]  # remove the record and all marks of these peers
    cleared: tuple[RelayUrl, ...]  # remove all marks of these peers
    unmarked: tuple[tuple[RelayUrl, RepoAddr], ...]  # remove single marks
    records: tuple[PeerRecord, ...]  # insert or replace, by url
    marks: tuple[Mark, ...]  # insert or replace, by peer and repository
    unrejected: tuple[EventId, ...] = ()  # remove these rejections
    rejected: tuple[RejectedRecord, ...] = ()  # insert or replace, by id


@dataclass(frozen=True, slots=True)
class Report:
    """Something an operator may want to read, and metrics want to count."""

    finding: Finding


Effect = (
    ReadOwnHistory
    | OpenLink
    | CloseLink
    | SendAuth
    | SendReq
    | SendClose
    | SendNegOpen
    | SendNegMsg
    | SendNegClose
    | Ingest
    | ReadItems
    | LookUpIds
    | SaveState
    | Report
)
