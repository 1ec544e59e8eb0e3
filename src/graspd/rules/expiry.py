"""Events that end by themselves (NIP-40).

An event that expired leaves the same traces whether it was here or came too late: it counts as the version it was, so
nothing that it replaced, and nothing older than it, is served in its place.
"""

from graspd.nostr.event import Event
from graspd.rules.changes import Change, Erase, RaiseFloor
from graspd.rules.facts import Held
from graspd.types import EventId, UnixTime


def has_expired(event: Event, now: UnixTime) -> bool:
    """NIP-40: whether the event is past its time."""
    expires_at = event.expires_at
    return expires_at is not None and expires_at <= now


def expiry(event_id: EventId, held: Held) -> list[Change]:
    """What becomes of the store when the time of an event that it holds has passed."""
    changes: list[Change] = [Erase(event_id)]
    if held.address is not None:
        changes.append(RaiseFloor(held.address, held.created_at, event_id, seen=True))
    return changes
