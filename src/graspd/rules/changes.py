"""What a verdict does to the store. A store carries these out in order, in one transaction."""

from dataclasses import dataclass

from graspd.nostr.event import Event
from graspd.types import Address, EventId, PubKey, UnixTime


@dataclass(frozen=True, slots=True)
class Put:
    """Store and serve an event."""

    event: Event


@dataclass(frozen=True, slots=True)
class Erase:
    """Serve an event no longer, and remember its id as gone.

    The id of a deletion or vanish request is not remembered: to name one in a deletion has no effect (NIP-09), so it
    must not look like an event that was here.
    """

    id: EventId


@dataclass(frozen=True, slots=True)
class Miss:
    """Remember as gone an event that would have been taken, had it come before what refuses it."""

    id: EventId
    pubkey: PubKey


@dataclass(frozen=True, slots=True)
class Bury:
    """Remember that an author asked for this id to be deleted."""

    id: EventId
    pubkey: PubKey


@dataclass(frozen=True, slots=True)
class RaiseFloor:
    """Take no version of an address older than this one again. `seen`: some version of it was here, or came."""

    address: Address
    created_at: UnixTime
    id: EventId
    seen: bool


@dataclass(frozen=True, slots=True)
class Forget:
    """Erase everything of an author up to a time and take nothing of it again; raise the floors of its addresses.

    That goes for held deletions too. Held requests to vanish stay: one of them will be served.
    """

    pubkey: PubKey
    until: UnixTime


@dataclass(frozen=True, slots=True)
class Hold:
    """Keep a request that concerns nothing here yet, without serving it."""

    event: Event


@dataclass(frozen=True, slots=True)
class Release:
    """Hold a request no longer."""

    id: EventId


Change = Put | Erase | Miss | Bury | RaiseFloor | Forget | Hold | Release
