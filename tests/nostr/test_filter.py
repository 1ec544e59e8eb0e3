"""Filters: what is read, what is refused, and the matcher against the plainest matcher there is."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graspd.nostr.event import Event, Malformed
from graspd.nostr.filter import Filter, Matcher, parse_filter
from graspd.nostr.prefix import Prefix
from graspd.types import EventId, UnixTime
from sim.store import matches
from tests.nostr.made import ALICE, author, made

BOB = author("bob")
ID, ID_2 = EventId("ab" * 32), EventId("cd" * 32)


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ({}, Filter()),
        ({"ids": [ID]}, Filter(ids=(ID,))),
        ({"ids": []}, Filter(ids=())),
        ({"ids": [ID, ID_2, ID]}, Filter(ids=(ID, ID_2))),
        ({"authors": [ALICE]}, Filter(authors=(ALICE,))),
        ({"kinds": [1, 30617, 1]}, Filter(kinds=(1, 30617))),
        ({"kinds": [0, 65535]}, Filter(kinds=(0, 65535))),
        ({"#e": [ID]}, Filter(tags=(("e", (ID,)),))),
        ({"#p": [ALICE]}, Filter(tags=(("p", (ALICE,)),))),
        ({"#E": ["any text"]}, Filter(tags=(("E", ("any text",)),))),
        ({"#t": ["b", "a", "b", ""]}, Filter(tags=(("t", ("b", "a", "")),))),
        ({"#t": ["x"], "#T": ["y"]}, Filter(tags=(("t", ("x",)), ("T", ("y",))))),
        ({"since": 0, "until": 2**63 - 1, "limit": 0}, Filter(since=UnixTime(0), until=UnixTime(2**63 - 1), limit=0)),
    ],
)
def test_filters_that_are_read(value: Any, read: Filter) -> None:
    assert parse_filter(value) == read


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ([], "a filter is not an object"),
        (None, "a filter is not an object"),
        ("{}", "a filter is not an object"),
        ({"ids": ID}, "ids is not an array of 64 lower-case hex digits each"),
        ({"ids": None}, "ids is not an array of 64 lower-case hex digits each"),
        ({"ids": [ID[:8]]}, "ids is not an array of 64 lower-case hex digits each"),
        ({"ids": [ID.upper()]}, "ids is not an array of 64 lower-case hex digits each"),
        ({"authors": [ALICE, 1]}, "authors is not an array of 64 lower-case hex digits each"),
        ({"authors": ["npub1"]}, "authors is not an array of 64 lower-case hex digits each"),
        ({"#e": ["x"]}, "#e is not an array of 64 lower-case hex digits each"),
        ({"#p": [ALICE.upper()]}, "#p is not an array of 64 lower-case hex digits each"),
        ({"#t": "x"}, "#t is not an array of strings"),
        ({"#t": [1]}, "#t is not an array of strings"),
        ({"#t": [["x"]]}, "#t is not an array of strings"),
        ({"kinds": 1}, "kinds is not an array of kind numbers"),
        ({"kinds": ["1"]}, "kinds is not an array of kind numbers"),
        ({"kinds": [1.0]}, "kinds is not an array of kind numbers"),
        ({"kinds": [True]}, "kinds is not an array of kind numbers"),
        ({"kinds": [-1]}, "kinds is not an array of kind numbers"),
        ({"kinds": [65536]}, "kinds is not an array of kind numbers"),
        ({"since": "1"}, "since is not a whole number"),
        ({"since": 1.5}, "since is not a whole number"),
        ({"until": -1}, "until is not a whole number"),
        ({"until": 2**63}, "until is not a whole number"),
        ({"limit": True}, "limit is not a whole number"),
        ({"limit": None}, "limit is not a whole number"),
        ({"limit": 1e2}, "limit is not a whole number"),
    ],
)
def test_filters_that_are_refused(value: Any, why: str) -> None:
    assert parse_filter(value) == Malformed(why)


@pytest.mark.parametrize("name", ["search", "", "#", "#tt", "#1", "#é", "##", "IDS", "Kinds", "&t", "x" * 1000])
def test_a_field_that_is_not_known_is_unsupported(name: str) -> None:
    refused = parse_filter({name: ["x"]})
    assert isinstance(refused, Malformed)
    assert refused.prefix is Prefix.UNSUPPORTED
    assert refused.text == f"unsupported: filter field {name[:32]!r} is not known here"


@pytest.mark.parametrize(
    ("one", "nothing"),
    [
        (Filter(), False),
        (Filter(ids=()), True),
        (Filter(authors=()), True),
        (Filter(kinds=()), True),
        (Filter(tags=(("t", ("x",)), ("e", ()))), True),
        (Filter(since=UnixTime(5), until=UnixTime(5)), False),
        (Filter(since=UnixTime(6), until=UnixTime(5)), True),
        (Filter(limit=0), False),
    ],
)
def test_filters_that_match_nothing(one: Filter, nothing: bool) -> None:
    assert one.matches_nothing is nothing


def test_the_values_of_a_filter_are_counted() -> None:
    one = Filter(ids=(ID, ID_2), kinds=(1,), tags=(("t", ("a", "b", "c")), ("e", ())), limit=10)
    assert one.value_count == 6
    assert Filter().value_count == 0


LETTERS = ("t", "T", "x")
WORDS = ("", "a", "b", "ab", "A", ID)

events = st.builds(
    made,
    kind=st.integers(0, 3),
    by=st.sampled_from((ALICE, BOB)),
    at=st.integers(0, 5),
    tags=st.lists(
        st.lists(st.sampled_from((*LETTERS, *WORDS)), min_size=1, max_size=3),
        max_size=4,
    ),
)


def optional(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | st.lists(values, max_size=3, unique=True).map(tuple)


def filters_over(ids: st.SearchStrategy[Any]) -> st.SearchStrategy[Filter]:
    words = st.lists(st.sampled_from(WORDS), max_size=3, unique=True).map(tuple)
    return st.builds(
        Filter,
        ids=optional(ids),
        authors=optional(st.sampled_from((ALICE, BOB, author("carol")))),
        kinds=optional(st.integers(0, 3)),
        tags=st.lists(st.tuples(st.sampled_from(LETTERS), words), max_size=2, unique_by=lambda tag: tag[0]).map(tuple),
        since=st.none() | st.integers(0, 6),
        until=st.none() | st.integers(0, 6),
        limit=st.none() | st.integers(0, 3),
    )


@given(events, st.data())
def test_the_matcher_agrees_with_the_plainest_one(event: Event, data: st.DataObject) -> None:
    wanted = data.draw(filters_over(st.sampled_from((event.id, ID))))
    expected = matches(wanted, event)
    assert Matcher.of(wanted).matches(event) is expected
    assert not (expected and wanted.matches_nothing)


@given(filters_over(st.sampled_from((ID, ID_2))))
def test_a_filter_is_written_as_it_was_read(wanted: Filter) -> None:
    assert parse_filter(orjson.loads(orjson.dumps(wanted.to_json()))) == wanted
