"""Deletion requests (NIP-09) and requests to vanish (NIP-62). Both count for their author's own events only."""

from graspd.nostr.event import Event
from graspd.nostr.hex64 import is_hex64
from graspd.nostr.kinds import REQUEST_KINDS, VANISH
from graspd.nostr.relay_url import is_service_relay
from graspd.nostr.tags import parse_address
from graspd.rules.changes import Bury, Change, Erase, Forget, Hold, Put, RaiseFloor
from graspd.rules.expiry import has_expired
from graspd.rules.facts import Facts
from graspd.rules.policy import Policy
from graspd.rules.verdict import STORED, Reason, Verdict
from graspd.types import Address, EventId, PubKey, UnixTime

_ALL_RELAYS = "ALL_RELAYS"


def judge_deletion(event: Event, facts: Facts, now: UnixTime) -> tuple[Verdict, list[Change]]:
    """What a deletion erases now and forbids from now on."""
    changes: list[Change] = []
    concerned = False
    for event_id in _deleted_ids(event):
        held = facts.held.get(event_id)
        if held is not None and (held.pubkey != event.pubkey or held.kind in REQUEST_KINDS):
            continue
        concerned |= held is not None or facts.gone.get(event_id) == event.pubkey
        changes.append(Bury(event_id, event.pubkey))
        if held is not None:
            changes.append(Erase(event_id))
            if held.address is not None:
                changes.append(RaiseFloor(held.address, held.created_at, event_id, seen=True))
    for address in _deleted_addresses(event):
        floor, version = facts.floors.get(address), facts.versions.get(address)
        seen = version is not None or (floor is not None and floor.seen)
        concerned |= seen
        changes.append(RaiseFloor(address, event.created_at, EventId(""), seen))
        if version is not None and version.created_at <= event.created_at:
            changes.append(Erase(version.id))
    if not changes:
        return Verdict(Reason.CONCERNS_OTHERS, "the deletion names nothing of its author that can be deleted"), []
    # A request that has itself vanished or expired is not kept, but what it asked for stands: else the order in which
    # they come would matter.
    if event.created_at <= facts.vanished.get(event.pubkey, -1):
        return Verdict(Reason.VANISHED, "its author asked this relay to forget everything up to then"), changes
    if has_expired(event, now):
        return Verdict(Reason.EXPIRED, "the deletion has expired"), changes
    if not concerned:
        return _held("the deletion is kept until an event arrives that it names"), [*changes, Hold(event)]
    return STORED, [*changes, Put(event)]


def judge_vanish(event: Event, facts: Facts, policy: Policy) -> tuple[Verdict, list[Change]]:
    """Erase an author's past here, where this relay is asked to."""
    values = event.tag_values("relay")
    # NIP-62: only where the request names this relay, or ALL_RELAYS.
    if _ALL_RELAYS not in values and not any(is_service_relay(value, policy.domain) for value in values):
        return Verdict(Reason.CONCERNS_OTHERS, f"the request names neither {policy.domain} nor {_ALL_RELAYS}"), []
    assert event.address is not None
    version = facts.versions.get(event.address)
    if version is not None and not event.replaces(*version):
        return Verdict(Reason.SUPERSEDED, "a newer request to vanish is here"), []
    forget = Forget(event.pubkey, event.created_at)
    if event.pubkey not in facts.present_authors:
        return _held("nothing of this author is here; the request is kept"), [forget, Hold(event)]
    return STORED, [forget, Put(event)]


def names(request: Event, event: Event) -> bool:
    """Whether a held request concerns this event."""
    if request.kind == VANISH:
        return True
    return event.id in _deleted_ids(request) or event.address in _deleted_addresses(request)


def _deleted_ids(event: Event) -> list[EventId]:
    return [EventId(value) for value in event.tag_values("e") if is_hex64(value)]


def _deleted_addresses(event: Event) -> list[Address]:
    parsed = (parse_address(value) for value in event.tag_values("a"))
    return [address for address in parsed if address is not None and _is_deletable(address, event.pubkey)]


def _is_deletable(address: Address, by: PubKey) -> bool:
    kind, pubkey, _ = address.split(":", 2)
    return pubkey == by and int(kind) not in REQUEST_KINDS


def _held(why: str) -> Verdict:
    return Verdict(Reason.HELD, why)
