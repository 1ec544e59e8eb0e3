"""The store itself: one writer thread, a pool of reader threads, each with a connection of its own."""

import asyncio
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar, cast

import apsw
import numpy as np

from graspd.errors import GraspdError, StoreError
from graspd.nostr.event import newest_first
from graspd.nostr.filter import Filter
from graspd.store.ports import Columns, Page, Transaction
from graspd.store.sqlite import filter_sql, sync_state
from graspd.store.sqlite.connection import FILE_NAME, atomically, lock, open_reader, open_writer, time_limit
from graspd.store.sqlite.keys import packed
from graspd.store.sqlite.transaction import SqliteTransaction
from graspd.sync.effects import SaveState
from graspd.sync.records import SavedState
from graspd.types import EventId, UnixTime

T = TypeVar("T")
_PURGE_MAX: Final = 500  # events a commit, so that clients never wait long behind a purge
_EXPORT_PAGE: Final = 1000


class SqliteStore:
    """What `store.ports.EventStore` asks for, in one file below the data directory."""

    def __init__(self, data_dir: Path, *, readers: int = 2, query_s_max: float = 5.0, scan_s_max: float = 60.0) -> None:
        self._held_lock = lock(data_dir)
        self._path = data_dir / FILE_NAME
        self._query_s_max = query_s_max
        self._scan_s_max = scan_s_max
        try:
            self._db = open_writer(self._path)
        except GraspdError:
            self._held_lock.close()
            raise
        self._next_seq = int(self._db.execute("SELECT coalesce(max(seq), 0) + 1 FROM event").get)
        self._failure: StoreError | None = None
        self._writer = ThreadPoolExecutor(1, "store-writer")
        self._readers = ThreadPoolExecutor(readers, "store-reader")
        self._local = threading.local()
        self._reader_dbs: list[apsw.Connection] = []
        self.on_erased: Callable[[Sequence[EventId]], None] = lambda _ids: None

    async def commit(self, work: Callable[[Transaction], T]) -> T:
        """Run the work in one transaction; when this returns, its changes are on disk."""
        return await asyncio.get_running_loop().run_in_executor(self._writer, self._commit, work)

    def _commit(self, work: Callable[[SqliteTransaction], T]) -> T:
        if self._failure is not None:
            raise self._failure
        transaction = SqliteTransaction(self._db, self._next_seq)
        try:
            with atomically(self._db):
                result = work(transaction)
        except (apsw.Error, OSError) as error:
            # A failed flush may have lost what an earlier one wrote: never try again, never say OK again.
            self._failure = StoreError(f"the store failed to commit: {error}")
            raise self._failure from error
        self._next_seq = transaction.next_seq
        if transaction.erased:
            self.on_erased(transaction.erased)
        return result

    async def query(self, filters: Sequence[Filter], limit: int, now: UnixTime) -> Page:
        """The events that match any of the filters, at most `limit` for each filter."""
        return await self._read(lambda db: self._query(db, filters, limit, now))

    def _query(self, db: apsw.Connection, filters: Sequence[Filter], limit: int, now: int) -> Page:
        pages = [self._page(db, one, limit, now) for one in filters]
        if len(pages) == 1:
            return pages[0]
        raws = sorted({raw: None for page in pages for raw in page.raws}, key=newest_first)
        return Page(raws, complete=all(page.complete for page in pages))

    def _page(self, db: apsw.Connection, wanted: Filter, limit: int, now: int) -> Page:
        if wanted.matches_nothing:
            return Page([], complete=True)
        most = limit if wanted.limit is None else min(wanted.limit, limit)
        # One more than may be sent tells whether anything is left out (NIP-67).
        statement, values = filter_sql.newest(wanted, most + 1, now)
        with time_limit(db, self._query_s_max):
            joined = db.execute(statement, values).get
        raws: list[bytes] = [] if joined is None else joined.split(b"\n")
        return Page(raws[:most], complete=len(raws) <= most)

    async def count(self, filters: Sequence[Filter], now: UnixTime) -> int:
        """How many events match any of the filters."""
        asked = [one for one in filters if not one.matches_nothing]
        return await self._read(lambda db: self._count(db, asked, now)) if asked else 0

    def _count(self, db: apsw.Connection, filters: Sequence[Filter], now: int) -> int:
        statement, values = filter_sql.counted(filters, now)
        with time_limit(db, self._query_s_max):
            return int(db.execute(statement, values).get)

    async def known(self, ids: Collection[EventId]) -> set[EventId]:
        """Which of these events are here."""
        return await self._read(lambda db: _known(db, ids))

    async def columns(self, wanted: Filter, now: UnixTime, most: int | None = None) -> Columns:
        """Every event that matches, as columns; where more than `most` do, any `most` of them."""
        return await self._read(lambda db: self._columns(db, wanted, now, most))

    def _columns(self, db: apsw.Connection, wanted: Filter, now: int, most: int | None) -> Columns:
        if wanted.matches_nothing:
            times, ids = None, None
        else:
            statement, values = filter_sql.columns(wanted, now, most)
            with time_limit(db, self._scan_s_max):
                times, ids = db.execute(statement, values).get
        created_at = np.frombuffer(bytes.fromhex(times or ""), dtype=">u8").astype(np.uint64)
        return Columns(created_at, np.frombuffer(ids or b"", dtype=np.uint8).reshape(-1, 32))

    async def purge_expired(self, now: UnixTime) -> int:
        """Erase what has expired; how many that were."""
        total = 0
        while True:
            purged = await asyncio.get_running_loop().run_in_executor(self._writer, self._purge, now)
            total += purged
            if purged < _PURGE_MAX:
                return total

    def _purge(self, now: UnixTime) -> int:
        return self._commit(lambda transaction: transaction.expire(now, _PURGE_MAX))

    async def gone(self, ids: Collection[EventId]) -> set[EventId]:
        """Which of these events were here, or came too late to be, and will not be taken again."""
        return await self._read(lambda db: sync_state.gone(db, ids))

    async def load_sync(self) -> SavedState:
        """What proactive sync kept."""
        return await self._read(sync_state.load_sync)

    async def save_sync(self, changes: SaveState) -> None:
        """Make changes of what proactive sync keeps durable."""
        await self.commit(lambda _: sync_state.save_sync(self._db, changes))

    def export(self) -> Iterator[bytes]:
        """Every event, oldest first."""
        return export(self._path)

    async def close(self) -> None:
        """Finish the commit under way and let go of the files."""
        await asyncio.to_thread(self._writer.shutdown, wait=True)
        await asyncio.to_thread(self._readers.shutdown, wait=True)
        for db in (*self._reader_dbs, self._db):
            db.close()
        self._held_lock.close()

    async def _read(self, work: Callable[[apsw.Connection], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._with_reader, work)

    def _with_reader(self, work: Callable[[apsw.Connection], T]) -> T:
        db: apsw.Connection | None = getattr(self._local, "db", None)
        if db is None:
            db = self._local.db = open_reader(self._path)
            self._reader_dbs.append(db)
        return work(db)


def export(path: Path) -> Iterator[bytes]:
    """Every event of a database file, oldest first, also while a server writes it."""
    db = open_reader(path)
    statement = (
        "SELECT created_at, id, raw FROM event JOIN body USING (seq) "
        f"WHERE (created_at, id) > (?, ?) ORDER BY created_at, id LIMIT {_EXPORT_PAGE}"
    )
    after: tuple[int, bytes] = (-1, b"")
    while rows := cast("list[tuple[int, bytes, bytes]]", db.execute(statement, after).fetchall()):
        yield from (raw for _, _, raw in rows)
        after = rows[-1][:2]
    db.close()


def _known(db: apsw.Connection, ids: Collection[EventId]) -> set[EventId]:
    if not ids:
        return set()
    bound = apsw.carray(tuple(packed(event_id) for event_id in ids))
    found = db.execute(
        "SELECT group_concat(hex(id), '') FROM event WHERE id IN (SELECT value FROM carray(?))", (bound,)
    ).get
    text = (found or "").lower()
    return {EventId(text[at : at + 64]) for at in range(0, len(text), 64)}
