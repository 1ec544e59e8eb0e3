"""The store as a whole: one process, its schema, its durability, its limits, and how it fails."""

import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import apsw
import pytest

from graspd.errors import DataDirError, QueryTimeout, StoreError
from graspd.nostr.event import Event
from graspd.nostr.filter import Filter
from graspd.rules.changes import Change, Erase, Hold, Put, Release
from graspd.rules.facts import inquiry_of
from graspd.rules.verdict import Reason
from graspd.store.ports import Transaction
from graspd.store.sqlite.connection import FILE_NAME
from graspd.store.sqlite.store import SqliteStore
from graspd.store.sqlite.transaction import WAITING_MAX
from graspd.types import EventId, UnixTime
from tests.nostr.made import made
from tests.rules.world import BOB, NOW, POLICY, announcement, deletion, issue, repo
from tests.store.twin import take_into

EVERYTHING = [Filter()]


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(tmp_path)
    yield opened
    await opened.close()


async def put(store: SqliteStore, events: Sequence[Event], source: str = "direct") -> None:
    changes = [Put(event) for event in events]
    await store.commit(lambda transaction: transaction.apply(changes, source))


async def served(store: SqliteStore, now: UnixTime = NOW) -> list[bytes]:
    return (await store.query(EVERYTHING, 500, now)).raws


def rows(data_dir: Path, statement: str) -> list[tuple[object, ...]]:
    db = apsw.Connection(str(data_dir / FILE_NAME))
    found = [tuple(row) for row in db.execute(statement)]
    db.close()
    return found


class TestOneProcess:
    HOLDER = """
import sys
from pathlib import Path
from graspd.store.sqlite.store import SqliteStore
store = SqliteStore(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.read()
"""

    def test_a_second_one_is_refused_in_one_line(self, tmp_path: Path) -> None:
        command = [sys.executable, "-c", self.HOLDER, str(tmp_path)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "ready\n"
            with pytest.raises(DataDirError) as refused:
                SqliteStore(tmp_path)
            expected = f"data directory {tmp_path} is in use by another graspd (pid {holder.pid}); stop it first"
            assert str(refused.value) == expected
            holder.kill()

    async def test_when_the_first_is_killed_the_next_may_start(self, tmp_path: Path) -> None:
        self.test_a_second_one_is_refused_in_one_line(tmp_path)
        await SqliteStore(tmp_path).close()

    async def test_closing_lets_go_of_the_directory(self, tmp_path: Path) -> None:
        for _ in range(3):
            await SqliteStore(tmp_path).close()


class TestOpening:
    async def test_a_fresh_directory_is_made(self, tmp_path: Path) -> None:
        await SqliteStore(tmp_path / "a" / "b").close()
        assert (tmp_path / "a" / "b" / FILE_NAME).exists()

    async def test_migrations_run_once(self, tmp_path: Path) -> None:
        first = SqliteStore(tmp_path)
        await put(first, [made()])
        await first.close()
        schema = rows(tmp_path, "SELECT name, sql FROM sqlite_schema ORDER BY name")
        version = rows(tmp_path, "PRAGMA user_version")
        second = SqliteStore(tmp_path)
        assert await served(second) == [made().raw]
        await second.close()
        assert rows(tmp_path, "SELECT name, sql FROM sqlite_schema ORDER BY name") == schema
        assert rows(tmp_path, "PRAGMA user_version") == version

    async def test_an_older_schema_is_brought_up_to_date(self, tmp_path: Path) -> None:
        await SqliteStore(tmp_path).close()
        schema = rows(tmp_path, "SELECT name, sql FROM sqlite_schema ORDER BY name")
        older = tmp_path / "older"
        older.mkdir()
        db = apsw.Connection(str(older / FILE_NAME))
        db.execute((Path(__file__).parents[2] / "src/graspd/store/schema/0001_events.sql").read_text())
        db.execute("PRAGMA user_version = 1")
        db.close()
        await SqliteStore(older).close()
        assert rows(older, "SELECT name, sql FROM sqlite_schema ORDER BY name") == schema

    async def test_a_newer_schema_is_refused_in_one_line(self, tmp_path: Path) -> None:
        await SqliteStore(tmp_path).close()
        ((known,),) = rows(tmp_path, "PRAGMA user_version")
        rows(tmp_path, "PRAGMA user_version = 99")
        with pytest.raises(DataDirError) as refused:
            SqliteStore(tmp_path)
        expected = f"the database is of a newer graspd (schema 99, this one knows {known}); upgrade graspd"
        assert str(refused.value) == expected
        rows(tmp_path, f"PRAGMA user_version = {known}")
        await SqliteStore(tmp_path).close()

    def test_a_file_that_is_no_database_is_refused_in_one_line(self, tmp_path: Path) -> None:
        (tmp_path / FILE_NAME).write_bytes(b"hello" * 1000)
        for _ in range(2):
            with pytest.raises(StoreError) as refused:
                SqliteStore(tmp_path)
            assert str(refused.value) == f"cannot open {tmp_path / FILE_NAME}: file is not a database"

    def test_a_directory_that_cannot_be_is_refused_in_one_line(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(DataDirError) as refused:
            SqliteStore(tmp_path / "file")
        assert str(refused.value) == f"data directory {tmp_path / 'file'} cannot be used: File exists"


class TestKeeping:
    async def test_what_was_committed_is_there_after_a_restart(self, tmp_path: Path) -> None:
        events = [made(at=at) for at in range(5)]
        first = SqliteStore(tmp_path)
        await put(first, events[:3])
        await first.close()
        second = SqliteStore(tmp_path)
        await put(second, events[3:])
        assert await served(second) == [event.raw for event in reversed(events)]
        await second.close()

    async def test_every_commit_is_flushed(self, tmp_path: Path, store: SqliteStore) -> None:
        assert store._db.pragma("synchronous") == 2
        assert store._db.pragma("journal_mode") == "wal"
        assert rows(tmp_path, "PRAGMA journal_mode") == [("wal",)]

    async def test_events_are_served_in_their_canonical_spelling(self, store: SqliteStore) -> None:
        odd = [
            made(content="line\nbreak\r\0\t\"'\\ \u2028 😀 ü", at=3),
            made(tags=[["t", "\0"], ["", ""], ["x" * 3000, "y"]], at=2),
            made(content="x" * 100_000, at=1),
        ]
        await put(store, odd)
        assert await served(store) == [event.raw for event in odd]
        assert list(store.export()) == [event.raw for event in reversed(odd)]

    async def test_the_source_of_each_event_is_kept(self, tmp_path: Path, store: SqliteStore) -> None:
        sources = ["direct", "live wss://a.example", "import", "live wss://a.example"]
        for number, source in enumerate(sources):
            await put(store, [made(at=number)], source)
        joined = "SELECT source.name FROM event JOIN source ON source.seq = event.source ORDER BY event.seq"
        assert [name for (name,) in rows(tmp_path, joined)] == sources
        assert len(rows(tmp_path, "SELECT * FROM source")) == 3

    async def test_an_erased_event_leaves_no_row_behind(self, tmp_path: Path, store: SqliteStore) -> None:
        events = [made(at=at, tags=[["t", "x"], ["t", "x"], ["e", "ab" * 32], ["t", "\0"]]) for at in range(3)]
        await put(store, events)
        changes: list[Change] = [Erase(event.id) for event in events]
        await store.commit(lambda transaction: transaction.apply(changes, "direct"))
        for table in ("event", "body", "tag"):
            assert rows(tmp_path, f"SELECT * FROM {table}") == []

    async def test_export_takes_as_many_pages_as_there_are(self, store: SqliteStore) -> None:
        events = [made(at=number // 100, content=str(number)) for number in range(2500)]
        await put(store, events)
        expected = sorted(events, key=lambda event: (event.created_at, event.id))
        assert list(store.export()) == [event.raw for event in expected]

    async def test_held_requests_are_bounded_and_the_oldest_make_room(self, tmp_path: Path, store: SqliteStore) -> None:
        requests = [deletion(BOB, at, ["e", "ab" * 32]) for at in range(WAITING_MAX + 10)]
        await store.commit(lambda transaction: transaction.apply([Hold(one) for one in requests], "direct"))
        asked = inquiry_of([issue(BOB)])
        waiting = await store.commit(lambda transaction: transaction.facts(asked).waiting[BOB])
        assert waiting == requests[10:]
        released: list[Change] = [Release(request.id) for request in requests]
        await store.commit(lambda transaction: transaction.apply(released, "direct"))
        assert rows(tmp_path, "SELECT * FROM waiting") == []


class TestExpiring:
    ENDING = made(30023, BOB, 1000, [["d", "x"], ["a", repo()], ["expiration", "2000"], ["t", "x"]])
    OLDER = made(30023, BOB, 999, [["d", "x"], ["a", repo()]])
    BEFORE, AFTER = UnixTime(1999), UnixTime(2000)

    async def taken(self, store: SqliteStore, now: UnixTime, *events: Event) -> list[Reason]:
        verdicts = await store.commit(lambda transaction: take_into(transaction, events, POLICY, now))
        return [verdict.reason for verdict in verdicts]

    async def test_an_event_is_not_served_from_its_second_on_even_before_the_purge(self, store: SqliteStore) -> None:
        await self.taken(store, self.BEFORE, announcement(), self.ENDING)
        wanted = [Filter(kinds=(30023,))]
        for now, found in ((self.BEFORE, 1), (self.AFTER, 0)):
            assert len((await store.query(wanted, 500, now)).raws) == found
            assert await store.count(wanted, now) == found
            assert len((await store.columns(wanted[0], now)).ids) == found

    async def test_a_purged_event_does_not_come_back_nor_does_what_it_replaced(self, store: SqliteStore) -> None:
        await self.taken(store, self.BEFORE, announcement(), self.OLDER, self.ENDING)
        assert await store.purge_expired(self.BEFORE) == 0
        assert await store.purge_expired(self.AFTER) == 1
        assert await self.taken(store, self.BEFORE, self.ENDING, self.OLDER) == [Reason.SUPERSEDED, Reason.DELETED]
        assert await served(store) == [announcement().raw]

    async def test_a_purged_event_can_still_be_deleted(self, store: SqliteStore) -> None:
        await self.taken(store, self.BEFORE, announcement(), self.ENDING)
        await store.purge_expired(self.AFTER)
        request = deletion(BOB, 1001, ["e", self.ENDING.id])
        assert await self.taken(store, self.AFTER, request) == [Reason.STORED]
        assert await served(store) == [request.raw, announcement().raw]

    async def test_a_purge_takes_as_many_turns_as_it_needs(self, store: SqliteStore) -> None:
        events = [made(at=at, tags=[["expiration", "2000"]]) for at in range(1203)]
        await put(store, events)
        told: list[EventId] = []
        store.on_erased = told.extend
        assert await store.purge_expired(self.AFTER) == 1203
        assert sorted(told) == sorted(event.id for event in events)
        assert await store.purge_expired(self.AFTER) == 0


class TestLimits:
    async def test_a_query_that_takes_too_long_fails_alone(self, tmp_path: Path) -> None:
        store = SqliteStore(tmp_path, query_s_max=0, scan_s_max=0)
        events = [made(at=at) for at in range(5000)]
        await put(store, events)
        with pytest.raises(QueryTimeout, match="the query took longer than 0 s"):
            await store.count(EVERYTHING, NOW)
        with pytest.raises(QueryTimeout):
            await store.columns(Filter(), NOW)
        assert (await store.query([Filter(ids=(events[0].id,))], 500, NOW)).raws == [events[0].raw]
        await put(store, [made(at=6000)])
        await store.close()

    async def test_readers_see_what_is_committed_and_nothing_else(self, store: SqliteStore) -> None:
        await put(store, [made(at=1)])

        def work(transaction: Transaction) -> list[bytes]:
            transaction.apply([Put(made(at=2))], "direct")
            return store._with_reader(lambda db: store._query(db, EVERYTHING, 500, NOW)).raws

        assert await store.commit(work) == [made(at=1).raw]
        assert await served(store) == [made(at=2).raw, made(at=1).raw]


class TestFailing:
    async def failing(self, store: SqliteStore, why: str) -> None:
        """A commit fails; from then on every one does, at once; what was committed is still read."""
        before = await served(store)
        for _ in range(2):
            with pytest.raises(StoreError) as failed:
                await put(store, [made(at=at, content="x" * 5000) for at in range(100, 200)])
            assert str(failed.value) == f"the store failed to commit: {why}"
        assert await served(store) == before

    async def test_a_full_disk_is_final(self, store: SqliteStore) -> None:
        await put(store, [made()])
        store._db.pragma("max_page_count", 1)
        await self.failing(store, "database or disk is full")
        store._db.pragma("max_page_count", 1_000_000)
        await self.failing(store, "database or disk is full")

    async def test_a_file_that_cannot_be_written_is_final(self, store: SqliteStore) -> None:
        await put(store, [made()])
        store._db.pragma("query_only", True)
        await self.failing(store, "attempt to write a readonly database")

    async def test_after_a_restart_it_takes_events_again(self, tmp_path: Path) -> None:
        store = SqliteStore(tmp_path)
        store._db.pragma("max_page_count", 1)
        await self.failing(store, "database or disk is full")
        await store.close()
        again = SqliteStore(tmp_path)
        await put(again, [made()])
        assert await served(again) == [made().raw]
        await again.close()

    async def test_a_purge_fails_like_any_commit(self, store: SqliteStore) -> None:
        await put(store, [made(tags=[["expiration", "1"]])])
        store._db.pragma("query_only", True)
        with pytest.raises(StoreError, match="the store failed to commit"):
            await store.purge_expired(NOW)

    async def test_our_own_mistake_undoes_the_commit_and_ends_nothing(self, store: SqliteStore) -> None:
        def work(transaction: Transaction) -> None:
            transaction.apply([Put(made(at=1))], "direct")
            raise AssertionError("a mistake")

        with pytest.raises(AssertionError, match="a mistake"):
            await store.commit(work)
        await put(store, [made(at=2)])
        assert await served(store) == [made(at=2).raw]

    async def test_the_same_event_twice_is_our_mistake_and_final(self, store: SqliteStore) -> None:
        await put(store, [made()])
        with pytest.raises(StoreError, match=r"the store failed to commit: UNIQUE constraint failed: event\.id"):
            await put(store, [made()])
