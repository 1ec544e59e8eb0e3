"""A small world for the engine: a store, a few peers that answer at once, and a clock that jumps to the next deadline.

Peers here speak the engine's own inputs and effects, honestly; what they get wrong is a switch. Worlds with faults,
latency and real messages are the simulator's.
"""

import random
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from graspd.negentropy import ItemSet, Responder
from graspd.nostr.event import Event
from graspd.nostr.filter import Filter
from graspd.nostr.kinds import ANNOUNCEMENT, ROOT_KINDS
from graspd.nostr.prefix import Prefix
from graspd.rules.policy import Policy
from graspd.rules.verdict import Verdict
from graspd.sync import effects, inputs
from graspd.sync.engine import SyncEngine
from graspd.sync.inputs import PeerTerms
from graspd.sync.limits import SyncLimits
from graspd.sync.records import Mark, PeerRecord, SavedState
from graspd.sync.reports import Finding
from graspd.types import LinkId, Monotonic, Now, RelayUrl, RepoAddr, SubId, UnixTime
from sim.store import MemoryStore, matches, take

START = UnixTime(1_750_000_000)


@dataclass
class FakePeer:
    """Honest unless a switch says otherwise."""

    url: RelayUrl
    events: dict[str, Event] = field(default_factory=dict)
    negentropy: bool = True
    page_cap: int = 500
    up: bool = True
    mute: bool = False  # takes everything, says nothing
    terms: PeerTerms | None = None
    live_cap: int = 1000  # subscriptions
    subs: dict[SubId, tuple[Filter, ...]] = field(default_factory=dict)
    link: LinkId | None = None
    asked: list[effects.Effect] = field(default_factory=list)
    served: int = 0  # events sent

    def put(self, *events: Event) -> None:
        self.events.update({event.id: event for event in events})

    def query(self, filters: Iterable[Filter]) -> list[Event]:
        found: dict[str, Event] = {}
        for wanted in filters:
            limit = self.page_cap if wanted.limit is None else min(wanted.limit, self.page_cap)
            hits = sorted(
                (event for event in self.events.values() if matches(wanted, event)),
                key=lambda event: (-event.created_at, event.id),
            )
            found.update((event.id, event) for event in hits[:limit])
        return list(found.values())


@dataclass
class World:
    """The engine, our store, and the peers."""

    policy: Policy
    limits: SyncLimits = field(default_factory=SyncLimits)
    seed: int = 1
    store: MemoryStore = field(default_factory=MemoryStore)
    peers: dict[RelayUrl, FakePeer] = field(default_factory=dict)
    mono: float = 1000.0
    records: dict[RelayUrl, PeerRecord] = field(default_factory=dict)
    marks: dict[tuple[RelayUrl, RepoAddr], Mark] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    queue: deque[inputs.Input] = field(default_factory=deque)
    trace: list[effects.Effect] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        saved = SavedState(tuple(self.records.values()), tuple(self.marks.values()))
        self.engine = SyncEngine(self.policy, self.limits, saved, random.Random(self.seed))
        self.responders: dict[SubId, Responder] = {}
        self.queue.clear()
        for peer in self.peers.values():
            peer.link = None
            peer.subs.clear()

    @property
    def now(self) -> Now:
        return Now(Monotonic(self.mono), UnixTime(START + int(self.mono)))

    def peer(self, url: str, **switches: object) -> FakePeer:
        peer = FakePeer(RelayUrl(url), **switches)  # type: ignore[arg-type]
        self.peers[peer.url] = peer
        return peer

    # Running

    def tell(self, *happened: inputs.Input) -> None:
        """Feed inputs and everything that follows from them at once."""
        self.queue.extend(happened)
        while self.queue:
            event = self.queue.popleft()
            for effect in self.engine.step(event, self.now):
                self.trace.append(effect)
                self._perform(effect)

    def run(self, seconds: float) -> None:
        """Let time pass, from deadline to deadline."""
        end = self.mono + seconds
        steps = 0
        while (at := self.engine.next_deadline()) is not None and at <= end:
            self.mono = max(self.mono, at)
            self.tell(inputs.Ticked())
            steps += 1
            assert steps < 200_000, "the engine spins"
        self.mono = end

    def publish(self, *events: Event) -> None:
        """Somebody publishes to us."""
        self._ingest(events)

    def publish_to(self, peer: FakePeer, event: Event) -> None:
        """Somebody publishes to a peer."""
        peer.put(event)
        if peer.link is None:
            return
        for sub, filters in list(peer.subs.items()):
            if any(matches(wanted, event) for wanted in filters):
                self.tell(inputs.EventArrived(peer.link, sub, event))

    def cut(self, peer: FakePeer) -> None:
        """The link to a peer breaks."""
        assert peer.link is not None
        link, peer.link = peer.link, None
        peer.subs.clear()
        self.tell(inputs.LinkLost(link, inputs.LinkFault.NETWORK))

    # Effects

    def _perform(self, effect: effects.Effect) -> None:
        match effect:
            case effects.ReadOwnHistory(job):
                self.queue.append(inputs.OwnEventsRead(job, tuple(self._history())))
                self.queue.append(inputs.OwnHistoryEnded(job))
            case effects.OpenLink(link, url):
                self._dial(link, url)
            case effects.Ingest(job, _, events):
                verdicts = self._ingest(events)
                self.queue.append(inputs.IngestEnded(job, tuple(verdicts)))
            case effects.ReadItems(job, wanted):
                columns = self.store.columns(wanted, self.now.wall)
                self.queue.append(inputs.ItemsRead(job, ItemSet.from_columns(columns.created_at, columns.ids)))
            case effects.LookUpIds(job, ids):
                known = frozenset(one for one in ids if one in self.store.served or one in self.store.gone)
                self.queue.append(inputs.IdsLookedUp(job, known))
            case effects.SaveState():
                self._save(effect)
            case effects.Report(finding):
                self.findings.append(finding)
            case _:
                self._send(effect)

    def _history(self) -> list[Event]:
        return [event for event in self.store.events() if event.kind == ANNOUNCEMENT or event.kind in ROOT_KINDS]

    def _ingest(self, events: Iterable[Event]) -> list[Verdict]:
        before = set(self.store.served)
        verdicts = take(self.store, list(events), self.policy, self.now.wall)
        after = set(self.store.served)
        new = tuple(self.store.served[one] for one in sorted(after - before))
        if before - after:
            self.queue.append(inputs.OwnEventsErased(tuple(sorted(before - after))))
        if new:
            self.queue.append(inputs.OwnEventsStored(new))
        return verdicts

    def _save(self, effect: effects.SaveState) -> None:
        for url in effect.forgotten:
            self.records.pop(url, None)
        for url in (*effect.forgotten, *effect.cleared):
            for pair in [pair for pair in self.marks if pair[0] == url]:
                del self.marks[pair]
        for pair in effect.unmarked:
            self.marks.pop(pair, None)
        self.records.update({record.url: record for record in effect.records})
        self.marks.update({(mark.peer, mark.repo): mark for mark in effect.marks})
        self.queue.append(inputs.StateSaved(effect.job))

    def _dial(self, link: LinkId, url: RelayUrl) -> None:
        peer = self.peers.get(url)
        if peer is None or not peer.up:
            self.queue.append(inputs.LinkFailed(link, inputs.LinkFault.REFUSED))
            return
        peer.link = link
        self.queue.append(inputs.LinkOpened(link, peer.terms))

    def _send(self, effect: effects.Effect) -> None:
        link: LinkId = effect.link  # type: ignore[union-attr]
        peer = next((one for one in self.peers.values() if one.link == link), None)
        if peer is None:
            return
        peer.asked.append(effect)
        if isinstance(effect, effects.CloseLink):
            peer.link = None
            peer.subs.clear()
        elif not peer.mute:
            self._answer(peer, link, effect)

    def _answer(self, peer: FakePeer, link: LinkId, effect: effects.Effect) -> None:
        match effect:
            case effects.SendReq(_, sub, filters):
                if len(peer.subs) >= peer.live_cap and sub not in peer.subs:
                    self.queue.append(inputs.ClosedArrived(link, sub, Prefix.ERROR, "error: too many subscriptions"))
                    return
                peer.subs[sub] = filters
                for event in peer.query(filters):
                    peer.served += 1
                    self.queue.append(inputs.EventArrived(link, sub, event))
                self.queue.append(inputs.EoseArrived(link, sub))
            case effects.SendClose(_, sub):
                peer.subs.pop(sub, None)
            case effects.SendNegOpen(_, sub, wanted, message):
                if not peer.negentropy:
                    self.queue.append(inputs.NoticeArrived(link, "ERROR: bad msg: unknown cmd"))
                    return
                self.responders[sub] = Responder(_items(peer, wanted))
                self.queue.append(inputs.NegMsgArrived(link, sub, self.responders[sub].reconcile(message)))
            case effects.SendNegMsg(_, sub, message):
                self.queue.append(inputs.NegMsgArrived(link, sub, self.responders[sub].reconcile(message)))
            case effects.SendNegClose(_, sub):
                self.responders.pop(sub, None)
            case effects.SendAuth():
                self.queue.append(inputs.AuthAnswered(link, True, ""))
            case _:
                raise AssertionError(effect)


def _items(peer: FakePeer, wanted: Filter) -> ItemSet:
    store = MemoryStore()
    store.served.update({event.id: event for event in peer.events.values()})
    columns = store.columns(wanted, UnixTime(0))
    return ItemSet.from_columns(columns.created_at, columns.ids)
