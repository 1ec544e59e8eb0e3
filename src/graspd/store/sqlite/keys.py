"""How values look in the database: ids and keys as 32 bytes, tags as a letter and a value in one key."""

from typing import Final

from graspd.nostr.event import Event
from graspd.nostr.hex64 import is_hex64
from graspd.nostr.tags import ID_TAGS, is_indexed
from graspd.types import EventId

_HEX_LENGTH: Final = 64


def packed(hex_text: str) -> bytes:
    """Bytes of an id, a public key or a key of a tag."""
    return bytes.fromhex(hex_text)


def tag_key(letter: str, value: str) -> bytes:
    """The key of a tag. Packing is marked by a byte that no UTF-8 text starts with, so no two tags share a key."""
    return bytes.fromhex(_tag_key_hex(letter, value))


def _tag_key_hex(letter: str, value: str) -> str:
    if len(value) == _HEX_LENGTH and is_hex64(value):
        return f"{letter.encode().hex()}ff{value}"
    return (letter + value).encode().hex()


def id_keys(event_id: EventId) -> list[bytes]:
    """The keys under which tags name an event."""
    packed_id = bytes.fromhex(event_id)
    return [letter.encode() + b"\xff" + packed_id for letter in ID_TAGS]


def tag_keys_hex(event: Event) -> list[str]:
    """The different keys of an event's searchable tags, in hex, as a statement about many of them takes them."""
    found = {_tag_key_hex(tag[0], tag[1]): None for tag in event.tags if len(tag) > 1 and is_indexed(tag[0])}
    return list(found)
