"""Who speaks for a repository: its owner, whom the owner lists, whom those list in turn."""

from graspd.nostr.nip34 import Announcement
from graspd.rules.policy import Policy
from graspd.types import PubKey


def stands_alone(announcement: Announcement, policy: Policy) -> bool:
    """Whether an announcement is taken for its own sake: it lists us, or the operator archives it."""
    repository = (announcement.pubkey, announcement.identifier)
    if announcement.pubkey in policy.blocked_authors or repository in policy.blocked_repositories:
        return False
    if repository in policy.archive:
        return True
    return announcement.lists_clone(policy.domain) and announcement.lists_relay(policy.domain)


def entitled(announcements: dict[PubKey, Announcement], policy: Policy) -> set[PubKey]:
    """The maintainers of all hosted announcements of one identifier.

    Starts from those that stand alone and follows `maintainers` through the announcements of those listed, each once,
    so a cycle ends. Somebody listed counts without an announcement of their own.
    """
    found: set[PubKey] = set()
    to_visit = [pubkey for pubkey, announcement in announcements.items() if stands_alone(announcement, policy)]
    while to_visit:
        pubkey = to_visit.pop()
        if pubkey in found or pubkey in policy.blocked_authors:
            continue
        found.add(pubkey)
        if pubkey in announcements:
            to_visit.extend(announcements[pubkey].maintainers)
    return found
