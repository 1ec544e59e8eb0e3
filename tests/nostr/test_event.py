"""An event's own words: its one spelling, its address, its end, and which version stays."""

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graspd.nostr import kinds
from graspd.nostr.event import (
    Event,
    Malformed,
    has_repeated_key,
    load_event,
    newest_first,
    parse_event,
    raw_id,
    version_rank,
)
from graspd.nostr.prefix import Prefix
from tests.nostr.made import ALICE, author, made

texts = st.text(st.characters(codec="utf-8"))
tag_lists = st.lists(st.lists(texts, min_size=1, max_size=4), max_size=4)
any_events = st.builds(
    made,
    kind=st.integers(0, 65535),
    by=st.sampled_from((ALICE, author("bob"))),
    at=st.integers(0, 2**53 - 1),
    tags=tag_lists,
    content=texts,
)


@given(any_events)
def test_the_canonical_spelling_is_its_own(event: Event) -> None:
    value = orjson.loads(event.raw)
    assert parse_event(value) == event
    assert load_event(event.raw) == event
    assert list(value) == ["id", "pubkey", "created_at", "kind", "tags", "content", "sig"]
    assert not has_repeated_key(event.raw, value)


@given(any_events, st.data())
def test_another_spelling_of_an_event_is_the_same_event(event: Event, data: st.DataObject) -> None:
    fields = {**orjson.loads(event.raw), "extra": ["x"]}
    names = data.draw(st.permutations(list(fields)))
    spelled = json.dumps({name: fields[name] for name in names}, ensure_ascii=data.draw(st.booleans()), indent=1)
    assert parse_event(orjson.loads(spelled)) == event


@given(st.lists(any_events))
def test_raw_events_sort_as_answers_do(events: list[Event]) -> None:
    expected = sorted(events, key=lambda event: (-event.created_at, event.id))
    assert sorted((event.raw for event in events), key=newest_first) == [event.raw for event in expected]
    assert [raw_id(event.raw) for event in events] == [event.id for event in events]


@pytest.mark.parametrize(
    ("kind", "tags", "address"),
    [
        (30617, [["d", "x"]], f"30617:{ALICE}:x"),
        (30617, [["d", "x"], ["d", "y"]], f"30617:{ALICE}:x"),
        (30617, [["d", ""]], f"30617:{ALICE}:"),
        (30617, [["d"]], f"30617:{ALICE}:"),
        (30617, [], f"30617:{ALICE}:"),
        (30617, [["d", "a:b"]], f"30617:{ALICE}:a:b"),
        (0, [["d", "x"]], f"0:{ALICE}:"),
        (10317, [], f"10317:{ALICE}:"),
        (1, [["d", "x"]], None),
        (20001, [["d", "x"]], None),
        (kinds.DELETION, [], None),
        (kinds.VANISH, [], f"62:{ALICE}:"),
    ],
)
def test_address(kind: int, tags: list[list[str]], address: str | None) -> None:
    assert made(kind, tags=tags).address == address


@pytest.mark.parametrize(
    ("value", "second"),
    [
        ("1700000000", 1_700_000_000),
        ("0", 0),
        ("000", 0),
        ("0017", 17),
        ("9" * 5000, 2**53 - 1),
        ("", None),
        ("-1", None),
        ("+1", None),
        ("1.5", None),
        ("1e3", None),
        ("1_000", None),
        (" 1", None),
        ("١٢", None),
        ("²", None),
        ("soon", None),
    ],
)
def test_expiration(value: str, second: int | None) -> None:
    assert made(tags=[["expiration", value]]).expires_at == second


def test_expiration_of_tags_that_say_nothing() -> None:
    assert made().expires_at is None
    assert made(tags=[["expiration"]]).expires_at is None
    assert made(tags=[["expiration"], ["expiration", "5"], ["expiration", "6"]]).expires_at == 5
    assert made(kinds.VANISH, tags=[["expiration", "5"]]).expires_at is None


def test_protection() -> None:
    assert made(tags=[["-"]]).is_protected
    assert made(tags=[["t", "x"], ["-", "x"]]).is_protected
    assert not made(tags=[["t", "-"]]).is_protected


def test_values_of_tags() -> None:
    event = made(tags=[["e", "1", "x"], ["e"], ["E", "2"], ["t", ""], ["e", "3"]])
    assert event.tag_values("e", "E") == ["1", "2", "3"]
    assert event.tag_values("t") == [""]
    assert (event.first("e"), event.first("t"), event.first("z")) == ("1", "", None)


def test_the_newest_version_stays_and_of_two_the_lowest_id() -> None:
    event = made(30617, at=1000)
    below, above = "0" * 64, "f" * 64
    assert event.replaces(999, below)
    assert event.replaces(1000, above)
    assert not event.replaces(1000, below)
    assert not event.replaces(1000, event.id)
    assert not event.replaces(1001, above)
    ranked = sorted([(1, "b"), (2, "b"), (1, "a"), (2, "a")], key=lambda one: version_rank(*one))
    assert ranked == [(2, "a"), (2, "b"), (1, "a"), (1, "b")]


def test_what_is_malformed_says_so_in_words() -> None:
    assert Malformed("it is odd").text == "invalid: it is odd"
    assert Malformed("it is odd", prefix=Prefix.UNSUPPORTED).text == "unsupported: it is odd"
