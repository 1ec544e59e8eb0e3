"""The loop around the engine: takes what happened, steps, performs what the engine asks for, tells it what came of it.

It decides nothing about sync. What it adds is the world: links, tasks, the clock, and backpressure, by which a peer
whose events are still being stored is not read further.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, assert_never

from graspd.errors import StoreError
from graspd.nostr import messages
from graspd.nostr import relay_messages as r
from graspd.peers.dialer import Dialer
from graspd.peers.identity import Identity
from graspd.peers.inbox import Inbox, Lane
from graspd.peers.link import Link
from graspd.peers.own_relay import Feed, OwnRelay
from graspd.store.ports import SyncStore
from graspd.sync import effects as e
from graspd.sync import inputs as i
from graspd.sync.jobs import JobId
from graspd.sync.reports import Finding
from graspd.types import LinkId, Monotonic, Now, RelayUrl

IN_HAND_MAX: Final = 500  # events of one peer being stored; it is not read while there are more
INPUTS_IN_A_ROW: Final = 32  # before everybody else on the loop has a turn
STOP_S_MAX: Final = 5.0
# Once it stops, the engine hears that, and answers to what it asked.
_LAST_INPUTS: Final = (
    i.Stopping,
    i.IngestEnded,
    i.ItemsRead,
    i.IdsLookedUp,
    i.ReadFailed,
    i.StateSaved,
    i.SaveFailed,
    i.LinkFailed,
    i.LinkLost,
)


class Engine(Protocol):
    """What drives everything: sync.engine.SyncEngine."""

    def step(self, event: i.Input, now: Now) -> Sequence[e.Effect]:
        """What follows from an input."""

    def next_deadline(self) -> Monotonic | None:
        """When it wants a tick at the latest."""


@dataclass(slots=True)
class _Open:
    link: Link
    lane: Lane
    peer: RelayUrl
    task: asyncio.Task[None]


class Driver:
    """Run once, by `run`; ended by `stop`."""

    def __init__(
        self,
        engine: Engine,
        own: OwnRelay,
        state: SyncStore,
        dialer: Dialer,
        identity: Identity,
        now: Callable[[], Now],
        report: Callable[[Finding], None],
    ) -> None:
        self._engine = engine
        self._own = own
        self._state = state
        self._dialer = dialer
        self._identity = identity
        self._now = now
        self._report = report
        self._inbox = Inbox(lambda: now().mono)
        self._links: dict[LinkId, _Open] = {}
        self._lanes: dict[RelayUrl, Lane] = {}  # of the newest link of each peer
        self._in_hand: Counter[RelayUrl] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()
        self._reading: asyncio.Task[None] | None = None  # the own relay's history
        self._group: asyncio.TaskGroup | None = None
        self._stop_by: Monotonic | None = None
        self.feed = Feed(self._inbox.is_ready)

    def tell(self, event: i.Input) -> None:
        """An order from outside: the bootstrap peers, a retry."""
        self._inbox.tell(event)

    def stop(self) -> None:
        """Save what is worth keeping, close every link, and end; what takes too long is left."""
        if self._stop_by is None:
            self._stop_by = Monotonic(self._now().mono + STOP_S_MAX)
            self._inbox.tell(i.Stopping())
            if self._reading is not None:
                self._reading.cancel()

    async def run(self) -> None:
        """Work until stopped."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            in_a_row = 0
            while not self._has_ended():
                event = await self._inbox.get_before(self._stop_by or self._engine.next_deadline())
                if event is not None:
                    self._step(event)
                in_a_row += 1
                if in_a_row >= INPUTS_IN_A_ROW:
                    in_a_row = 0
                    await asyncio.sleep(0)
            for task in self._tasks:
                task.cancel()

    def _has_ended(self) -> bool:
        if self._stop_by is None:
            return False
        return (self._inbox.is_empty and not self._tasks) or self._now().mono >= self._stop_by

    def _step(self, event: i.Input) -> None:
        if self._stop_by is not None and not isinstance(event, _LAST_INPUTS):
            return
        if isinstance(event, i.LinkFailed | i.LinkLost):
            self._forget(event.link)
        for effect in self._engine.step(event, self._now()):
            self._perform(effect)

    def _perform(self, effect: e.Effect) -> None:
        match effect:
            case e.ReadOwnHistory(job):
                self._reading = self._start(self._read_history(job))
            case e.Ingest():
                self._start(self._ingest(effect))
            case e.ReadItems():
                self._start(self._read_items(effect))
            case e.LookUpIds():
                self._start(self._look_up(effect))
            case e.SaveState():
                self._start(self._save(effect))
            case e.Report(finding):
                self._report(finding)
            case e.OpenLink(link, peer):
                self._open(link, peer)
            case e.CloseLink(link):
                self._close(link)
            case _:
                self._send(effect)

    def _send(
        self, effect: e.SendAuth | e.SendReq | e.SendClose | e.SendNegOpen | e.SendNegMsg | e.SendNegClose
    ) -> None:
        if (opened := self._links.get(effect.link)) is None:
            return  # lost meanwhile
        match effect:
            case e.SendAuth():
                opened.link.send_auth()
            case e.SendReq(_, sub, filters):
                opened.link.send(r.req(sub, filters))
            case e.SendClose(_, sub):
                opened.link.send(r.close(sub))
            case e.SendNegOpen(_, sub, wanted, message):
                opened.link.send(r.neg_open(sub, wanted, message))
            case e.SendNegMsg(_, sub, message):
                opened.link.send(messages.neg_msg(sub, message))
            case e.SendNegClose(_, sub):
                opened.link.send(r.neg_close(sub))
            case _:
                assert_never(effect)

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        assert self._group is not None
        task = self._group.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._inbox.wake()

    def _open(self, link_id: LinkId, peer: RelayUrl) -> None:
        lane = self._inbox.lane()
        link = Link(link_id, peer, self._dialer, self._identity, lane, self._now)
        self._links[link_id] = _Open(link, lane, peer, self._start(link.run()))
        self._lanes[peer] = lane
        self._weigh(peer)

    def _close(self, link_id: LinkId) -> None:
        opened = self._forget(link_id)
        if opened is not None:
            opened.lane.shut()
            opened.task.cancel()

    def _forget(self, link_id: LinkId) -> _Open | None:
        opened = self._links.pop(link_id, None)
        if opened is not None and self._lanes.get(opened.peer) is opened.lane:
            del self._lanes[opened.peer]
        return opened

    def _weigh(self, peer: RelayUrl) -> None:
        """Hold a peer back while too many of its events are being stored."""
        if (lane := self._lanes.get(peer)) is None:
            return
        if self._in_hand[peer] > IN_HAND_MAX:
            lane.hold()
        else:
            lane.release()

    async def _ingest(self, asked: e.Ingest) -> None:
        peer = asked.source.peer
        if peer is not None:
            self._in_hand[peer] += len(asked.events)
            self._weigh(peer)
        verdicts = await self._own.ingest(asked.events, asked.source)
        if peer is not None:
            self._in_hand[peer] -= len(asked.events)
            self._weigh(peer)
            if not self._in_hand[peer]:
                del self._in_hand[peer]
        self._inbox.tell(i.IngestEnded(asked.job, verdicts))

    async def _read_history(self, job: JobId) -> None:
        lane = self._inbox.lane()  # the store is read as fast as the engine follows
        try:
            async for events in self._own.history():
                await lane.put(i.OwnEventsRead(job, events))
        except StoreError:
            await lane.put(i.OwnFeedLagged())
        else:
            await lane.put(i.OwnHistoryEnded(job))

    async def _read_items(self, asked: e.ReadItems) -> None:
        try:
            items = await self._own.items(asked.filter)
        except StoreError as error:
            self._inbox.tell(i.ReadFailed(asked.job, str(error)))
        else:
            self._inbox.tell(i.ItemsRead(asked.job, items))

    async def _look_up(self, asked: e.LookUpIds) -> None:
        try:
            known = await self._own.known(asked.ids)
        except StoreError as error:
            self._inbox.tell(i.ReadFailed(asked.job, str(error)))
        else:
            self._inbox.tell(i.IdsLookedUp(asked.job, known))

    async def _save(self, asked: e.SaveState) -> None:
        try:
            await self._state.save_sync(asked)
        except StoreError as error:
            self._inbox.tell(i.SaveFailed(asked.job, str(error)))
        else:
            self._inbox.tell(i.StateSaved(asked.job))
