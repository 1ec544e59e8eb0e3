"""Answers to what the rules must know, a few look-ups for a whole batch."""

from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final

import apsw
import orjson

from graspd.nostr.event import load_event
from graspd.nostr.kinds import ANNOUNCEMENT, REQUEST_KINDS
from graspd.nostr.nip34 import read_announcement
from graspd.nostr.tags import ADDRESS_TAGS
from graspd.rules.facts import Facts, Floor, Held, Inquiry, Version
from graspd.store.sqlite.keys import id_keys, packed, tag_key
from graspd.types import Address, EventId, PubKey, UnixTime

# In one row, however many there are: the interpreter's lock is let go for each row, and taken again when it is free.
HELD: Final = """
    SELECT lower(json_group_array(json_array(hex(id), hex(pubkey), kind, hex(address), created_at))) FROM event WHERE
"""
_PACKED_AT: Final = 2  # a letter and the mark stand before 32 packed bytes


def read_facts(db: apsw.Connection, asked: Inquiry) -> Facts:
    """The facts that bear on a batch."""
    facts = Facts()
    _read_held(db, asked, facts)
    _read_tagged(db, asked, facts)
    _read_announcements(db, asked, facts)
    _read_memory(db, asked, facts)
    return facts


def _read_held(db: apsw.Connection, asked: Inquiry, facts: Facts) -> None:
    ids = [packed(event_id) for event_id in asked.ids | asked.related_ids]
    found = read_held(_rows(db, f"{HELD} id IN ({{}})", ids))
    addresses = _encoded(asked.addresses | asked.related_addresses)
    found += read_held(_rows(db, f"{HELD} address IN ({{}})", addresses))
    for event_id, held in found:
        facts.held[event_id] = held
        if held.address is not None:
            facts.versions[held.address] = Version(held.created_at, event_id)


def read_held(rows: Iterable[tuple[Any, ...]]) -> list[tuple[EventId, Held]]:
    """What the row of `HELD` says."""
    return [
        (event_id, Held(pubkey, kind, Address(bytes.fromhex(address).decode()) if address else None, created_at))
        for (found,) in rows
        for event_id, pubkey, kind, address, created_at in orjson.loads(found)
    ]


def _read_tagged(db: apsw.Connection, asked: Inquiry, facts: Facts) -> None:
    """What stored events speak of. A request speaks of what must go, so it vouches for nothing."""
    keys = [key for event_id in asked.lonely_ids for key in id_keys(event_id)]
    keys += [tag_key(letter, address) for address in asked.lonely_addresses for letter in ADDRESS_TAGS]
    for (key,) in _rows(db, f"SELECT DISTINCT key FROM tag WHERE key IN ({{}}) AND kind NOT IN {REQUEST_KINDS}", keys):
        if key[1:_PACKED_AT] == b"\xff":
            facts.tagged_ids.add(EventId(key[_PACKED_AT:].hex()))
        else:
            facts.tagged_addresses.add(Address(key[1:].decode()))


def _read_announcements(db: apsw.Connection, asked: Inquiry, facts: Facts) -> None:
    keys = [tag_key("d", identifier) for identifier in asked.identifiers]
    statement = f"SELECT raw FROM tag JOIN body USING (seq) WHERE key IN ({{}}) AND kind = {ANNOUNCEMENT}"
    for (raw,) in _rows(db, statement, keys):
        announcement = read_announcement(load_event(raw))
        facts.announcements.setdefault(announcement.identifier, {})[announcement.pubkey] = announcement


def _read_memory(db: apsw.Connection, asked: Inquiry, facts: Facts) -> None:
    ids = [packed(event_id) for event_id in asked.ids | asked.related_ids]
    authors = [packed(pubkey) for pubkey in asked.authors]
    for event_id, pubkey in _rows(db, "SELECT id, pubkey FROM gone WHERE id IN ({})", ids):
        facts.gone[EventId(event_id.hex())] = PubKey(pubkey.hex())
    for event_id, pubkey in _rows(db, "SELECT id, pubkey FROM buried WHERE id IN ({})", ids):
        facts.buried.add((EventId(event_id.hex()), PubKey(pubkey.hex())))
    addresses = _encoded(asked.addresses | asked.related_addresses)
    for address, created_at, event_id, seen in _rows(db, "SELECT * FROM floor WHERE address IN ({})", addresses):
        facts.floors[Address(address.decode())] = Floor(UnixTime(created_at), EventId(event_id), bool(seen))
    for pubkey, until in _rows(db, "SELECT * FROM vanished WHERE pubkey IN ({})", authors):
        facts.vanished[PubKey(pubkey.hex())] = UnixTime(until)
    newcomers = [packed(pubkey) for pubkey in asked.newcomers]
    for table in ("event", "gone"):
        for (pubkey,) in _rows(
            db, f"SELECT value FROM ({{}}) WHERE EXISTS (SELECT 1 FROM {table} WHERE pubkey = value)", newcomers
        ):
            facts.present_authors.add(PubKey(pubkey.hex()))
    for (raw,) in _rows(db, "SELECT raw FROM waiting WHERE pubkey IN ({}) ORDER BY seq", authors):
        request = load_event(raw)
        facts.waiting.setdefault(request.pubkey, []).append(request)


def _encoded(addresses: set[Address]) -> list[bytes]:
    return [address.encode() for address in addresses]


def _rows(db: apsw.Connection, statement: str, values: Collection[bytes]) -> Iterator[tuple[Any, ...]]:
    """The rows of a statement about a list of values, which stands where it says {}."""
    if not values:
        return iter(())
    bound = apsw.carray(tuple(values))
    return iter(db.execute(statement.format("SELECT value FROM carray(?1)"), (bound,)))
