"""Schnorr signatures of BIP-340 over event ids, through libsecp256k1."""

from functools import lru_cache
from typing import Final

from coincurve import PublicKeyXOnly

# One record is what a check needs: the id (32 bytes), the public key (32) and the signature (64).
RECORD_SIZE: Final = 128

# Parsing a key costs a tenth of a check and authors repeat; 4,096 parsed keys are under 1 MB.
_parsed_key = lru_cache(maxsize=4096)(PublicKeyXOnly)


def verify(message: bytes, pubkey: bytes, sig: bytes) -> bool:
    """Whether the signature over a 32-byte message is the key's."""
    try:
        return _parsed_key(pubkey).verify(sig, message)
    except ValueError:
        return False  # the key is not a point of the curve


def verify_records(records: bytes) -> bytes:
    """One byte, 1 or 0, for each record of RECORD_SIZE bytes."""
    return bytes(
        verify(records[at : at + 32], records[at + 32 : at + 64], records[at + 64 : at + RECORD_SIZE])
        for at in range(0, len(records), RECORD_SIZE)
    )


def record(event_id: str, pubkey: str, sig: str) -> bytes:
    """The record of one event, from its hex fields."""
    return bytes.fromhex(event_id + pubkey + sig)
