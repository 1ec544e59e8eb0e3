"""The own relay in this process: a complete history, verdicts in order, and what need not be fetched."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from graspd.nostr.event import Event
from graspd.nostr.filter import Filter
from graspd.peers.embedded import EmbeddedRelay
from graspd.rules.changes import Bury, Change, Erase, Put
from graspd.rules.verdict import BAD_SIGNATURE, KNOWN, STORED, Verdict
from graspd.store.sqlite.store import SqliteStore
from graspd.sync.effects import Source, Way
from graspd.types import EventId, PubKey, RelayUrl, UnixTime
from tests.nostr.made import author, made

SOURCE = Source(Way.CATCH_UP, RelayUrl("wss://a.example"))


class Intake:
    """Answers later, last first."""

    def __init__(self) -> None:
        self.taken: list[tuple[Event, str, frozenset[PubKey]]] = []
        self.verdicts: dict[EventId, Verdict] = {}
        self._answers: list[Callable[[], None]] = []

    def submit(
        self, event: Event, answer: Callable[[Verdict], None], source: str, authenticated: frozenset[PubKey]
    ) -> None:
        self.taken.append((event, source, authenticated))
        self._answers.append(lambda: answer(self.verdicts.get(event.id, STORED)))
        asyncio.get_running_loop().call_soon(self._answer_one)

    async def room(self) -> None:
        await asyncio.sleep(0)

    def _answer_one(self) -> None:
        self._answers.pop()()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(tmp_path)
    yield opened
    await opened.close()


def relay_of(store: SqliteStore, intake: Intake | None = None) -> EmbeddedRelay:
    return EmbeddedRelay(store, intake or Intake(), lambda: UnixTime(2_000_000_000))


async def apply(store: SqliteStore, *changes: Change) -> None:
    await store.commit(lambda transaction: transaction.apply(changes, "direct"))


async def test_history_is_complete_whatever_the_number_and_the_second(store: SqliteStore) -> None:
    roots = [made(kind=1621, at=1_700_000_000, content=str(number)) for number in range(1200)]
    announcement = made(kind=30617, tags=[["d", "x"]])
    other = made(kind=1, content="neither an announcement nor a root")
    await apply(store, *map(Put, [*roots, announcement, other]))

    read = [event for slice_ in [one async for one in relay_of(store).history()] for event in slice_]

    assert len(read) == 1201
    assert {event.id for event in read} == {event.id for event in [*roots, announcement]}


async def test_verdicts_stand_in_the_order_of_the_events(store: SqliteStore) -> None:
    intake = Intake()
    events = [made(at=at) for at in range(3)]
    intake.verdicts = {events[0].id: BAD_SIGNATURE, events[2].id: KNOWN}

    assert await relay_of(store, intake).ingest(events, SOURCE) == (BAD_SIGNATURE, STORED, KNOWN)

    assert intake.taken == [(event, "catch-up wss://a.example", frozenset()) for event in events]
    assert await relay_of(store, intake).ingest([], SOURCE) == ()


async def test_known_are_those_held_or_gone_but_not_what_another_asked_to_delete(store: SqliteStore) -> None:
    held, gone, buried = made(at=1), made(at=2), made(at=3)
    await apply(store, Put(held), Put(gone), Erase(gone.id), Bury(buried.id, author("mallory")))

    known = await relay_of(store).known([held.id, gone.id, buried.id, made(at=4).id])

    assert known == {held.id, gone.id}


async def test_items_are_what_the_filter_selects(store: SqliteStore) -> None:
    events = [made(kind=1621, at=at) for at in (7, 5, 6)]
    await apply(store, *map(Put, [*events, made(kind=1)]))

    items = await relay_of(store).items(Filter(kinds=(1621,)))

    ids = [event.id for event in sorted(events, key=lambda event: event.created_at)]
    assert [bytes(one).hex() for one in items.ids] == ids
