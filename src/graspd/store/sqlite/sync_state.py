"""What proactive sync keeps between two lives of the process, as rows; and the ids that must not come again."""

import logging
from collections.abc import Collection
from typing import Final, cast

import apsw
import orjson
from pydantic import TypeAdapter, ValidationError

from graspd.store.sqlite.keys import packed
from graspd.sync.effects import SaveState
from graspd.sync.records import Mark, PeerRecord, SavedState
from graspd.types import EventId, RelayUrl, RepoAddr

log = logging.getLogger("graspd.store")

_RECORD: Final = TypeAdapter(PeerRecord)


def load_sync(db: apsw.Connection) -> SavedState:
    """Everything that was saved and can still be read."""
    rows = cast("list[tuple[str, str]]", db.execute("SELECT url, record FROM sync_peer ORDER BY url").fetchall())
    records = tuple(record for url, text in rows if (record := _read_record(url, text)) is not None)
    marks = cast(
        "list[tuple[str, bytes, int, str]]",
        db.execute("SELECT peer, repo, roots, digest FROM sync_mark ORDER BY peer, repo").fetchall(),
    )
    return SavedState(
        records,
        tuple(Mark(RelayUrl(peer), RepoAddr(repo.decode()), roots, digest) for peer, repo, roots, digest in marks),
    )


def _read_record(url: str, text: str) -> PeerRecord | None:
    try:
        return _RECORD.validate_json(text)
    except ValidationError as error:
        # Of another version, perhaps: that peer is synced afresh, which is all that a lost record costs.
        log.warning("what was known of %s cannot be read: %s", url, error.errors()[0]["msg"])
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
        [(record.url, orjson.dumps(record).decode()) for record in changes.records],
    )
    db.executemany(
        "INSERT OR REPLACE INTO sync_mark VALUES (?, ?, ?, ?)",
        [(mark.peer, mark.repo.encode(), mark.roots, mark.digest) for mark in changes.marks],
    )


def gone(db: apsw.Connection, ids: Collection[EventId]) -> set[EventId]:
    """Which of these events were here, or came too late to be, and will not be taken again."""
    if not ids:
        return set()
    bound = apsw.carray(tuple(packed(event_id) for event_id in ids))
    found = db.execute("SELECT id FROM gone WHERE id IN (SELECT value FROM carray(?))", (bound,)).fetchall()
    return {EventId(event_id.hex()) for (event_id,) in cast("list[tuple[bytes]]", found)}
