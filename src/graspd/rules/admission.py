"""The one way in: `screen` before a signature is checked, `judge` after it."""

from collections.abc import Callable, Iterator

from graspd.nostr import kinds
from graspd.nostr.event import Event, version_rank
from graspd.rules.announcement import judge_announcement
from graspd.rules.changes import Change, Erase, Miss, Put, RaiseFloor, Release
from graspd.rules.deletion import judge_deletion, judge_vanish, names
from graspd.rules.expiry import has_expired
from graspd.rules.facts import Facts, Inquiry, inquiry_of, inquiry_of_lonely
from graspd.rules.policy import Policy
from graspd.rules.related import judge_grasp_list, judge_related, speaks_of_ours
from graspd.rules.state import judge_state
from graspd.rules.verdict import KNOWN, RELAYED, STORED, Reason, Verdict
from graspd.types import PubKey, UnixTime

Decision = tuple[Verdict, list[Change]]


def screen(event: Event, policy: Policy, now: UnixTime, authenticated: frozenset[PubKey]) -> Verdict | None:
    """Refuse what needs no look-up to be refused; nothing means: go on."""
    if event.pubkey in policy.blocked_authors:
        return Verdict(Reason.AUTHOR_BLACKLISTED, "events of this author are not taken here")
    if len(event.raw) > policy.event_bytes_max:
        return Verdict(Reason.TOO_LARGE, f"the event is larger than {policy.event_bytes_max} bytes")
    if len(event.tags) > policy.event_tags_max:
        return Verdict(Reason.TOO_LARGE, f"the event has more than {policy.event_tags_max} tags")
    if event.created_at > now + policy.future_s_max:
        return Verdict(Reason.FROM_THE_FUTURE, f"created_at is more than {policy.future_s_max} seconds from now")
    if event.kind == kinds.CLIENT_AUTH:
        return Verdict(Reason.NOT_FOR_RELAYS, "kind 22242 is sent with AUTH and never published")
    # NIP-70: a protected event is taken from its authenticated author alone, so never from another relay.
    if event.is_protected and event.pubkey not in authenticated:
        if authenticated:
            return Verdict(Reason.PROTECTED_FROM_OTHERS, "a protected event can only be published by its author")
        return Verdict(Reason.PROTECTED, "a protected event can only be published by its authenticated author")
    return None


def learn(events: list[Event], ask: Callable[[Inquiry], Facts], policy: Policy) -> Facts:
    """What a store knows that bears on the events of one segment."""
    facts = ask(inquiry_of(events))
    lonely = inquiry_of_lonely([event for event in events if not speaks_of_ours(event, facts, policy)])
    if lonely.lonely_ids:
        others = ask(lonely)
        facts.tagged_ids, facts.tagged_addresses = others.tagged_ids, others.tagged_addresses
    return facts


def judge(event: Event, facts: Facts, policy: Policy, now: UnixTime) -> Decision:
    """Decide about an event of good signature, and what becomes of the store."""
    if event.id in facts.held:
        return KNOWN, []
    match event.kind:
        case kinds.DELETION:
            return judge_deletion(event, facts, now)
        case kinds.VANISH:
            return judge_vanish(event, facts, policy)
        case _:
            return _judge_content(event, facts, policy, now)


def judge_batch(events: list[Event], facts: Facts, policy: Policy, now: UnixTime) -> Iterator[tuple[Event, Decision]]:
    """Decide about the events of one segment in turn, each seeing those before it."""
    for event in events:
        decision = judge(event, facts, policy, now)
        for change in decision[1]:
            facts.apply(change)
        yield event, decision


def _judge_content(event: Event, facts: Facts, policy: Policy, now: UnixTime) -> Decision:
    verdict = _judge_by_kind(event, facts, policy)
    if not verdict.accepted:
        return _withdrawn(event, facts, verdict)
    expired = Verdict(Reason.EXPIRED, "the event has expired") if has_expired(event, now) else None
    if kinds.kind_class(event.kind) is kinds.KindClass.EPHEMERAL:
        return expired or RELAYED, []
    refusal = _refused_by_author(event, facts) or expired
    if event.id in facts.gone:
        # It has left its traces already.
        return refusal or Verdict(Reason.SUPERSEDED, "it was here and has been replaced"), []
    if refusal is not None:
        return refusal, _missed(event, facts)
    return _replacing(event, facts)


def _judge_by_kind(event: Event, facts: Facts, policy: Policy) -> Verdict:
    match event.kind:
        case kinds.ANNOUNCEMENT:
            return judge_announcement(event, facts, policy)
        case kinds.STATE:
            return judge_state(event, facts, policy)
        case kinds.GRASP_LIST:
            return judge_grasp_list(event, facts, policy)
        case _:
            return judge_related(event, facts, policy)


def _refused_by_author(event: Event, facts: Facts) -> Verdict | None:
    """Whether its own author has asked for it, or for a newer version, not to be here."""
    if event.created_at <= facts.vanished.get(event.pubkey, -1):
        return Verdict(Reason.VANISHED, "its author asked this relay to forget everything up to then")
    if (event.id, event.pubkey) in facts.buried:
        return Verdict(Reason.DELETED, "its author deleted it")
    floor = facts.floors.get(event.address) if event.address is not None else None
    if floor is not None and version_rank(floor.created_at, floor.id) < version_rank(event.created_at, event.id):
        return Verdict(Reason.DELETED, "its author deleted this version, or replaced it by one that is not kept here")
    return None


def _missed(event: Event, facts: Facts) -> list[Change]:
    """Leave the traces that the event would have left, had it come before what refuses it."""
    changes: list[Change] = [Miss(event.id, event.pubkey)]
    if event.address is not None:
        changes.append(RaiseFloor(event.address, event.created_at, event.id, seen=True))
        version = facts.versions.get(event.address)
        if version is not None and event.replaces(*version):
            changes.append(Erase(version.id))
    return changes + _released(event, facts)


def _released(event: Event, facts: Facts) -> list[Change]:
    """Serve the held requests that concern this event, but for those that a request to vanish covers."""
    if event.pubkey not in facts.waiting:
        return []
    changes: list[Change] = []
    concerned = [request for request in facts.waiting[event.pubkey] if names(request, event)]
    vanishes = [request for request in concerned if request.kind == kinds.VANISH]
    newest = min(vanishes, key=lambda request: (-request.created_at, request.id), default=None)
    until = facts.vanished.get(event.pubkey, -1)
    for request in concerned:
        changes.append(Release(request.id))
        if request is newest or (request.kind == kinds.DELETION and request.created_at > until):
            changes.append(Put(request))
    return changes


def _replacing(event: Event, facts: Facts) -> Decision:
    """Take the place of the version we hold, or leave it to the newer one."""
    version = facts.versions.get(event.address) if event.address is not None else None
    if version is None:
        return STORED, [Put(event), *_released(event, facts)]
    if not event.replaces(*version):
        verdict = Verdict(Reason.SUPERSEDED, "a newer version of this event is here")
        return verdict, [Miss(event.id, event.pubkey), *_released(event, facts)]
    return STORED, [Erase(version.id), Put(event), *_released(event, facts)]


def _withdrawn(event: Event, facts: Facts, verdict: Verdict) -> Decision:
    """An owner whose newest announcement lists us no longer has left: earlier versions that did are not served.

    That holds for versions yet to come too. The refused version is no lower than its own floor, so that it can still
    be taken once its author is a maintainer.
    """
    if verdict.reason is not Reason.SERVICE_NOT_LISTED:
        return verdict, []
    assert event.address is not None
    version, floor = facts.versions.get(event.address), facts.floors.get(event.address)
    if version is not None and event.replaces(*version):
        told = Verdict(verdict.reason, f"{verdict.why}; the earlier version that did is withdrawn")
        return told, [Erase(version.id), RaiseFloor(event.address, event.created_at, event.id, seen=True)]
    newest = version or floor
    if newest is not None and not event.replaces(newest.created_at, newest.id):
        return verdict, []
    return verdict, [RaiseFloor(event.address, event.created_at, event.id, seen=False)]
