"""What proactive sync keeps comes back as it was; what cannot be read is left out; erased events are told of."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import apsw
import pytest

from graspd.rules.changes import Change, Erase, Forget, Miss, Put
from graspd.store.sqlite.connection import FILE_NAME
from graspd.store.sqlite.store import SqliteStore
from graspd.sync.effects import SaveState
from graspd.sync.jobs import JobId
from graspd.sync.records import (
    Capability,
    Certificate,
    HealthRecord,
    Mark,
    Method,
    PeerRecord,
    RejectedRecord,
    ReliabilityRecord,
    SavedState,
    Speech,
)
from graspd.types import EventId, RelayUrl, RepoAddr, UnixTime
from tests.nostr.made import ALICE, author, made

A, B = RelayUrl("wss://a.example"), RelayUrl("wss://b.example")
REPO, OTHER = RepoAddr(f"30617:{ALICE}:x\0🦀"), RepoAddr(f"30617:{ALICE}:y")
RECORD = PeerRecord(
    A,
    seen_at=UnixTime(5),
    layer1_confirmed=True,
    daily_at=UnixTime(6),
    health=HealthRecord(3, UnixTime(1), UnixTime(9)),
    rest_until=UnixTime(7),
    rests=2,
    capability=Capability(Speech.REFUSED, "blocked: too many", UnixTime(8)),
    reliability=ReliabilityRecord(1, 2, 3, 4, 5, 6, 7, 8, 9),
    refuses_limit_zero=True,
    phantoms=((EventId("ab" * 32), UnixTime(4)),),
)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(tmp_path)
    yield opened
    await opened.close()


def saving(
    forgotten: Sequence[RelayUrl] = (),
    cleared: Sequence[RelayUrl] = (),
    unmarked: Sequence[tuple[RelayUrl, RepoAddr]] = (),
    records: Sequence[PeerRecord] = (),
    marks: Sequence[Mark] = (),
    unrejected: Sequence[EventId] = (),
    rejected: Sequence[RejectedRecord] = (),
) -> SaveState:
    return SaveState(
        JobId(1),
        tuple(forgotten),
        tuple(cleared),
        tuple(unmarked),
        tuple(records),
        tuple(marks),
        tuple(unrejected),
        tuple(rejected),
    )


BOTH = (RECORD, PeerRecord(B))
PROOF = Certificate(Method.RECONCILED, UnixTime(7), 12, "f1", (EventId("cd" * 32),), (UnixTime(3),))
REJECTED = (
    RejectedRecord(EventId("01" * 32), "UNRELATED", UnixTime(9), A, ("d:x\0🦀",), "r1"),
    RejectedRecord(EventId("02" * 32), "DELETED", UnixTime(9), None, (), "r1"),
)
MARKS = [Mark(A, REPO, 3, "d1", PROOF), Mark(A, OTHER, 0, ""), Mark(B, REPO, 1, "d2")]


async def test_nothing_was_saved(store: SqliteStore) -> None:
    assert await store.load_sync() == SavedState()


async def test_saved_state_outlives_the_process(tmp_path: Path) -> None:
    first = SqliteStore(tmp_path)
    await first.save_sync(saving(records=BOTH, marks=MARKS, rejected=REJECTED))
    await first.close()

    second = SqliteStore(tmp_path)

    assert await second.load_sync() == SavedState(BOTH, tuple(MARKS), REJECTED)
    await second.save_sync(saving(unrejected=[REJECTED[0].id]))
    assert (await second.load_sync()).rejected == REJECTED[1:]
    await second.close()


@pytest.mark.parametrize(
    ("changes", "left"),
    [
        (saving(records=[PeerRecord(A)]), SavedState((PeerRecord(A), PeerRecord(B)), tuple(MARKS))),
        (saving(marks=[Mark(A, REPO, 4, "d9")]), SavedState(BOTH, (Mark(A, REPO, 4, "d9"), *MARKS[1:]))),
        (saving(unmarked=[(A, REPO), (B, OTHER)]), SavedState(BOTH, (MARKS[1], MARKS[2]))),
        (saving(cleared=[A]), SavedState(BOTH, (MARKS[2],))),
        (saving(forgotten=[A]), SavedState((PeerRecord(B),), (MARKS[2],))),
        (saving(forgotten=[A], records=[RECORD], marks=[MARKS[0]]), SavedState(BOTH, (MARKS[0], MARKS[2]))),
    ],
)
async def test_change(store: SqliteStore, changes: SaveState, left: SavedState) -> None:
    await store.save_sync(saving(records=[RECORD, PeerRecord(B)], marks=MARKS))

    await store.save_sync(changes)

    assert await store.load_sync() == left


async def test_record_that_cannot_be_read_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = SqliteStore(tmp_path)
    await store.save_sync(saving(records=[RECORD, PeerRecord(B)]))
    await store.close()
    with apsw.Connection(str(tmp_path / FILE_NAME)) as db:
        db.execute("UPDATE sync_peer SET record = '{\"url\":5}' WHERE url = ?", (A,))
    store = SqliteStore(tmp_path)

    assert (await store.load_sync()).records == (PeerRecord(B),)

    assert "left out" in caplog.text
    await store.close()


async def test_gone_are_those_that_were_here_or_came_too_late(store: SqliteStore) -> None:
    here, left, late = made(at=1), made(at=2), made(at=3)
    changes: list[Change] = [Put(here), Put(left), Erase(left.id), Miss(late.id, late.pubkey)]
    await store.commit(lambda transaction: transaction.apply(changes, "direct"))

    assert await store.gone([here.id, left.id, late.id, made(at=4).id]) == {left.id, late.id}
    assert await store.gone([]) == set()


async def test_erased_events_are_told_of(store: SqliteStore) -> None:
    told: list[EventId] = []
    store.on_erased = told.extend
    bob = author("bob")
    events = [made(at=1), made(at=2, by=bob), made(at=3, by=bob), made(at=4, tags=[["expiration", "50"]])]
    await store.commit(lambda transaction: transaction.apply([Put(event) for event in events], "direct"))
    assert told == []

    await store.commit(lambda transaction: transaction.apply([Erase(events[0].id)], "direct"))
    assert told == [events[0].id]

    await store.commit(lambda transaction: transaction.apply([Forget(bob, UnixTime(9))], "direct"))
    assert set(told) == {event.id for event in events[:3]}

    await store.purge_expired(UnixTime(60))
    assert set(told) == {event.id for event in events}
