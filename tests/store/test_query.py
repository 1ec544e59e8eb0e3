"""Filters on SQLite against the plainest matcher, and the plans by which they are answered."""

import asyncio
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graspd.nostr.event import Event
from graspd.nostr.filter import Filter
from graspd.rules.changes import Put
from graspd.store.sqlite import filter_sql
from graspd.store.sqlite.connection import open_writer
from graspd.store.sqlite.store import SqliteStore
from graspd.types import EventId, PubKey, UnixTime
from sim.store import MemoryStore, matches
from tests.nostr.made import author, made
from tests.store.twin import IN_MEMORY

NOW = UnixTime(2000)
AUTHORS = [author(name) for name in "abcd"]
KINDS = (1, 3, 1621, 30023, 40000)
LETTERS = ("t", "T", "e", "a", "x")
HEX = hashlib.sha256(b"hex").hexdigest()
# Values that would be one if a key ended at a NUL, or if packed and plain ones could meet.
TEXT = "x" * 32
VALUES = (
    "",
    TEXT,
    TEXT.encode().hex(),
    "x",
    "X",
    "xx",
    "x\0",
    "x\0y",
    "ü",
    "😀",
    HEX,
    HEX.upper(),
    HEX[:-1],
    "\xff",
    f"30617:{AUTHORS[0]}:p",
)
SECONDS = (0, 1, 2, 3, 1000, 2**33, 2**53 - 1)


def corpus() -> list[Event]:
    random = Random(7)
    events = []
    for number in range(400):
        kind = random.choice(KINDS)
        tags = [
            [random.choice(LETTERS), *random.sample(VALUES, random.randint(0, 2))] for _ in range(random.randint(0, 5))
        ]
        if random.random() < 0.2:
            tags.append(["expiration", str(random.choice((NOW - 1, NOW, NOW + 1)))])
        tags += [["d", str(number)], ["title", HEX]]
        events.append(made(kind, random.choice(AUTHORS), random.choice(SECONDS), tags, f'"{number}"\n\0'))
    addresses: dict[str, Event] = {event.address or event.id: event for event in events}
    return list(addresses.values())


EVENTS = corpus()
STRANGERS = [author(str(n)) for n in range(90)]


@dataclass(frozen=True)
class Both:
    """The store and its model, holding the same events."""

    store: SqliteStore
    model: MemoryStore
    runner: asyncio.Runner

    def raws(self, filters: list[Filter], limit: int) -> tuple[list[bytes], bool]:
        page = self.runner.run(self.store.query(filters, limit, NOW))
        return page.raws, page.complete


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    with asyncio.Runner() as runner:
        store, model = SqliteStore(tmp_path_factory.mktemp("store")), MemoryStore()
        changes = [Put(event) for event in EVENTS]
        runner.run(store.commit(lambda transaction: transaction.apply(changes, "direct")))
        model.apply(changes)
        yield Both(store, model, runner)
        runner.run(store.close())


def lists(values: st.SearchStrategy[Any], most: int = 4) -> st.SearchStrategy[tuple[Any, ...] | None]:
    return st.none() | st.lists(values, max_size=most, unique=True).map(tuple)


many_authors = st.lists(st.sampled_from(AUTHORS), unique=True).map(lambda some: (*some, *STRANGERS))
many_values = st.sampled_from(VALUES).map(lambda one: (*(v for v in VALUES if v != one), *map(str, range(70))))
some_values = st.lists(st.sampled_from(VALUES), min_size=1, max_size=5, unique=True).map(tuple)
tag_filters = st.lists(
    st.tuples(st.sampled_from(LETTERS), st.one_of(some_values, some_values, many_values, st.just(()))),
    max_size=3,
    unique_by=lambda tag: tag[0],
).map(tuple)
filters = st.builds(
    Filter,
    ids=st.one_of(st.none(), st.none(), lists(st.sampled_from([event.id for event in EVENTS] + [EventId(HEX)]), 30)),
    authors=st.one_of(lists(st.sampled_from(AUTHORS)), many_authors),
    kinds=lists(st.sampled_from((*KINDS, 7))),
    tags=tag_filters,
    since=st.none() | st.sampled_from((*SECONDS, 2**63 - 1)),
    until=st.none() | st.sampled_from((*SECONDS, 2**63 - 1)),
    limit=st.none() | st.integers(0, 30),
)


def alive(wanted: Filter) -> list[Event]:
    return [one for one in EVENTS if matches(wanted, one) and (one.expires_at is None or one.expires_at > NOW)]


def most(wanted: Filter, limit: int) -> int:
    return limit if wanted.limit is None else min(limit, wanted.limit)


@settings(deadline=None, max_examples=600, derandomize=True)
@given(asked=st.lists(filters, min_size=1, max_size=3), limit=st.sampled_from((1, 5, 50, 500)))
def test_answers_are_those_of_the_plainest_matcher(both: Both, asked: list[Filter], limit: int) -> None:
    raws, complete = both.raws(asked, limit)
    capped = [replace(one, limit=most(one, limit)) for one in asked]
    assert raws == [event.raw for event in both.model.query(capped, NOW)]
    assert complete is all(len(alive(one)) <= most(one, limit) for one in asked)


@settings(deadline=None, max_examples=400, derandomize=True)
@given(asked=st.lists(filters, min_size=1, max_size=3))
def test_counts_are_those_of_the_plainest_matcher(both: Both, asked: list[Filter]) -> None:
    expected = {event.id for one in asked for event in alive(one)}
    assert both.runner.run(both.store.count(asked, NOW)) == len(expected)


@settings(deadline=None, max_examples=400, derandomize=True)
@given(wanted=filters)
def test_columns_are_those_of_the_plainest_matcher(both: Both, wanted: Filter) -> None:
    found, expected = both.runner.run(both.store.columns(wanted, NOW)), both.model.columns(wanted, NOW)
    assert found.created_at.dtype == np.uint64
    assert found.ids.shape == (len(found.created_at), 32)
    assert np.array_equal(found.created_at, expected.created_at)
    assert np.array_equal(found.ids, expected.ids)


@settings(deadline=None, max_examples=100, derandomize=True)
@given(wanted=filters, cap=st.integers(1, 40))
def test_columns_with_a_bound_are_some_of_the_matches_in_order(both: Both, wanted: Filter, cap: int) -> None:
    found, every = (both.runner.run(both.store.columns(wanted, NOW, most)) for most in (cap, None))
    some, all_of_them = (list(zip(one.created_at.tolist(), map(bytes, one.ids), strict=True)) for one in (found, every))
    assert len(some) == min(cap, len(all_of_them))
    assert some == [one for one in all_of_them if one in set(some)]


@pytest.mark.parametrize("more", [0, 100])
def test_an_event_with_two_of_the_values_is_found_once(both: Both, more: int) -> None:
    wanted = Filter(tags=(("t", (*VALUES, *map(str, range(more)))),))
    assert any(len(set(event.tag_values("t"))) > 1 for event in alive(wanted))
    raws, _ = both.raws([wanted], 500)
    assert len(raws) == len(set(raws)) == len(alive(wanted)) == both.runner.run(both.store.count([wanted], NOW))
    assert len(both.runner.run(both.store.columns(wanted, NOW)).ids) == len(raws)


def test_what_is_known(both: Both) -> None:
    ids = [event.id for event in EVENTS[:50]]
    strangers = [EventId(HEX), EventId("00" * 32)]
    assert both.runner.run(both.store.known([*ids, *strangers])) == set(ids)
    assert both.runner.run(both.store.known([])) == set()


def test_export_is_everything_oldest_first(both: Both) -> None:
    expected = sorted(EVENTS, key=lambda event: (event.created_at, event.id))
    assert list(both.store.export()) == [event.raw for event in expected]


def test_as_many_filters_as_a_request_may_have(both: Both) -> None:
    words = tuple(f"{n}" for n in range(64))
    branching = Filter(authors=tuple(STRANGERS), kinds=KINDS, tags=(("t", words), ("x", words)))
    pairs = Filter(authors=(*AUTHORS, *STRANGERS[:8]), kinds=KINDS)
    asked = [branching, pairs] * 50
    assert both.raws(asked, 500) == both.raws([pairs], 500)
    assert both.runner.run(both.store.count(asked, NOW)) == len(alive(pairs))


def shapes() -> Iterator[Filter]:
    """Every combination of lists, each absent, of one value, of a few and of many."""
    ids = (None, (EventId(HEX),), tuple(EventId(one) for one in STRANGERS))
    people: tuple[tuple[PubKey, ...] | None, ...] = (None, (AUTHORS[0],), tuple(AUTHORS), tuple(STRANGERS))
    tags = (
        (),
        (("t", ("x",)),),
        (("t", ("x", "y")), ("e", (HEX,))),
        (("t", tuple(STRANGERS)),),
        (("t", tuple(STRANGERS)), ("x", tuple(STRANGERS))),
    )
    times = ((None, None), (1, None), (None, 9), (1, 9))
    for some_ids, authors, kinds, tag, (since, until) in product(ids, people, (None, (1,), KINDS), tags, times):
        yield Filter(some_ids, authors, kinds, tag, since, until)  # type: ignore[arg-type]


SHAPES = list(shapes())


def driver(wanted: Filter) -> str:
    """How the rows of the most selective list are found."""
    if wanted.ids is not None:
        return "SEARCH e USING INDEX sqlite_autoindex_event_1 (id=?)"
    if wanted.tags:
        return "SEARCH t USING PRIMARY KEY (key=?"
    if wanted.authors is not None:
        return "SEARCH e USING INDEX event_by_author (pubkey=?"
    if wanted.kinds is not None:
        return "SEARCH e USING INDEX event_by_kind (kind=?"
    if wanted.since is not None or wanted.until is not None:
        return "SEARCH e USING INDEX event_by_time (created_at"
    return "SCAN e USING INDEX event_by_time"


BY_ROW = ("SEARCH e USING INTEGER PRIMARY KEY (rowid=?)", "SEARCH body USING INTEGER PRIMARY KEY (rowid=?)")
BY_WHOLE_KEY = "SEARCH o EXISTS USING PRIMARY KEY (key=? AND created_at=? AND seq=?)"


def test_every_combination_is_answered_from_an_index() -> None:
    db = open_writer(IN_MEMORY)
    for wanted in SHAPES:
        for statement, values in (
            filter_sql.newest(wanted, 500, NOW),
            filter_sql.counted([wanted], NOW),
            filter_sql.columns(wanted, NOW, None),
            filter_sql.columns(wanted, NOW, 500),
        ):
            plan = [str(row[-1]) for row in db.execute(f"EXPLAIN QUERY PLAN {statement}", values).fetchall()]
            tables = ("SCAN e", "SCAN t", "SCAN o", "SCAN body", "SEARCH ")
            read = [step for step in plan if step.startswith(tables) and step not in (*BY_ROW, BY_WHOLE_KEY)]
            assert read, plan
            assert all(step.startswith(driver(wanted)) for step in read), (wanted, plan)
            assert "MULTI-INDEX OR" not in plan
    db.close()


def test_no_statement_grows_with_the_number_of_values() -> None:
    """Preparing a statement is not under the time limit of a query, so it must stay short."""
    words = tuple(map(str, range(5000)))
    many = [Filter(authors=tuple(STRANGERS[:8]), kinds=tuple(range(8)), tags=(("t", words[:40]),))] * 100
    assert len(filter_sql.counted(many, NOW)[0]) < 100_000
    assert len(filter_sql.newest(Filter(tags=(("t", words),)), 500, NOW)[0]) < 1_000
    assert len(filter_sql.newest(Filter(authors=tuple(STRANGERS), kinds=KINDS), 500, NOW)[0]) < 1_000
