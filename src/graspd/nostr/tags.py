"""What tags refer to: other events by id, and replaceable events by address."""

from functools import lru_cache
from string import ascii_letters
from typing import Final, NamedTuple

from graspd.nostr.hex64 import is_hex64
from graspd.nostr.kinds import KIND_MAX
from graspd.types import Address, EventId

Tags = tuple[tuple[str, ...], ...]

# NIP-34 and NIP-22: lower case names the parent, upper case the root of the conversation, q a quotation.
ID_TAGS: Final = ("e", "E", "q")
ADDRESS_TAGS: Final = ("a", "A", "q")
_LETTERS: Final = frozenset(ascii_letters)
_NAMES: Final = frozenset(ID_TAGS + ADDRESS_TAGS)
_ID_LENGTH: Final = 64
_CACHED_LENGTH_MAX: Final = 512  # of an address; 4,096 of them stay under 3 MB whatever strangers send


def is_indexed(name: str) -> bool:
    """NIP-01: tags of one letter, in both cases, can be searched for."""
    return name in _LETTERS


def parse_address(value: str) -> Address | None:
    """An address in its one spelling, or nothing where the text is none."""
    return _cached(value) if len(value) <= _CACHED_LENGTH_MAX else _parsed(value)


def _parsed(value: str) -> Address | None:
    kind, _, rest = value.partition(":")
    pubkey, separator, _ = rest.partition(":")
    if not separator or not is_hex64(pubkey):
        return None
    if not (kind.isascii() and kind.isdecimal()) or len(kind) > 5 or (kind[0] == "0" and kind != "0"):
        return None
    return Address(value) if int(kind) <= KIND_MAX else None


_cached: Final = lru_cache(maxsize=4096)(_parsed)  # every event about a repository repeats its address


class References(NamedTuple):
    """What an event speaks of: events, and replaceable events, repositories above all."""

    ids: tuple[EventId, ...]
    addresses: tuple[Address, ...]


_NOTHING: Final = References((), ())


def references(tags: Tags) -> References:
    """What these tags speak of, in their order."""
    ids: list[EventId] = []
    addresses: list[Address] = []
    for tag in tags:
        if tag[0] in _NAMES and len(tag) > 1:
            value = tag[1]
            if tag[0] in ID_TAGS and len(value) == _ID_LENGTH and is_hex64(value):
                ids.append(EventId(value))
            elif tag[0] in ADDRESS_TAGS and (address := parse_address(value)) is not None:
                addresses.append(address)
    return References(tuple(ids), tuple(addresses)) if ids or addresses else _NOTHING
