"""Opening the database file: settings, migrations, and the one process that may write it."""

import fcntl
import os
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.resources import files
from pathlib import Path
from typing import IO, Final

import apsw

from graspd.errors import DataDirError, QueryTimeout, StoreError

FILE_NAME: Final = "graspd.sqlite"
_LOCK_NAME: Final = "graspd.lock"
_READER_CACHE_KIB: Final = 8 * 1024
_WRITER_CACHE_KIB: Final = 48 * 1024
_CHECKPOINT_PAGES: Final = 8000  # 32 MB of log; larger batches of a checkpoint write each page once
_STEPS_BETWEEN_CHECKS: Final = 20_000


def lock(data_dir: Path) -> IO[str]:
    """Make the data directory ours until the returned file is closed."""
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        held = (data_dir / _LOCK_NAME).open("a+")
    except OSError as error:
        raise DataDirError(f"data directory {data_dir} cannot be used: {error.strerror}") from error
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        held.seek(0)
        pid = held.read().strip() or "unknown"
        held.close()
        raise DataDirError(
            f"data directory {data_dir} is in use by another graspd (pid {pid}); stop it first"
        ) from None
    held.truncate(0)
    held.write(str(os.getpid()))
    held.flush()
    return held


def open_writer(path: Path) -> apsw.Connection:
    """The one connection that writes and checkpoints; brings the schema up to date."""
    with _as_store_error(f"cannot open {path}"), ExitStack() as undo:
        db = apsw.Connection(str(path))
        undo.callback(db.close)
        db.execute("PRAGMA journal_mode = WAL")
        # OK means durable: FULL flushes the log at every commit, NORMAL would lose the last ones with the power.
        db.execute("PRAGMA synchronous = FULL")
        # An INSERT from a SELECT keeps a journal for the statement, in a temporary file unless told otherwise.
        db.execute("PRAGMA temp_store = MEMORY")
        db.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        db.execute(f"PRAGMA cache_size = -{_WRITER_CACHE_KIB}")
        _migrate(db)
        undo.pop_all()
        return db


def open_reader(path: Path) -> apsw.Connection:
    """A connection that only reads."""
    with _as_store_error(f"cannot open {path}"):
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        db.set_busy_timeout(5000)
        db.execute(f"PRAGMA cache_size = -{_READER_CACHE_KIB}")
        return db


@contextmanager
def atomically(db: apsw.Connection) -> Iterator[None]:
    """One transaction. Not `with db:`, which flushes the log while it holds the interpreter's lock."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


@contextmanager
def time_limit(db: apsw.Connection, seconds: float) -> Iterator[None]:
    """Interrupt a query that runs for longer than this."""
    deadline = time.monotonic() + seconds
    db.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS_BETWEEN_CHECKS)
    try:
        with _as_store_error("the store cannot be read"):
            yield
    except apsw.InterruptError as error:
        raise QueryTimeout(f"the query took longer than {seconds:g} s") from error
    finally:
        db.set_progress_handler(None)


def _migrate(db: apsw.Connection) -> None:
    at = int(db.pragma("user_version"))
    steps = _schema_steps()
    if at > len(steps):
        raise DataDirError(
            f"the database is of a newer graspd (schema {at}, this one knows {len(steps)}); upgrade graspd"
        )
    for number, script in enumerate(steps[at:], start=at + 1):
        with atomically(db):
            db.execute(script)
            db.execute(f"PRAGMA user_version = {number}")


def _schema_steps() -> list[str]:
    folder = files("graspd.store") / "schema"
    names = sorted(step.name for step in folder.iterdir() if re.fullmatch(r"\d{4}_\w+\.sql", step.name))
    assert [int(name[:4]) for name in names] == list(range(1, len(names) + 1)), names
    return [(folder / name).read_text() for name in names]


@contextmanager
def _as_store_error(what: str) -> Iterator[None]:
    try:
        yield
    except apsw.InterruptError:
        raise
    except apsw.Error as error:
        raise StoreError(f"{what}: {error}") from error
