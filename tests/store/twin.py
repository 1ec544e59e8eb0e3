"""The store's transaction on a database in memory, beside the plainest model of it: both must know the same."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from graspd.nostr.event import Event, load_event
from graspd.rules.admission import judge_batch, learn
from graspd.rules.facts import Floor, segments
from graspd.rules.policy import Policy
from graspd.rules.verdict import Verdict
from graspd.store.ports import Transaction
from graspd.store.sqlite.connection import open_writer
from graspd.store.sqlite.transaction import SqliteTransaction
from graspd.types import UnixTime
from sim.store import MemoryStore

IN_MEMORY: Final = Path(":memory:")
PURGE_MAX: Final = 2  # small, so that a purge takes several turns


def take_into(transaction: Transaction, events: Sequence[Event], policy: Policy, now: UnixTime) -> list[Verdict]:
    """Judge a batch of events of good signature and carry out what follows, as ingest does."""
    verdicts = []
    for segment in segments([*events]):
        facts = learn(segment, transaction.facts, policy)
        changes = []
        for _, (verdict, made) in judge_batch(segment, facts, policy, now):
            changes += made
            verdicts.append(verdict)
        transaction.apply(changes, "direct")
    return verdicts


class Twin:
    """A transaction that is never committed, as often as wanted on one connection."""

    def __init__(self) -> None:
        self._db = open_writer(IN_MEMORY)

    @contextmanager
    def transaction(self) -> Iterator[SqliteTransaction]:
        """A transaction on an empty store."""
        self._db.execute("BEGIN")
        try:
            yield SqliteTransaction(self._db, 1)
        finally:
            self._db.execute("ROLLBACK")

    def known(self) -> dict[str, Any]:
        """Everything the database knows, as `model_known` has it."""
        bodies = [load_event(raw) for (raw,) in self._rows("SELECT raw FROM body")]
        assert sorted(event.id for event in bodies) == [
            one for (one,) in self._rows("SELECT lower(hex(id)) FROM event ORDER BY 1")
        ]
        return {
            "served": {event.id: event for event in bodies},
            "waiting": {
                event.id: event for event in (load_event(raw) for (raw,) in self._rows("SELECT raw FROM waiting"))
            },
            "gone": {event_id.hex(): pubkey.hex() for event_id, pubkey in self._rows("SELECT * FROM gone")},
            "buried": {(event_id.hex(), pubkey.hex()) for event_id, pubkey in self._rows("SELECT * FROM buried")},
            "floors": {
                address.decode(): Floor(created_at, event_id, bool(seen))
                for address, created_at, event_id, seen in self._rows("SELECT * FROM floor")
            },
            "vanished": {pubkey.hex(): until for pubkey, until in self._rows("SELECT * FROM vanished")},
        }

    def _rows(self, statement: str) -> list[tuple[Any, ...]]:
        return self._db.execute(statement).fetchall()


def expire_all(transaction: SqliteTransaction, now: UnixTime) -> None:
    """Purge in as many turns as it takes."""
    while transaction.expire(now, PURGE_MAX) == PURGE_MAX:
        pass


def model_known(store: MemoryStore) -> dict[str, Any]:
    """Everything the model knows."""
    return dict(vars(store))
