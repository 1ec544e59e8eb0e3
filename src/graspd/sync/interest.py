"""What we want: repositories, the relays each names, the root events of each, in both directions.

Told of events as the own relay has them, it keeps up and remembers which pairs of peer and repository have changed;
`take_changes` hands these over once a window. Applies the caps on what announcements may ask. Decides nothing about
connections or transfers. In the papers: RepoSyncIndex, and derive_relay_targets kept up to date instead of recomputed.
"""

from array import array
from collections.abc import Iterator
from typing import Final

from graspd.nostr.event import Event
from graspd.nostr.kinds import ANNOUNCEMENT, ROOT_KINDS, STATE
from graspd.nostr.nip34 import read_announcement
from graspd.nostr.relay_url import is_service_relay
from graspd.nostr.tags import parse_address
from graspd.rules.policy import Policy
from graspd.sync.limits import SyncLimits
from graspd.sync.reports import CapReached
from graspd.sync.roots import Roots
from graspd.sync.shares import Shares
from graspd.sync.standing import Standing, standing_of, wanted_authors
from graspd.types import EventId, PubKey, RelayUrl, RepoAddr

_ADDRESS_PREFIX = f"{ANNOUNCEMENT}:"
_REMOVED = -1
VALUE_OVERHEAD: Final = 3  # two quotes and a comma
_DIGEST_MASK = (1 << 128) - 1


def value_bytes(value: str) -> int:
    """Room that a value takes in a filter; escapes are rare, so what needs them is counted at its worst."""
    plain = value.isascii() and value.isprintable() and '"' not in value and "\\" not in value
    return (len(value) if plain else 6 * len(value.encode())) + VALUE_OVERHEAD


class Repo:
    """A repository that was announced, or that some root event names."""

    __slots__ = ("addr", "digest", "number", "peers", "removed", "roots", "value_bytes", "wanted")

    def __init__(self, number: int, addr: RepoAddr) -> None:
        self.number = number
        self.addr = addr
        self.value_bytes = value_bytes(addr)
        self.wanted = False  # an announcement makes it ours to sync
        self.peers: tuple[RelayUrl, ...] = ()
        self.roots = array("i")  # by number, in order of arrival; -1 where one was removed
        self.removed = 0
        self.digest = 0  # sum of the ids of its roots, for marks

    def __len__(self) -> int:
        """Items: the repository itself at position 0, then its roots. Removed roots keep their position."""
        return 1 + len(self.roots)

    @property
    def root_count(self) -> int:
        """Roots that are still there."""
        return len(self.roots) - self.removed

    @property
    def digest_hex(self) -> str:
        """The digest as marks spell it."""
        return f"{self.digest:032x}"


class Interest:
    """The source of truth about what is wanted."""

    def __init__(
        self,
        policy: Policy,
        limits: SyncLimits,
        own_urls: tuple[RelayUrl, ...] = (),
        mirrors: tuple[RelayUrl, ...] = (),
    ) -> None:
        self._policy = policy
        self._limits = limits
        self._own_urls = frozenset(own_urls)
        self.mirrors = mirrors  # wanted for every repository, whatever its announcement names
        self._groups: dict[str, dict[PubKey, Standing]] = {}  # by identifier and author
        self._standing_by_event: dict[EventId, Standing] = {}
        self._repo_by_addr: dict[RepoAddr, Repo] = {}
        self._repos: list[Repo] = []
        self.roots = Roots()
        self._repos_by_peer: dict[RelayUrl, dict[int, None]] = {}
        self._changed: dict[RelayUrl, dict[int, None]] = {}
        self._shares = Shares(limits.relays_per_author)
        self._seen: _Seen | None = None  # while the own relay's history is read again
        self._findings: list[CapReached] = []

    # What the own relay tells

    def put(self, event: Event) -> None:
        """Take an event of the own relay into account. Known ones and old versions change nothing."""
        if event.kind == ANNOUNCEMENT:
            self._put_announcement(event)
        elif event.kind in ROOT_KINDS:
            self._put_root(event)
        for event_id in event.references.ids:
            number = self.roots.find(event_id)
            if number is not None:
                self.roots.touch(number, event.created_at)

    def erase(self, event_id: EventId) -> None:
        """The own relay serves this event no longer."""
        standing = self._standing_by_event.get(event_id)
        if standing is not None:
            self._drop_standing(standing)
        number = self.roots.find(event_id)
        if number is not None:
            self._remove_root(number)

    def begin_reading(self) -> None:
        """The own relay's history is about to be read: what is not in it, nor comes meanwhile, is gone."""
        self._seen = _Seen(self.roots.ever, list(self._standing_by_event))

    def end_reading(self) -> None:
        """The history has been read to its end."""
        seen, self._seen = self._seen, None
        if seen is None:
            return
        for event_id in seen.unseen_announcements:
            self.erase(event_id)
        for number in seen.unseen_roots():
            if self.roots.id(number) is not None:
                self._remove_root(number)

    # What others ask

    def take_changes(self) -> dict[RelayUrl, dict[int, None]]:
        """By peer, the repositories that it began or ceased to be wanted for, or that have grown, since last asked."""
        changed, self._changed = self._changed, {}
        return changed

    @property
    def has_changes(self) -> bool:
        """Whether a window has something to do."""
        return bool(self._changed)

    def peers(self) -> Iterator[RelayUrl]:
        """Every relay that some repository names."""
        return iter(self._repos_by_peer)

    def repos_of(self, peer: RelayUrl) -> dict[int, None]:
        """The repositories that name this relay, by number."""
        return self._repos_by_peer.get(peer, {})

    def repo(self, number: int) -> Repo:
        """A repository by its number."""
        return self._repos[number]

    def find_repo(self, addr: RepoAddr) -> Repo | None:
        """A repository by its address."""
        return self._repo_by_addr.get(addr)

    @property
    def repo_count(self) -> int:
        """Repositories that some announcement makes ours to sync."""
        return sum(1 for repo in self._repos if repo.wanted)

    def wanted_repos(self) -> list[Repo]:
        """Repositories that are ours to sync, in the order in which they came."""
        return [repo for repo in self._repos if repo.wanted]

    def take_findings(self) -> list[CapReached]:
        """Caps that took hold since last asked."""
        found, self._findings = self._findings, []
        return found

    def rank(self, peer: RelayUrl) -> int:
        """How good a relay's claim to be kept is: the best place it has in any list of relays, 0 the first."""
        best = self._limits.relays_per_announcement
        for number in self.repos_of(peer):
            best = min(best, self._repos[number].peers.index(peer))
            if best == 0:
                break
        return best

    def concerns(self, event: Event) -> bool:
        """Whether an event is of the kind that our filters ask for."""
        if event.kind in (ANNOUNCEMENT, STATE):
            return True
        if any(RepoAddr(address) in self._repo_by_addr for address in event.references.addresses):
            return True
        return any(self.roots.find(event_id) is not None for event_id in event.references.ids)

    # Announcements

    def _put_announcement(self, event: Event) -> None:
        if self._seen is not None:
            self._seen.announcement(event.id)
        announcement = read_announcement(event)
        group = self._groups.setdefault(announcement.identifier, {})
        held = group.get(event.pubkey)
        standing = standing_of(announcement, self._policy)
        if held is not None:
            if not standing.replaces(held):
                return
            del self._standing_by_event[held.event_id]
        elif len(self._standing_by_event) >= self._limits.repositories_max:
            self._findings.append(CapReached("repositories", standing.repo))
            return
        group[event.pubkey] = standing
        self._standing_by_event[event.id] = standing
        self._settle(group, event.pubkey)

    def _drop_standing(self, standing: Standing) -> None:
        group = self._groups[standing.identifier]
        del group[standing.pubkey]
        del self._standing_by_event[standing.event_id]
        self._set_wanted(self._repo_at(standing.repo), None)
        if group:
            self._settle(group, None)
        else:
            del self._groups[standing.identifier]

    def _settle(self, group: dict[PubKey, Standing], changed: PubKey | None) -> None:
        """Decide anew which repositories of one identifier are wanted: one announcement can entitle others."""
        wanted = set(wanted_authors(group, self._policy.blocked_authors))
        for pubkey, standing in group.items():
            repo = self._repo_at(standing.repo)
            if pubkey == changed or repo.wanted != (pubkey in wanted):
                self._set_wanted(repo, standing if pubkey in wanted else None)

    def _set_wanted(self, repo: Repo, standing: Standing | None) -> None:
        repo.wanted = standing is not None
        self._shares.release(PubKey(repo.addr.split(":", 2)[1]), repo.peers)
        self._set_peers(repo, () if standing is None else self._admitted(standing, repo))

    def _admitted(self, standing: Standing, repo: Repo) -> tuple[RelayUrl, ...]:
        """The relays of an announcement that count: not ourselves, and no more than its author's share."""
        others = [url for url in standing.relays if not self.is_own(url) and url not in self.mirrors]
        most = self._limits.relays_per_announcement
        if len(others) > most:
            self._findings.append(CapReached("relays of one announcement", repo.addr))
        taken = self._shares.take(standing.pubkey, others[:most])
        if len(taken) < len(dict.fromkeys(others[:most])):
            self._findings.append(CapReached("relays of one author", repo.addr))
        return (*taken, *self.mirrors)

    def is_own(self, url: RelayUrl) -> bool:
        """Whether a URL is one of ours."""
        if url in self.mirrors:
            return False
        return url in self._own_urls or is_service_relay(url, self._policy.domain)

    def _set_peers(self, repo: Repo, peers: tuple[RelayUrl, ...]) -> None:
        before, repo.peers = repo.peers, peers
        for url in before:
            if url not in peers:
                repos = self._repos_by_peer[url]
                del repos[repo.number]
                if not repos:
                    del self._repos_by_peer[url]
                self._changed.setdefault(url, {})[repo.number] = None
        for url in peers:
            if url not in before:
                self._repos_by_peer.setdefault(url, {})[repo.number] = None
                self._changed.setdefault(url, {})[repo.number] = None

    # Roots

    def _put_root(self, event: Event) -> None:
        number = self.roots.find(event.id)
        if number is not None:
            if self._seen is not None:
                self._seen.root(number)
            return
        # NIP-34: a root names its repository, or repositories, by `a` tags.
        addresses = dict.fromkeys(value for value in event.tag_values("a") if value.startswith(_ADDRESS_PREFIX))
        named = [RepoAddr(addr) for addr in addresses if parse_address(addr) is not None]
        repos = [self._repo_at(addr) for addr in named[: self._limits.repositories_per_root] if self._has_room(addr)]
        if not repos:
            return
        number = self.roots.add(event.id, tuple(repo.number for repo in repos), event.created_at)
        for repo in repos:
            repo.roots.append(number)
            repo.digest = repo.digest + _digest(event.id) & _DIGEST_MASK
            for url in repo.peers:
                self._changed.setdefault(url, {})[repo.number] = None

    def _has_room(self, addr: RepoAddr) -> bool:
        repo = self._repo_by_addr.get(addr)
        if self.roots.ever >= self._limits.roots_max:
            self._findings.append(CapReached("root events", addr))
            return False
        if repo is None:
            return len(self._repos) < 2 * self._limits.repositories_max
        if len(repo.roots) >= self._limits.roots_per_repository:
            self._findings.append(CapReached("root events of one repository", addr))
            return False
        return True

    def _remove_root(self, number: int) -> None:
        key = self.roots.id(number)
        assert key is not None
        for repo_number in self.roots.remove(number):
            repo = self._repos[repo_number]
            repo.roots[repo.roots.index(number)] = _REMOVED
            repo.removed += 1
            repo.digest = repo.digest - _digest(key.hex()) & _DIGEST_MASK
            for url in repo.peers:
                self._changed.setdefault(url, {})[repo.number] = None

    def _repo_at(self, addr: RepoAddr) -> Repo:
        repo = self._repo_by_addr.get(addr)
        if repo is None:
            repo = Repo(len(self._repos), addr)
            self._repos.append(repo)
            self._repo_by_addr[addr] = repo
        return repo


class _Seen:
    """What a reading of the history has come across, of what was known when it began."""

    def __init__(self, roots: int, announcements: list[EventId]) -> None:
        self._roots = bytearray(roots)
        self.unseen_announcements = dict.fromkeys(announcements)

    def root(self, number: int) -> None:
        if number < len(self._roots):
            self._roots[number] = 1

    def announcement(self, event_id: EventId) -> None:
        self.unseen_announcements.pop(event_id, None)

    def unseen_roots(self) -> list[int]:
        unseen = []
        at = self._roots.find(0)
        while at >= 0:
            unseen.append(at)
            at = self._roots.find(0, at + 1)
        return unseen


def _digest(event_id: str) -> int:
    # Half an id tells sets apart as well as a whole one: both are uniform.
    return int(event_id[:32], 16)
