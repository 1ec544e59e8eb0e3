"""What proactive sync keeps between two lives of the process, as rows; and the ids that must not come again."""

import logging
from collections.abc import Collection, Iterable
from typing import Any, Final, TypeVar, cast

import apsw
import orjson
from pydantic import TypeAdapter, ValidationError

from graspd.store.sqlite.keys import packed
from graspd.sync.effects import SaveState
from graspd.sync.records import Certificate, Mark, PeerRecord, RejectedRecord, SavedState
from graspd.types import EventId, RelayUrl, RepoAddr

log = logging.getLogger("graspd.store")

_PEER: Final = TypeAdapter(PeerRecord)
_CERTIFICATE: Final = TypeAdapter(Certificate)
_REJECTED: Final = TypeAdapter(RejectedRecord)
T = TypeVar("T")


def load_sync(db: apsw.Connection) -> SavedState:
    """Everything that was saved and can still be read."""
    peers = (_read(_PEER, text) for (text,) in db.execute("SELECT record FROM sync_peer ORDER BY url"))
    rejected = (_read(_REJECTED, text) for (text,) in db.execute("SELECT record FROM sync_rejected ORDER BY id"))
    marks = db.execute("SELECT peer, repo, roots, digest, certificate FROM sync_mark ORDER BY peer, repo")
    return SavedState(
        tuple(record for record in peers if record is not None),
        tuple(map(_mark, cast("Iterable[tuple[str, bytes, int, str, str | None]]", marks))),
        tuple(record for record in rejected if record is not None),
    )


def _mark(row: tuple[str, bytes, int, str, str | None]) -> Mark:
    peer, repo, roots, digest, text = row
    certificate = None if text is None else _read(_CERTIFICATE, text)
    return Mark(RelayUrl(peer), RepoAddr(repo.decode()), roots, digest, certificate)


def _read(adapter: TypeAdapter[T], text: Any) -> T | None:
    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        # Of another version, perhaps. What it said is learned anew, which is all that a lost record costs.
        log.warning("what sync has saved cannot be read and is left out: %s", error.errors()[0]["msg"])
        return None


def save_sync(db: apsw.Connection, changes: SaveState) -> None:
    """Carry out the changes, in the order in which SaveState lists them."""
    db.executemany("DELETE FROM sync_peer WHERE url = ?", [(url,) for url in changes.forgotten])
    db.executemany("DELETE FROM sync_mark WHERE peer = ?", [(url,) for url in changes.forgotten + changes.cleared])
    db.executemany(
        "DELETE FROM sync_mark WHERE peer = ? AND repo = ?", [(peer, repo.encode()) for peer, repo in changes.unmarked]
    )
    db.executemany(
        "INSERT OR REPLACE INTO sync_peer VALUES (?, ?)",
        [(record.url, _written(record)) for record in changes.records],
    )
    db.executemany("INSERT OR REPLACE INTO sync_mark VALUES (?, ?, ?, ?, ?)", map(_mark_row, changes.marks))
    db.executemany("DELETE FROM sync_rejected WHERE id = ?", [(packed(one),) for one in changes.unrejected])
    db.executemany(
        "INSERT OR REPLACE INTO sync_rejected VALUES (?, ?)",
        [(packed(record.id), _written(record)) for record in changes.rejected],
    )


def _mark_row(mark: Mark) -> tuple[str, bytes, int, str, str | None]:
    certificate = None if mark.certificate is None else _written(mark.certificate)
    return mark.peer, mark.repo.encode(), mark.roots, mark.digest, certificate


def _written(record: PeerRecord | Certificate | RejectedRecord) -> str:
    return orjson.dumps(record).decode()


def gone(db: apsw.Connection, ids: Collection[EventId]) -> set[EventId]:
    """Which of these events were here, or came too late to be, and will not be taken again."""
    if not ids:
        return set()
    bound = apsw.carray(tuple(packed(event_id) for event_id in ids))
    found = db.execute("SELECT id FROM gone WHERE id IN (SELECT value FROM carray(?))", (bound,)).fetchall()
    return {EventId(event_id.hex()) for (event_id,) in cast("list[tuple[bytes]]", found)}
