"""Events for tests: right in shape and id, signed only where a test says so."""

import hashlib
from collections.abc import Sequence
from typing import Any

import orjson
from coincurve import PrivateKey

from graspd.nostr.event import Event, parse_event
from graspd.types import PubKey

UNSIGNED = "0" * 128


def author(name: str) -> PubKey:
    """A public key that no one holds the secret of."""
    return PubKey(hashlib.sha256(name.encode()).hexdigest())


ALICE = author("alice")


def event_id(pubkey: str, created_at: int, kind: int, tags: Sequence[Sequence[str]], content: str) -> str:
    """The id as NIP-01 derives it."""
    return hashlib.sha256(orjson.dumps([0, pubkey, created_at, kind, tags, content])).hexdigest()


def made(
    kind: int = 1,
    by: PubKey = ALICE,
    at: int = 1_700_000_000,
    tags: Sequence[Sequence[str]] = (),
    content: str = "",
) -> Event:
    """An event without a valid signature, for what is decided after or without one."""
    fields = {"pubkey": by, "created_at": at, "kind": kind, "tags": tags, "content": content, "sig": UNSIGNED}
    return _parsed({"id": event_id(by, at, kind, tags, content), **fields})


def signed(
    secret: bytes,
    kind: int = 1,
    at: int = 1_700_000_000,
    tags: Sequence[Sequence[str]] = (),
    content: str = "",
    nonce: bytes = bytes(32),
) -> Event:
    """An event with a valid signature."""
    key = PrivateKey(secret)
    by = key.public_key_xonly.format().hex()
    one = event_id(by, at, kind, tags, content)
    sig = key.sign_schnorr(bytes.fromhex(one), nonce).hex()
    fields = {"pubkey": by, "created_at": at, "kind": kind, "tags": tags, "content": content, "sig": sig}
    return _parsed({"id": one, **fields})


def _parsed(fields: dict[str, Any]) -> Event:
    event = parse_event(orjson.loads(orjson.dumps(fields)))
    assert isinstance(event, Event), event
    return event
