"""One commit in the making: facts read and changes carried out, in the writer's thread."""

from collections.abc import Sequence
from typing import Final, assert_never, cast

import apsw
import orjson

from graspd.nostr.event import Event, load_event
from graspd.nostr.kinds import DELETION, REQUEST_KINDS
from graspd.rules.changes import Bury, Change, Erase, Forget, Hold, Miss, Put, RaiseFloor, Release
from graspd.rules.expiry import expiry, has_expired
from graspd.rules.facts import Facts, Floor, Inquiry, raised
from graspd.store.sqlite.facts import HELD, read_facts, read_held
from graspd.store.sqlite.keys import packed, tag_keys_hex
from graspd.types import Address, EventId, UnixTime

# A request of a stranger that concerns nothing here costs us a row; the oldest make room.
WAITING_MAX: Final = 10_000

_NO_REQUEST: Final = f"AND kind NOT IN {REQUEST_KINDS}"

_PUT_EVENTS: Final = """
    INSERT INTO event (seq, id, pubkey, created_at, kind, address, expires_at, source)
    SELECT value ->> 0, unhex(value ->> 1), unhex(value ->> 2), value ->> 3, value ->> 4,
           unhex(value ->> 5), value ->> 6, (SELECT seq FROM source WHERE name = ?2)
    FROM json_each(?1)
"""
_PUT_BODIES: Final = """
    INSERT INTO body (seq, raw) SELECT value ->> 0, substr(?2, value ->> 1, value ->> 2) FROM json_each(?1)
"""
_PUT_TAGS: Final = """
    INSERT INTO tag (key, created_at, seq, kind)
    SELECT unhex(value ->> 0), value ->> 1, value ->> 2, value ->> 3 FROM json_each(?1)
"""


class SqliteTransaction:
    """What `store.ports.Transaction` asks for."""

    def __init__(self, db: apsw.Connection, next_seq: int) -> None:
        self._db = db
        self.next_seq = next_seq
        self.erased: list[EventId] = []

    def facts(self, inquiry: Inquiry) -> Facts:
        """Answer the questions of a segment."""
        return read_facts(self._db, inquiry)

    def apply(self, changes: Sequence[Change], source: str) -> None:
        """Carry out changes in order; runs of puts go in one statement a table."""
        run: list[Event] = []
        for change in changes:
            if isinstance(change, Put):
                run.append(change.event)
                continue
            self._put(run, source)
            run = []
            self._change(change)
        self._put(run, source)

    def _put(self, events: list[Event], source: str) -> None:
        if not events:
            return
        rows, tags, spans, at = [], [], [], 1
        for seq, event in enumerate(events, start=self.next_seq):
            address = None if event.address is None else event.address.encode().hex()
            rows.append((seq, event.id, event.pubkey, event.created_at, event.kind, address, event.expires_at))
            tags += [(key, event.created_at, seq, event.kind) for key in tag_keys_hex(event)]
            spans.append((seq, at, len(event.raw)))
            at += len(event.raw)
        self.next_seq += len(events)
        self._db.execute("INSERT INTO source (name) VALUES (?) ON CONFLICT DO NOTHING", (source,))
        self._db.execute(_PUT_EVENTS, (orjson.dumps(rows).decode(), source))
        self._db.execute(_PUT_BODIES, (orjson.dumps(spans).decode(), b"".join(event.raw for event in events)))
        self._db.execute(_PUT_TAGS, (orjson.dumps(tags).decode(),))

    def _change(self, change: Bury | Erase | Forget | Hold | Miss | RaiseFloor | Release) -> None:
        match change:
            case Erase(event_id):
                self._erase("id = ?", (packed(event_id),))
            case Miss(event_id, pubkey):
                self._run("INSERT OR IGNORE INTO gone VALUES (?, ?)", packed(event_id), packed(pubkey))
            case Bury(event_id, pubkey):
                self._run("INSERT OR IGNORE INTO buried VALUES (?, ?)", packed(event_id), packed(pubkey))
            case RaiseFloor():
                self._raise_floor(change)
            case Forget():
                self._forget(change)
            case Hold(event):
                self._hold(event)
            case Release(event_id):
                self._run("DELETE FROM waiting WHERE id = ?", packed(event_id))
            case _:
                assert_never(change)

    def _erase(self, where: str, values: tuple[bytes | int, ...]) -> None:
        self._db.execute(f"INSERT OR IGNORE INTO gone SELECT id, pubkey FROM event WHERE {where} {_NO_REQUEST}", values)
        self._remove(where, values)

    def _remove(self, where: str, values: tuple[bytes | int, ...]) -> None:
        found = f"SELECT seq, created_at, raw FROM event JOIN body USING (seq) WHERE {where}"
        for seq, created_at, raw in cast("list[tuple[int, int, bytes]]", self._db.execute(found, values).fetchall()):
            event = load_event(raw)
            rows = [(packed(key), created_at, seq) for key in tag_keys_hex(event)]
            self._db.executemany("DELETE FROM tag WHERE key = ? AND created_at = ? AND seq = ?", rows)
            self._db.execute("DELETE FROM body WHERE seq = ?", (seq,))
            self._db.execute("DELETE FROM event WHERE seq = ?", (seq,))
            self.erased.append(event.id)

    def _raise_floor(self, change: RaiseFloor) -> None:
        address = change.address.encode()
        row = self._db.execute("SELECT created_at, id, seen FROM floor WHERE address = ?", (address,)).get
        now = None if row is None else Floor(UnixTime(row[0]), EventId(row[1]), bool(row[2]))
        to = raised(now, Floor(change.created_at, change.id, change.seen))
        self._run("INSERT OR REPLACE INTO floor VALUES (?, ?, ?, ?)", address, to.created_at, to.id, int(to.seen))

    def _forget(self, change: Forget) -> None:
        pubkey = packed(change.pubkey)
        self._run(
            "INSERT INTO vanished VALUES (?, ?) ON CONFLICT DO UPDATE SET until = max(until, excluded.until)",
            pubkey,
            change.until,
        )
        where, values = "pubkey = ? AND created_at <= ?", (pubkey, change.until)
        found = self._db.execute(
            f"SELECT address, created_at, hex(id) FROM event WHERE {where} AND address IS NOT NULL", values
        ).fetchall()
        for address, created_at, event_id in cast("list[tuple[bytes, UnixTime, str]]", found):
            self._raise_floor(RaiseFloor(Address(address.decode()), created_at, EventId(event_id.lower()), seen=True))
        self._erase(where, values)
        for request in self._waiting("pubkey = ?", pubkey):
            if request.kind == DELETION and request.created_at <= change.until:
                self._change(Release(request.id))

    def expire(self, now: UnixTime, most: int) -> int:
        """Carry out what the rules say of events that have expired, at most so many; how many that were."""
        expired = "seq IN (SELECT seq FROM event WHERE expires_at <= ? LIMIT ?)"
        found = read_held(self._db.execute(f"{HELD} {expired}", (now, most)))
        changes = [change for event_id, held in found for change in expiry(event_id, held)]
        requests = self._waiting("instr(raw, ?)", b'"expiration"')
        changes += [Release(request.id) for request in requests if has_expired(request, now)]
        self.apply(changes, source="")  # nothing is put
        return len(found)

    def _waiting(self, where: str, value: bytes) -> list[Event]:
        rows = self._db.execute(f"SELECT raw FROM waiting WHERE {where}", (value,)).fetchall()
        return [load_event(raw) for (raw,) in cast("list[tuple[bytes]]", rows)]

    def _hold(self, event: Event) -> None:
        self._run(
            "INSERT OR IGNORE INTO waiting (id, pubkey, raw) VALUES (?, ?, ?)",
            packed(event.id),
            packed(event.pubkey),
            event.raw,
        )
        self._run("DELETE FROM waiting WHERE seq <= (SELECT max(seq) FROM waiting) - ?", WAITING_MAX)

    def _run(self, statement: str, *values: str | bytes | int) -> None:
        self._db.execute(statement, values)
