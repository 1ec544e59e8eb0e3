"""The client's side of the conversation: what relays say to us, read into values, and what we say to them, as text.

`parse_relay_message` is the only reader of a relay's text. It never raises and never trusts: an event has the right
shape and the id of its content (its signature is not checked here), texts for people are cut, and whatever means
nothing to us is `Junk` with a reason.
"""

from dataclasses import dataclass
from typing import Any, Final

import orjson

from graspd.nostr.event import Event, Malformed, parse_event
from graspd.nostr.filter import Filter
from graspd.nostr.hex64 import is_hex64
from graspd.nostr.prefix import Prefix
from graspd.types import EventId, SubId

TEXT_LENGTH_MAX: Final = 300  # of what relays tell people; more is only good for filling a log
CHALLENGE_LENGTH_MAX: Final = 1024  # we keep one for each link and send it back in an event
_PREFIX_BY_WORD: Final = {prefix.value: prefix for prefix in Prefix}


@dataclass(frozen=True, slots=True)
class RelayEvent:
    """EVENT"""

    sub_id: SubId
    event: Event


@dataclass(frozen=True, slots=True)
class RelayEose:
    """EOSE. NIP-67: `complete` says whether that was all; None where the relay does not say."""

    sub_id: SubId
    complete: bool | None


@dataclass(frozen=True, slots=True)
class RelayClosed:
    """CLOSED"""

    sub_id: SubId
    prefix: Prefix | None
    text: str


@dataclass(frozen=True, slots=True)
class RelayNotice:
    """NOTICE"""

    text: str


@dataclass(frozen=True, slots=True)
class RelayOk:
    """OK"""

    event_id: EventId
    accepted: bool
    prefix: Prefix | None
    text: str


@dataclass(frozen=True, slots=True)
class RelayAuth:
    """AUTH"""

    challenge: str


@dataclass(frozen=True, slots=True)
class RelayNegMsg:
    """NEG-MSG"""

    sub_id: SubId
    message: bytes


@dataclass(frozen=True, slots=True)
class RelayNegErr:
    """NEG-ERR. `records_max` is the fourth element by which some relays say how many events a filter may match."""

    sub_id: SubId
    prefix: Prefix | None
    text: str
    records_max: int | None


@dataclass(frozen=True, slots=True)
class Junk:
    """What means nothing to us, and why."""

    why: str


RelayMessage = (
    RelayEvent | RelayEose | RelayClosed | RelayNotice | RelayOk | RelayAuth | RelayNegMsg | RelayNegErr | Junk
)


def parse_relay_message(text: bytes | str) -> RelayMessage:
    """Read one message."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return Junk("the message is not valid JSON")
    if type(value) is not list or len(value) < 2 or type(value[0]) is not str or type(value[1]) is not str:
        return Junk("the message is not an array of a verb and its arguments")
    match value[0]:
        case "EVENT":
            return _parse_event(value)
        case "EOSE":
            return RelayEose(SubId(value[1]), _parse_hint(value[2:]))
        case "CLOSED":
            return RelayClosed(SubId(value[1]), *_parse_reason(value[2:]))
        case "NOTICE":
            return RelayNotice(value[1][:TEXT_LENGTH_MAX])
        case "OK":
            return _parse_ok(value)
        case "AUTH":
            return RelayAuth(value[1]) if len(value[1]) <= CHALLENGE_LENGTH_MAX else Junk("the challenge is too long")
        case "NEG-MSG":
            return _parse_neg_msg(value)
        case "NEG-ERR":
            return RelayNegErr(SubId(value[1]), *_parse_reason(value[2:]), _parse_records_max(value[3:]))
        case verb:
            return Junk(f"{verb[:32]!r} is no message of a relay")


def _parse_event(value: list[Any]) -> RelayEvent | Junk:
    if len(value) != 3:
        return Junk("EVENT takes a subscription id and an event")
    # A field spelled twice is not looked for, as it is with clients: the id proves which reading the author signed,
    # and from here on there is only our own spelling.
    event = parse_event(value[2])
    return Junk(event.why) if isinstance(event, Malformed) else RelayEvent(SubId(value[1]), event)


def _parse_hint(rest: list[Any]) -> bool | None:
    # NIP-67: a third element, an array of hints. What we do not know says nothing.
    hints = rest[0] if rest and type(rest[0]) is list else []
    if "more" in hints:
        return False
    return True if "finish" in hints else None


def _parse_reason(rest: list[Any]) -> tuple[Prefix | None, str]:
    text = rest[0][:TEXT_LENGTH_MAX] if rest and type(rest[0]) is str else ""
    return parse_prefix(text), text


def parse_prefix(text: str) -> Prefix | None:
    """The word that a message for machines starts with; relays in the field spell it in capitals too."""
    return _PREFIX_BY_WORD.get(text.partition(":")[0].strip().lower())


def _parse_ok(value: list[Any]) -> RelayOk | Junk:
    if len(value) < 3 or not is_hex64(value[1]) or type(value[2]) is not bool:
        return Junk("OK takes an event id and true or false")
    return RelayOk(EventId(value[1]), value[2], *_parse_reason(value[3:]))


def _parse_neg_msg(value: list[Any]) -> RelayNegMsg | Junk:
    if len(value) != 3 or type(value[2]) is not str:
        return Junk("NEG-MSG takes a subscription id and a message")
    try:
        return RelayNegMsg(SubId(value[1]), bytes.fromhex(value[2]))
    except ValueError:
        return Junk("the message of NEG-MSG is not hex")


def _parse_records_max(rest: list[Any]) -> int | None:
    return rest[0] if rest and type(rest[0]) is int and rest[0] > 0 else None


def event(published: Event) -> bytes:
    """EVENT: publish."""
    return b'["EVENT",%b]' % published.raw


def auth(answer: Event) -> bytes:
    """AUTH: the answer to a challenge (NIP-42)."""
    return b'["AUTH",%b]' % answer.raw


def req(sub_id: SubId, filters: tuple[Filter, ...]) -> bytes:
    """REQ."""
    return orjson.dumps(("REQ", sub_id, *(wanted.to_json() for wanted in filters)))


def close(sub_id: SubId) -> bytes:
    """CLOSE."""
    return orjson.dumps(("CLOSE", sub_id))


def neg_open(sub_id: SubId, wanted: Filter, message: bytes) -> bytes:
    """NEG-OPEN."""
    return orjson.dumps(("NEG-OPEN", sub_id, wanted.to_json(), message.hex()))


def neg_close(sub_id: SubId) -> bytes:
    """NEG-CLOSE."""
    return orjson.dumps(("NEG-CLOSE", sub_id))
