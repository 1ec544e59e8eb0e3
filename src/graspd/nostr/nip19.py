"""Public keys as people see them: npub1... (NIP-19, bech32 of BIP-173)."""

from typing import Final

from graspd.types import PubKey

_ALPHABET: Final = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_GENERATORS: Final = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_PREFIX: Final = "npub"
_CHECKSUM_LENGTH: Final = 6
_NPUB_LENGTH: Final = 63


def encode_npub(pubkey: PubKey) -> str:
    """npub1... of a public key."""
    groups = _regroup(bytes.fromhex(pubkey), 8, 5)
    check = _polymod([*_expanded_prefix(), *groups, *([0] * _CHECKSUM_LENGTH)]) ^ 1
    groups += [(check >> 5 * (_CHECKSUM_LENGTH - 1 - i)) & 31 for i in range(_CHECKSUM_LENGTH)]
    return f"{_PREFIX}1" + "".join(_ALPHABET[group] for group in groups)


def decode_npub(text: str) -> PubKey | None:
    """The public key of an npub1..., or nothing where the text is none."""
    prefix, _, rest = text.rpartition("1")
    if prefix != _PREFIX or len(text) != _NPUB_LENGTH or any(char not in _ALPHABET for char in rest):
        return None
    groups = [_ALPHABET.index(char) for char in rest]
    if _polymod([*_expanded_prefix(), *groups]) != 1:
        return None
    key = bytes(_regroup(groups[:-_CHECKSUM_LENGTH], 5, 8)[:32])
    pubkey = PubKey(key.hex())
    # Padding bits that are not zero would make a second spelling of the same key.
    return pubkey if encode_npub(pubkey) == text else None


def _expanded_prefix() -> list[int]:
    return [ord(char) >> 5 for char in _PREFIX] + [0] + [ord(char) & 31 for char in _PREFIX]


def _polymod(groups: list[int]) -> int:
    check = 1
    for group in groups:
        top, check = check >> 25, (check & 0x1FFFFFF) << 5 ^ group
        for i, generator in enumerate(_GENERATORS):
            if top >> i & 1:
                check ^= generator
    return check


def _regroup(groups: bytes | list[int], width: int, to_width: int) -> list[int]:
    """Bits in groups of `width` as groups of `to_width`, the last one filled up with zeros."""
    bits = "".join(f"{group:0{width}b}" for group in groups)
    bits += "0" * (-len(bits) % to_width)
    return [int(bits[i : i + to_width], 2) for i in range(0, len(bits), to_width)]
