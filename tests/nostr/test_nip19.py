"""npub1...: known keys, every other spelling refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graspd.nostr.nip19 import _expanded_prefix, _polymod, decode_npub, encode_npub
from graspd.types import PubKey

# From NIP-19 itself, and other keys that are widely known.
KNOWN = [
    (
        "npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg",
        "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
    ),
    (
        "npub180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w6",
        "3bf0c63fcb93463407af97a5e5ee64fa883d107ef9e558472c4eb9aaaefa459d",
    ),
    (
        "npub1sg6plzptd64u62a878hep2kev88swjh3tw00gjsfl8f237lmu63q0uf63m",
        "82341f882b6eabcd2ba7f1ef90aad961cf074af15b9ef44a09f9d2a8fbfbe6a2",
    ),
]
NPUB, PUBKEY = KNOWN[0]
ALPHABET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

keys = st.binary(min_size=32, max_size=32).map(lambda key: PubKey(key.hex()))


@pytest.mark.parametrize(("npub", "pubkey"), KNOWN)
def test_known_keys(npub: str, pubkey: str) -> None:
    assert encode_npub(PubKey(pubkey)) == npub
    assert decode_npub(npub) == pubkey


@pytest.mark.parametrize(
    "text",
    [
        "",
        "npub1",
        "1",
        PUBKEY,
        NPUB.upper(),
        NPUB.capitalize(),
        f" {NPUB}",
        f"{NPUB} ",
        NPUB[:-1],
        NPUB + "q",
        NPUB.replace("npub1", "nsec1"),
        NPUB.replace("npub1", "npub"),
        NPUB.replace("z", "b"),
        NPUB.replace("z", "1"),
        "npub1" + "q" * 58,
        # A secret key, a profile with relays and a note are no public keys.
        "nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5",
        "note1fntxtkcy9pjwucqwa9mddn7v03wwwsu9j330jj350nvhpky2tuaspk6nqc",
    ],
)
def test_what_is_no_npub(text: str) -> None:
    assert decode_npub(text) is None


@pytest.mark.parametrize("padding", range(16))
def test_a_key_has_one_spelling_whatever_the_bits_that_fill_it_up(padding: int) -> None:
    """The last character before the checksum has four bits to spare: right sums over them make other texts."""
    groups = [ALPHABET.index(char) for char in NPUB[5:-6]]
    groups[-1] |= padding
    check = _polymod([*_expanded_prefix(), *groups, *([0] * 6)]) ^ 1
    text = "npub1" + "".join(ALPHABET[group] for group in [*groups, *(check >> 5 * (5 - i) & 31 for i in range(6))])
    assert (text == NPUB) is (padding == 0)
    assert decode_npub(text) == (None if padding else PUBKEY)


@given(keys)
def test_there_and_back(pubkey: PubKey) -> None:
    npub = encode_npub(pubkey)
    assert len(npub) == 63
    assert decode_npub(npub) == pubkey


@given(keys, st.integers(5, 62), st.sampled_from(ALPHABET))
def test_one_wrong_character_is_noticed(pubkey: PubKey, at: int, char: str) -> None:
    npub = encode_npub(pubkey)
    changed = npub[:at] + char + npub[at + 1 :]
    assert decode_npub(changed) == (pubkey if changed == npub else None)


@given(st.text(max_size=70))
def test_any_text_is_read_without_failing(text: str) -> None:
    pubkey = decode_npub(text)
    assert pubkey is None or encode_npub(pubkey) == text
