"""How values look in the database: ids and keys as 32 bytes, tags as a letter and a value in one key."""

from typing import Final

from graspd.nostr.event import Event, is_hex64
from graspd.nostr.tags import ID_TAGS, is_indexed
from graspd.types import EventId

_HEX_LENGTH: Final = 64


def packed(hex_text: str) -> bytes:
    """32 bytes of an id or public key."""
    return bytes.fromhex(hex_text)


def tag_key(letter: str, value: str) -> bytes:
    """The key of a tag. Packing is marked by a byte that no UTF-8 text starts with, so no two tags share a key."""
    if len(value) == _HEX_LENGTH and is_hex64(value):
        return letter.encode() + b"\xff" + bytes.fromhex(value)
    return letter.encode() + value.encode()


def id_keys(event_id: EventId) -> list[bytes]:
    """The keys under which tags name an event."""
    packed_id = bytes.fromhex(event_id)
    return [letter.encode() + b"\xff" + packed_id for letter in ID_TAGS]


def tag_keys(event: Event) -> list[bytes]:
    """The different keys of an event's searchable tags."""
    found = {tag_key(tag[0], tag[1]): None for tag in event.tags if len(tag) > 1 and is_indexed(tag[0])}
    return list(found)
