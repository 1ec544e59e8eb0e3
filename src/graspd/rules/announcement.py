"""Repository announcements, kind 30617 (GRASP-01)."""

from graspd.nostr.event import Event
from graspd.nostr.nip34 import identifier_fault, read_announcement
from graspd.rules.facts import Facts
from graspd.rules.maintainers import entitled, stands_alone
from graspd.rules.policy import Policy
from graspd.rules.verdict import STORED, Reason, Verdict


def judge_announcement(event: Event, facts: Facts, policy: Policy) -> Verdict:
    """Whether we host, mirror or co-host this repository."""
    announcement = read_announcement(event)
    fault = identifier_fault(announcement.identifier)
    if fault is not None:
        return Verdict(Reason.IDENTIFIER, fault)
    if (event.pubkey, announcement.identifier) in policy.blocked_repositories:
        return Verdict(Reason.REPOSITORY_BLACKLISTED, "this repository is not taken here")
    if stands_alone(announcement, policy):
        return STORED
    others = facts.announcements.get(announcement.identifier, {})
    if event.pubkey in entitled({**others, event.pubkey: announcement}, policy):
        return STORED
    missing = [
        name
        for name, listed in (
            ("clone", announcement.lists_clone(policy.domain)),
            ("relays", announcement.lists_relay(policy.domain)),
        )
        if not listed
    ]
    return Verdict(
        Reason.SERVICE_NOT_LISTED, f"the announcement does not list {policy.domain} in its {' and '.join(missing)} tag"
    )
