"""What a session wants done. The listener does it and calls back where an answer is due."""

from dataclasses import dataclass

from graspd.nostr.event import Event
from graspd.nostr.filter import Filter
from graspd.types import SubId


@dataclass(frozen=True, slots=True)
class Send:
    """Tell the client."""

    payload: bytes


@dataclass(frozen=True, slots=True)
class Submit:
    """Give an event to ingest; its verdict is the OK."""

    event: Event


@dataclass(frozen=True, slots=True)
class CheckAuth:
    """Check the signature of an AUTH event that is right in all else; the outcome goes to `Session.authenticated`."""

    event: Event


@dataclass(frozen=True, slots=True)
class Subscribe:
    """Send what is stored, then what comes, replacing a subscription of the same id."""

    sub_id: SubId
    filters: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    """Send no more."""

    sub_id: SubId


@dataclass(frozen=True, slots=True)
class CountStored:
    """Answer with a number."""

    sub_id: SubId
    filters: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class OpenNegotiation:
    """Reconcile what the client has with what matches the filter."""

    sub_id: SubId
    filter: Filter
    message: bytes


@dataclass(frozen=True, slots=True)
class ContinueNegotiation:
    """One more round."""

    sub_id: SubId
    message: bytes


@dataclass(frozen=True, slots=True)
class CloseNegotiation:
    """Let go of a session."""

    sub_id: SubId


Effect = (
    Send
    | Submit
    | CheckAuth
    | Subscribe
    | Unsubscribe
    | CountStored
    | OpenNegotiation
    | ContinueNegotiation
    | CloseNegotiation
)
