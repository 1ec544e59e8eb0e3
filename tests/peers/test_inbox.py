"""Lanes are short and served in turn; a held lane gives nothing; ticks come on time and starve nobody."""

import asyncio

import pytest

from graspd.peers.inbox import LANE_BYTES_MAX, LANE_MESSAGES_MAX, Inbox, Lane
from graspd.peers.own_relay import FEED_MAX, FEED_SLICE, Feed
from graspd.sync.inputs import (
    Input,
    NoticeArrived,
    OwnEventsErased,
    OwnEventsStored,
    OwnFeedLagged,
    Stopping,
    Ticked,
)
from graspd.types import EventId, LinkId, Monotonic
from tests.nostr.made import made


class Clock:
    def __init__(self) -> None:
        self.mono = Monotonic(0.0)

    def __call__(self) -> Monotonic:
        return self.mono


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def inbox(clock: Clock) -> Inbox:
    return Inbox(clock)


def said(lane: int, text: str) -> Input:
    return NoticeArrived(LinkId(lane), text)


def filled(inbox: Inbox, number: int, count: int) -> Lane:
    lane = inbox.lane()
    for at in range(count):
        lane.put_now(said(number, str(at)))
    return lane


async def taken(inbox: Inbox, count: int) -> list[str]:
    events = [await inbox.get_before(None) for _ in range(count)]
    return [f"{event.link}{event.text}" for event in events if isinstance(event, NoticeArrived)]


async def test_lanes_take_turns(inbox: Inbox) -> None:
    for number in (1, 2, 3):
        filled(inbox, number, 3)

    assert await taken(inbox, 9) == ["10", "20", "30", "11", "21", "31", "12", "22", "32"]
    assert inbox.is_empty


async def test_own_side_goes_first(inbox: Inbox) -> None:
    filled(inbox, 1, 2)
    inbox.tell(Stopping())

    assert await inbox.get_before(None) == Stopping()
    assert await taken(inbox, 2) == ["10", "11"]


async def test_held_lane_gives_nothing_until_released(inbox: Inbox) -> None:
    held = filled(inbox, 1, 2)
    filled(inbox, 2, 2)
    held.hold()
    assert await taken(inbox, 2) == ["20", "21"]
    assert inbox.is_empty

    held.release()

    assert await taken(inbox, 2) == ["10", "11"]


async def test_lane_held_and_released_has_no_more_turns_than_others(inbox: Inbox) -> None:
    lane = filled(inbox, 1, 4)
    filled(inbox, 2, 4)
    for _ in range(5):
        lane.hold()
        lane.release()

    assert await taken(inbox, 4) == ["10", "20", "11", "21"]


@pytest.mark.parametrize(("count", "size"), [(LANE_MESSAGES_MAX, 0), (1, LANE_BYTES_MAX), (2, LANE_BYTES_MAX // 2)])
async def test_full_lane_makes_its_link_wait(inbox: Inbox, count: int, size: int) -> None:
    lane = inbox.lane()
    for at in range(count):
        await lane.put(said(1, str(at)), size)
    waiting = asyncio.create_task(lane.put(said(1, "last"), size))
    await asyncio.sleep(0)
    assert not waiting.done()

    await taken(inbox, 1)
    await waiting

    assert (await taken(inbox, count))[-1] == "1last"


async def test_shut_lane_lets_go_of_everything(inbox: Inbox) -> None:
    lane = filled(inbox, 1, LANE_MESSAGES_MAX)
    waiting = asyncio.create_task(lane.put(said(1, "late")))
    await asyncio.sleep(0)

    lane.shut()
    await waiting

    taking = asyncio.create_task(inbox.get_before(None))
    await asyncio.sleep(0)
    inbox.wake()
    assert await taking is None


async def test_tick_comes_at_its_deadline(inbox: Inbox, clock: Clock) -> None:
    clock.mono = Monotonic(5.0)

    assert await inbox.get_before(Monotonic(5.0)) == Ticked()


async def test_deadline_in_the_future_is_waited_for() -> None:
    loop = asyncio.get_running_loop()
    inbox = Inbox(lambda: Monotonic(loop.time()))
    deadline = Monotonic(loop.time() + 0.05)

    assert await inbox.get_before(deadline) == Ticked()

    assert loop.time() >= deadline


async def test_deadline_that_never_moves_starves_nobody(inbox: Inbox, clock: Clock) -> None:
    clock.mono = Monotonic(5.0)
    filled(inbox, 1, 2)

    events = [await inbox.get_before(Monotonic(1.0)) for _ in range(4)]

    assert events == [Ticked(), said(1, "0"), Ticked(), said(1, "1")]


async def test_wake_returns_without_an_input(inbox: Inbox) -> None:
    waiting = asyncio.create_task(inbox.get_before(None))
    await asyncio.sleep(0)

    inbox.wake()

    assert await waiting is None


async def test_feed_tells_in_order_and_in_slices(inbox: Inbox) -> None:
    feed = Feed(inbox.is_ready)
    events = [made(kind=1621, at=at) for at in range(FEED_SLICE + 1)]
    for event in events:
        feed.stored(event)
    feed.erased([EventId("ab" * 32)])
    feed.stored(made(kind=20001))  # ephemeral: passed on, not stored
    feed.stored(events[0])

    told = [await inbox.get_before(None) for _ in range(4)]

    assert told == [
        OwnEventsStored(tuple(events[:FEED_SLICE])),
        OwnEventsStored((events[-1],)),
        OwnEventsErased((EventId("ab" * 32),)),
        OwnEventsStored((events[0],)),
    ]
    assert inbox.is_empty


async def test_feed_that_falls_behind_says_so_and_goes_on(inbox: Inbox) -> None:
    feed = Feed(inbox.is_ready)
    event = made(kind=1621)
    for _ in range(FEED_MAX + 10):
        feed.stored(event)

    assert await inbox.get_before(None) == OwnFeedLagged()
    assert inbox.is_empty

    feed.stored(event)
    assert await inbox.get_before(None) == OwnEventsStored((event,))
