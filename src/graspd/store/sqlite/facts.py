"""Answers to what the rules must know, a few look-ups for a whole batch."""

from collections.abc import Iterable
from typing import Any, Final, cast

import apsw
import orjson

from graspd.nostr.event import Event, load_event
from graspd.nostr.kinds import ANNOUNCEMENT, REQUEST_KINDS
from graspd.nostr.nip34 import read_announcement
from graspd.nostr.tags import ADDRESS_TAGS
from graspd.rules.facts import Facts, Floor, Held, Inquiry, Version
from graspd.store.sqlite.keys import id_keys, packed, tag_key
from graspd.types import Address, EventId, PubKey

_Bound = Any  # a list of values, as a statement takes it

# The interpreter's lock is let go for each statement and each row, and taken again when it is free: so the usual
# questions are few statements, and what has many answers gives them in one row.
HELD: Final = """
    SELECT lower(json_group_array(json_array(hex(id), hex(pubkey), kind, hex(address), created_at))) FROM event WHERE
"""
_MEMORY: Final = """
    SELECT 'gone', id, pubkey, NULL, NULL FROM gone WHERE id IN (SELECT value FROM carray(?1))
    UNION ALL SELECT 'buried', id, pubkey, NULL, NULL FROM buried WHERE id IN (SELECT value FROM carray(?1))
    UNION ALL SELECT 'floor', address, created_at, id, seen FROM floor WHERE address IN (SELECT value FROM carray(?2))
    UNION ALL SELECT 'vanished', pubkey, until, NULL, NULL FROM vanished WHERE pubkey IN (SELECT value FROM carray(?3))
    UNION ALL SELECT 'waiting', raw, seq, NULL, NULL FROM waiting WHERE pubkey IN (SELECT value FROM carray(?3))
"""
_PACKED_AT: Final = 2  # a letter and the mark stand before 32 packed bytes


def read_facts(db: apsw.Connection, asked: Inquiry) -> Facts:
    """The facts that bear on a batch."""
    facts = Facts()
    ids = _bound(packed(event_id) for event_id in asked.ids | asked.related_ids)
    addresses = _bound(address.encode() for address in asked.addresses | asked.related_addresses)
    authors = _bound(packed(pubkey) for pubkey in asked.authors)
    if ids is not None or addresses is not None:
        _read_held(db, ids, addresses, facts)
    if ids is not None or addresses is not None or authors is not None:
        _read_memory(db, ids, addresses, authors, facts)
    _read_present(db, asked, facts)
    _read_tagged(db, asked, facts)
    _read_announcements(db, asked, facts)
    return facts


def _read_held(db: apsw.Connection, ids: _Bound, addresses: _Bound, facts: Facts) -> None:
    here = "id IN (SELECT value FROM carray(?1)) OR address IN (SELECT value FROM carray(?2))"
    for event_id, held in read_held(db.execute(f"{HELD} {here}", (ids, addresses))):
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


def _read_memory(db: apsw.Connection, ids: _Bound, addresses: _Bound, authors: _Bound, facts: Facts) -> None:
    requests: list[tuple[int, Event]] = []
    for row in cast("Iterable[tuple[Any, ...]]", db.execute(_MEMORY, (ids, addresses, authors))):
        match row:
            case "gone", event_id, pubkey, _, _:
                facts.gone[EventId(event_id.hex())] = PubKey(pubkey.hex())
            case "buried", event_id, pubkey, _, _:
                facts.buried.add((EventId(event_id.hex()), PubKey(pubkey.hex())))
            case "floor", address, created_at, event_id, seen:
                facts.floors[Address(address.decode())] = Floor(created_at, EventId(event_id), bool(seen))
            case "vanished", pubkey, until, _, _:
                facts.vanished[PubKey(pubkey.hex())] = until
            case _, raw, seq, _, _:
                requests.append((seq, load_event(raw)))
    for _, request in sorted(requests):
        facts.waiting.setdefault(request.pubkey, []).append(request)


def _read_present(db: apsw.Connection, asked: Inquiry, facts: Facts) -> None:
    if not asked.newcomers:
        return
    newcomers = _bound(packed(pubkey) for pubkey in asked.newcomers)
    for table in ("event", "gone"):
        known = f"SELECT value FROM carray(?) WHERE EXISTS (SELECT 1 FROM {table} WHERE pubkey = value)"
        facts.present_authors |= {PubKey(pubkey.hex()) for (pubkey,) in db.execute(known, (newcomers,))}


def _read_tagged(db: apsw.Connection, asked: Inquiry, facts: Facts) -> None:
    """What stored events speak of. A request speaks of what must go, so it vouches for nothing."""
    keys = [key for event_id in asked.lonely_ids for key in id_keys(event_id)]
    keys += [tag_key(letter, address) for address in asked.lonely_addresses for letter in ADDRESS_TAGS]
    if not keys:
        return
    spoken_of = (
        f"SELECT DISTINCT key FROM tag WHERE key IN (SELECT value FROM carray(?)) AND kind NOT IN {REQUEST_KINDS}"
    )
    for (key,) in cast("Iterable[tuple[bytes]]", db.execute(spoken_of, (_bound(keys),))):
        if key[1:_PACKED_AT] == b"\xff":
            facts.tagged_ids.add(EventId(key[_PACKED_AT:].hex()))
        else:
            facts.tagged_addresses.add(Address(key[1:].decode()))


def _read_announcements(db: apsw.Connection, asked: Inquiry, facts: Facts) -> None:
    if not asked.identifiers:
        return
    keys = _bound(tag_key("d", identifier) for identifier in asked.identifiers)
    found = (
        "SELECT raw FROM tag JOIN body USING (seq) "
        f"WHERE key IN (SELECT value FROM carray(?)) AND kind = {ANNOUNCEMENT}"
    )
    for (raw,) in cast("Iterable[tuple[bytes]]", db.execute(found, (keys,))):
        announcement = read_announcement(load_event(raw))
        facts.announcements.setdefault(announcement.identifier, {})[announcement.pubkey] = announcement


def _bound(values: Iterable[bytes]) -> _Bound:
    """A list of values as a statement takes it; an array of none is NULL."""
    given = tuple(values)
    return apsw.carray(given) if given else None
