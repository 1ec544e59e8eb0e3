"""What a party sends: its opening ranges, and its answer to the ranges of a message.

Decides which ranges need an answer, how a differing range is split and where a frame ends. Works over columns:
one search for all bounds of a message, one batch of fingerprints to compare, one batch to send. Does not know
what becomes of the differences found.

The messages are those of the reference implementation, byte for byte: a range whose fingerprint differs is
answered by a list if we hold fewer than 32 items in it and by 16 fingerprints otherwise, a responder answers a
list by its own, and ranges that need no answer become one skip before the next that does.

A frame that would pass its limit is closed by one range up to infinity, the *remainder*. The reference gives it
the fingerprint of the items after the range it had no room to answer, while the peer takes it to begin where the
last bound sent left off. Mostly the two differ anyway and the peer asks on. But where the peer holds nothing in
the range left out they can be equal, and what we hold there is never spoken of again. Two rules prevent that,
and only where they apply do our bytes depart from the reference's:
  - when the peer's fingerprint of the range left out is that of no items, the remainder's is the true one;
  - when we hold nothing in the remainder we say so by an empty list. It is answered in full by any peer, where
    a peer with the fault could close its own frame with the same fingerprint of nothing, and we would be done.
"""

from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from graspd.negentropy.items import ItemSet
from graspd.negentropy.wire import (
    FINGERPRINT,
    FINGERPRINT_SIZE,
    ID_LIST,
    ID_SIZE,
    INFINITY,
    SKIP,
    U8,
    Bounds,
    Flags,
    Index,
    Ranges,
    join_lists,
    range_heads,
    range_sizes,
)

BUCKETS = 16  # a range that differs is split into so many ...
LIST_ITEMS_MAX = 2 * BUCKETS - 1  # ... unless it holds no more than this: then its ids are sent
FRAME_RESERVE = 200  # bytes of a frame left for the remainder and the end of a list
# A split takes at least 16 times a timestamp, a prefix length, a mode and a fingerprint.
SPLIT_SIZE_MIN = BUCKETS * (3 + FINGERPRINT_SIZE)
LIST_HEAD_SIZE_MIN = 4
COMPARED_AT_ONCE = 256  # ranges, under a frame limit, which is often reached by the first few
NO_ITEMS = np.frombuffer(sha256(bytes(ID_SIZE + 1)).digest()[:FINGERPRINT_SIZE], np.uint8)


@dataclass(frozen=True, slots=True)
class Rows:
    """Ranges to send. [begin, end) are the items whose fingerprint or ids a range carries."""

    bounds: Bounds
    mode: U8
    begin: Index
    end: Index

    @classmethod
    def blank(cls, n: int, width: int) -> "Rows":
        """`n` skips; the rest is to be put in."""
        return cls(Bounds.blank(n, width), np.zeros(n, np.uint8), np.zeros(n, np.int64), np.zeros(n, np.int64))

    def put(self, at: Index, mode: int, bounds: Bounds, begin: Index, end: Index) -> None:
        self.bounds.put(at, bounds)
        self.mode[at] = mode
        self.begin[at] = begin
        self.end[at] = end

    def encoded(self, items: ItemSet) -> bytes:
        """These ranges as a message."""
        hashed = np.flatnonzero(self.mode == FINGERPRINT)
        fingerprints = items.fingerprints(self.begin[hashed], self.end[hashed])
        heads, head_ends = range_heads(self.bounds, self.mode, self.end - self.begin, fingerprints)
        listed = np.flatnonzero(self.mode == ID_LIST)
        ids = items.id_bytes()
        edges = zip((self.begin[listed] * ID_SIZE).tolist(), (self.end[listed] * ID_SIZE).tolist(), strict=True)
        return join_lists(heads, head_ends[listed].tolist(), (ids[begin:end] for begin, end in edges))


def opening(items: ItemSet) -> bytes:
    """The first message of an initiator."""
    whole = Bounds(np.full(1, INFINITY, np.uint64), np.zeros(1, np.int64), np.zeros((1, 0), np.uint8))
    first, lower, upper = np.zeros(1, np.int64), np.zeros(1, np.int64), np.full(1, len(items), np.int64)
    return _plan(items, whole, lower, upper, first, upper > LIST_ITEMS_MAX).rows.encoded(items)


class Answer:
    """The answer to one message: its bytes, and how many of the message's ranges they deal with.

    What lies beyond the last of those was left to the remainder and will come again.
    """

    __slots__ = ("_items", "_lists_back", "_ranges", "_room", "lower", "message", "ranges_done", "upper")

    def __init__(self, items: ItemSet, ranges: Ranges, frame_size_limit: int, *, lists_back: bool) -> None:
        self._items = items
        self._ranges = ranges
        self._lists_back = lists_back
        self._room = frame_size_limit - FRAME_RESERVE if frame_size_limit else None
        self.upper: Index = items.lower_bounds(ranges.bounds)
        self.lower: Index = np.concatenate((np.zeros(1, np.int64), self.upper))[:-1]
        self.ranges_done = len(ranges)
        open_ = self._open_ranges()
        wide = (ranges.mode[open_] == FINGERPRINT) & (self.upper[open_] - self.lower[open_] > LIST_ITEMS_MAX)
        plan = _plan(items, ranges.bounds, self.lower, self.upper, open_, wide)
        self.message = self._cut(plan, open_).encoded(items)

    def _open_ranges(self) -> Index:
        """The ranges that need an answer, looked for only as far as the frame can possibly reach."""
        n, size, found = len(self._ranges), 1, [np.zeros(0, np.int64)]
        step = max(n, 1) if self._room is None else COMPARED_AT_ONCE
        for start in range(0, n, step):
            open_ = start + np.flatnonzero(self._needs_answer(slice(start, start + step)))
            found.append(open_)
            size += int(self._sizes_min(open_).sum())
            if self._room is not None and size > self._room:
                break
        return np.concatenate(found)

    def _needs_answer(self, part: slice) -> Flags:
        mode = self._ranges.mode[part]
        needs: Flags = (mode == ID_LIST) & self._lists_back
        hashed = np.flatnonzero(mode == FINGERPRINT)
        at = hashed + part.start
        ours = self._items.fingerprints(self.lower[at], self.upper[at]).view(np.uint64)
        theirs = self._ranges.fingerprints(at).view(np.uint64)
        needs[hashed] = (ours[:, 0] != theirs[:, 0]) | (ours[:, 1] != theirs[:, 1])
        return needs

    def _sizes_min(self, open_: Index) -> Index:
        n = self.upper[open_] - self.lower[open_]
        split = (self._ranges.mode[open_] == FINGERPRINT) & (n > LIST_ITEMS_MAX)
        return np.where(split, SPLIT_SIZE_MIN, LIST_HEAD_SIZE_MIN + n * ID_SIZE)

    def _cut(self, plan: "_Plan", open_: Index) -> Rows:
        """The rows that fit the frame, with the remainder if not all do."""
        rows = plan.rows
        if self._room is None or not len(open_):
            return rows
        row_sizes = range_sizes(rows.bounds, rows.mode, rows.end - rows.begin)
        size_after = 1 + np.cumsum(np.add.reduceat(row_sizes, plan.first_row))
        over = np.flatnonzero(size_after > self._room)
        if not len(over):
            return rows
        last = int(over[0])
        at = int(open_[last])
        if self._ranges.mode[at] == ID_LIST:
            size_before = int(size_after[last - 1]) if last else 1
            return self._cut_in_list(rows, int(plan.first_row[last] + plan.row_count[last]), size_before)
        self.ranges_done = at
        sent = int(self.upper[open_[last - 1]]) if last else 0
        nothing_theirs = bool((self._ranges.fingerprints(np.array([at])) == NO_ITEMS).all())
        begin = sent if nothing_theirs else int(self.upper[at])
        return self._closed(rows, int(plan.first_row[last]), sent, begin)

    def _cut_in_list(self, rows: Rows, n: int, size_before: int) -> Rows:
        """The first `n` rows, the last of them a list which fills the frame, shortened if it has to be.

        The reference adds ids while what it has counted is within the room: the skip and the head of this very
        list are not counted, nor is the id that passes it. The reserve is there for them.
        """
        assert self._room is not None
        list_row = n - 1
        end = int(rows.begin[list_row]) + (self._room - size_before) // ID_SIZE + 1
        if end >= rows.end[list_row]:
            end = int(rows.end[list_row])
            return self._closed(rows, n, end, end)
        shortened = Rows.blank(n, ID_SIZE)
        shortened.put(np.arange(n), 0, rows.bounds.take(slice(n)), rows.begin[:n], rows.end[:n])
        shortened.mode[:] = rows.mode[:n]
        item = Bounds(self._items.created_at[end : end + 1], np.array([ID_SIZE]), self._items.ids[end : end + 1])
        shortened.put(np.array([list_row]), ID_LIST, item, rows.begin[list_row:n], np.array([end]))
        return self._closed(shortened, n, end, end)

    def _closed(self, rows: Rows, n: int, sent: int, begin: int) -> Rows:
        """The first `n` rows and the remainder. `sent` items sort before the last bound among those rows."""
        closed = Rows.blank(n + 1, rows.bounds.prefix.shape[1])
        kept = slice(n)
        closed.put(np.arange(n), 0, rows.bounds.take(kept), rows.begin[kept], rows.end[kept])
        closed.mode[:n] = rows.mode[kept]
        closed.bounds.created_at[n] = INFINITY
        whole_sent = n > 0 and closed.bounds.created_at[n - 1] == INFINITY
        nothing_ours = sent == len(self._items) and not whole_sent
        closed.mode[n] = ID_LIST if nothing_ours else FINGERPRINT
        closed.begin[n], closed.end[n] = begin, len(self._items)
        return closed


@dataclass(frozen=True, slots=True)
class _Plan:
    """All rows of an answer; for each range answered, its first row and how many it takes."""

    rows: Rows
    first_row: Index
    row_count: Index


def _plan(items: ItemSet, bounds: Bounds, lower: Index, upper: Index, open_: Index, wide: Flags) -> _Plan:
    """The rows for the ranges at `open_`: for each a skip if one is due, then 16 fingerprints if `wide`, else ids."""
    due = np.diff(open_, prepend=-1) > 1
    row_count: Index = np.where(wide, BUCKETS, 1) + due.astype(np.int64)
    first_row: Index = np.cumsum(row_count) - row_count
    after_skip: Index = first_row + due
    begin, end = _buckets(lower[open_[wide]], upper[open_[wide]])
    inner = items.minimal_bounds(end[:, :-1].ravel())
    rows = Rows.blank(int(row_count.sum()), max(bounds.prefix.shape[1], inner.prefix.shape[1]))
    nothing = np.zeros(1, np.int64)
    rows.put(first_row[due], SKIP, bounds.take(open_[due] - 1), nothing, nothing)
    narrow = open_[~wide]
    rows.put(after_skip[~wide], ID_LIST, bounds.take(narrow), lower[narrow], upper[narrow])
    bucket_row = after_skip[wide, None] + np.arange(BUCKETS)
    rows.put(bucket_row[:, :-1].ravel(), FINGERPRINT, inner, begin[:, :-1].ravel(), end[:, :-1].ravel())
    rows.put(bucket_row[:, -1], FINGERPRINT, bounds.take(open_[wide]), begin[:, -1], end[:, -1])
    return _Plan(rows, first_row, row_count)


def _buckets(lower: Index, upper: Index) -> tuple[Index, Index]:
    """The borders of 16 buckets in each range, the larger ones first: two matrices of a row a range."""
    size, larger = np.divmod(upper - lower, BUCKETS)
    number = np.arange(BUCKETS + 1)
    borders = lower[:, None] + number * size[:, None] + np.minimum(number, larger[:, None])
    return borders[:, :-1], borders[:, 1:]
