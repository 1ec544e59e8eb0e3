"""Everything the engine can be told. Past participles: each says what has happened, none asks for anything.

The shell parses, the engine never does: events are well-formed and carry the id of their content (their signatures
are checked by ingest), URLs are normalised, prefixes are typed. An input that answers an effect carries its id;
one that names a link, subscription or job which the engine has done with is dropped without a word.
"""

from dataclasses import dataclass
from enum import Enum

from graspd.negentropy.items import ItemSet
from graspd.nostr.event import Event
from graspd.nostr.prefix import Prefix
from graspd.rules.verdict import Verdict
from graspd.sync.jobs import JobId
from graspd.types import EventId, LinkId, RelayUrl, SubId

# The own relay


@dataclass(frozen=True, slots=True)
class OwnEventsRead:
    """A slice of what the own relay holds, in answer to ReadOwnHistory. A few hundred events keep a step short.

    Announcements and root events suffice here; other kinds do no harm.
    """

    job: JobId
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class OwnHistoryEnded:
    """Everything the own relay held when ReadOwnHistory was performed has been read."""

    job: JobId


@dataclass(frozen=True, slots=True)
class OwnEventsStored:
    """Events of any kind that the own relay has stored, published to it or by our own Ingest: the live feed."""

    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class OwnEventsErased:
    """Events that the own relay serves no longer: replaced, deleted, vanished or expired."""

    ids: tuple[EventId, ...]


@dataclass(frozen=True, slots=True)
class OwnFeedLagged:
    """The feed has lost something, or a reading of history failed. The engine asks for the history again."""


# Configuration


@dataclass(frozen=True, slots=True)
class BootstrapConfigured:
    """The peers that the operator wants whatever the announcements say. Replaces the list given before."""

    peers: tuple[RelayUrl, ...]


@dataclass(frozen=True, slots=True)
class PeerRetried:
    """An operator asks for a peer to be tried now, whatever its backoff says."""

    peer: RelayUrl


# Links


class LinkFault(Enum):
    """Why there is no link, or no longer one."""

    NAME = "name not resolved"
    FORBIDDEN = "address may not be dialled"
    REFUSED = "connection refused"
    TIMEOUT = "connecting took too long"
    TLS = "no secure connection"
    HANDSHAKE = "no WebSocket there"
    CLOSED = "closed by the peer"
    SILENT = "no sign of life"
    OVERSIZED = "a message larger than we take"
    NETWORK = "network failed"


@dataclass(frozen=True, slots=True)
class PeerTerms:
    """What a peer's NIP-11 document says of its limits; None where it does not say."""

    message_bytes_max: int | None = None
    subscriptions_max: int | None = None
    filters_max: int | None = None
    limit_max: int | None = None
    limit_default: int | None = None
    negentropy: bool | None = None  # NIP-77 among the supported; a hint and no more
    auth_required: bool = False


@dataclass(frozen=True, slots=True)
class LinkOpened:
    """A WebSocket to the peer is open. `terms` where a NIP-11 document was read in time."""

    link: LinkId
    terms: PeerTerms | None


@dataclass(frozen=True, slots=True)
class LinkFailed:
    """The link was never open. Ends the link."""

    link: LinkId
    fault: LinkFault
    text: str = ""


@dataclass(frozen=True, slots=True)
class LinkLost:
    """The link was open and is no more. Ends the link. Not sent for a link that the engine closed itself."""

    link: LinkId
    fault: LinkFault
    text: str = ""


# What peers send


class EoseHint(Enum):
    """NIP-67: what an EOSE says about completeness."""

    NONE = "none"
    FINISH = "finish"
    MORE = "more"


@dataclass(frozen=True, slots=True)
class EventArrived:
    """EVENT."""

    link: LinkId
    sub: SubId
    event: Event


@dataclass(frozen=True, slots=True)
class JunkArrived:
    """A message that means nothing: an event of wrong shape or id, text that is no JSON, an unknown command."""

    link: LinkId
    why: str


@dataclass(frozen=True, slots=True)
class EoseArrived:
    """EOSE."""

    link: LinkId
    sub: SubId
    hint: EoseHint = EoseHint.NONE


@dataclass(frozen=True, slots=True)
class ClosedArrived:
    """CLOSED."""

    link: LinkId
    sub: SubId
    prefix: Prefix | None
    text: str


@dataclass(frozen=True, slots=True)
class NoticeArrived:
    """NOTICE. Text is cut to a few hundred characters by the shell."""

    link: LinkId
    text: str


@dataclass(frozen=True, slots=True)
class AuthChallenged:
    """AUTH with a challenge (NIP-42). The shell keeps the newest challenge of each link."""

    link: LinkId


@dataclass(frozen=True, slots=True)
class AuthAnswered:
    """The OK to our SendAuth."""

    link: LinkId
    accepted: bool
    text: str


@dataclass(frozen=True, slots=True)
class NegMsgArrived:
    """NEG-MSG, its hex decoded."""

    link: LinkId
    sub: SubId
    message: bytes


@dataclass(frozen=True, slots=True)
class NegErrArrived:
    """NEG-ERR. `records_max` is the fourth element that some relays add to `blocked:`."""

    link: LinkId
    sub: SubId
    prefix: Prefix | None
    text: str
    records_max: int | None = None


# What the own relay's store answers


@dataclass(frozen=True, slots=True)
class IngestEnded:
    """One verdict for each event of the Ingest, in its order, after the commit."""

    job: JobId
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True, slots=True)
class ItemsRead:
    """Every (created_at, id) that the own relay holds for the filter of ReadItems, sealed away from the loop."""

    job: JobId
    items: ItemSet


@dataclass(frozen=True, slots=True)
class IdsLookedUp:
    """Of the ids of LookUpIds, those that are held or must not come again (gone, buried)."""

    job: JobId
    known: frozenset[EventId]


@dataclass(frozen=True, slots=True)
class ReadFailed:
    """A ReadItems or LookUpIds that could not be answered. What hung on it is tried again later."""

    job: JobId
    text: str


@dataclass(frozen=True, slots=True)
class StateSaved:
    """A SaveState is durable."""

    job: JobId


@dataclass(frozen=True, slots=True)
class SaveFailed:
    """A SaveState did not become durable; its changes are part of the next one."""

    job: JobId
    text: str


# Time and the end


@dataclass(frozen=True, slots=True)
class Ticked:
    """The deadline of `next_deadline` has passed."""


@dataclass(frozen=True, slots=True)
class Stopping:
    """The program ends: everything worth keeping is saved and every link closed. Only answers may follow."""


Heard = (
    EventArrived
    | JunkArrived
    | EoseArrived
    | ClosedArrived
    | NoticeArrived
    | AuthChallenged
    | AuthAnswered
    | NegMsgArrived
    | NegErrArrived
)

Input = (
    OwnEventsRead
    | OwnHistoryEnded
    | OwnEventsStored
    | OwnEventsErased
    | OwnFeedLagged
    | BootstrapConfigured
    | PeerRetried
    | LinkOpened
    | LinkFailed
    | LinkLost
    | Heard
    | IngestEnded
    | ItemsRead
    | IdsLookedUp
    | ReadFailed
    | StateSaved
    | SaveFailed
    | Ticked
    | Stopping
)
