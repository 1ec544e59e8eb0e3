"""What clients say to a relay and what it answers (NIP-01, NIP-42, NIP-45, NIP-67, NIP-77), as values and as text.

`parse_client_message` is the only reader of a client's text. It never raises: what cannot be read becomes a value that
knows whom to tell.
"""

from dataclasses import dataclass
from typing import Any, Final

import orjson

from graspd.nostr.event import Event, Malformed, has_repeated_key, parse_event
from graspd.nostr.filter import Filter, parse_filter
from graspd.nostr.hex64 import is_hex64
from graspd.nostr.prefix import Prefix
from graspd.types import SubId

SUB_ID_LENGTH_MAX: Final = 64  # NIP-01


@dataclass(frozen=True, slots=True)
class Publish:
    """EVENT"""

    event: Event


@dataclass(frozen=True, slots=True)
class Authenticate:
    """AUTH"""

    event: Event


@dataclass(frozen=True, slots=True)
class Request:
    """REQ"""

    sub_id: SubId
    filters: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Count:
    """COUNT"""

    sub_id: SubId
    filters: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Close:
    """CLOSE"""

    sub_id: SubId


@dataclass(frozen=True, slots=True)
class NegOpen:
    """NEG-OPEN"""

    sub_id: SubId
    filter: Filter
    message: bytes


@dataclass(frozen=True, slots=True)
class NegMsg:
    """NEG-MSG"""

    sub_id: SubId
    message: bytes


@dataclass(frozen=True, slots=True)
class NegClose:
    """NEG-CLOSE"""

    sub_id: SubId


@dataclass(frozen=True, slots=True)
class BadEvent:
    """An EVENT or AUTH that names an id but cannot be taken: answered with OK false."""

    event_id: str
    text: str


@dataclass(frozen=True, slots=True)
class BadRequest:
    """A REQ or COUNT that names a subscription but cannot be answered: answered with CLOSED."""

    sub_id: SubId
    text: str


@dataclass(frozen=True, slots=True)
class BadNegotiation:
    """A NEG-OPEN or NEG-MSG that names a session but cannot be followed: answered with NEG-ERR."""

    sub_id: SubId
    text: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Nothing in it says whom to tell: answered with NOTICE."""

    text: str


ClientMessage = Publish | Authenticate | Request | Count | Close | NegOpen | NegMsg | NegClose
BadMessage = BadEvent | BadRequest | BadNegotiation | Unreadable


def parse_client_message(data: bytes) -> ClientMessage | BadMessage:
    """Read one message."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return Unreadable(Prefix.INVALID.says("the message is not valid JSON"))
    if type(value) is not list or len(value) < 2 or type(value[0]) is not str:
        return Unreadable(Prefix.INVALID.says("the message is not an array of a verb and its arguments"))
    match value[0]:
        case "EVENT" | "AUTH":
            return _parse_signed(value, data)
        case "REQ" | "COUNT" | "CLOSE" | "NEG-OPEN" | "NEG-MSG" | "NEG-CLOSE":
            return _unambiguous(_parse_named(value), value, data)
        case verb:
            return Unreadable(Prefix.UNSUPPORTED.says(f"{verb[:32]!r} is no message known here"))


def _parse_signed(value: list[Any], data: bytes) -> Publish | Authenticate | BadEvent | Unreadable:
    event: Event | Malformed = parse_event(value[1])
    # The canonical spelling, which most clients use, repeats no key: a comparison is ten times cheaper than a search.
    if (
        isinstance(event, Event)
        and data != b'["EVENT",%b]' % event.raw
        and (len(value) != 2 or has_repeated_key(data, value))
    ):
        event = Malformed("the event spells a field twice, or something follows it", event.id)
    if isinstance(event, Malformed):
        return BadEvent(event.event_id, event.text) if is_hex64(event.event_id) else Unreadable(event.text)
    return Publish(event) if value[0] == "EVENT" else Authenticate(event)


def _parse_named(value: list[Any]) -> ClientMessage | BadMessage:
    verb, sub_id, *rest = value
    if type(sub_id) is not str or not 1 <= len(sub_id) <= SUB_ID_LENGTH_MAX:
        why = f"a subscription id is a string of 1 to {SUB_ID_LENGTH_MAX} characters"
        return Unreadable(Prefix.INVALID.says(why))
    match verb:
        case "CLOSE":
            return Close(SubId(sub_id))
        case "NEG-CLOSE":
            return NegClose(SubId(sub_id))
        case "REQ" | "COUNT":
            return _parse_request(verb, SubId(sub_id), rest)
        case _:
            return _parse_negotiation(verb, SubId(sub_id), rest)


def _unambiguous(message: ClientMessage | BadMessage, value: list[Any], data: bytes) -> ClientMessage | BadMessage:
    if not isinstance(message, Request | Count | NegOpen) or not has_repeated_key(data, value):
        return message
    text = Prefix.INVALID.says("a filter spells a field twice")
    return BadNegotiation(message.sub_id, text) if isinstance(message, NegOpen) else BadRequest(message.sub_id, text)


def _parse_request(verb: str, sub_id: SubId, rest: list[Any]) -> Request | Count | BadRequest:
    if not rest:
        return BadRequest(sub_id, Prefix.INVALID.says("no filter is given"))
    filters: list[Filter] = []
    for given in rest:
        parsed = parse_filter(given)
        if isinstance(parsed, Malformed):
            return BadRequest(sub_id, parsed.text)
        filters.append(parsed)
    return Request(sub_id, tuple(filters)) if verb == "REQ" else Count(sub_id, tuple(filters))


def _parse_negotiation(verb: str, sub_id: SubId, rest: list[Any]) -> NegOpen | NegMsg | BadNegotiation:
    wanted = 2 if verb == "NEG-OPEN" else 1
    if len(rest) != wanted or type(rest[-1]) is not str:
        return BadNegotiation(sub_id, Prefix.INVALID.says(f"{verb} takes {wanted} arguments after its id"))
    try:
        message = bytes.fromhex(rest[-1])
    except ValueError:
        return BadNegotiation(sub_id, Prefix.INVALID.says("the message is not hex"))
    if verb == "NEG-MSG":
        return NegMsg(sub_id, message)
    parsed = parse_filter(rest[0])
    if isinstance(parsed, Malformed):
        return BadNegotiation(sub_id, parsed.text)
    return NegOpen(sub_id, parsed, message)


def ok(event_id: str, accepted: bool, text: str) -> bytes:
    """The answer to EVENT and AUTH."""
    return orjson.dumps(("OK", event_id, accepted, text))


def event_prefix(sub_id: SubId) -> bytes:
    """What stands before an event of a subscription; a closing bracket follows it."""
    return b'["EVENT",%b,' % orjson.dumps(sub_id)


def eose(sub_id: SubId, complete: bool | None) -> bytes:
    """The end of stored events. NIP-67: with a hint whether that was all, where we know."""
    if complete is None:
        return orjson.dumps(("EOSE", sub_id))
    return orjson.dumps(("EOSE", sub_id, ["finish" if complete else "more"]))


def closed(sub_id: SubId, text: str) -> bytes:
    """A subscription ended by us."""
    return orjson.dumps(("CLOSED", sub_id, text))


def notice(text: str) -> bytes:
    """A sentence for people."""
    return orjson.dumps(("NOTICE", text))


def count(sub_id: SubId, number: int) -> bytes:
    """The answer to COUNT."""
    return orjson.dumps(("COUNT", sub_id, {"count": number}))


def auth(challenge: str) -> bytes:
    """The challenge of NIP-42."""
    return orjson.dumps(("AUTH", challenge))


def neg_msg(sub_id: SubId, message: bytes) -> bytes:
    """One round of reconciliation."""
    return b'["NEG-MSG",%b,"%b"]' % (orjson.dumps(sub_id), message.hex().encode())


def neg_err(sub_id: SubId, text: str, most: int | None = None) -> bytes:
    """A session ended by us; NIP-77 as practised adds the most records that a filter may match."""
    return orjson.dumps(("NEG-ERR", sub_id, text) if most is None else ("NEG-ERR", sub_id, text, most))
