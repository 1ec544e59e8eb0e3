"""One event, and the only way to get one: parse, check the shape, derive the id.

An `Event` has the right shape and an id that is the hash of its content; its signature is not checked here
(nostr.signature, in a worker process). `raw` is the one spelling under which we store and serve it.
"""

import hashlib
import re
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import orjson

from graspd.nostr.hex64 import is_hex64
from graspd.nostr.kinds import KIND_MAX, VANISH, KindClass, kind_class
from graspd.nostr.prefix import Prefix
from graspd.nostr.tags import References, Tags, references
from graspd.types import Address, EventId, PubKey, UnixTime

_is_hex128: Final = re.compile(r"[0-9a-f]{128}").fullmatch
_strings: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)

# Beyond this, a number is no longer exact in the JSON parsers of half the clients.
_TIME_MAX: Final = 2**53 - 1


@dataclass(frozen=True, slots=True)
class Malformed:
    """Why something from outside has no meaning to us, for a person to read."""

    why: str
    event_id: str = ""  # the id it claimed, where that much could be read: an OK must name it
    prefix: Prefix = Prefix.INVALID

    @property
    def text(self) -> str:
        """What the other side is told."""
        return self.prefix.says(self.why)


class Event(NamedTuple):
    """A well-formed event whose id is the hash of its content. A tuple, which is the cheapest thing to make."""

    id: EventId
    pubkey: PubKey
    created_at: UnixTime
    kind: int
    tags: Tags
    content: str
    sig: str
    raw: bytes
    address: Address | None  # kind:pubkey:identifier where later versions replace earlier ones, else nothing
    references: References  # what it speaks of

    def tag_values(self, *names: str) -> list[str]:
        """The first value of every tag with one of these names, in order."""
        return [tag[1] for tag in self.tags if len(tag) > 1 and tag[0] in names]

    def first(self, name: str) -> str | None:
        """The value of the first tag of this name."""
        for tag in self.tags:
            if tag[0] == name and len(tag) > 1:
                return tag[1]
        return None

    @property
    def identifier(self) -> str:
        """The `d` tag; NIP-01 reads a missing one as empty."""
        return _identifier(self.tags)

    @property
    def is_protected(self) -> bool:
        """NIP-70: only its author may publish it, so it never enters by way of another relay."""
        return "-" in [tag[0] for tag in self.tags]

    @property
    def expires_at(self) -> UnixTime | None:
        """NIP-40: the second from which on the event is neither stored nor served."""
        value = self.first("expiration")
        # NIP-62: a request to vanish binds us for ever, so it has no end.
        if value is None or self.kind == VANISH or not value.isascii() or not value.isdecimal():
            return None
        return UnixTime(min(int(value.lstrip("0")[:20] or "0"), _TIME_MAX))

    def replaces(self, created_at: int, event_id: str) -> bool:
        """Whether this version stays when that one is there too."""
        return version_rank(self.created_at, self.id) < version_rank(created_at, event_id)


def _identifier(tags: Tags) -> str:
    return next((tag[1] for tag in tags if tag[0] == "d" and len(tag) > 1), "")


def _address(kind: int, pubkey: str, tags: Tags) -> Address | None:
    match kind_class(kind):
        case KindClass.ADDRESSABLE:
            return Address(f"{kind}:{pubkey}:{_identifier(tags)}")
        case KindClass.REPLACEABLE:
            return Address(f"{kind}:{pubkey}:")
        case _:
            # NIP-62: a later request to vanish asks for all that an earlier one did, so one is kept.
            return Address(f"{kind}:{pubkey}:") if kind == VANISH else None


def version_rank(created_at: int, event_id: str) -> tuple[int, str]:
    """Sorts versions, the one that stays first. NIP-01: the newest stays; at equal times the lowest id."""
    return -created_at, event_id


def has_repeated_key(text: bytes, value: Any) -> bool:
    """Whether a JSON text, read as this value, spelled some key of an object twice.

    A parser silently keeps the last of two equal keys, so two readers could see two different events in one text.
    Outside its strings, a text has exactly one colon for each key.
    """
    return _strings.sub(b"", text).count(b":") != _key_count(value)


def _key_count(value: Any) -> int:
    count, to_visit = 0, [value]
    while to_visit:
        one = to_visit.pop()
        if type(one) is dict:
            count += len(one)
            to_visit.extend(one.values())
        elif type(one) is list:
            to_visit.extend(one)
    return count


def parse_event(value: Any) -> Event | Malformed:
    """Turn decoded JSON into an event, or say what is wrong with it."""
    if type(value) is not dict:
        return Malformed("event is not an object")
    event_id, pubkey, sig = value.get("id"), value.get("pubkey"), value.get("sig")
    if type(event_id) is not str or not is_hex64(event_id):
        return Malformed("id is not 64 lower-case hex digits", event_id if type(event_id) is str else "")
    created_at, kind, content = value.get("created_at"), value.get("kind"), value.get("content")
    if type(pubkey) is not str or not is_hex64(pubkey):
        return Malformed("pubkey is not 64 lower-case hex digits", event_id)
    if type(sig) is not str or not _is_hex128(sig):
        return Malformed("sig is not 128 lower-case hex digits", event_id)
    if type(created_at) is not int or not 0 <= created_at <= _TIME_MAX:
        return Malformed("created_at is not a whole number of seconds since 1970", event_id)
    if type(kind) is not int or not 0 <= kind <= KIND_MAX:
        return Malformed(f"kind is not a whole number from 0 to {KIND_MAX}", event_id)
    if type(content) is not str:
        return Malformed("content is not a string", event_id)
    tags = _parse_tags(value.get("tags"))
    if isinstance(tags, Malformed):
        return Malformed(tags.why, event_id)
    return _sealed(event_id, pubkey, created_at, kind, tags, content, sig)


def _parse_tags(value: Any) -> Tags | Malformed:
    if type(value) is not list:
        return Malformed("tags is not an array")
    for tag in value:
        if type(tag) is not list or not tag:
            return Malformed("a tag is not a non-empty array")
        for item in tag:
            if type(item) is not str:
                return Malformed("a tag holds something that is not a string")
    return tuple(map(tuple, value))


def _sealed(
    event_id: str, pubkey: str, created_at: int, kind: int, tags: Tags, content: str, sig: str
) -> Event | Malformed:
    # NIP-01: the id is the sha256 of [0,pubkey,created_at,kind,tags,content] without white space. Its two long parts
    # are serialised once and serve both the hash and the canonical spelling.
    tags_json, content_json = orjson.dumps(tags), orjson.dumps(content)
    head = b'[0,"%b",%d,%d,' % (pubkey.encode(), created_at, kind)
    if hashlib.sha256(b"%b%b,%b]" % (head, tags_json, content_json)).hexdigest() != event_id:
        return Malformed("id is not the hash of the event", event_id)
    raw = b'{"id":"%b","pubkey":"%b","created_at":%d,"kind":%d,"tags":%b,"content":%b,"sig":"%b"}' % (
        event_id.encode(),
        pubkey.encode(),
        created_at,
        kind,
        tags_json,
        content_json,
        sig.encode(),
    )
    address = _address(kind, pubkey, tags)
    spoken_of = references(tags)
    return Event(
        EventId(event_id), PubKey(pubkey), UnixTime(created_at), kind, tags, content, sig, raw, address, spoken_of
    )


def load_event(raw: bytes) -> Event:
    """An event from our own store, which holds nothing but canonical, checked events."""
    value = orjson.loads(raw)
    kind, pubkey, tags = value["kind"], value["pubkey"], tuple(map(tuple, value["tags"]))
    address, spoken_of = _address(kind, pubkey, tags), references(tags)
    return Event(
        value["id"], pubkey, value["created_at"], kind, tags, value["content"], value["sig"], raw, address, spoken_of
    )


_ID_AT: Final = len('{"id":"')
_CREATED_AT: Final = len('{"id":"","pubkey":"","created_at":') + 128


def newest_first(raw: bytes) -> tuple[int, bytes]:
    """Sorts canonical events the way answers are sorted, without decoding them: their first fields stand fixed."""
    return -int(raw[_CREATED_AT : raw.index(b",", _CREATED_AT)]), raw[_ID_AT : _ID_AT + 64]


def raw_id(raw: bytes) -> EventId:
    """The id of a canonical event, without decoding it."""
    return EventId(raw[_ID_AT : _ID_AT + 64].decode())
