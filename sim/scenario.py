"""A small language for worlds made by hand: who there is, what happens, what must come of it.

    s = Scenario()
    alpha = s.peer("alpha")
    repo = s.repository(alpha)
    issue = s.issue(repo, on=[alpha])
    s.start()
    s.expect(issue, within_s=60)

Time passes only where a sentence says so. The checkers that hold in every world hold here too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from graspd.nostr import kinds
from graspd.nostr.event import Event
from graspd.nostr.filter import Filter
from graspd.rules.verdict import Verdict
from graspd.sync import effects as e
from graspd.sync import inputs as i
from graspd.sync.limits import SyncLimits
from graspd.sync.records import SavedState
from graspd.sync.reports import Finding
from graspd.sync.view import PeerView
from graspd.types import Now, RelayUrl
from sim.checkers.watch import Links
from sim.content import COMMENT, Repo, author, make
from sim.network import Site
from sim.options import Options
from sim.peers.relay import Manners, Relay, Temper
from sim.timeline import EPOCH
from sim.world import World

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Asked:
    """One request to a peer."""

    at: float
    filters: tuple[Filter, ...]
    negentropy: bool = False

    @property
    def is_live(self) -> bool:
        """Whether it asks for news alone."""
        return all(wanted.limit == 0 for wanted in self.filters)


class Log:
    """What our side did, by peer."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._url_by_link = Links()
        self.dials: list[tuple[float, RelayUrl]] = []
        self.asked: list[tuple[RelayUrl, Asked]] = []
        self.findings: list[Finding] = []
        self.arrived: list[Event] = []

    def started(self, _now: Now, _saved: SavedState) -> None:
        """Numbers of links begin again."""
        self._url_by_link.clear()

    def answered(self, _event: Event, _verdict: Verdict) -> None:
        """Clients of ours are not logged."""

    def stepped(self, _now: Now, told: i.Input, effects: Sequence[e.Effect]) -> None:
        """Write down dials, requests, reports and events."""
        if isinstance(told, i.EventArrived):
            self.arrived.append(told.event)
        self._url_by_link.note(effects)
        for effect in effects:
            match effect:
                case e.OpenLink(_, peer):
                    self.dials.append((self._now(), peer))
                case e.SendReq(link, _, filters):
                    self.asked.append((self._url_by_link[link], Asked(self._now(), filters)))
                case e.SendNegOpen(link, _, wanted, _):
                    self.asked.append((self._url_by_link[link], Asked(self._now(), (wanted,), negentropy=True)))
                case e.Report(finding):
                    self.findings.append(finding)
                case _:
                    pass


class Scenario:
    """A world in which nothing happens but what is said."""

    def __init__(self, *, bootstrap: Sequence[str] = (), **limits: Any) -> None:
        options = Options(
            calm=True,
            faults=frozenset(),
            peers=0,
            liars=0,
            bootstraps=0,
            repos=0,
            history=0,
            safety_s=0.0,
            happen_s=1.0,
            trouble_s=1.0,
            own_trouble_s=1.0,
            direct_share=0.0,
            restless=False,
            core_share=1.0,
            others_stay=True,
            limits=SyncLimits(**limits),
        )
        self.world = World(0, options=options)
        self.own = self.world.own
        self.own.bootstrap = tuple(map(_url, bootstrap))
        self.log = Log(lambda: self.world.timeline.now)
        self.own.watchers.append(self.log)
        self._count = 0

    # Who there is

    def peer(self, name: str, *tempers: Temper, **manners: Any) -> RelayUrl:
        """A relay, honest but for its tempers."""
        url = _url(name)
        self.own.network.sites[url] = Site(Relay(url, Manners(**manners), tempers), latency_s=(0.02, 0.05))
        return url

    def relay(self, url: RelayUrl) -> Relay:
        """The relay itself."""
        return self.own.network.sites[url].relay

    def repository(
        self, *relays: str, owner: str = "owner", name: str = "proj", to_us: bool = True, listed: bool = True
    ) -> Repo:
        """A repository; its announcement is with us unless said otherwise."""
        repo = Repo(author(owner), name, [RelayUrl(url) for url in relays], listed=listed)
        event = self.announcement(repo)
        if to_us:
            self.publish_to_us(event)
        return repo

    def announcement(self, repo: Repo) -> Event:
        """The next version of its announcement."""
        return repo.announcement(self.second())

    # What people write

    def issue(self, repo: Repo, *, ago_s: float = 3600, on: Sequence[RelayUrl] = ()) -> Event:
        """An issue, which relays had before anybody listened."""
        return self.hold(
            make(kinds.ISSUE, author("reporter"), self.second(ago_s), [["a", repo.addr]], self._text()), on
        )

    def reply(self, root: Event, *, ago_s: float = 1800, on: Sequence[RelayUrl] = ()) -> Event:
        """A comment on it, likewise."""
        return self.hold(make(COMMENT, author("replier"), self.second(ago_s), [["E", root.id]], self._text()), on)

    def state(self, repo: Repo, *, by: str = "owner", ago_s: float = 600, on: Sequence[RelayUrl] = ()) -> Event:
        """Where its branches are, likewise."""
        tags = [["d", repo.identifier], ["refs/heads/main", "a" * 40], ["t", self._text()]]
        return self.hold(make(kinds.STATE, author(by), self.second(ago_s), tags), on)

    def hold(self, event: Event, on: Sequence[RelayUrl]) -> Event:
        """Relays have an event, and tell nobody."""
        for url in on:
            self.relay(url).shelf.put(event)
        return event

    def publish(self, event: Event, *urls: RelayUrl) -> Event:
        """Somebody sends an event to relays, which tell whoever listens."""
        for url in urls:
            self.own.network.publish(url, event)
        return event

    def publish_to_us(self, event: Event) -> None:
        """Somebody sends an event to us, where it is taken at once."""
        before_start = self.own.engine is None
        if before_start:
            self.own.machine.put(event)
        else:
            self.own.publish(event)

    # What happens

    def start(self) -> None:
        """Begin."""
        self.own.start()

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.world.timeline.run_until(self.world.timeline.now + seconds)
        self.world.inspect()

    def crash(self, away_s: float) -> None:
        """Die, and begin again after a while."""
        self.own.crash()
        self.wait(away_s)
        self.own.start()

    def goes_down(self, url: RelayUrl, fault: i.LinkFault = i.LinkFault.REFUSED) -> None:
        """A relay is not to be reached any more, and its links are lost."""
        self.own.network.sites[url].refusal = fault
        self.loses_its_link(url)

    def comes_back(self, url: RelayUrl) -> None:
        """It is to be reached again."""
        self.own.network.sites[url].refusal = None

    def loses_its_link(self, url: RelayUrl) -> None:
        """Its link breaks."""
        for line in self.own.network.lines_to(url):
            self.own.network.lose(line, i.LinkFault.NETWORK)

    def is_away_for(self, url: RelayUrl, seconds: float) -> None:
        """Down, and back after a while."""
        self.goes_down(url)
        self.wait(seconds)
        self.comes_back(url)

    # What must come of it

    def has(self, event: Event) -> bool:
        """Whether our store has an event."""
        return event.id in self.own.machine.store.served

    def expect(self, *events: Event, within_s: float) -> float:
        """Wait until our store has all of these. Returns how long it took; too long is a failure."""
        return self.expect_that(lambda: all(map(self.has, events)), within_s=within_s)

    def expect_that(self, holds: Callable[[], bool], *, within_s: float) -> float:
        """Wait until something holds."""
        began = self.world.timeline.now
        while not holds():
            assert self.world.timeline.now - began < within_s, f"it did not come within {within_s} s"
            self.wait(min(1.0, within_s))
        return self.world.timeline.now - began

    def view(self, url: RelayUrl) -> PeerView | None:
        """What the engine says of a peer; nothing where it does not know it."""
        assert self.own.engine is not None
        return next((peer for peer in self.own.engine.snapshot().peers if peer.url == url), None)

    def dials(self, url: RelayUrl) -> list[float]:
        """When a peer was dialled."""
        return [at for at, peer in self.log.dials if peer == url]

    def asked(self, url: RelayUrl, *, after: float = 0.0) -> list[Asked]:
        """What a peer was asked, from some time on."""
        return [asked for peer, asked in self.log.asked if peer == url and asked.at >= after]

    def found(self, kind: type[Found]) -> list[Found]:
        """What was reported of this kind."""
        return [finding for finding in self.log.findings if isinstance(finding, kind)]

    @property
    def now(self) -> float:
        """Seconds since the beginning."""
        return self.world.timeline.now

    def second(self, ago_s: float = 0) -> int:
        """The time by the calendar."""
        return int(EPOCH + self.now - ago_s)

    def _text(self) -> str:
        self._count += 1
        return f"text {self._count}"


def _url(name: str) -> RelayUrl:
    return RelayUrl(f"wss://{name}.example")
