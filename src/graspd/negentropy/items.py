"""Sealed sets of (created_at, id), as sorted columns with running sums beside them.

Decides the order of items and where a bound falls among them. A set never changes: extending one gives another,
and a restriction to a time range is a view of the same memory. 72 bytes an item: 8 of time, 32 of id, 32 of sum.
Knows nothing of messages or roles.
"""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from graspd.negentropy.fingerprint import LIMBS, Limbs, fingerprints, running_sums
from graspd.negentropy.wire import ID_SIZE, INFINITY, U8, U64, Bounds, Flags, Index, prefix_words, rows_less

Scalar = TypeVar("Scalar", np.uint8, np.uint64)


class ItemSet:
    """Items in ascending order of created_at, then id, each once."""

    __slots__ = ("_sums", "created_at", "ids")

    def __init__(self, created_at: U64, ids: U8, sums: Limbs) -> None:
        """For the constructors below, which see to it that the columns agree."""
        self.created_at = created_at
        self.ids = ids
        self._sums = sums

    @classmethod
    def from_columns(cls, created_at: NDArray[np.uint64], ids: NDArray[np.uint8]) -> "ItemSet":
        """From columns that already ascend strictly. They are kept, not copied: do not write to them again."""
        _check_columns(created_at, ids)
        if len(created_at) > 1 and not _ascends(created_at, ids).all():
            raise ValueError("items do not ascend; from_unsorted sorts them")
        return cls(created_at, ids, running_sums(np.zeros(LIMBS, np.uint64), ids))

    @classmethod
    def from_unsorted(cls, created_at: NDArray[np.uint64], ids: NDArray[np.uint8]) -> "ItemSet":
        """From columns in any order; what stands there twice is taken once."""
        _check_columns(created_at, ids)
        created_at, ids = _sorted_once(created_at, ids)
        return cls(created_at, ids, running_sums(np.zeros(LIMBS, np.uint64), ids))

    def extended(self, created_at: NDArray[np.uint64], ids: NDArray[np.uint8]) -> "ItemSet":
        """This set and these items, in any order, known ones among them or not.

        Sums before the first new item stay as they are: adding recent events costs a copy of memory and work
        on what is newer than the oldest of them.
        """
        _check_columns(created_at, ids)
        created_at, ids = _sorted_once(created_at, ids)
        at = self.lower_bounds(Bounds(created_at, np.full(len(ids), ID_SIZE), ids))
        known = at < len(self)
        known[known] = (self.ids[at[known]] == ids[known]).all(axis=1)
        known[known] = self.created_at[at[known]] == created_at[known]
        fresh = ~known
        if not fresh.any():
            return self
        at, created_at, ids = at[fresh], created_at[fresh], ids[fresh]
        first = int(at[0])
        merged_at = at + np.arange(len(at))
        sums = np.empty((len(self) + len(at) + 1, LIMBS), self._sums.dtype)
        merged_ids = _merged(self.ids, merged_at, ids)
        sums[:first] = self._sums[:first]
        sums[first:] = running_sums(self._sums[first], merged_ids[first:])
        return ItemSet(_merged(self.created_at, merged_at, created_at), merged_ids, sums)

    def between(self, since: int, until: int) -> "ItemSet":
        """The items with since <= created_at <= until, as a view: no copy, no sums anew."""
        lower = int(np.searchsorted(self.created_at, np.uint64(since), "left"))
        upper = max(lower, int(np.searchsorted(self.created_at, np.uint64(until), "right")))
        return ItemSet(self.created_at[lower:upper], self.ids[lower:upper], self._sums[lower : upper + 1])

    def __len__(self) -> int:
        return len(self.created_at)

    @property
    def nbytes(self) -> int:
        """Memory the columns of this set take, a view counting its own part."""
        return self.created_at.nbytes + self.ids.nbytes + self._sums.nbytes

    def fingerprints(self, begin: Index, end: Index) -> U8:
        """The fingerprint of each range [begin, end) of items, as rows of 16 bytes."""
        return fingerprints(self._sums, begin, end)

    def lower_bounds(self, bounds: Bounds) -> Index:
        """For each bound, how many items sort before it."""
        at = np.searchsorted(self.created_at, bounds.created_at, "left")
        tied = np.flatnonzero(bounds.prefix_len)
        if len(tied):
            ends = np.searchsorted(self.created_at, bounds.created_at[tied], "right")
            at[tied] = self._bisect(at[tied], ends, prefix_words(bounds.prefix[tied]))
        return at

    def _bisect(self, low: Index, high: Index, words: U64) -> Index:
        """Bisects all the ranges [low, high) of items of one second at once for where each prefix falls."""
        width = words.shape[1] * 8
        open_ = np.flatnonzero(low < high)
        while len(open_):
            middle = (low[open_] + high[open_]) // 2
            before = rows_less(prefix_words(self.ids.take(middle, axis=0)[:, :width]), words[open_])
            low[open_[before]] = middle[before] + 1
            high[open_[~before]] = middle[~before]
            open_ = open_[low[open_] < high[open_]]
        return low

    def minimal_bounds(self, at: Index) -> Bounds:
        """For each index from 1 on, the shortest bound that parts the item there from the one before it."""
        created_at = self.created_at[at]
        prefix_len = np.zeros(len(at), np.int64)
        tied = np.flatnonzero(created_at == self.created_at[at - 1])
        ids = self.ids.take(at[tied], axis=0)
        prefix_len[tied] = (ids != self.ids.take(at[tied] - 1, axis=0)).argmax(axis=1) + 1
        width = int(prefix_len.max(initial=0))
        prefix = np.zeros((len(at), width), np.uint8)
        prefix[tied] = ids[:, :width]
        prefix[np.arange(width) >= prefix_len[:, None]] = 0
        return Bounds(created_at, prefix_len, prefix)

    def id_bytes(self) -> memoryview:
        """All ids end to end, for slicing without copies."""
        return self.ids.reshape(-1).data


def _check_columns(created_at: NDArray[np.uint64], ids: NDArray[np.uint8]) -> None:
    if created_at.dtype != np.uint64 or ids.dtype != np.uint8:
        raise ValueError("created_at must be uint64 and ids uint8")
    if created_at.ndim != 1 or ids.shape != (len(created_at), ID_SIZE) or not ids.flags.c_contiguous:
        raise ValueError("ids must be contiguous rows of 32 bytes, one for each created_at")
    if (created_at == INFINITY).any():
        raise ValueError("created_at must be below 2**64 - 1, which bounds use for infinity")


def _ascends(created_at: U64, ids: U8) -> Flags:
    """For each item but the first, whether it sorts after the one before it."""
    later: Flags = created_at[1:] > created_at[:-1]
    tied = np.flatnonzero(created_at[1:] == created_at[:-1])
    later[tied] = rows_less(prefix_words(ids[tied]), prefix_words(ids[tied + 1]))
    return later


def _sorted_once(created_at: U64, ids: U8) -> tuple[U64, U8]:
    order = _order_by_time(created_at)
    created_at, ids = created_at.take(order), ids.take(order, axis=0)
    _sort_ties(created_at, ids)
    if len(ids) > 1:
        kept = np.concatenate((np.ones(1, np.bool_), _ascends(created_at, ids)))
        if not kept.all():
            created_at, ids = created_at[kept], ids[kept]
    return created_at, ids


def _order_by_time(created_at: U64) -> Index:
    """By digits of 16 bits, which numpy sorts by radix: times faster than sorting the 64 bits as one."""
    offsets = created_at - created_at.min(initial=INFINITY)
    digits = offsets.astype("<u8", copy=False).view("<u2").reshape(-1, 4)
    used = max(1, -(-int(offsets.max(initial=0)).bit_length() // 16))
    return np.lexsort([digits[:, digit] for digit in range(used)])


def _sort_ties(created_at: U64, ids: U8) -> None:
    """Puts the ids of each second in order, in place."""
    tied = np.zeros(len(ids), np.bool_)
    same = created_at[1:] == created_at[:-1]
    tied[1:] |= same
    tied[:-1] |= same
    at = np.flatnonzero(tied)
    if not len(at):
        return
    words = prefix_words(ids[at])
    # By the first word alone, which tells nearly all ids apart; by all four where it does not.
    order = np.lexsort((words[:, 0], created_at[at]))
    first = words[order, 0]
    if ((first[1:] == first[:-1]) & (created_at[at][1:] == created_at[at][:-1])).any():
        order = np.lexsort((words[:, 3], words[:, 2], words[:, 1], words[:, 0], created_at[at]))
    ids[at] = ids.take(at[order], axis=0)


def _merged(old: NDArray[Scalar], at: Index, new: NDArray[Scalar]) -> NDArray[Scalar]:
    """`old` with the rows of `new` put in so that they stand at `at` afterwards, which ascends."""
    first = int(at[0])
    merged = np.empty((len(old) + len(new), *old.shape[1:]), old.dtype)
    merged[:first] = old[:first]
    tail, is_new = merged[first:], np.zeros(len(merged) - first, np.bool_)
    is_new[at - first] = True
    tail[is_new] = new
    tail[~is_new] = old[first:]
    return merged
