"""What tags refer to: other events by id, and replaceable events by address."""

from typing import Final

from graspd.nostr.event import Event, is_hex64
from graspd.nostr.kinds import KIND_MAX
from graspd.types import Address, EventId

# NIP-34 and NIP-22: lower case names the parent, upper case the root of the conversation, q a quotation.
ID_TAGS: Final = ("e", "E", "q")
ADDRESS_TAGS: Final = ("a", "A", "q")


def is_indexed(name: str) -> bool:
    """NIP-01: tags of one letter, in both cases, can be searched for."""
    return len(name) == 1 and name.isascii() and name.isalpha()


def parse_address(value: str) -> Address | None:
    """An address in its one spelling, or nothing where the text is none."""
    kind, _, rest = value.partition(":")
    pubkey, separator, _ = rest.partition(":")
    if not separator or not is_hex64(pubkey):
        return None
    if not (kind.isascii() and kind.isdecimal()) or len(kind) > 5 or (kind[0] == "0" and kind != "0"):
        return None
    return Address(value) if int(kind) <= KIND_MAX else None


def referenced_ids(event: Event) -> list[EventId]:
    """The events that this one speaks of."""
    return [EventId(value) for value in event.tag_values(*ID_TAGS) if is_hex64(value)]


def referenced_addresses(event: Event) -> list[Address]:
    """The replaceable events, repositories above all, that this one speaks of."""
    found = (parse_address(value) for value in event.tag_values(*ADDRESS_TAGS))
    return [address for address in found if address is not None]
