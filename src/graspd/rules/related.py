"""Everything that is said about a repository, an event about one, or is spoken of there."""

from graspd.nostr.event import Event
from graspd.nostr.kinds import ANNOUNCEMENT, STATE
from graspd.nostr.relay_url import is_service_relay
from graspd.rules.facts import Facts, Held
from graspd.rules.policy import Policy
from graspd.rules.verdict import STORED, Reason, Verdict
from graspd.types import Address, PubKey


def judge_related(event: Event, facts: Facts, policy: Policy) -> Verdict:
    """Whether the event tags something we have, or something we have tags it."""
    if speaks_of_ours(event, facts, policy):
        return STORED
    if event.id in facts.tagged_ids or event.address in facts.tagged_addresses:
        return STORED
    return Verdict(Reason.UNRELATED, "the event tags no repository or event that is here, and none here tags it")


def speaks_of_ours(event: Event, facts: Facts, policy: Policy) -> bool:
    """Whether the event tags something we have."""
    ids, addresses = event.references
    for address in addresses:
        if address in facts.versions and not _is_blocked(address, policy):
            return True
    return any(event_id in facts.held and not _is_refused(facts.held[event_id], policy) for event_id in ids)


def judge_grasp_list(event: Event, facts: Facts, policy: Policy) -> Verdict:
    """A user's list of GRASP servers is of use here where it names us or its author takes part here."""
    if event.pubkey in facts.present_authors:
        return STORED
    if any(is_service_relay(value, policy.domain) for value in event.tag_values("g")):
        return STORED
    return Verdict(Reason.CONCERNS_OTHERS, "the list does not name this service and its author has nothing here")


def _is_refused(held: Held, policy: Policy) -> bool:
    """Whether an event that was taken once would be blacklisted now."""
    return held.pubkey in policy.blocked_authors or (held.address is not None and _is_blocked(held.address, policy))


def _is_blocked(address: Address, policy: Policy) -> bool:
    if not policy.blocked_authors and not policy.blocked_repositories:
        return False
    kind, pubkey, identifier = address.split(":", 2)
    if pubkey in policy.blocked_authors:
        return True
    return int(kind) in (ANNOUNCEMENT, STATE) and (PubKey(pubkey), identifier) in policy.blocked_repositories
