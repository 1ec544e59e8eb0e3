"""Repository states, kind 30618: which commit each branch and tag is at, by somebody entitled to say so."""

from graspd.nostr.event import Event
from graspd.nostr.nip34 import identifier_fault
from graspd.rules.facts import Facts
from graspd.rules.maintainers import entitled
from graspd.rules.policy import Policy
from graspd.rules.verdict import STORED, Reason, Verdict


def judge_state(event: Event, facts: Facts, policy: Policy) -> Verdict:
    """Whether its author speaks for a repository of this identifier that we hold."""
    identifier = event.identifier
    fault = identifier_fault(identifier)
    if fault is not None:
        return Verdict(Reason.IDENTIFIER, fault)
    if (event.pubkey, identifier) in policy.blocked_repositories:
        return Verdict(Reason.REPOSITORY_BLACKLISTED, "this repository is not taken here")
    announcements = facts.announcements.get(identifier)
    if not announcements:
        return Verdict(Reason.NO_ANNOUNCEMENT, "no announcement of this repository is here")
    if event.pubkey not in entitled(announcements, policy):
        return Verdict(Reason.NOT_ENTITLED, "the author is no maintainer of this repository")
    return STORED
