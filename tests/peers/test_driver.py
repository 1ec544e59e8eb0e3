"""The driver performs each effect and tells the engine what came of it, under the same id."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

import numpy as np
import pytest
from aiohttp import web

from graspd.errors import StoreError
from graspd.negentropy.items import ItemSet
from graspd.nostr import messages as m
from graspd.nostr.event import Event
from graspd.nostr.filter import Filter
from graspd.peers import driver as driving
from graspd.peers.dialer import Dialer
from graspd.peers.driver import Driver
from graspd.peers.identity import Identity
from graspd.rules.verdict import STORED, Verdict
from graspd.sync import effects as e
from graspd.sync import inputs as i
from graspd.sync.jobs import JobId
from graspd.sync.records import SavedState
from graspd.sync.reports import Finding, PeerLacks
from graspd.types import EventId, LinkId, Monotonic, Now, RelayUrl, SubId
from tests.nostr.made import made
from tests.peers.linked import DEADLINE_S, SECRET, now
from tests.peers.scripted import Play, scripted

T = TypeVar("T")
JOB, LINK, SUB = JobId(5), LinkId(3), SubId("s")
EVENT = made(kind=1621)
NOTHING = ItemSet.from_unsorted(np.array([], np.uint64), np.zeros((0, 32), np.uint8))


class Script:
    """An engine that asks for what a test says and keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[i.Input] = []
        self.asked: list[e.Effect] = []
        self.deadline: Monotonic | None = None
        self._links: list[LinkId] = []
        self._changed = asyncio.Event()

    def step(self, event: i.Input, _now: Now) -> Sequence[e.Effect]:
        self.told.append(event)
        if isinstance(event, i.Ticked):
            self.deadline = None
        if isinstance(event, i.LinkOpened):
            self._links.append(event.link)
        if isinstance(event, i.Stopping):
            self.asked += [e.CloseLink(link) for link in self._links]
        self._changed.set()
        asked, self.asked = self.asked, []
        return asked

    def next_deadline(self) -> Monotonic | None:
        return self.deadline

    async def hears(self, kind: type[T], count: int = 1) -> list[T]:
        """Wait until it was told this often of such a thing."""
        found: list[T] = []
        async with asyncio.timeout(DEADLINE_S):
            while len(found) < count:
                self._changed.clear()
                found = [event for event in self.told if isinstance(event, kind)]
                if len(found) < count:
                    await self._changed.wait()
        return found


class Own:
    """An own relay, and its store, that can fail and can be slow."""

    def __init__(self) -> None:
        self.fails = False
        self.gate = asyncio.Event()
        self.gate.set()
        self.saved: list[e.SaveState] = []

    async def history(self) -> AsyncIterator[tuple[Event, ...]]:
        for at in range(3):
            await self._work()
            yield (made(kind=1621, at=at),)

    async def ingest(self, events: Sequence[Event], source: e.Source) -> tuple[Verdict, ...]:  # noqa: ARG002
        await self._work()
        return (STORED,) * len(events)

    async def items(self, wanted: Filter) -> ItemSet:  # noqa: ARG002
        await self._work()
        return NOTHING

    async def known(self, ids: Sequence[EventId]) -> frozenset[EventId]:
        await self._work()
        return frozenset(ids[:1])

    async def gone(self, ids: object) -> set[EventId]:  # noqa: ARG002
        return set()

    async def load_sync(self) -> SavedState:
        return SavedState()

    async def save_sync(self, changes: e.SaveState) -> None:
        await self._work()
        self.saved.append(changes)

    async def _work(self) -> None:
        await self.gate.wait()
        if self.fails:
            raise StoreError("the disk is gone")


class Driven:
    def __init__(self) -> None:
        self.engine = Script()
        self.own = Own()
        self.findings: list[Finding] = []
        identity = Identity(SECRET)
        dialer = Dialer(allow_private=True)
        self.driver = Driver(self.engine, self.own, self.own, dialer, identity, now, self.findings.append)

    def perform(self, *effects: e.Effect) -> None:
        """Have the engine ask for these."""
        self.engine.asked += effects
        self.driver.tell(i.PeerRetried(RelayUrl("wss://nudge.example")))


@asynccontextmanager
async def driven() -> AsyncIterator[Driven]:
    made_up = Driven()
    running = asyncio.create_task(made_up.driver.run())
    try:
        yield made_up
    finally:
        made_up.own.gate.set()
        made_up.driver.stop()
        async with asyncio.timeout(DEADLINE_S):
            await running


def save(job: JobId = JOB) -> e.SaveState:
    return e.SaveState(job, (), (), (), (), ())


INGEST = e.Ingest(JOB, e.Source(e.Way.LIVE, RelayUrl("wss://a.example")), (EVENT, EVENT))
ANSWERED: list[tuple[e.Effect, i.Input]] = [
    (INGEST, i.IngestEnded(JOB, (STORED, STORED))),
    (e.ReadItems(JOB, Filter()), i.ItemsRead(JOB, NOTHING)),
    (e.LookUpIds(JOB, (EVENT.id, EventId("0" * 64))), i.IdsLookedUp(JOB, frozenset({EVENT.id}))),
    (save(), i.StateSaved(JOB)),
]


@pytest.mark.parametrize(("effect", "answer"), ANSWERED, ids=lambda value: type(value).__name__)
async def test_work_is_answered_under_its_id(effect: e.Effect, answer: i.Input) -> None:
    async with driven() as world:
        world.perform(effect)

        assert await world.engine.hears(type(answer)) == [answer]


@pytest.mark.parametrize(
    ("effect", "answer"),
    [
        (e.ReadItems(JOB, Filter()), i.ReadFailed(JOB, "the disk is gone")),
        (e.LookUpIds(JOB, (EVENT.id,)), i.ReadFailed(JOB, "the disk is gone")),
        (save(), i.SaveFailed(JOB, "the disk is gone")),
        (e.ReadOwnHistory(JOB), i.OwnFeedLagged()),
    ],
)
async def test_work_that_fails_is_told(effect: e.Effect, answer: i.Input) -> None:
    async with driven() as world:
        world.own.fails = True
        world.perform(effect)

        assert await world.engine.hears(type(answer)) == [answer]


async def test_history_is_read_in_order_to_its_end() -> None:
    async with driven() as world:
        world.perform(e.ReadOwnHistory(JOB))

        await world.engine.hears(i.OwnHistoryEnded)

        read = [event for event in world.engine.told if isinstance(event, i.OwnEventsRead | i.OwnHistoryEnded)]
        slices = [i.OwnEventsRead(JOB, (made(kind=1621, at=at),)) for at in range(3)]
        assert read == [*slices, i.OwnHistoryEnded(JOB)]


async def test_tick_comes_at_the_engines_deadline() -> None:
    async with driven() as world:
        world.engine.deadline = Monotonic(now().mono + 0.05)
        world.perform()

        assert await world.engine.hears(i.Ticked)


async def test_finding_is_reported() -> None:
    async with driven() as world:
        finding = PeerLacks(RelayUrl("wss://a.example"), 3)
        world.perform(e.Report(finding))
        await world.engine.hears(i.PeerRetried)

        assert world.findings == [finding]


async def test_feed_reaches_the_engine() -> None:
    async with driven() as world:
        world.driver.feed.stored(EVENT)
        world.driver.feed.erased([EVENT.id])

        assert await world.engine.hears(i.OwnEventsErased) == [i.OwnEventsErased((EVENT.id,))]
        assert await world.engine.hears(i.OwnEventsStored) == [i.OwnEventsStored((EVENT,))]


# With a peer


def hearing(texts: list[bytes], done: Callable[[], None]) -> Play:
    async def play(socket: web.WebSocketResponse) -> None:
        async for message in socket:
            texts.append(message.data.encode())
            done()

    return play


async def test_everything_is_sent_in_order() -> None:
    texts: list[bytes] = []
    enough = asyncio.Event()

    def count() -> None:
        if len(texts) == 5:
            enough.set()

    async with scripted(hearing(texts, count)) as url, driven() as world:
        world.perform(e.OpenLink(LINK, url))
        assert await world.engine.hears(i.LinkOpened) == [i.LinkOpened(LINK, None)]
        wanted = Filter(kinds=(1621,), limit=0)

        world.perform(
            e.SendReq(LINK, SUB, (wanted,)),
            e.SendNegOpen(LINK, SUB, wanted, b"\x61"),
            e.SendNegMsg(LINK, SUB, b"\x61\x00"),
            e.SendNegClose(LINK, SUB),
            e.SendClose(LINK, SUB),
            e.SendClose(LinkId(99), SUB),
        )

        async with asyncio.timeout(DEADLINE_S):
            await enough.wait()
        assert list(map(m.parse_client_message, texts)) == [
            m.Request(SUB, (wanted,)),
            m.NegOpen(SUB, wanted, b"\x61"),
            m.NegMsg(SUB, b"\x61\x00"),
            m.NegClose(SUB),
            m.Close(SUB),
        ]


async def test_link_that_fails_and_link_that_is_lost_are_told() -> None:
    async def leave(socket: web.WebSocketResponse) -> None:
        await socket.close(code=1001)

    async with scripted(leave) as url, driven() as world:
        world.perform(e.OpenLink(LINK, url), e.OpenLink(LinkId(4), RelayUrl("ws://127.0.0.1:1")))

        (lost,) = await world.engine.hears(i.LinkLost)
        (failed,) = await world.engine.hears(i.LinkFailed)

        assert (lost.link, lost.fault) == (LINK, i.LinkFault.CLOSED)
        assert (failed.link, failed.fault) == (LinkId(4), i.LinkFault.REFUSED)


async def test_link_that_the_engine_closes_ends_without_a_word() -> None:
    async with scripted(hearing([], lambda: None)) as url, driven() as world:
        world.perform(e.OpenLink(LINK, url))
        await world.engine.hears(i.LinkOpened)

        world.perform(e.CloseLink(LINK))
        world.perform(save())
        await world.engine.hears(i.StateSaved)

        assert not [event for event in world.engine.told if isinstance(event, i.LinkLost | i.LinkFailed)]


async def test_peer_waits_while_its_events_are_being_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driving, "IN_HAND_MAX", 3)

    async def talk(socket: web.WebSocketResponse) -> None:
        async for _ in socket:
            await socket.send_str(m.notice("heard").decode())

    async with scripted(talk) as url, scripted(talk) as other_url, driven() as world:
        world.own.gate.clear()
        world.perform(e.OpenLink(LINK, url), e.OpenLink(LinkId(4), other_url))
        await world.engine.hears(i.LinkOpened, 2)
        world.perform(e.Ingest(JOB, e.Source(e.Way.LIVE, url), (EVENT,) * 4))
        await world.engine.hears(i.PeerRetried, 2)

        world.perform(e.SendClose(LINK, SUB), e.SendClose(LinkId(4), SUB))
        (heard,) = await world.engine.hears(i.NoticeArrived)
        assert heard.link == LinkId(4), "only the one whose events are in hand waits"

        world.own.gate.set()
        assert {event.link for event in await world.engine.hears(i.NoticeArrived, 2)} == {LINK, LinkId(4)}
        assert isinstance(world.engine.told[-2], i.IngestEnded)


# The end


async def test_stop_saves_and_closes_and_hears_no_more() -> None:
    texts: list[bytes] = []
    async with scripted(hearing(texts, lambda: None)) as url, driven() as world:
        world.perform(e.OpenLink(LINK, url))
        await world.engine.hears(i.LinkOpened)
        world.engine.asked = [save(), e.CloseLink(LINK)]
        world.driver.feed.stored(EVENT)

        world.driver.stop()
        await world.engine.hears(i.StateSaved)
        world.driver.feed.stored(EVENT)

    assert world.engine.told[-2:] == [i.Stopping(), i.StateSaved(JOB)]
    assert len(world.own.saved) == 1


async def test_stop_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driving, "STOP_S_MAX", 0.1)
    world = Driven()
    running = asyncio.create_task(world.driver.run())
    world.own.gate.clear()
    world.perform(save(), e.ReadOwnHistory(JOB))
    await world.engine.hears(i.PeerRetried)

    world.driver.stop()

    async with asyncio.timeout(DEADLINE_S):
        await running
