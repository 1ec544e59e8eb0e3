"""Fingerprints of ranges of ids, each in constant time whatever the length of the range.

Ids are added as little-endian integers modulo 2**256. With the sum of everything before each item kept, the sum
of a range is one subtraction. Sums are rows of four 64-bit limbs, lowest first, and every function here takes
all the ranges of a message at once. Knows nothing of order, timestamps or messages.
"""

from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from graspd.negentropy.wire import FINGERPRINT_SIZE, ID_SIZE, U8, U64, Index, varint_lens, varint_rows

Limbs = NDArray[np.uint64]  # (n, 4)
LIMB = np.dtype("<u8")
LIMBS = ID_SIZE // LIMB.itemsize
BLOCK = 16_384  # ids summed at a time: what is in work stays in the cache, and memory is touched once


def limbs(ids: U8) -> Limbs:
    """Ids (n, 32) as rows of limbs, without a copy."""
    view: Limbs = ids.view(LIMB)
    return view


def running_sums(start: Limbs, ids: U8) -> Limbs:
    """`start` and then the sum after each id: one row more than there are ids."""
    sums = np.empty((len(ids) + 1, LIMBS), LIMB)
    sums[0] = start
    for at in range(0, len(ids), BLOCK):
        _add_block(sums[at : at + BLOCK + 1], limbs(ids[at : at + BLOCK]))
    return sums


def _add_block(sums: Limbs, addends: Limbs) -> None:
    """Fills the rows after the first with the first plus the addends so far."""
    carry = np.zeros(len(sums), np.bool_)
    column = np.empty(len(sums), LIMB)
    for limb in range(LIMBS):
        column[0] = sums[0, limb]
        np.add(addends[:, limb], carry[1:], out=column[1:])
        # An addend of all ones swallows its carry and becomes 0; the carry goes on to the next limb.
        swallowed = carry & (column == 0)
        total = np.cumsum(column, dtype=LIMB)
        carry = (total < column) | swallowed
        carry[0] = False
        sums[:, limb] = total


def range_sums(sums: Limbs, begin: Index, end: Index) -> Limbs:
    """The sum of the ids of each range [begin, end)."""
    high, low = sums.take(end, axis=0), sums.take(begin, axis=0)
    borrow = np.zeros(len(begin), np.uint64)
    for limb in range(LIMBS):
        upper, lower = high[:, limb].copy(), low[:, limb]
        high[:, limb] -= lower + borrow
        # With a borrow, taking away the same again or more goes below zero; without, only more does.
        borrow = np.where(borrow == 1, upper <= lower, upper < lower).astype(np.uint64)
    return high


def fingerprints(sums: Limbs, begin: Index, end: Index) -> U8:
    """The 16 bytes of each range [begin, end), as rows."""
    totals = range_sums(sums, begin, end).view(np.uint8)
    counts = (end - begin).astype(np.uint64)
    digests = np.empty((len(begin), FINGERPRINT_SIZE), np.uint8)
    lens = varint_lens(counts)
    for width in range(1, int(lens.max(initial=0)) + 1):
        alike = np.flatnonzero(lens == width)
        if len(alike):
            digests[alike] = _digests(totals.take(alike, axis=0), counts[alike], width)
    return digests


def _digests(totals: U8, counts: U64, width: int) -> U8:
    preimages = np.concatenate((totals, varint_rows(counts, width)), axis=1)
    rows = preimages.view(f"V{ID_SIZE + width}").ravel().tolist()
    hashed = b"".join([sha256(row).digest() for row in rows])
    return np.frombuffer(hashed, np.uint8).reshape(-1, 32)[:, :FINGERPRINT_SIZE]
