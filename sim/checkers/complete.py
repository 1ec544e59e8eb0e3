"""Complete: every acceptable event held by an honest wanted peer is in our store.

Asked of the store as it is: is there an event on such a peer that our filters ask for and that our own rules would
take now? Then something is missing. Where nothing is, the store is closed under sync, and further syncing changes
nothing. What to ask of a peer is derived here anew from the announcements we hold, not taken from the engine.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from graspd.nostr.event import Event
from graspd.nostr.filter import Filter
from graspd.nostr.kinds import ANNOUNCEMENT, ROOT_KINDS, STATE
from graspd.nostr.nip34 import Announcement, read_announcement
from graspd.nostr.relay_url import is_service_relay
from graspd.rules.admission import judge, learn, screen
from graspd.rules.maintainers import entitled
from graspd.rules.policy import Policy
from graspd.rules.verdict import Reason
from graspd.sync.limits import SyncLimits
from graspd.types import PubKey, RelayUrl, RepoAddr, UnixTime
from sim.content import is_genuine
from sim.peers.capped import Capped
from sim.peers.relay import Relay
from sim.store import MemoryStore

LAYER1: Final = Filter(kinds=(ANNOUNCEMENT, STATE))
_REPO_TAGS: Final = ("a", "A", "q")
_ROOT_TAGS: Final = ("e", "E", "q")
_TAKEN: Final = (Reason.STORED, Reason.HELD)


class Missing(NamedTuple):
    """An event that we should have."""

    event: Event
    peer: RelayUrl

    def __str__(self) -> str:
        return f"{self.event.kind}/{self.event.id[:8]} of {self.peer}"


def wanted_repos(store: MemoryStore, policy: Policy, limits: SyncLimits) -> dict[RelayUrl, list[RepoAddr]]:
    """By relay, the repositories whose announcements name it."""
    groups: dict[str, dict[PubKey, Announcement]] = {}
    for event in store.served.values():
        if event.kind == ANNOUNCEMENT:
            groups.setdefault(event.identifier, {})[event.pubkey] = read_announcement(event)
    wanted: dict[RelayUrl, list[RepoAddr]] = {}
    for group in groups.values():
        speakers = entitled(group, policy)
        for pubkey, announcement in group.items():
            if pubkey in speakers:
                for url in _other_relays(announcement, policy)[: limits.relays_per_announcement]:
                    wanted.setdefault(url, []).append(announcement.address)
    return wanted


@lru_cache(maxsize=500)
def _other_relays(announcement: Announcement, policy: Policy) -> tuple[RelayUrl, ...]:
    return tuple(url for url in announcement.relays if not is_service_relay(url, policy.domain))


def filters_of(store: MemoryStore, repos: list[RepoAddr]) -> list[Filter]:
    """The three layers for these repositories."""
    wanted = frozenset(repos)
    roots = tuple(
        event.id
        for event in store.served.values()
        if event.kind in ROOT_KINDS and not wanted.isdisjoint(event.tag_values("a"))
    )
    filters = [LAYER1]
    if repos:
        filters += [Filter(tags=((tag, tuple(repos)),)) for tag in _REPO_TAGS]
    if roots:
        filters += [Filter(tags=((tag, roots),)) for tag in _ROOT_TAGS]
    return filters


def missing_from(
    relay: Relay, repos: list[RepoAddr], store: MemoryStore, policy: Policy, wall: UnixTime, now: float
) -> Iterator[Missing]:
    """What this relay holds, our filters ask for, our rules would take, and our store has not."""
    found: dict[str, Event] = {}
    for wanted in filters_of(store, repos):
        for event in relay.matching(wanted, now):
            if event.id not in store.served and event.id not in store.gone and event.id not in store.waiting:
                found[event.id] = event
    candidates = [event for event in found.values() if is_genuine(event)]
    if not candidates:
        return
    facts = learn(candidates, store.facts, policy)
    for event in candidates:
        if screen(event, policy, wall, frozenset()) is not None:
            continue
        verdict, _ = judge(event, facts, policy, wall)
        if verdict.reason in _TAKEN and not _is_in_a_hole(event, relay):
            yield Missing(event, relay.url)


def _is_in_a_hole(event: Event, relay: Relay) -> bool:
    """Whether a paged relay holds more events of this second than it can be asked for, under every value it has."""
    cap = min((temper.most for temper in relay.tempers if isinstance(temper, Capped)), default=relay.manners.limit_max)
    at = event.created_at
    asked = [
        Filter(tags=((tag[0], (tag[1],)),), since=at, until=at)
        for tag in event.tags
        if len(tag) > 1 and len(tag[0]) == 1
    ]
    if event.kind in (ANNOUNCEMENT, STATE):
        asked.append(Filter(kinds=(event.kind,), since=at, until=at))
    return all(len(relay.shelf.matching(wanted)) >= cap for wanted in asked)
