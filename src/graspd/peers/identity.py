"""The key by which peers know us (NIP-42): made once, kept in the data directory, used for nothing else.

Relays grant reading rights to keys, so a new key at every start would have to earn them again.
"""

import hashlib
import os
from pathlib import Path
from typing import Final

import orjson
from coincurve import PrivateKey

from graspd.errors import DataDirError
from graspd.nostr.event import Event, parse_event
from graspd.nostr.hex64 import is_hex64
from graspd.nostr.kinds import CLIENT_AUTH
from graspd.types import PubKey, RelayUrl, UnixTime

FILE_NAME: Final = "service.key"
_SECRET_BYTES: Final = 32


class Identity:
    """Signs answers to challenges."""

    def __init__(self, secret: bytes) -> None:
        self._key = PrivateKey(secret)
        self.pubkey = PubKey(self._key.public_key_xonly.format().hex())

    @classmethod
    def of(cls, data_dir: Path) -> "Identity":
        """The identity kept in a data directory, made at first use."""
        path = data_dir / FILE_NAME
        try:
            if not path.exists():
                _write_new(path, os.urandom(_SECRET_BYTES).hex())
            text = path.read_text().strip()
        except OSError as error:
            raise DataDirError(f"the key {path} cannot be used: {error.strerror}") from error
        if not is_hex64(text):
            raise DataDirError(f"the key {path} is not 64 hex digits")
        try:
            return cls(bytes.fromhex(text))
        except ValueError as error:
            raise DataDirError(f"the key {path} is no secret key") from error

    def answer(self, relay: RelayUrl, challenge: str, now: UnixTime) -> Event:
        """The event that answers a challenge (NIP-42)."""
        tags = [["relay", relay], ["challenge", challenge]]
        digest = hashlib.sha256(orjson.dumps([0, self.pubkey, now, CLIENT_AUTH, tags, ""]))
        event = parse_event(
            {
                "id": digest.hexdigest(),
                "pubkey": self.pubkey,
                "created_at": now,
                "kind": CLIENT_AUTH,
                "tags": tags,
                "content": "",
                "sig": self._key.sign_schnorr(digest.digest()).hex(),
            }
        )
        assert isinstance(event, Event), event
        return event


def _write_new(path: Path, text: str) -> None:
    # Written aside and renamed, so that a crash leaves no half of a key; readable by us alone.
    aside = path.with_suffix(".new")
    aside.unlink(missing_ok=True)
    with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    aside.rename(path)
