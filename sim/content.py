"""What people sign in the world: repositories, states, roots, replies, deletions. Ids are real, signatures stand in.

`make` and `forged` make events; `Content` makes up the next thing somebody publishes, and where. It knows nothing of
what any relay holds.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final

import orjson

from graspd.nostr import kinds
from graspd.nostr.event import Event, parse_event
from graspd.nostr.nip19 import encode_npub
from graspd.types import PubKey, RelayUrl
from sim.faults import Fault, Faults
from sim.timeline import EPOCH

HOST: Final = "grasp.example"
OWN_URL: Final = RelayUrl(f"wss://{HOST}")
COMMENT: Final = 1111  # NIP-22
_GENUINE: Final = "0" * 128
_FORGED: Final = "f" * 128
_OTHER_SPELLINGS: Final = (f"wss://{HOST.upper()}/", f"wss://{HOST}:443", f"{HOST}")
_PRIVATE: Final = ("ws://127.0.0.1:7334", "ws://10.0.0.7", "ws://169.254.169.254", "ws://[::1]:80", "wss://localhost")


def make(kind: int, by: PubKey, at: int, tags: Sequence[Sequence[str]], content: str = "") -> Event:
    """An event of this content, genuine in this world."""
    digest = hashlib.sha256(orjson.dumps([0, by, at, kind, tags, content])).hexdigest()
    return _event(digest, by, at, kind, tags, content, _GENUINE)


def forged(event: Event) -> Event:
    """The same event, and so the same id, with a signature that does not fit."""
    return _event(event.id, event.pubkey, event.created_at, event.kind, event.tags, event.content, _FORGED)


def _event(digest: str, by: PubKey, at: int, kind: int, tags: Sequence[Sequence[str]], content: str, sig: str) -> Event:
    fields = {"pubkey": by, "created_at": at, "kind": kind, "tags": [*map(list, tags)], "content": content}
    event = parse_event({"id": digest, **fields, "sig": sig})
    assert isinstance(event, Event), event
    return event


def is_genuine(event: Event) -> bool:
    """Stands for the check of the signature."""
    return event.sig == _GENUINE


def author(name: str) -> PubKey:
    """Somebody's key."""
    return PubKey(hashlib.sha256(name.encode()).hexdigest())


@dataclass(slots=True)
class Repo:
    """A repository as its owner announces it at present."""

    owner: PubKey
    identifier: str
    relays: list[RelayUrl]
    maintainers: list[PubKey] = field(default_factory=list)
    listed: bool = True  # with us among its relays
    announced_at: int = 0

    @property
    def addr(self) -> str:
        """Its address."""
        return f"{kinds.ANNOUNCEMENT}:{self.owner}:{self.identifier}"

    def announcement(self, at: int, more: Sequence[str] = ()) -> Event:
        """The event that announces it. A later version is later by the clock, too."""
        self.announced_at = max(at, self.announced_at + 1)
        host = HOST if self.listed else "other.example"
        clone = f"https://{host}/{encode_npub(self.owner)}/{self.identifier}.git"
        tags = [["d", self.identifier], ["clone", clone], ["relays", f"wss://{host}", *self.relays, *more]]
        if self.maintainers:
            tags.append(["maintainers", *self.maintainers])
        return make(kinds.ANNOUNCEMENT, self.owner, self.announced_at, tags)


@dataclass(frozen=True, slots=True)
class Publication:
    """An event and the relays it is sent to; to us as well where `direct`."""

    event: Event
    to: tuple[RelayUrl, ...]
    direct: bool = False


class Content:
    """Somebody's next event."""

    def __init__(
        self,
        rng: Random,
        faults: Faults,
        peers: Sequence[RelayUrl],
        direct_share: float,
        *,
        restless: bool = False,
    ) -> None:
        self._rng = rng
        self._faults = faults
        self._peers = list(peers)
        self._direct_share = direct_share
        self._restlessness = 12 if restless else 1  # how much oftener owners change their relays
        self._people = [author(f"person {number}") for number in range(6)]
        self._count = 0
        self.repos: list[Repo] = []
        self.roots: list[tuple[Event, Repo]] = []
        self.replies: list[tuple[Event, Repo]] = []

    def begin(self, now: float, repos: int, events: int) -> list[Publication]:
        """A history: repositories, and what was said about them within the last weeks."""
        history = [self._announce_new(now - self._rng.uniform(0, 30 * 86400)) for _ in range(repos)]
        moment = now
        for _ in range(events):
            # Imports and scripts sign many events within one second.
            if self._rng.random() < 0.7:
                moment = now - self._rng.uniform(0, 30 * 86400)
            history.extend(self.happen(moment))
        return history

    def happen(self, now: float) -> list[Publication]:
        """One thing that somebody does; now and then a burst of them in one second."""
        if Fault.TIES in self._faults and self._rng.random() < 0.05:
            self._faults.saw(Fault.TIES)
            return [self._reply(now) for _ in range(self._rng.randint(4, 25))]
        acts, weights = zip(*self._acts(), strict=True)
        (act,) = self._rng.choices(acts, weights)
        made = act(now)
        return [made] if made is not None else []

    def _acts(self) -> list[tuple[Callable[[float], Publication | None], float]]:
        acts: list[tuple[Callable[[float], Publication | None], float]] = [
            (self._root, 30),
            (self._reply, 45),
            (self._state, 8),
            (self._announce_again, 4 * self._restlessness),
            (self._announce_new, 3),
            (self._announce_elsewhere, 2),
            (self._noise, 3),
        ]
        for fault, act, weight in (
            (Fault.DELETED, self._delete, 4),
            (Fault.VANISHED, self._vanish, 0.3),
            (Fault.EXPIRING, self._expiring, 3),
            (Fault.PROTECTED, self._protected, 2),
            (Fault.FUTURE, self._future, 2),
            (Fault.PAST, self._past, 2),
            (Fault.LATE, self._late, 4),
            (Fault.SHRUNK, self._drop_relay, 4 * self._restlessness),
            (Fault.MANY_RELAYS, self._many_relays, 0.5),
            (Fault.OURSELVES, self._name_ourselves, 1),
            (Fault.PRIVATE, self._name_private, 1),
            (Fault.DELETED_FIRST, self._delete_first, 1),
        ):
            if fault in self._faults:
                acts.append((act, weight))
        return acts

    # Repositories

    def new_repo(self, relays: Sequence[RelayUrl] | None = None, *, listed: bool = True) -> Repo:
        """A repository that nobody has announced yet."""
        self._count += 1
        if relays is None:
            relays = self._rng.sample(self._peers, self._rng.randint(1, min(4, len(self._peers))))
        owner = self._rng.choice(self._people)
        repo = Repo(owner, f"proj-{self._count}", list(relays), listed=listed)
        if self._rng.random() < 0.3:
            repo.maintainers = [other for other in self._rng.sample(self._people, 2) if other != owner]
        if listed:
            self.repos.append(repo)
        return repo

    def _announce_new(self, now: float) -> Publication:
        repo = self.new_repo()
        return Publication(repo.announcement(_second(now)), self._somewhere(repo), self._rng.random() < 0.7)

    def _announce_again(self, now: float) -> Publication | None:
        """A new version: other relays, other maintainers; or a maintainer's own announcement."""
        if not self.repos:
            return None
        repo = self._rng.choice(self.repos)
        if repo.maintainers and self._rng.random() < 0.4:
            by = Repo(self._rng.choice(repo.maintainers), repo.identifier, list(repo.relays), listed=False)
            return Publication(by.announcement(_second(now)), self._somewhere(repo))
        missing = [url for url in self._peers if url not in repo.relays]
        if missing:
            repo.relays.insert(self._rng.randint(0, len(repo.relays)), self._rng.choice(missing))
        return self._announced(repo, now)

    def _drop_relay(self, now: float) -> Publication | None:
        """A relay less; now and then the whole service."""
        if not self.repos:
            return None
        self._faults.saw(Fault.SHRUNK)
        repo = self._rng.choice(self.repos)
        before = self._somewhere(repo)
        if repo.relays and self._rng.random() < 0.85:
            repo.relays.remove(self._rng.choice(repo.relays))
        else:
            repo.listed = not repo.listed
        return Publication(repo.announcement(_second(now)), before, self._rng.random() < 0.5)

    def _announce_elsewhere(self, now: float) -> Publication:
        repo = self.new_repo(listed=False)
        return Publication(repo.announcement(_second(now)), self._anywhere())

    def _many_relays(self, now: float) -> Publication | None:
        return self._naming(now, [f"wss://relay-{number}.invalid" for number in range(1000)], Fault.MANY_RELAYS)

    def _name_ourselves(self, now: float) -> Publication | None:
        return self._naming(now, _OTHER_SPELLINGS, Fault.OURSELVES)

    def _name_private(self, now: float) -> Publication | None:
        return self._naming(now, _PRIVATE, Fault.PRIVATE)

    def _naming(self, now: float, more: Sequence[str], fault: Fault) -> Publication | None:
        if not self.repos:
            return None
        self._faults.saw(fault)
        repo = self._rng.choice(self.repos)
        return Publication(repo.announcement(_second(now), more), self._somewhere(repo), self._rng.random() < 0.5)

    def _announced(self, repo: Repo, now: float) -> Publication:
        return Publication(repo.announcement(_second(now)), self._somewhere(repo), self._is_direct())

    # What is said about them

    def _state(self, now: float) -> Publication | None:
        if not self.repos:
            return None
        repo = self._rng.choice(self.repos)
        by = self._rng.choice([repo.owner, repo.owner, *repo.maintainers])
        tags = [["d", repo.identifier], ["refs/heads/main", f"{self._next():040x}"], ["HEAD", "ref: refs/heads/main"]]
        return Publication(make(kinds.STATE, by, _second(now), tags), self._somewhere(repo), self._is_direct())

    def _root(self, now: float, extra: Sequence[Sequence[str]] = ()) -> Publication | None:
        if not self.repos:
            return None
        repo = self._rng.choice(self.repos)
        event = self.root_of(repo, _second(now), extra)
        return Publication(event, self._somewhere(repo), self._is_direct())

    def root_of(self, repo: Repo, at: int, extra: Sequence[Sequence[str]] = ()) -> Event:
        """An issue, patch or pull request; now and then one that concerns two repositories."""
        tags = [["a", repo.addr], *extra]
        if len(self.repos) > 1 and self._rng.random() < 0.1:
            tags.append(["a", self._rng.choice(self.repos).addr])
        kind = self._rng.choice(kinds.ROOT_KINDS)
        event = make(kind, self._rng.choice(self._people), at, tags, f"root {self._next()}")
        self.roots.append((event, repo))
        return event

    def _reply(self, now: float, extra: Sequence[Sequence[str]] = ()) -> Publication:
        if not self.roots:
            return self._noise(now)
        root, repo = self._rng.choice(self.roots[-40:])
        event = self.reply_to(root, repo, _second(now), extra)
        return Publication(event, self._somewhere(repo), self._is_direct())

    def reply_to(self, root: Event, repo: Repo, at: int, extra: Sequence[Sequence[str]] = ()) -> Event:
        """A comment, a note or a quotation."""
        tag = self._rng.choice((["E", root.id], ["e", root.id], ["q", root.id], ["A", repo.addr], ["q", repo.addr]))
        kind = COMMENT if tag[0] in ("E", "A") else 1
        event = make(kind, self._rng.choice(self._people), at, [tag, *extra], f"reply {self._next()}")
        self.replies.append((event, repo))
        return event

    def _noise(self, now: float) -> Publication:
        """What is none of our business, or a state that came before its announcement."""
        by = self._rng.choice(self._people)
        if self._rng.random() < 0.5:
            return Publication(make(1, by, _second(now), [["t", "noise"]], f"noise {self._next()}"), self._anywhere())
        tags = [["d", f"proj-{self._count + self._rng.randint(0, 2)}"], ["refs/heads/main", f"{self._next():040x}"]]
        return Publication(make(kinds.STATE, by, _second(now), tags), self._anywhere())

    # What is unusual about it

    def _delete(self, now: float) -> Publication | None:
        """Its author takes something back: a reply, a root or a repository."""
        said = self._rng.choice((self.replies, self.replies, self.roots))
        if not said or (self.repos and self._rng.random() < 0.1):
            return self._delete_repo(now)
        self._faults.saw(Fault.DELETED)
        event, repo = self._rng.choice(said)
        return Publication(self._deletion(event, repo, now), self._somewhere(repo), self._is_direct())

    def _delete_repo(self, now: float) -> Publication | None:
        if len(self.repos) < 2:
            return None
        self._faults.saw(Fault.DELETED)
        repo = self.repos.pop(self._rng.randrange(len(self.repos)))
        event = make(kinds.DELETION, repo.owner, max(_second(now), repo.announced_at), [["a", repo.addr]])
        return Publication(event, self._somewhere(repo), self._is_direct())

    def _delete_first(self, now: float) -> Publication | None:
        """The deletion alone; its target comes later, if ever, on other relays."""
        if not self.repos:
            return None
        self._faults.saw(Fault.DELETED_FIRST)
        repo = self._rng.choice(self.repos)
        target = self.root_of(repo, _second(now))
        return Publication(self._deletion(target, repo, now), self._somewhere(repo), self._is_direct())

    def _deletion(self, event: Event, repo: Repo, now: float) -> Event:
        tags = [["e", event.id]]
        if self._rng.random() < 0.5:
            # With its repository named, so that it reaches those who follow the repository.
            tags.append(["A", repo.addr])
        return make(kinds.DELETION, event.pubkey, max(_second(now), event.created_at), tags)

    def _vanish(self, now: float) -> Publication:
        self._faults.saw(Fault.VANISHED)
        by = self._rng.choice(self._people)
        return Publication(make(kinds.VANISH, by, _second(now), [["relay", "ALL_RELAYS"]]), self._anywhere(), True)

    def _expiring(self, now: float) -> Publication:
        self._faults.saw(Fault.EXPIRING)
        until = _second(now) + self._rng.choice((30, 300, 3600, 86400))
        return self._reply(now, [["expiration", str(until)]])

    def _protected(self, now: float) -> Publication:
        self._faults.saw(Fault.PROTECTED)
        return replace(self._reply(now, [["-"]]), direct=False)

    def _future(self, now: float) -> Publication:
        self._faults.saw(Fault.FUTURE)
        return self._reply(now + self._rng.choice((600, 1800, 7200)))

    def _past(self, now: float) -> Publication:
        self._faults.saw(Fault.PAST)
        return self._reply(now - self._rng.uniform(1e8, EPOCH))

    def _late(self, now: float) -> Publication:
        self._faults.saw(Fault.LATE)
        return self._reply(now - self._rng.uniform(1000, 5 * 86400))

    # Where

    def _somewhere(self, repo: Repo) -> tuple[RelayUrl, ...]:
        """Some of the relays that the repository names, now and then another."""
        chosen = [url for url in repo.relays if self._rng.random() < 0.7]
        if not chosen or self._rng.random() < 0.1:
            chosen.append(self._rng.choice(self._peers))
        return tuple(dict.fromkeys(chosen))

    def _anywhere(self) -> tuple[RelayUrl, ...]:
        return tuple(self._rng.sample(self._peers, self._rng.randint(1, min(3, len(self._peers)))))

    def _is_direct(self) -> bool:
        return self._rng.random() < self._direct_share

    def _next(self) -> int:
        self._count += 1
        return self._count


def _second(now: float) -> int:
    return max(0, int(EPOCH + now))
