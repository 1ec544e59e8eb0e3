"""What clients say is read into values; what cannot be read knows whom to tell."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graspd.nostr import messages as m
from graspd.nostr.filter import Filter
from graspd.types import SubId
from tests.nostr.made import made

EVENT = made(content="hello")
SUB = SubId("s1")
SUB_ID_FAULT = "invalid: a subscription id is a string of 1 to 64 characters"
FORM_FAULT = "invalid: the message is not an array of a verb and its arguments"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('["REQ","s1",{}]', m.Request(SUB, (Filter(),))),
        ('["REQ","s1",{"kinds":[1]},{"kinds":[2]}]', m.Request(SUB, (Filter(kinds=(1,)), Filter(kinds=(2,))))),
        ('["REQ","s1",{"#t":["a:b","\\"kinds\\":"]}]', m.Request(SUB, (Filter(tags=(("t", ("a:b", '"kinds":')),)),))),
        ('["COUNT","s1",{"limit":1}]', m.Count(SUB, (Filter(limit=1),))),
        ('["CLOSE","s1"]', m.Close(SUB)),
        ('["CLOSE","s1","more"]', m.Close(SUB)),
        ('["NEG-OPEN","s1",{"kinds":[1]},"61"]', m.NegOpen(SUB, Filter(kinds=(1,)), b"a")),
        ('["NEG-MSG","s1","6100"]', m.NegMsg(SUB, b"a\0")),
        ('["NEG-CLOSE","s1"]', m.NegClose(SUB)),
        (f'["CLOSE","{"x" * 64}"]', m.Close(SubId("x" * 64))),
        (f'["CLOSE","{"😀" * 64}"]', m.Close(SubId("😀" * 64))),
    ],
)
def test_messages_that_are_read(text: str, read: m.ClientMessage) -> None:
    assert m.parse_client_message(text.encode()) == read


def test_events_are_read() -> None:
    assert m.parse_client_message(b'["EVENT",' + EVENT.raw + b"]") == m.Publish(EVENT)
    assert m.parse_client_message(b'[ "AUTH" , ' + EVENT.raw + b"]") == m.Authenticate(EVENT)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("", m.Unreadable("invalid: the message is not valid JSON")),
        ('["REQ","s1",{}', m.Unreadable("invalid: the message is not valid JSON")),
        ("{}", m.Unreadable(FORM_FAULT)),
        ("[]", m.Unreadable(FORM_FAULT)),
        ('["REQ"]', m.Unreadable(FORM_FAULT)),
        ("[1,2]", m.Unreadable(FORM_FAULT)),
        ('[["REQ"],"s1",{}]', m.Unreadable(FORM_FAULT)),
        ('["req","s1",{}]', m.Unreadable("unsupported: 'req' is no message known here")),
        (f'["{"x" * 100}",1]', m.Unreadable(f"unsupported: {'x' * 32!r} is no message known here")),
        ('["REQ","",{}]', m.Unreadable(SUB_ID_FAULT)),
        ('["REQ",1,{}]', m.Unreadable(SUB_ID_FAULT)),
        ('["REQ",null,{}]', m.Unreadable(SUB_ID_FAULT)),
        (f'["REQ","{"x" * 65}",{{}}]', m.Unreadable(SUB_ID_FAULT)),
        ('["CLOSE",{}]', m.Unreadable(SUB_ID_FAULT)),
        ('["REQ","s1"]', m.BadRequest(SUB, "invalid: no filter is given")),
        ('["REQ","s1",1]', m.BadRequest(SUB, "invalid: a filter is not an object")),
        ('["REQ","s1",{},[]]', m.BadRequest(SUB, "invalid: a filter is not an object")),
        ('["REQ","s1",{"search":"x"}]', m.BadRequest(SUB, "unsupported: filter field 'search' is not known here")),
        ('["COUNT","s1",{"kinds":[-1]}]', m.BadRequest(SUB, "invalid: kinds is not an array of kind numbers")),
        ('["REQ","s1",{"kinds":[1],"kinds":[2]}]', m.BadRequest(SUB, "invalid: a filter spells a field twice")),
        ('["REQ","s1",{},{"#t":["x"],"#\\u0074":[]}]', m.BadRequest(SUB, "invalid: a filter spells a field twice")),
        ('["COUNT","s1",{"limit":1,"limit":1}]', m.BadRequest(SUB, "invalid: a filter spells a field twice")),
        ('["NEG-OPEN","s1",{}]', m.BadNegotiation(SUB, "invalid: NEG-OPEN takes 2 arguments after its id")),
        ('["NEG-OPEN","s1",{},1]', m.BadNegotiation(SUB, "invalid: NEG-OPEN takes 2 arguments after its id")),
        ('["NEG-OPEN","s1",[],"61"]', m.BadNegotiation(SUB, "invalid: a filter is not an object")),
        (
            '["NEG-OPEN","s1",{"limit":1,"limit":1},"61"]',
            m.BadNegotiation(SUB, "invalid: a filter spells a field twice"),
        ),
        ('["NEG-MSG","s1","6"]', m.BadNegotiation(SUB, "invalid: the message is not hex")),
        ('["NEG-MSG","s1","zz"]', m.BadNegotiation(SUB, "invalid: the message is not hex")),
        ('["NEG-MSG","s1"]', m.BadNegotiation(SUB, "invalid: NEG-MSG takes 1 arguments after its id")),
    ],
)
def test_messages_that_cannot_be_read(text: str, read: m.BadMessage) -> None:
    assert m.parse_client_message(text.encode()) == read


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
verbs = st.sampled_from(("EVENT", "AUTH", "REQ", "COUNT", "CLOSE", "NEG-OPEN", "NEG-MSG", "NEG-CLOSE", "X"))


@given(st.lists(json_values, max_size=3), verbs)
def test_any_json_is_read_without_failing(arguments: list[Any], verb: str) -> None:
    read = m.parse_client_message(orjson.dumps([verb, *arguments]))
    assert isinstance(read, m.ClientMessage | m.BadMessage)


@given(st.binary(max_size=64))
def test_any_bytes_are_read_without_failing(data: bytes) -> None:
    assert isinstance(m.parse_client_message(data), m.Unreadable)
