"""What no honest client sends: each is told so in the right words, and the connection lives where RFC 6455 lets it."""

import hashlib
import zlib
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from graspd.nostr.event import Event
from tests.conformance.client import BINARY, CLOSE, CONTINUATION, FINAL, PING, TEXT, Client, frame
from tests.conformance.people import Person

RSV1 = 0x40
HEX = "ab" * 32


def assert_alive(client: Client) -> None:
    assert client.count({"ids": []}) == 0


@pytest.mark.parametrize(
    ("text", "prefix"),
    [
        (b"", "invalid"),
        (b"hello", "invalid"),
        (b"[", "invalid"),
        (b'["REQ","x",{}', "invalid"),
        (b'["REQ","x",{}]]', "invalid"),
        (b"null", "invalid"),
        (b"{}", "invalid"),
        (b"[]", "invalid"),
        (b'["REQ"]', "invalid"),
        (b"[1,2,3]", "invalid"),
        (b'[["REQ"],"x",{}]', "invalid"),
        (b'["EVENT",NaN]', "invalid"),
        (b'["REQ","\\ud800",{}]', "invalid"),
        (b'["REQ","x",{"#t":["\\udfff"]}]', "invalid"),
        (b'["REQ","a\x01b",{}]', "invalid"),
        (b"\xef\xbb\xbf" + b'["REQ","x",{}]', "invalid"),
        (b"[" * 100_000, "invalid"),
        (b"[" * 100_000 + b"]" * 100_000, "invalid"),
        (b'{"a":' * 40_000 + b"1" + b"}" * 40_000, "invalid"),
        (b'["EVENT",' + b"9" * 200_000 + b"]", "invalid"),
        (b'["EVENT",1e999999]', "invalid"),
        (b'["EVENT",-1]', "invalid"),
        (b'["EVENT","text"]', "invalid"),
        (b'["EVENT",{}]', "invalid"),
        (b'["EVENT",{"id":5}]', "invalid"),
        (b'["REQ","",{}]', "invalid"),
        (b'["REQ","' + b"x" * 65 + b'",{}]', "invalid"),
        (b'["REQ",5,{}]', "invalid"),
        (b'["CLOSE",null]', "invalid"),
        (b'["COUNT",{},{}]', "invalid"),
        (b'["NEG-OPEN",7,{},"61"]', "invalid"),
        (b'["OK","x",true,""]', "unsupported"),
        (b'["req","x",{}]', "unsupported"),
        (b'["MADE-UP","x"]', "unsupported"),
        (b'["' + b"M" * 10_000 + b'","x"]', "unsupported"),
    ],
)
def test_what_names_nobody_gets_a_notice(client: Client, text: bytes, prefix: str) -> None:
    client.send_text(text)

    verb, told = client.next()
    assert verb == "NOTICE"
    assert told.startswith(f"{prefix}: ")
    assert len(told) < 300, "what was sent is not sent back at length"
    assert_alive(client)


@pytest.mark.parametrize("verb", ["REQ", "COUNT"])
@pytest.mark.parametrize(
    ("filters", "prefix"),
    [
        (b"", "invalid"),
        (b",5", "invalid"),
        (b",[]", "invalid"),
        (b',"x"', "invalid"),
        (b",null", "invalid"),
        (b",{},5", "invalid"),
        (b',{"ids":null}', "invalid"),
        (b',{"ids":"x"}', "invalid"),
        (b',{"ids":["abc"]}', "invalid"),
        (b',{"ids":["' + HEX.upper().encode() + b'"]}', "invalid"),
        (b',{"ids":[5]}', "invalid"),
        (b',{"authors":["npub1abc"]}', "invalid"),
        (b',{"authors":["' + HEX.encode() + b'0"]}', "invalid"),
        (b',{"kinds":["1"]}', "invalid"),
        (b',{"kinds":[1.0]}', "invalid"),
        (b',{"kinds":[-1]}', "invalid"),
        (b',{"kinds":[65536]}', "invalid"),
        (b',{"kinds":[true]}', "invalid"),
        (b',{"kinds":1}', "invalid"),
        (b',{"since":1.5}', "invalid"),
        (b',{"since":-1}', "invalid"),
        (b',{"until":"now"}', "invalid"),
        (b',{"until":99999999999999999999999}', "invalid"),
        (b',{"limit":-1}', "invalid"),
        (b',{"limit":null}', "invalid"),
        (b',{"limit":true}', "invalid"),
        (b',{"#e":["short"]}', "invalid"),
        (b',{"#p":["' + HEX.upper().encode() + b'"]}', "invalid"),
        (b',{"#t":"x"}', "invalid"),
        (b',{"#t":[1]}', "invalid"),
        (b',{"#t":[null]}', "invalid"),
        (b',{"#tt":["x"]}', "unsupported"),
        (b',{"#":["x"]}', "unsupported"),
        (b',{"#1":["x"]}', "unsupported"),
        (b',{"&t":["x"]}', "unsupported"),
        (b',{"search":"x"}', "unsupported"),
        (b',{"":1}', "unsupported"),
        (b',{"kinds":[1],"kinds":[2]}', "invalid"),
        (b',{"kinds":[1]},{"limit":1,"limi\\u0074":2}', "invalid"),
    ],
)
def test_a_request_that_cannot_be_read_is_closed(client: Client, verb: str, filters: bytes, prefix: str) -> None:
    client.send_text(b'["' + verb.encode() + b'","bad"' + filters + b"]")

    told, sub_id, text = client.next()
    assert (told, sub_id) == ("CLOSED", "bad")
    assert text.startswith(f"{prefix}: ")
    assert_alive(client)


def test_a_bad_request_ends_the_subscription_whose_name_it_takes(
    client: Client, other: Client, owner: Person, guest: Person
) -> None:
    other.subscribe("x", {"authors": [guest.pubkey]})
    other.send("REQ", "x", {"limit": -1})
    other.next_of("CLOSED")

    client.take(guest.opens_issue(owner.repo))

    assert other.settle() == []


Spell = Callable[[dict[str, Any]], bytes]


def with_field(name: str, value: Any) -> Spell:
    return lambda fields: orjson.dumps({**fields, name: value})


def replaced(old: str, new: str) -> Spell:
    return lambda fields: orjson.dumps(fields).replace(old.encode(), new.encode(), 1)


def without(name: str) -> Spell:
    return lambda fields: orjson.dumps({key: value for key, value in fields.items() if key != name})


@pytest.mark.parametrize(
    ("fault", "spell"),
    [
        ("created_at is a float", lambda fields: orjson.dumps({**fields, "created_at": float(fields["created_at"])})),
        ("created_at is text", lambda fields: orjson.dumps({**fields, "created_at": str(fields["created_at"])})),
        ("created_at is negative", with_field("created_at", -5)),
        ("created_at is huge", replaced('"created_at":', '"created_at":9999999999999999')),
        ("created_at has an exponent", with_field("created_at", 1.7e9)),
        ("kind is a float", with_field("kind", 1621.0)),
        ("kind is too large", with_field("kind", 65_536)),
        ("kind is negative", with_field("kind", -1)),
        ("kind is true", with_field("kind", True)),
        ("pubkey in upper case", lambda fields: orjson.dumps({**fields, "pubkey": fields["pubkey"].upper()})),
        ("pubkey too short", lambda fields: orjson.dumps({**fields, "pubkey": fields["pubkey"][:-2]})),
        ("sig in upper case", lambda fields: orjson.dumps({**fields, "sig": fields["sig"].upper()})),
        ("sig too long", lambda fields: orjson.dumps({**fields, "sig": fields["sig"] + "00"})),
        ("sig missing", without("sig")),
        ("tags missing", without("tags")),
        ("content missing", without("content")),
        ("content null", with_field("content", None)),
        ("content a list", with_field("content", ["x"])),
        ("tags a text", with_field("tags", "x")),
        ("a tag a text", with_field("tags", ["x"])),
        ("a tag empty", with_field("tags", [[]])),
        ("a tag with a number", with_field("tags", [["a", 5]])),
        ("a tag within a tag", with_field("tags", [["a", ["b"]]])),
        ("another content", with_field("content", "tampered")),
        ("another kind", with_field("kind", 1617)),
        ("id twice", replaced('"kind"', f'"id":"{HEX}","kind"')),
        ("content twice", replaced('"kind"', '"content":"first","kind"')),
        ("content twice, once escaped", replaced('"kind"', '"c\\u006fntent":"first","kind"')),
        ("kind twice and equal", replaced('"kind"', '"kind":1621,"kind"')),
    ],
)
def test_an_event_that_is_wrong_gets_ok_false(
    client: Client, owner: Person, guest: Person, fault: str, spell: Spell
) -> None:
    event = guest.opens_issue(owner.repo)
    fields = orjson.loads(event.raw)

    client.send_text(b'["EVENT",' + spell(fields) + b"]")

    told, event_id, accepted, text = client.next()
    assert (told, accepted) == ("OK", False), fault
    assert event_id in (event.id, HEX)
    assert text.startswith("invalid: ")
    assert client.query({"authors": [guest.pubkey]}) == []
    assert client.publish(event) == (True, ""), "the real one is taken afterwards"


def test_an_id_in_upper_case_is_not_an_id(client: Client, owner: Person, guest: Person) -> None:
    event = guest.opens_issue(owner.repo)

    client.send_text(b'["EVENT",' + event.raw.replace(event.id.encode(), event.id.upper().encode()) + b"]")

    assert client.next_of("NOTICE")[1].startswith("invalid: ")


def test_something_after_the_event_is_refused(client: Client, owner: Person, guest: Person) -> None:
    event = guest.opens_issue(owner.repo)

    client.send_text(b'["EVENT",' + event.raw + b',"more"]')

    assert client.next_of("OK")[1:3] == [event.id, False]


def respelled(event: Event) -> bytes:
    """The same event in another spelling: order, white space, escapes, an unknown field."""
    fields = orjson.loads(event.raw)
    names = ["sig", "content", "tags", "kind", "created_at", "pubkey", "id"]
    text = orjson.dumps({name: fields[name] for name in names} | {"seen_on": ["wss://elsewhere.example"]})
    escaped = text.replace("é".encode(), b"\\u00E9").replace(b"/", b"\\/")
    return escaped.replace(b",", b" ,\t").replace(b":", b" :\n ", 1)


def test_one_event_has_one_spelling(client: Client, other: Client, owner: Person, guest: Person) -> None:
    event = guest.opens_issue(owner.repo, content="caf\u00e9/\x01")
    other.subscribe("live", {"authors": [guest.pubkey]})

    client.send_text(b'["EVENT",' + respelled(event) + b"]")

    assert client.next_of("OK")[1:3] == [event.id, True]
    stored, live = raw_event(client, event.id), other.next_of("EVENT")[2]
    assert stored == event.raw
    assert orjson.dumps(live) == event.raw


def raw_event(client: Client, event_id: str) -> bytes:
    """What is served, in the bytes in which it is served."""
    (served,) = client.query_events({"ids": [event_id]})
    return orjson.dumps(served)


def deflated(payload: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(payload) + packer.flush(zlib.Z_SYNC_FLUSH)


@pytest.mark.parametrize(
    ("fault", "sent", "code"),
    [
        ("compressed, which was not agreed", frame(deflated(b"[" + b" " * 10_000_000), flags=FINAL | RSV1), 1002),
        ("a reserved bit", frame(b"[]", flags=FINAL | 0x20), 1002),
        ("an unknown opcode", frame(b"[]", 3), 1002),
        ("an unknown control opcode", frame(b"", 11), 1002),
        ("no UTF-8", frame(b'["REQ","\xff",{}]'), 1007),
        ("half a character at the end", frame(b'["REQ","\xe2\x82'), 1007),
        ("a surrogate in UTF-8", frame(b'["REQ","\xed\xa0\x80",{}]'), 1007),
        ("an overlong character", frame(b'["REQ","\xc0\xaf",{}]'), 1007),
        ("a ping in pieces", frame(b"x", PING, flags=0), 1002),
        ("a ping too long", frame(b"x" * 126, PING), 1002),
        ("the middle of nothing", frame(b"x", CONTINUATION), 1002),
        ("a new message within another", frame(b"[", TEXT, flags=0) + frame(b"[]", TEXT), 1002),
        ("a close code that may not be sent", frame((1005).to_bytes(2, "big"), CLOSE), 1002),
        ("half a close code", frame(b"\x03", CLOSE), 1002),
        ("a length beyond all limits", b"\x81\xff" + (1 << 62).to_bytes(8, "big") + b"\0\0\0\0", 1009),
        ("a message larger than may be", frame(b"x" * 300_000), 1009),
        ("a goodbye", frame((1000).to_bytes(2, "big") + b"bye", CLOSE), 1000),
    ],
)
def test_broken_frames_end_the_connection_with_the_right_code(
    client: Client, other: Client, fault: str, sent: bytes, code: int
) -> None:
    client.send_raw(sent)

    assert client.closed() == code, fault
    assert_alive(other)


def test_a_character_may_be_cut_between_frames(client: Client) -> None:
    text = '["REQ","\u20ac",{"ids":[]}]'.encode()
    cut = text.index(b"\xe2") + 1

    client.send_raw(frame(text[:cut], TEXT, flags=0) + frame(b"", CONTINUATION, flags=0))
    client.send_raw(frame(b"ping", PING) + frame(text[cut:], CONTINUATION))

    assert client.next_of("EOSE")[1] == "\u20ac"
    assert (10, b"ping") in client.controls


def test_a_message_may_come_byte_by_byte(client: Client) -> None:
    for byte in frame(b'["REQ","x",{"ids":[]}]'):
        client.send_raw(bytes([byte]))

    assert client.next_of("EOSE")[1] == "x"


def test_a_binary_message_gets_a_notice(client: Client) -> None:
    client.send_raw(frame(hashlib.sha256(b"x").digest(), BINARY))

    assert client.next_of("NOTICE")[1].startswith("invalid: ")
    assert_alive(client)
