"""The bytes of negentropy protocol V1: ranges to and from columns, a whole message at a time.

Decides what a well-formed message is and refuses every other with `NegentropyError`, before any room is made
for what it claims to hold. Knows nothing of item sets, of fingerprints' meaning or of either role.

A message is the version byte and then ranges, each `upper bound, mode, payload`; a range begins where the one
before it ended. A bound is a timestamp (difference to the bound before, plus one; 0 for infinity) and an id
prefix. Varints are base 128, most significant digit first.
"""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

U8 = NDArray[np.uint8]
U64 = NDArray[np.uint64]
Index = NDArray[np.int64]
Flags = NDArray[np.bool_]

VERSION = 0x61
VERSION_MIN, VERSION_MAX = 0x60, 0x6F  # the bytes that announce some version of this protocol
ID_SIZE = 32
FINGERPRINT_SIZE = 16
INFINITY = 2**64 - 1  # as a bound's timestamp: above every item
SKIP, FINGERPRINT, ID_LIST = 0, 1, 2

VARINT_DIGITS_MAX = 10  # 64 bits in digits of seven


class NegentropyError(Exception):
    """A message from the peer that is not of this protocol, or of a version we do not speak."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Upper bounds as columns. Prefixes are zero beyond their length, which sorts them as their bound."""

    created_at: U64
    prefix_len: Index
    prefix: U8  # (n, width of the longest)

    @classmethod
    def blank(cls, n: int, width: int) -> "Bounds":
        return cls(np.zeros(n, np.uint64), np.zeros(n, np.int64), np.zeros((n, width), np.uint8))

    def put(self, at: Index, bounds: "Bounds") -> None:
        self.created_at[at] = bounds.created_at
        self.prefix_len[at] = bounds.prefix_len
        width = bounds.prefix.shape[1]
        if width:
            self.prefix[at, :width] = bounds.prefix

    def take(self, at: Index | slice) -> "Bounds":
        return Bounds(self.created_at[at], self.prefix_len[at], self.prefix[at])


@dataclass(frozen=True, slots=True)
class Ranges:
    """A parsed message. `payload_at` is where a fingerprint or the first id of a list stands."""

    message: U8
    bounds: Bounds
    mode: U8
    payload_at: Index
    count: Index  # ids in the list; 0 in other modes

    def __len__(self) -> int:
        return len(self.mode)

    def fingerprints(self, at: Index) -> U8:
        return _windows(self.message, self.payload_at[at], FINGERPRINT_SIZE)

    def ids(self, at: Index) -> U8:
        """The ids of the lists at these ranges, one after the other."""
        return _windows(self.message, spans(self.payload_at[at], self.count[at], ID_SIZE), ID_SIZE)


def _windows(message: U8, at: Index, width: int) -> U8:
    """`width` bytes from each position, all of which lie within the message."""
    if not len(at):
        return np.zeros((0, width), np.uint8)
    return sliding_window_view(message, width)[at]


def spans(first: Index, count: Index, step: int = 1) -> Index:
    """`first, first + step, ...` for each pair of first and count, joined."""
    ends = np.cumsum(count)
    within = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - count, count)
    joined: Index = np.repeat(first, count) + within * step
    return joined


def prefix_words(prefix: U8) -> U64:
    """Rows of bytes as rows of big-endian words, so that comparing words in order compares bytes in order."""
    n, width = prefix.shape
    words = -(-width // 8)
    if width % 8:
        padded = np.zeros((n, words * 8), np.uint8)
        padded[:, :width] = prefix
        prefix = padded
    return np.ascontiguousarray(prefix).view(">u8").astype(np.uint64)


def rows_less(left: U64, right: U64) -> Flags:
    """Whether each row of words sorts before its counterpart."""
    less = np.zeros(len(left), np.bool_)
    for column in reversed(range(left.shape[1])):
        less = (left[:, column] < right[:, column]) | ((left[:, column] == right[:, column]) & less)
    return less


def check_version(message: bytes) -> int:
    """The version byte of a message, known to be one."""
    if not message:
        raise NegentropyError("empty message")
    if not VERSION_MIN <= message[0] <= VERSION_MAX:
        raise NegentropyError(f"not a version byte: 0x{message[0]:02x}")
    return message[0]


def parse(message: bytes) -> Ranges:
    """The ranges of a message of our version, whose version byte has been checked."""
    prefix_at, ids_at, counts = (np.frombuffer(column, np.int64) for column in _scan(message))
    octets = np.frombuffer(message, np.uint8)
    mode_at = prefix_at + 1 + octets[prefix_at]
    mode = octets[mode_at]
    is_list = mode == ID_LIST
    payload_at = mode_at + 1
    payload_at[is_list] = ids_at
    count = np.zeros(len(mode), np.int64)
    count[is_list] = counts
    after = payload_at + count * ID_SIZE + (mode == FINGERPRINT) * FINGERPRINT_SIZE
    varint_at = np.concatenate((np.ones(1, np.int64), after))[:-1]
    deltas = _varints(octets, varint_at, prefix_at - varint_at)
    bounds = Bounds(_timestamps(deltas), *_prefixes(octets, prefix_at))
    _check_ascending(bounds)
    return Ranges(octets, bounds, mode, payload_at, count)


def _scan(message: bytes) -> tuple["array[int]", "array[int]", "array[int]"]:
    """Where each range keeps its prefix, and each list its ids and how many.

    The one loop over ranges in Python: where a range begins is known only when the one before it was read.
    Arrays rather than lists, because a message of three-byte ranges would make lists thirty times its size.
    """
    prefix_at, ids_at, counts = array("q"), array("q"), array("q")
    note = prefix_at.append
    pos, end = 1, len(message)
    try:
        while pos < end:
            while message[pos] > 127:
                pos += 1
            pos += 1
            note(pos)
            pos += 1 + message[pos]
            mode = message[pos]
            if mode == FINGERPRINT:
                pos += 1 + FINGERPRINT_SIZE
            elif mode == SKIP:
                pos += 1
            elif mode == ID_LIST:
                count, pos = read_varint(message, pos + 1)
                if count > (end - pos) // ID_SIZE:
                    raise NegentropyError("an id list longer than the message")
                ids_at.append(pos)
                counts.append(count)
                pos += count * ID_SIZE
            else:
                raise NegentropyError(f"unknown mode {mode}")
    except IndexError:
        raise NegentropyError("truncated range") from None
    if pos != end:
        raise NegentropyError("truncated range")
    return prefix_at, ids_at, counts


def read_varint(message: bytes, pos: int) -> tuple[int, int]:
    """The varint at `pos` and the position after it. IndexError when the message ends within it."""
    if message[pos] == 0x80:
        raise NegentropyError("overlong varint")
    value, start = 0, pos
    while message[pos] > 127:
        value = value << 7 | message[pos] & 127
        pos += 1
        if pos - start == VARINT_DIGITS_MAX:
            raise NegentropyError("overlong varint")
    value = value << 7 | message[pos]
    if value > INFINITY:
        raise NegentropyError("overlong varint")
    return value, pos + 1


def _varints(octets: U8, at: Index, digits: Index) -> U64:
    digits_max = int(digits.max(initial=1))
    if digits_max > VARINT_DIGITS_MAX:
        raise NegentropyError("overlong varint")
    first = octets[at]
    if (first == 0x80).any() or (first[digits == VARINT_DIGITS_MAX] > 0x81).any():
        raise NegentropyError("overlong varint")
    value = (first & 127).astype(np.uint64)
    for digit in range(1, digits_max):
        longer = np.flatnonzero(digits > digit)
        value[longer] = value[longer] << np.uint64(7) | octets[at[longer] + digit] & 127
    return value


def _timestamps(deltas: U64) -> U64:
    """Absolute timestamps from what the bounds carry; `deltas` is used up."""
    infinite = np.flatnonzero(deltas == 0)
    n = len(deltas)
    if len(infinite):
        # A responder whose list up to infinity fills its frame still closes it with a fingerprint up to
        # infinity. Beyond that nothing can follow: the first infinite bound is the last or the last but one.
        if infinite[0] < n - 2 or deltas[-1] != 0:
            raise NegentropyError("ranges beyond infinity")
        deltas[infinite] = 1
    deltas -= np.uint64(1)
    created_at = np.cumsum(deltas, dtype=np.uint64)
    if (created_at < deltas).any() or (created_at == INFINITY).any():
        raise NegentropyError("timestamp out of range")
    created_at[infinite] = INFINITY
    return created_at


def _prefixes(octets: U8, prefix_at: Index) -> tuple[Index, U8]:
    prefix_len = octets[prefix_at].astype(np.int64)
    width = int(prefix_len.max(initial=0))
    if width > ID_SIZE:
        raise NegentropyError("id prefix over 32 bytes")
    prefix = np.zeros((len(prefix_at), width), np.uint8)
    if width:
        some = np.flatnonzero(prefix_len)
        # A window as wide as the longest prefix may reach past the end; what it reads there is cleared.
        columns = np.arange(width)
        rows = octets[np.minimum(prefix_at[some, None] + 1 + columns, len(octets) - 1)]
        rows[columns >= prefix_len[some, None]] = 0
        prefix[some] = rows
    return prefix_len, prefix


def _check_ascending(bounds: Bounds) -> None:
    created_at, words = bounds.created_at, prefix_words(bounds.prefix)
    n = len(created_at)
    if not n:
        return
    if bounds.prefix_len[created_at == INFINITY].any():
        raise NegentropyError("an id prefix at infinity")
    tied = np.flatnonzero(created_at[1:] == created_at[:-1])
    if n > 1 and created_at[-2] == INFINITY:
        tied = tied[:-1]
    starts_empty = created_at[0] == 0 and not words[0].any()
    if starts_empty or not rows_less(words[tied], words[tied + 1]).all():
        raise NegentropyError("bounds do not ascend")


def varint(value: int) -> bytes:
    digits = [value & 127]
    while value := value >> 7:
        digits.append(value & 127 | 128)
    return bytes(reversed(digits))


def varint_lens(values: U64) -> Index:
    lens = np.ones(len(values), np.int64)
    top = int(values.max(initial=0))
    for digits in range(1, VARINT_DIGITS_MAX):
        if top >> 7 * digits == 0:
            break
        lens += values >= np.uint64(1 << 7 * digits)
    return lens


def varint_rows(values: U64, width: int) -> U8:
    """Varints flush right in rows of `width` digits; what stands left of a varint's first digit means nothing."""
    if not width:
        return np.zeros((len(values), 0), np.uint8)
    shifts = np.arange(7 * (width - 1), -1, -7, dtype=np.uint64)
    rows = (values[:, None] >> shifts).astype(np.uint8)
    rows |= np.uint8(128)
    rows[:, -1] &= np.uint8(127)
    return rows


def timestamp_deltas(created_at: U64) -> U64:
    """What bounds carry for these timestamps."""
    before = np.concatenate((np.zeros(1, np.uint64), created_at))[:-1]
    deltas = created_at - before + np.uint64(1)
    deltas[created_at == INFINITY] = 0
    return deltas


def range_heads(bounds: Bounds, mode: U8, count: Index, fingerprints: U8) -> tuple[bytes, Index]:
    """The ranges in bytes, lists without their ids, joined; and where each range ends among them.

    Laid out as a matrix with a column for every byte a range may have, then pressed together by a mask: bytes
    of varying length without a Python object a range.
    """
    deltas = timestamp_deltas(bounds.created_at)
    delta_lens, counts = varint_lens(deltas), count.astype(np.uint64)
    is_list, is_fingerprint = mode == ID_LIST, mode == FINGERPRINT
    count_lens = varint_lens(counts) * is_list
    delta_width, count_width = int(delta_lens.max(initial=1)), int(count_lens.max(initial=0))
    width = bounds.prefix.shape[1]
    parts: tuple[tuple[U8, Flags], ...] = (
        (varint_rows(deltas, delta_width), _flush_right(delta_lens, delta_width)),
        (bounds.prefix_len.astype(np.uint8)[:, None], np.ones((len(mode), 1), np.bool_)),
        (bounds.prefix, np.arange(width) < bounds.prefix_len[:, None]),
        (mode[:, None], np.ones((len(mode), 1), np.bool_)),
        (varint_rows(counts, count_width), _flush_right(count_lens, count_width)),
        _fingerprint_rows(is_fingerprint, fingerprints),
    )
    matrix = np.concatenate([values for values, _ in parts], axis=1)
    mask = np.concatenate([used for _, used in parts], axis=1)
    lens = delta_lens + bounds.prefix_len + 2 + count_lens + is_fingerprint * FINGERPRINT_SIZE
    return matrix[mask].tobytes(), np.cumsum(lens)


def range_sizes(bounds: Bounds, mode: U8, count: Index) -> Index:
    """How many bytes each range takes in a message, ids of lists included."""
    is_list = mode == ID_LIST
    lists = is_list * (varint_lens(count.astype(np.uint64)) + count * ID_SIZE)
    fixed = bounds.prefix_len + 2 + (mode == FINGERPRINT) * FINGERPRINT_SIZE
    sizes: Index = varint_lens(timestamp_deltas(bounds.created_at)) + fixed + lists
    return sizes


def _flush_right(lens: Index, width: int) -> Flags:
    used: Flags = np.arange(width, 0, -1) <= lens[:, None]
    return used


def _fingerprint_rows(is_fingerprint: Flags, fingerprints: U8) -> tuple[U8, Flags]:
    width = FINGERPRINT_SIZE if len(fingerprints) else 0
    rows = np.zeros((len(is_fingerprint), width), np.uint8)
    if width:
        rows[is_fingerprint] = fingerprints
    return rows, np.repeat(is_fingerprint[:, None], width, axis=1)


def join_lists(heads: bytes, head_ends: Iterable[int], lists: Iterable[memoryview]) -> bytes:
    """The message: the version byte, and the heads with each list's ids put in where its head ends."""
    pieces: list[bytes | memoryview] = [bytes((VERSION,))]
    done = 0
    for end, ids in zip(head_ends, lists, strict=True):
        pieces.append(heads[done:end])
        pieces.append(ids)
        done = end
    pieces.append(heads[done:])
    return b"".join(pieces)
