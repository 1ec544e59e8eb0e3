"""What relays send is read into values; what means nothing is junk; what we send can be read by a relay."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graspd.nostr import messages as m
from graspd.nostr import relay_messages as r
from graspd.nostr.filter import Filter
from graspd.nostr.prefix import Prefix
from graspd.types import EventId, SubId, UnixTime
from tests.nostr.made import made

EVENT = made(kind=1621, tags=[["a", "30617:x:y"], ["t", "…"]], content='a "quoted"\n line')
SUB = SubId("s1")
ID = EventId("ab" * 32)


def test_event_is_read_with_its_content() -> None:
    text = m.event_prefix(SUB) + EVENT.raw + b"]"

    assert r.parse_relay_message(text) == r.RelayEvent(SUB, EVENT)
    assert r.parse_relay_message(text.decode()) == r.RelayEvent(SUB, EVENT)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('["EOSE","s1"]', r.RelayEose(SUB, None)),
        ('["EOSE","s1",["finish"]]', r.RelayEose(SUB, True)),
        ('["EOSE","s1",["more"]]', r.RelayEose(SUB, False)),
        ('["EOSE","s1",["later"]]', r.RelayEose(SUB, None)),
        ('["EOSE","s1","more"]', r.RelayEose(SUB, None)),
        ('["CLOSED","s1","auth-required: who?"]', r.RelayClosed(SUB, Prefix.AUTH_REQUIRED, "auth-required: who?")),
        ('["CLOSED","s1"]', r.RelayClosed(SUB, None, "")),
        ('["CLOSED","s1","too many filters"]', r.RelayClosed(SUB, None, "too many filters")),
        ('["NOTICE","rate-limited: slow down"]', r.RelayNotice("rate-limited: slow down")),
        (f'["OK","{ID}",true,""]', r.RelayOk(ID, True, None, "")),
        (f'["OK","{ID}",true]', r.RelayOk(ID, True, None, "")),
        (f'["OK","{ID}",false,"Blocked: no"]', r.RelayOk(ID, False, Prefix.BLOCKED, "Blocked: no")),
        ('["AUTH","nonce"]', r.RelayAuth("nonce")),
        ('["NEG-MSG","s1","6100ff"]', r.RelayNegMsg(SUB, bytes.fromhex("6100ff"))),
        ('["NEG-ERR","s1","blocked: too many",1000]', r.RelayNegErr(SUB, Prefix.BLOCKED, "blocked: too many", 1000)),
        ('["NEG-ERR","s1","CLOSED"]', r.RelayNegErr(SUB, Prefix.CLOSED, "CLOSED", None)),
        ('["NEG-ERR","s1","PROTOCOL-ERROR",-3]', r.RelayNegErr(SUB, None, "PROTOCOL-ERROR", None)),
        ('["NEG-ERR","s1","blocked: x",true]', r.RelayNegErr(SUB, Prefix.BLOCKED, "blocked: x", None)),
    ],
)  # fmt: skip
def test_message_is_read(text: str, read: r.RelayMessage) -> None:
    assert r.parse_relay_message(text) == read


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "[" * 200_000,
        '"EVENT"',
        '["EVENT"]',
        '["EVENT",3,{}]',
        '["EVENT","s1"]',
        '["EVENT","s1",{}]',
        '["EVENT","s1",{"id":"x"}]',
        '["EVENT","s1",null]',
        '["EOSE",1]',
        '["NOTICE",{}]',
        '["OK","s1",true,""]',
        f'["OK","{ID}",1,""]',
        f'["OK","{ID}"]',
        '["AUTH",5]',
        '["AUTH","%s"]' % ("x" * (r.CHALLENGE_LENGTH_MAX + 1)),
        '["NEG-MSG","s1","6g"]',
        '["NEG-MSG","s1"]',
        '["NEG-MSG","s1",{}]',
        '["COUNT","s1",{"count":3}]',
        '["\\ud800","s1"]',
    ],
)
def test_nonsense_is_junk(text: str) -> None:
    assert isinstance(r.parse_relay_message(text), r.Junk)


def test_event_whose_id_is_not_its_hash_is_junk() -> None:
    forged = EVENT.raw.replace(b'"kind":1621', b'"kind":1622')

    assert r.parse_relay_message(m.event_prefix(SUB) + forged + b"]") == r.Junk("id is not the hash of the event")


def test_text_is_cut() -> None:
    read = r.parse_relay_message(orjson.dumps(["NOTICE", "x" * 10_000]))

    assert read == r.RelayNotice("x" * r.TEXT_LENGTH_MAX)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)
VERBS = st.sampled_from(["EVENT", "EOSE", "CLOSED", "NOTICE", "OK", "AUTH", "NEG-MSG", "NEG-ERR", "COUNT"])


@given(VERBS, st.lists(JSON, max_size=4))
def test_no_json_is_beyond_reading(verb: str, arguments: list[object]) -> None:
    assert isinstance(r.parse_relay_message(orjson.dumps([verb, *arguments])), r.RelayMessage)


@given(st.binary(max_size=64))
def test_no_bytes_are_beyond_reading(data: bytes) -> None:
    assert isinstance(r.parse_relay_message(data), r.Junk)


WANTED = Filter(kinds=(30617,), tags=(("a", ("30617:x:y", "…")),), since=UnixTime(5), limit=0)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (r.event(EVENT), m.Publish(EVENT)),
        (r.auth(EVENT), m.Authenticate(EVENT)),
        (r.req(SUB, (WANTED, Filter(ids=(ID,)))), m.Request(SUB, (WANTED, Filter(ids=(ID,))))),
        (r.close(SUB), m.Close(SUB)),
        (r.neg_open(SUB, WANTED, b"\x61"), m.NegOpen(SUB, WANTED, b"\x61")),
        (r.neg_close(SUB), m.NegClose(SUB)),
    ],
)
def test_what_we_send_is_what_a_relay_reads(text: bytes, read: m.ClientMessage) -> None:
    assert m.parse_client_message(text) == read
