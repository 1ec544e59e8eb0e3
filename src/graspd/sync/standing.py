"""Which announcements of one identifier make their repository ours to sync.

The same judgement as rules.maintainers: those that list us or are archived, and those of whom these name as
maintainers, in turn. Kept beside it because the rules read whole announcements for one event, and here thousands are
held for months: a flag and a few keys each.
"""

from dataclasses import dataclass

from graspd.nostr.event import version_rank
from graspd.nostr.nip34 import Announcement, repo_addr
from graspd.rules.maintainers import stands_alone
from graspd.rules.policy import Policy
from graspd.types import EventId, PubKey, RelayUrl, RepoAddr, UnixTime


@dataclass(frozen=True, slots=True)
class Standing:
    """What is kept of an announcement."""

    event_id: EventId
    pubkey: PubKey
    identifier: str
    created_at: UnixTime
    alone: bool  # taken for its own sake
    maintainers: tuple[PubKey, ...]
    relays: tuple[RelayUrl, ...]

    @property
    def repo(self) -> RepoAddr:
        """The repository it announces."""
        return repo_addr(self.pubkey, self.identifier)

    def replaces(self, other: "Standing") -> bool:
        """Whether this version stays when the other is there too."""
        return version_rank(self.created_at, self.event_id) < version_rank(other.created_at, other.event_id)


def standing_of(announcement: Announcement, policy: Policy) -> Standing:
    """The part of an announcement that sync needs."""
    return Standing(
        announcement.event_id,
        announcement.pubkey,
        announcement.identifier,
        announcement.created_at,
        stands_alone(announcement, policy),
        announcement.maintainers,
        announcement.relays,
    )


def wanted_authors(group: dict[PubKey, Standing], blocked: frozenset[PubKey]) -> list[PubKey]:
    """Of the authors of one identifier's announcements, those whose repository is synced, in order of the group."""
    found: set[PubKey] = set()
    to_visit = [pubkey for pubkey, standing in group.items() if standing.alone]
    while to_visit:
        pubkey = to_visit.pop()
        if pubkey in found or pubkey in blocked:
            continue
        found.add(pubkey)
        if pubkey in group:
            to_visit.extend(group[pubkey].maintainers)
    return [pubkey for pubkey in group if pubkey in found]
