"""A second negentropy, written to be read: one range after the other, one byte after the other, nothing shared.

The package works on whole messages as columns; this works on Python tuples and big integers. It includes the
reference's remainder, fault and all, so that tests can tell where the package means to differ from it.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256

Item = tuple[int, bytes]
Bound = tuple[float, bytes]
FOREVER: Bound = (float("inf"), b"")
NO_ITEMS = sha256(bytes(33)).digest()[:16]


def varint(value: int) -> bytes:
    digits: list[int] = []
    while True:
        digits.insert(0, value % 128 + (128 if digits else 0))
        value //= 128
        if not value:
            return bytes(digits)


def read_ranges(message: bytes) -> Iterator[tuple[Bound, int, bytes]]:
    """Each range of an honest message: bound, mode, and the fingerprint or the ids."""
    rest = iter(message[1:])

    def number() -> int:
        value = 0
        for byte in rest:
            value = value * 128 + byte % 128
            if byte < 128:
                return value
        raise EOFError

    def raw(n: int) -> bytes:
        return bytes(next(rest) for _ in range(n))

    last: float = 0
    while True:
        try:
            delta = number()
        except EOFError:
            return
        last = last + delta - 1 if delta else float("inf")
        prefix = raw(number())
        mode = number()
        size = 32 * number() if mode == 2 else 16 * mode
        yield (last, prefix), mode, raw(size)


class Frame:
    """Bytes of ranges with their timestamps relative to each other."""

    def __init__(self, last: float = 0) -> None:
        self.bytes = b""
        self.last = last

    def add(self, bound: Bound, mode: int, payload: bytes) -> None:
        when, prefix = bound
        self.bytes += varint(0 if when == float("inf") else int(when - self.last) + 1)
        self.last = when
        self.bytes += varint(len(prefix)) + prefix + varint(mode) + payload


@dataclass
class Party:
    items: list[Item]
    limit: int = 0
    initiator: bool = False
    have: set[bytes] = field(default_factory=set)
    need: set[bytes] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.items = sorted(self.items)

    def fingerprint(self, lower: int, upper: int) -> bytes:
        total = sum(int.from_bytes(id_, "little") for _, id_ in self.items[lower:upper]) % 2**256
        return sha256(total.to_bytes(32, "little") + varint(upper - lower)).digest()[:16]

    def ids(self, lower: int, upper: int) -> list[bytes]:
        return [id_ for _, id_ in self.items[lower:upper]]

    def border(self, at: int) -> Bound:
        (before, before_id), (when, id_) = self.items[at - 1], self.items[at]
        if before != when:
            return (when, b"")
        shared = next(i for i in range(32) if before_id[i] != id_[i])
        return (when, id_[: shared + 1])

    def split(self, frame: Frame, lower: int, upper: int, bound: Bound) -> None:
        n = upper - lower
        if n < 32:
            frame.add(bound, 2, varint(n) + b"".join(self.ids(lower, upper)))
            return
        for bucket in range(16):
            end = lower + n // 16 + (bucket < n % 16)
            frame.add(bound if bucket == 15 else self.border(end), 1, self.fingerprint(lower, end))
            lower = end

    def initiate(self) -> bytes:
        frame = Frame()
        self.split(frame, 0, len(self.items), FOREVER)
        return b"\x61" + frame.bytes

    def full(self, size: int) -> bool:
        return self.limit > 0 and size > self.limit - 200

    def reconcile(self, message: bytes) -> bytes:
        out, last, lower, skipped = b"\x61", 0.0, 0, None
        for bound, mode, payload in read_ranges(message):
            upper = bisect_left(self.items, bound)
            frame = Frame(last)
            if mode == 0 or (mode == 1 and payload == self.fingerprint(lower, upper)):
                skipped = bound
            elif mode == 2 and self.initiator:
                self.compare(set(self.ids(lower, upper)), payload)
                skipped = bound
            else:
                if skipped:
                    frame.add(skipped, 0, b"")
                skipped = None
                if mode == 1:
                    self.split(frame, lower, upper, bound)
                else:
                    upper = self.list_back(frame, lower, upper, bound, len(out))
            kept = mode == 2 or not self.full(len(out) + len(frame.bytes))
            if kept:
                out, last = out + frame.bytes, frame.last
            if not kept or self.full(len(out)):
                closing = Frame(last)
                closing.add(FOREVER, 1, self.fingerprint(upper, len(self.items)))
                return out + closing.bytes
            lower = upper
        return out

    def compare(self, ours: set[bytes], payload: bytes) -> None:
        theirs = {payload[i : i + 32] for i in range(0, len(payload), 32)}
        self.have |= ours - theirs
        self.need |= theirs - ours

    def list_back(self, frame: Frame, lower: int, upper: int, bound: Bound, size: int) -> int:
        sent = b""
        for at in range(lower, upper):
            if self.full(size + len(sent)):
                bound, upper = self.items[at], at
                break
            sent += self.items[at][1]
        frame.add(bound, 2, varint(upper - lower) + sent)
        return upper
