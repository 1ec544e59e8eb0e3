"""Malformed, malleable and merely odd events, as the text of an EVENT message, each with the verdict it must get.

One event (BASE) is spelled in every wrong and every unusual way. A verdict is one of:

    TAKEN           read as the event named beside it, of good signature, and kept in that event's one spelling
    OK_FALSE        refused by an OK that names the event
    NOTICE          refused by a NOTICE: no id could be read that an OK might name
    BAD_SIGNATURE   of the right shape and id, refused once its signature is checked
"""

import hashlib
import json
from collections.abc import Iterator
from enum import Enum, auto
from typing import Any, Final, NamedTuple

from graspd.nostr.event import Event
from graspd.types import PubKey
from tests.nostr.made import made, signed


class Says(Enum):
    TAKEN = auto()
    OK_FALSE = auto()
    NOTICE = auto()
    BAD_SIGNATURE = auto()


TAKEN, OK_FALSE, NOTICE, BAD_SIGNATURE = Says

NO_JSON: Final = "invalid: the message is not valid JSON"
NO_OBJECT: Final = "invalid: event is not an object"
BAD_ID: Final = "invalid: id is not 64 lower-case hex digits"
BAD_PUBKEY: Final = "invalid: pubkey is not 64 lower-case hex digits"
BAD_SIG: Final = "invalid: sig is not 128 lower-case hex digits"
BAD_TIME: Final = "invalid: created_at is not a whole number of seconds since 1970"
BAD_KIND: Final = "invalid: kind is not a whole number from 0 to 65535"
BAD_TAGS: Final = "invalid: tags is not an array"
BAD_TAG: Final = "invalid: a tag is not a non-empty array"
BAD_TAG_ITEM: Final = "invalid: a tag holds something that is not a string"
BAD_CONTENT: Final = "invalid: content is not a string"
BAD_HASH: Final = "invalid: id is not the hash of the event"
TWICE: Final = "invalid: the event spells a field twice, or something follows it"

SECRET: Final = b"\x01" * 32
OTHER_SECRET: Final = b"\x02" * 32
TAGS: Final = [["t", "x"], ["e", "ab" * 32, "wss://relay.example"]]
CONTENT: Final = 'a "quoted" word: ü / 😀\n'
BASE: Final = signed(SECRET, 1621, 1_700_000_000, TAGS, CONTENT)
FIELDS: Final = {
    name: json.dumps(value, ensure_ascii=False)
    for name, value in (
        ("id", BASE.id),
        ("pubkey", BASE.pubkey),
        ("created_at", BASE.created_at),
        ("kind", BASE.kind),
        ("tags", TAGS),
        ("content", CONTENT),
        ("sig", BASE.sig),
    )
}
# The order of BIP-340's group, and the prime of its field.
GROUP: Final = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
PRIME: Final = 2**256 - 2**32 - 977


class Case(NamedTuple):
    name: str
    event_text: bytes
    says: Says
    text: str = ""  # what the client is told
    event: Event = BASE  # what it is taken as
    after: bytes = b""  # what follows the event in its message


def spelled(fields: dict[str, str]) -> bytes:
    return ("{" + ",".join(f'"{name}":{value}' for name, value in fields.items()) + "}").encode()


def having(**raw: str) -> bytes:
    """The event with some fields replaced or added, each given as JSON."""
    return spelled({**FIELDS, **raw})


def lacking(name: str) -> bytes:
    return spelled({one: value for one, value in FIELDS.items() if one != name})


def followed(extra: str) -> bytes:
    """The event with text put in after its last field."""
    return spelled(FIELDS)[:-1] + f",{extra}}}".encode()


def preceded(extra: str) -> bytes:
    """The event with text put in before its first field."""
    return f"{{{extra},".encode() + spelled(FIELDS)[1:]


def with_content(raw: bytes) -> bytes:
    """The event with this between the quotes of its content."""
    return spelled(FIELDS | {"content": '"?"'}).replace(b'"?"', b'"' + raw + b'"')


def escaped(text: str) -> str:
    """Every character as \\uXXXX, in pairs beyond the first plane."""
    units = text.encode("utf-16-be")
    return '"' + "".join(f"\\u{units[at]:02x}{units[at + 1]:02X}" for at in range(0, len(units), 2)) + '"'


def hashed(*parts: Any, **how: Any) -> str:
    """An id made over another serialisation than NIP-01's."""
    return json.dumps(hashlib.sha256(json.dumps(parts, **how).encode()).hexdigest())


def other_spellings() -> Iterator[Case]:
    """One event in many texts: each is taken, and kept in the one spelling."""
    reverse = dict(reversed(FIELDS.items()))
    yield Case("canonical", BASE.raw, TAKEN)
    yield Case("fields in reverse", spelled(reverse), TAKEN)
    yield Case("spaces", json.dumps(json.loads(BASE.raw)).encode(), TAKEN)
    yield Case("lines and tabs", json.dumps(json.loads(BASE.raw), indent="\t").encode(), TAKEN)
    yield Case("white space around", b" \r\n\t" + BASE.raw + b"\n ", TAKEN)
    yield Case("content in escapes", having(content=escaped(CONTENT)), TAKEN)
    yield Case("a solidus escaped", with_content(json.dumps(CONTENT)[1:-1].replace("/", "\\/").encode()), TAKEN)
    yield Case("id in escapes", having(id=escaped(BASE.id)), TAKEN)
    yield Case("sig in escapes", having(sig=escaped(BASE.sig)), TAKEN)
    yield Case("a tag in escapes", having(tags=FIELDS["tags"].replace('"x"', '"\\u0078"')), TAKEN)
    yield Case("a field's name in escapes", spelled(FIELDS).replace(b'"id"', b'"\\u0069d"'), TAKEN)
    yield Case("another field: a string", having(extra='"x"'), TAKEN)
    yield Case("another field: colons and quotes", having(extra='"a\\":\\"b:\\\\"'), TAKEN)
    yield Case("another field: a number", having(extra="-1.5e3"), TAKEN)
    yield Case("another field: null", having(extra="null"), TAKEN)
    yield Case("another field: an array", having(seen_on='["wss://a","wss://b"]'), TAKEN)
    yield Case("another field: an object", having(extra='{"a":{"b":1},"c":[{"d":2}]}'), TAKEN)
    yield Case("another field: no name", followed('"":1'), TAKEN)
    yield Case("another field: a name in capitals", having(ID='"x"', Sig='"y"'), TAKEN)
    yield Case("another field before the rest", preceded('"ots":"x"'), TAKEN)
    other_nonce = signed(SECRET, 1621, 1_700_000_000, TAGS, CONTENT, nonce=b"\x07" * 32)
    yield Case("signed once more", other_nonce.raw, TAKEN, event=other_nonce)


def odd_events() -> Iterator[Case]:
    """Unusual, and yet events."""
    odd: dict[str, dict[str, Any]] = {
        "no content, no tags": {},
        "a NUL": {"content": "a\0b", "tags": [["t", "\0"]]},
        "every control character": {"content": "".join(map(chr, range(0x20))) + "\x7f\x80\x9f"},
        "line separators": {"content": "\u2028\u2029\u0085"},
        "a byte order mark": {"content": "\ufeff"},
        "no characters": {"content": "\ufffe\uffff\ufdd0"},
        "the last character": {"content": "\U0010ffff"},
        "right to left": {"content": "\u202eabc"},
        "letters taken apart": {"content": "e\u0301"},
        "html": {"content": "</script><!-- &amp; \\ / -->"},
        "an event with a field twice as content": {"content": '{"id":1,"id":2}'},
        "quotes, colons and backslashes": {"content": '\\":"\\\\":{"id":"x"', "tags": [['":"', '\\"']]},
        "empty strings in a tag": {"tags": [["", ""], ["t", ""]]},
        "a tag of one string": {"tags": [["-"], ["t"]]},
        "the same tag twice": {"tags": [["t", "x"], ["t", "x"]]},
        "a thousand tags": {"tags": [["t", str(n)] for n in range(1000)]},
        "a tag of a thousand values": {"tags": [["t", *map(str, range(1000))]]},
        "the first second": {"at": 0},
        "the last second": {"at": 2**53 - 1},
        "the first kind": {"kind": 0},
        "the last kind": {"kind": 65535},
    }
    for name, fields in odd.items():
        event = signed(SECRET, **fields)
        yield Case(name, event.raw, TAKEN, event=event)
    first = signed(SECRET, at=0)
    yield Case("a zero with a sign", first.raw.replace(b'_at":0', b'_at":-0'), TAKEN, event=first)


def repeated_fields() -> Iterator[Case]:
    """Of two equal keys a parser keeps the last and another the first: two readers, two events."""
    for name, value in FIELDS.items():
        yield Case(f"{name} twice", followed(f'"{name}":{value}'), OK_FALSE, TWICE)
    for name in FIELDS:
        yield Case(f"{name} twice, nonsense first", preceded(f'"{name}":"?"'), OK_FALSE, TWICE)
    yield Case("id twice, once in escapes", followed(f'"\\u0069d":{FIELDS["id"]}'), OK_FALSE, TWICE)
    yield Case("content thrice", followed('"content":"",' * 2 + f'"content":{FIELDS["content"]}'), OK_FALSE, TWICE)
    yield Case("another field twice", followed('"x":1,"x":1'), OK_FALSE, TWICE)
    yield Case("a field of another field twice", followed('"x":{"a":1,"a":1}'), OK_FALSE, TWICE)
    yield Case("another field twice, once with fields", followed('"x":{"a":1},"x":2'), OK_FALSE, TWICE)
    yield Case("content twice, nonsense last", followed('"content":1'), OK_FALSE, BAD_CONTENT)
    yield Case("id twice, nonsense last", followed('"id":1'), NOTICE, BAD_ID)
    yield Case("a number after the event", BASE.raw, OK_FALSE, TWICE, after=b",1")
    yield Case("the event twice", BASE.raw, OK_FALSE, TWICE, after=b"," + BASE.raw)


def wrong_hex() -> Iterator[Case]:
    """Three fields of hex digits, each of one length and in lower case."""
    told = {"id": (NOTICE, BAD_ID), "pubkey": (OK_FALSE, BAD_PUBKEY), "sig": (OK_FALSE, BAD_SIG)}
    for name, (says, text) in told.items():
        value = json.loads(FIELDS[name])
        wrong = {
            "in upper case": value.upper(),
            "with one capital": value.replace("a", "A", 1).replace("b", "B", 1),
            "one digit short": value[:-1],
            "one digit long": value + "0",
            "empty": "",
            "with 0x before it": "0x" + value[2:],
            "with a space before it": " " + value,
            "with a line break after it": value + "\n",
            "with a letter that is no digit": "g" + value[1:],
            "with a digit of another script": "\u0661" + value[1:],
            "in full width": "".join(chr(ord(char) + 0xFEE0) for char in value),
            "with a NUL in place of a digit": value[:-1] + "\0",
        }
        for how, given in wrong.items():
            yield Case(f"{name} {how}", having(**{name: json.dumps(given)}), says, text)
        for given in ("null", "1", "true", "[]", f"[{FIELDS[name]}]", "{}"):
            yield Case(f"{name} is {given[:8]}", having(**{name: given}), says, text)
        yield Case(f"{name} missing", lacking(name), says, text)


def wrong_numbers() -> Iterator[Case]:
    """Whole numbers, in range, written as such."""
    wrong = ("1.0", "1621.0", "1e3", "1.7e9", "1E0", "0.5", "-1", "-0.0", "-1e3", str(2**64), "9" * 300)
    others = ("true", "false", "null", '"1621"', '""', "[1]", "{}")
    unwritten = ("01", "+1", "0x10", "1.", ".5", "1e", "NaN", "Infinity", "-Infinity", "-", "1_000", "1e400")
    for name, text, beyond in (("created_at", BAD_TIME, 2**53), ("kind", BAD_KIND, 65536)):
        for given in (*wrong, *others, str(beyond), str(2**63), str(-(2**63))):
            yield Case(f"{name} is {given[:24]}", having(**{name: given}), OK_FALSE, text)
        for given in unwritten:
            yield Case(f"{name} is {given[:24]}", having(**{name: given}), NOTICE, NO_JSON)
        yield Case(f"{name} of a million digits", having(**{name: "9" * 10**6}), NOTICE, NO_JSON)
        yield Case(f"{name} missing", lacking(name), OK_FALSE, text)


def wrong_tags() -> Iterator[Case]:
    """An array of arrays of strings, none of them empty."""
    for given in ("null", "{}", '"x"', "1", "true"):
        yield Case(f"tags is {given}", having(tags=given), OK_FALSE, BAD_TAGS)
    yield Case("tags missing", lacking("tags"), OK_FALSE, BAD_TAGS)
    no_tags = ("[[]]", "[null]", "[1]", '["t"]', '["t","x"]', "[{}]", '[["t","x"],[]]', '[["t"],"x"]', '[{"0":"t"}]')
    for given in no_tags:
        yield Case(f"tags is {given}", having(tags=given), OK_FALSE, BAD_TAG)
    items = (
        '["t",1]',
        '["t",null]',
        '["t",true]',
        '["t",1.5]',
        '["t",["x"]]',
        '["t",{"a":"b"}]',
        '[["t"]]',
        "[[]]",
        "[1]",
    )
    for given in items:
        yield Case(f"a tag is {given}", having(tags=f"[{given}]"), OK_FALSE, BAD_TAG_ITEM)
    for depth, says, text in ((500, OK_FALSE, BAD_TAG_ITEM), (2000, NOTICE, NO_JSON), (10**6, NOTICE, NO_JSON)):
        yield Case(f"tags of {depth} arrays", having(tags="[" * depth + "]" * depth), says, text)
    yield Case("tags of a million open arrays", having(tags="[" * 10**6), NOTICE, NO_JSON)
    yield Case("tags of a million open objects", having(tags='{"a":' * 10**6), NOTICE, NO_JSON)


def wrong_content() -> Iterator[Case]:
    """One string of characters."""
    for given in ("null", "1", "true", "[]", '["x"]', "{}"):
        yield Case(f"content is {given}", having(content=given), OK_FALSE, BAD_CONTENT)
    yield Case("content missing", lacking("content"), OK_FALSE, BAD_CONTENT)
    no_text = {
        "a lone high surrogate": rb"\ud800",
        "a lone low surrogate": rb"\udc00",
        "two high surrogates": rb"\ud83d\ud83d",
        "a pair of surrogates the wrong way round": rb"\ude00\ud83d",
        "a high surrogate and a letter": rb"\ud83dx",
        "a surrogate in raw bytes": b"\xed\xa0\x80",
        "a pair of surrogates in raw bytes": b"\xed\xa0\xbd\xed\xb8\x80",
        "a NUL in two bytes": b"\xc0\x80",
        "a solidus in two bytes": b"\xc0\xaf",
        "beyond the last character": b"\xf4\x90\x80\x80",
        "half a character": b"\xe2\x82",
        "a continuation alone": b"\x80",
        "a byte of no UTF-8": b"\xff",
        "Latin-1": "ü".encode("latin-1"),
        "a raw line break": b"a\nb",
        "a raw tab": b"a\tb",
        "a raw NUL": b"a\0b",
        "an escape that JSON lacks": rb"\x41",
        "an escape cut short": rb"\u12",
        "an escape of no digits": rb"\uZZZZ",
        "a quotation mark": b'"',
        "an open end": b"\\",
    }
    for name, raw in no_text.items():
        yield Case(f"content has {name}", with_content(raw), NOTICE, NO_JSON)


def wrong_texts() -> Iterator[Case]:
    """What is no object, or not even JSON."""
    for given in (
        b"null",
        b"1",
        b"true",
        b"[]",
        b'"x"',
        b"[" + BASE.raw + b"]",
        json.dumps(BASE.raw.decode()).encode(),
    ):
        yield Case(f"the event is {given[:8].decode()}", given, NOTICE, NO_OBJECT)
    yield Case("an empty object", b"{}", NOTICE, BAD_ID)
    broken = {
        "nothing": b"",
        "cut short": BASE.raw[:-1],
        "cut in the middle": BASE.raw[: len(BASE.raw) // 2],
        "one bracket too many": BASE.raw + b"}",
        "a comma at the end": BASE.raw[:-1] + b",}",
        "two commas": BASE.raw.replace(b",", b",,", 1),
        "no comma": BASE.raw.replace(b",", b" ", 1),
        "a comment": b"/* hello */" + BASE.raw,
        "single quotes": BASE.raw.replace(b'"', b"'"),
        "a key without quotes": BASE.raw.replace(b'"kind"', b"kind"),
        "a key that is a number": followed("1:1"),
        "a key without a value": followed('"x"'),
        "an equals sign": BASE.raw.replace(b'"kind":', b'"kind"='),
        "a byte order mark": b"\xef\xbb\xbf" + BASE.raw,
        "a NUL after it": BASE.raw + b"\0",
        "UTF-16": BASE.raw.decode().encode("utf-16-le"),
        "a no-break space": b"\xc2\xa0" + BASE.raw,
        "a surrogate in a key": followed('"\\ud800":1'),
    }
    for name, text in broken.items():
        yield Case(f"no JSON: {name}", text, NOTICE, NO_JSON)


def wrong_hashes() -> Iterator[Case]:
    """The id of something else."""
    parts = (0, BASE.pubkey, BASE.created_at, BASE.kind, TAGS, CONTENT)
    plain = {"separators": (",", ":"), "ensure_ascii": False}
    other = signed(SECRET, content="another")
    changed = {
        "content changed": {"content": '"other"'},
        "content in another normal form": {"content": FIELDS["content"].replace("ü", "u\u0308")},
        "content with a carriage return": {"content": FIELDS["content"].replace("\\n", "\\r\\n")},
        "content with a space more": {"content": FIELDS["content"].replace('"a ', '"a  ')},
        "a tag more": {"tags": json.dumps([*TAGS, ["x"]])},
        "a tag less": {"tags": json.dumps(TAGS[:1])},
        "a value of a tag more": {"tags": json.dumps([[*TAGS[0], ""], TAGS[1]])},
        "tags in another order": {"tags": json.dumps(TAGS[::-1])},
        "no tags": {"tags": "[]"},
        "a second later": {"created_at": str(BASE.created_at + 1)},
        "another kind": {"kind": "1"},
        "another author": {"pubkey": json.dumps(signed(OTHER_SECRET).pubkey)},
        "the id of another event": {"id": json.dumps(other.id)},
        "an id of zeros": {"id": json.dumps("0" * 64)},
        "an id with its last digit changed": {"id": json.dumps(BASE.id[:-1] + ("1" if BASE.id[-1] == "0" else "0"))},
        "an id with its bytes in reverse": {"id": json.dumps(bytes.fromhex(BASE.id)[::-1].hex())},
        "an id over spaces": {"id": hashed(*parts, ensure_ascii=False)},
        "an id over escapes": {"id": hashed(*parts, separators=(",", ":"))},
        "an id over the time as text": {"id": hashed(*parts[:2], str(parts[2]), *parts[3:], **plain)},
        "an id over the time as a float": {"id": hashed(*parts[:2], float(parts[2]), *parts[3:], **plain)},
        "an id over a one at the start": {"id": hashed(1, *parts[1:], **plain)},
        "an id without the zero at the start": {"id": hashed(*parts[1:], **plain)},
        "an id over the event": {"id": hashed(json.loads(BASE.raw), **plain)},
    }
    assert hashed(*parts, **plain) == FIELDS["id"]
    for name, fields in changed.items():
        yield Case(name, having(**fields), OK_FALSE, BAD_HASH)


def wrong_signatures() -> Iterator[Case]:
    """Signatures of something or somebody else, and relatives of the right one."""
    r, s = int(BASE.sig[:64], 16), int(BASE.sig[64:], 16)
    wrong = {
        "zeros": "0" * 128,
        "all ones": "f" * 128,
        "of another event": signed(SECRET, content="another").sig,
        "of another author": signed(OTHER_SECRET, 1621, 1_700_000_000, TAGS, CONTENT).sig,
        "its first bit changed": f"{r ^ 2**255:064x}{s:064x}",
        "its last bit changed": f"{r:064x}{s ^ 1:064x}",
        "its second half negated": f"{r:064x}{GROUP - s:064x}",
        "its halves changed round": f"{s:064x}{r:064x}",
        "its first half the prime of the field": f"{PRIME:064x}{s:064x}",
        "its second half the order of the group": f"{r:064x}{GROUP:064x}",
        "its second half zero": f"{r:064x}{0:064x}",
    }
    for name, sig in wrong.items():
        yield Case(f"signature: {name}", having(sig=json.dumps(sig)), BAD_SIGNATURE, event=BASE)
    for name, key in (("zero", 0), ("beyond the field", PRIME + 1), ("all ones", 2**256 - 1), ("off the curve", 5)):
        event = made(by=PubKey(f"{key:064x}"))
        yield Case(f"an author's key that is {name}", event.raw, BAD_SIGNATURE, event=event)


CASES: Final = (
    *other_spellings(),
    *odd_events(),
    *repeated_fields(),
    *wrong_hex(),
    *wrong_numbers(),
    *wrong_tags(),
    *wrong_content(),
    *wrong_texts(),
    *wrong_hashes(),
    *wrong_signatures(),
)
