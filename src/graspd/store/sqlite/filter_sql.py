"""A filter as SQL that some index answers, whatever it combines.

Each filter is driven by its most selective list (ids, then tags, then authors, then kinds, else time). With few values
every value becomes a branch of its own that reads at most `limit` rows off the end of an index; with many, one
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


def columns(wanted: Filter, now: int) -> tuple[str, list[Any]]:
    """Every match as two long strings in one row: times of 16 hex digits each, and ids of 32 bytes each."""
    sql = _Sql()
    matches = _matches(sql, wanted, now, None)
    statement = (
        "SELECT group_concat(format('%016x', created_at), ''), CAST(group_concat(id, '') AS BLOB) "
        f"FROM (SELECT DISTINCT created_at, id FROM ({matches}) ORDER BY created_at, id)"
    )
    return statement, sql.values


def _matches(sql: _Sql, wanted: Filter, now: int, limit: int | None) -> str:
    """seq, created_at and id of the matches, newest first where there is a limit."""
    if wanted.ids is not None:
        return _branch(sql, wanted, now, limit, [sql.one_of("id", [packed(value) for value in wanted.ids])])
    if wanted.tags:
        return _tag_matches(sql, wanted, now, limit)
    pairs = _author_kind_pairs(wanted)
    if pairs is None:
        return _branch(sql, wanted, now, limit, _author_kind_terms(sql, wanted))
    branches = [_branch(sql, wanted, now, limit, _pair_terms(sql, pair)) for pair in pairs]
    return _united(branches, limit)


def _author_kind_pairs(wanted: Filter) -> list[tuple[str | None, int | None]] | None:
    authors: Sequence[str | None] = wanted.authors or (None,)
    kinds: Sequence[int | None] = wanted.kinds or (None,)
    if len(authors) * len(kinds) > _BRANCHES_MAX:
        return None
    return [(author, kind) for author in authors for kind in kinds]


def _pair_terms(sql: _Sql, pair: tuple[str | None, int | None]) -> list[str]:
    author, kind = pair
    terms = [] if author is None else [f"pubkey = {sql.bind(packed(author))}"]
    return terms if kind is None else [*terms, f"kind = {kind}"]


def _author_kind_terms(sql: _Sql, wanted: Filter) -> list[str]:
    terms = []
    if wanted.authors is not None:
        terms.append(sql.one_of("pubkey", [packed(value) for value in wanted.authors]))
    if wanted.kinds is not None:
        terms.append(sql.one_of("kind", wanted.kinds))
    return terms


def _branch(sql: _Sql, wanted: Filter, now: int, limit: int | None, terms: list[str]) -> str:
    if wanted.ids is not None:
        terms = terms + _author_kind_terms(sql, wanted) + _other_tag_terms(sql, wanted.tags)
    terms = [*terms, *_time_terms("created_at", wanted), f"(expires_at IS NULL OR expires_at > {now})"]
    statement = f"SELECT seq, created_at, id FROM event e WHERE {' AND '.join(terms)}"
    return statement if limit is None else f"{statement} {_NEWEST_FIRST} LIMIT {limit}"


def _tag_matches(sql: _Sql, wanted: Filter, now: int, limit: int | None) -> str:
    """Driven by the tag with the fewest values; the other lists are checked on each row it yields."""
    ordered = sorted(wanted.tags, key=lambda tag: len(tag[1]))
    letter, values = ordered[0]
    keys = [tag_key(letter, value) for value in values]
    groups = [[key] for key in keys] if len(keys) <= _BRANCHES_MAX else [keys]
    others = Filter(authors=wanted.authors, tags=tuple(ordered[1:]))
    branches = []
    for group in groups:
        terms = [sql.one_of("t.key", group), *_time_terms("t.created_at", wanted)]
        if wanted.kinds is not None:
            terms.append(sql.one_of("t.kind", wanted.kinds))
        terms += [*_author_kind_terms(sql, others), *_other_tag_terms(sql, others.tags)]
        terms.append(f"(expires_at IS NULL OR expires_at > {now})")
        # CROSS JOIN keeps the tag in front: its key already yields the rows in the order of time.
        statement = (
            "SELECT e.seq AS seq, t.created_at AS created_at, e.id AS id "
            f"FROM tag t CROSS JOIN event e ON e.seq = t.seq WHERE {' AND '.join(terms)}"
        )
        order = "ORDER BY t.created_at DESC, e.id"
        branches.append(statement if limit is None else f"{statement} {order} LIMIT {limit}")
    return _united(branches, limit)


def _other_tag_terms(sql: _Sql, tags: Sequence[tuple[str, tuple[str, ...]]]) -> list[str]:
    terms = []
    for letter, values in tags:
        key_in = sql.one_of("o.key", [tag_key(letter, value) for value in values])
        same = "o.created_at = e.created_at AND o.seq = e.seq"
        terms.append(f"EXISTS (SELECT 1 FROM tag o WHERE {key_in} AND {same})")
    return terms


def _united(branches: list[str], limit: int | None) -> str:
    if len(branches) == 1:
        return branches[0]
    united = " UNION ALL ".join(f"SELECT * FROM ({branch})" for branch in branches)
    if limit is None:
        return united
    return f"SELECT DISTINCT seq, created_at, id FROM ({united}) {_NEWEST_FIRST} LIMIT {limit}"


def _time_terms(column: str, wanted: Filter) -> list[str]:
    terms = []
    if wanted.since is not None:
        terms.append(f"{column} >= {wanted.since}")
    if wanted.until is not None:
        terms.append(f"{column} <= {wanted.until}")
    return terms
