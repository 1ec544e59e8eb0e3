"""Which ids of two lists stand in only one of them, for all the lists of a message at once.

A hash join on columns: our ids go into a table by some bits of theirs, each of the peer's ids looks into its
slot, and only an id equal in all 32 bytes counts as found. Whatever bits a peer chooses for its ids, the answer
is exact and the work proportional to the length of the lists.
"""

import numpy as np

from graspd.negentropy.fingerprint import LIMBS, limbs
from graspd.negentropy.wire import U8, Index

# Ids with proof of work begin with zeros, so slots are taken from the last limbs.
SLOT_LIMBS = (3, 2)


def differences(ours: U8, theirs: U8) -> tuple[Index, Index]:
    """The rows of `ours` that `theirs` lacks, and the rows of `theirs` that `ours` lacks, both in order.

    Ours are distinct; theirs come from the peer and may repeat themselves.
    """
    our_limbs, their_limbs = limbs(ours), limbs(theirs)
    our_rest, their_rest = np.arange(len(ours)), np.arange(len(theirs))
    for limb in SLOT_LIMBS:
        if not len(our_rest) or not len(their_rest):
            return our_rest, their_rest
        slots = 1 << (4 * len(our_rest)).bit_length()
        table = np.full(slots, our_rest[0])
        table[our_limbs[our_rest, limb] & np.uint64(slots - 1)] = our_rest
        candidate = table[their_limbs[their_rest, limb] & np.uint64(slots - 1)]
        equal = np.ones(len(their_rest), np.bool_)
        for column in range(LIMBS):
            equal &= our_limbs[candidate, column] == their_limbs[their_rest, column]
        found = np.zeros(len(ours), np.bool_)
        found[candidate[equal]] = True
        our_rest, their_rest = our_rest[~found[our_rest]], their_rest[~equal]
    return _differences_of_few(ours, our_rest, theirs, their_rest)


def _differences_of_few(ours: U8, our_rest: Index, theirs: U8, their_rest: Index) -> tuple[Index, Index]:
    """The same by Python's sets, for what shares its slots with others."""
    our_ids, their_ids = id_list(ours[our_rest]), id_list(theirs[their_rest])
    our_set, their_set = set(our_ids), set(their_ids)
    ours_only = [i for i, id_ in enumerate(our_ids) if id_ not in their_set]
    theirs_only = [i for i, id_ in enumerate(their_ids) if id_ not in our_set]
    return our_rest[ours_only], their_rest[theirs_only]


def id_list(ids: U8) -> list[bytes]:
    """Rows of ids as `bytes`, one each."""
    rows: list[bytes] = np.ascontiguousarray(ids).view("V32").ravel().tolist()
    return rows
