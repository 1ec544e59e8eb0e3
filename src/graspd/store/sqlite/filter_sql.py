"""A filter as SQL that some index answers, whatever it combines.

Each filter is driven by its most selective list (ids, then tags, then authors, then kinds, else time). With a limit and
few values every value becomes a branch of its own that reads at most `limit` rows off the end of an index; else one
look-up for all of them is sorted afterwards.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import apsw

from graspd.nostr.filter import Filter
from graspd.store.sqlite.keys import packed, tag_key

_BRANCHES_MAX: Final = 64
_NEWEST_FIRST: Final = "ORDER BY created_at DESC, id"


@dataclass(slots=True)
class _Sql:
    """A statement in the making; its values are bound by position."""

    values: list[Any] = field(default_factory=list)

    def bind(self, value: Any) -> str:
        self.values.append(value)
        return f"?{len(self.values)}"

    def one_of(self, column: str, values: Sequence[Any]) -> str:
        if len(values) == 1:
            return f"{column} = {self.bind(values[0])}"
        if isinstance(values[0], int):
            return f"{column} IN ({', '.join(map(str, values))})"
        return f"{column} IN (SELECT value FROM carray({self.bind(apsw.carray(tuple(values)))}))"


def newest(wanted: Filter, limit: int, now: int) -> tuple[str, list[Any]]:
    """The canonical JSON of the newest matches, in one row, one line an event."""
    sql = _Sql()
    statement = (
        "SELECT CAST(group_concat(raw, char(10)) AS BLOB) FROM ("
        f"SELECT raw FROM ({_matches(sql, wanted, now, limit)}) JOIN body USING (seq) {_NEWEST_FIRST})"
    )
    return statement, sql.values


def counted(filters: Sequence[Filter], now: int) -> tuple[str, list[Any]]:
    """How many events match any of the filters."""
    sql = _Sql()
    parts = [f"SELECT seq FROM ({_matches(sql, one, now, None)})" for one in filters]
    return f"SELECT count(*) FROM ({' UNION '.join(parts)})", sql.values


def columns(wanted: Filter, now: int, most: int | None) -> tuple[str, list[Any]]:
    """Every match as two long strings in one row: times of 16 hex digits each, and ids of 32 bytes each."""
    sql = _Sql()
    matches = f"SELECT created_at, id FROM ({_matches(sql, wanted, now, None)})"
    if most is not None:
        matches = f"SELECT * FROM ({matches} LIMIT {most})"
    statement = (
        "SELECT group_concat(format('%016x', created_at), ''), CAST(group_concat(id, '') AS BLOB) "
        f"FROM ({matches} ORDER BY created_at, id)"
    )
    return statement, sql.values


def _matches(sql: _Sql, wanted: Filter, now: int, limit: int | None) -> str:
    """seq, created_at and id of the matches, each once, newest first where there is a limit.

    A plus before a column says: check this on the rows found, and do not find rows by it.
    """
    if wanted.ids is not None:
        terms = [sql.one_of("id", [packed(value) for value in wanted.ids]), *_author_kind_terms(sql, wanted, "+")]
        terms += [*_time_terms("+created_at", wanted), *_other_tag_terms(sql, wanted.tags)]
        return _branch("event e", terms, now, limit)
    if wanted.tags:
        return _tag_matches(sql, wanted, now, limit)
    # Named, because SQLite would guess: it rather walks all of a kind in the order of time than sort one author's few.
    table = f"event e INDEXED BY {_index(wanted)}"
    times = _time_terms("created_at", wanted)
    parts = _parts(wanted)
    if limit is None or len(parts) > _BRANCHES_MAX:
        parts = [wanted]
    branches = [_branch(table, [*_author_kind_terms(sql, part), *times], now, limit) for part in parts]
    return _united("UNION ALL", branches, limit)


def _index(wanted: Filter) -> str:
    if wanted.authors is not None:
        return "event_by_author"
    return "event_by_time" if wanted.kinds is None else "event_by_kind"


def _parts(wanted: Filter) -> list[Filter]:
    """One filter for each author, else for each kind: each reads one stretch of its index."""
    if wanted.authors is not None:
        return [Filter(authors=(author,), kinds=wanted.kinds) for author in wanted.authors]
    if wanted.kinds is not None:
        return [Filter(kinds=(kind,)) for kind in wanted.kinds]
    return [wanted]


def _author_kind_terms(sql: _Sql, wanted: Filter, mark: str = "") -> list[str]:
    terms = []
    if wanted.authors is not None:
        terms.append(sql.one_of(f"{mark}pubkey", [packed(value) for value in wanted.authors]))
    if wanted.kinds is not None:
        terms.append(sql.one_of(f"{mark}kind", wanted.kinds))
    return terms


def _branch(table: str, terms: list[str], now: int, limit: int | None) -> str:
    statement = f"SELECT seq, created_at, id FROM {table} WHERE {' AND '.join([*terms, _alive(now)])}"
    return statement if limit is None else f"{statement} {_NEWEST_FIRST} LIMIT {limit}"


def _tag_matches(sql: _Sql, wanted: Filter, now: int, limit: int | None) -> str:
    """Driven by the tag with the fewest values; the other lists are checked on each row it yields."""
    ordered = sorted(wanted.tags, key=lambda tag: len(tag[1]))
    letter, values = ordered[0]
    keys = [tag_key(letter, value) for value in values]
    groups = [keys] if limit is None or len(keys) > _BRANCHES_MAX else [[key] for key in keys]
    branches = []
    for group in groups:
        terms = [sql.one_of("t.key", group), *_time_terms("t.created_at", wanted)]
        if wanted.kinds is not None:
            terms.append(sql.one_of("t.kind", wanted.kinds))
        if wanted.authors is not None:
            terms.append(sql.one_of("+pubkey", [packed(value) for value in wanted.authors]))
        terms += [*_other_tag_terms(sql, ordered[1:]), _alive(now)]
        # An event with two of the values must not be found twice.
        distinct = "DISTINCT " if len(group) > 1 else ""
        # CROSS JOIN keeps the tag in front: its key already yields the rows in the order of time.
        statement = (
            f"SELECT {distinct}e.seq AS seq, t.created_at AS created_at, e.id AS id "
            f"FROM tag t CROSS JOIN event e ON e.seq = t.seq WHERE {' AND '.join(terms)}"
        )
        order = "ORDER BY t.created_at DESC, e.id"
        branches.append(statement if limit is None else f"{statement} {order} LIMIT {limit}")
    return _united("UNION", branches, limit)


def _alive(now: int) -> str:
    """NIP-40: not yet expired. Written so that it is never what rows are found by."""
    return f"ifnull(expires_at > {now}, 1)"


def _other_tag_terms(sql: _Sql, tags: Sequence[tuple[str, tuple[str, ...]]]) -> list[str]:
    terms = []
    for letter, values in tags:
        key_in = sql.one_of("o.key", [tag_key(letter, value) for value in values])
        same = "o.created_at = e.created_at AND o.seq = e.seq"
        terms.append(f"EXISTS (SELECT 1 FROM tag o WHERE {key_in} AND {same})")
    return terms


def _united(by: str, branches: list[str], limit: int | None) -> str:
    if len(branches) == 1:
        return branches[0]
    united = f" {by} ".join(f"SELECT * FROM ({branch})" for branch in branches)
    return f"SELECT * FROM ({united}) {_NEWEST_FIRST} LIMIT {limit}"


def _time_terms(column: str, wanted: Filter) -> list[str]:
    terms = []
    if wanted.since is not None:
        terms.append(f"{column} >= {wanted.since}")
    if wanted.until is not None:
        terms.append(f"{column} <= {wanted.until}")
    return terms
