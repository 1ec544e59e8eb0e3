"""What is a message and what is not: one table of each, in both roles."""

import tracemalloc
from collections.abc import Callable

import pytest

from graspd.negentropy import Initiator, NegentropyError, Responder
from graspd.negentropy.wire import parse
from tests.negentropy.model import NO_ITEMS, Frame, varint
from tests.negentropy.sets import item_set

ID = b"i" * 32
ITEMS = item_set([(1000 + number // 3, bytes([number]) * 32) for number in range(200)])
ROLES: list[Callable[[bytes], object]] = [
    lambda message: Initiator(ITEMS).reconcile(message),
    lambda message: Initiator(ITEMS, 4096).reconcile(message),
    lambda message: Responder(ITEMS).reconcile(message),
    lambda message: Responder(ITEMS, 4096).reconcile(message),
]


def message(*ranges: bytes) -> bytes:
    return b"\x61" + b"".join(ranges)


def skip(delta: int, prefix: bytes = b"") -> bytes:
    return varint(delta) + varint(len(prefix)) + prefix + b"\0"


HOSTILE = {
    "nothing": b"",
    "version below": b"\x5f",
    "version above": b"\x70",
    "a version of our tens digit": b"\x01\x00\x00\x00",
    "ends before the prefix": message(b"\x05"),
    "ends before the mode": message(b"\x05\x00"),
    "ends within a timestamp": message(b"\x85"),
    "ends within a prefix": message(b"\x05\x04ab"),
    "ends within a fingerprint": message(b"\x00\x00\x01" + NO_ITEMS[:15]),
    "ends before a count": message(b"\x00\x00\x02"),
    "ends within a count": message(b"\x00\x00\x02\x81"),
    "ends within an id": message(b"\x00\x00\x02\x01" + ID[:31]),
    "more ids than follow": message(b"\x00\x00\x02\x03" + 2 * ID),
    "a count of 2**63": message(b"\x00\x00\x02" + varint(2**63) + ID),
    "a count whose ids overflow 64 bits": message(b"\x00\x00\x02" + varint(2**59 + 1) + ID),
    "a count over 64 bits": message(b"\x00\x00\x02" + varint(2**64) + ID),
    "a count of eleven digits": message(b"\x00\x00\x02" + b"\xff" * 10 + b"\x01" + ID),
    "a count of a thousand digits": message(b"\x00\x00\x02" + b"\x81" * 1000 + b"\x01" + ID),
    "a count with leading zeros": message(b"\x00\x00\x02\x80\x01" + ID),
    "a timestamp over 64 bits": message(skip(2**64)),
    "a timestamp of eleven digits": message(b"\xff" * 10 + b"\x01\x00\x00"),
    "a timestamp of a thousand digits": message(b"\x81" * 1000 + b"\x01\x00\x00"),
    "a timestamp with leading zeros": message(b"\x80\x05\x00\x00"),
    "a finite timestamp at infinity": message(skip(2**64 - 1), skip(2)),
    "timestamps that wrap around": message(skip(2**64 - 1), skip(2**63)),
    "mode 3": message(b"\x05\x00\x03"),
    "mode in two digits": message(b"\x05\x00\x81\x01"),
    "a prefix of 33 bytes": message(skip(5, b"p" * 33)),
    "a prefix of 127 bytes": message(skip(5, b"p" * 127)),
    "a prefix length in two digits": message(b"\x05\x80\x01p\x00"),
    "the same bound twice": message(skip(5), skip(1)),
    "the same bound twice, with a prefix": message(skip(5, b"p"), skip(1, b"p")),
    "the same bound in other words": message(skip(5, b"p"), skip(1, b"p\0")),
    "a prefix that descends": message(skip(5, b"pq"), skip(1, b"pp")),
    "a long prefix that descends": message(skip(5, b"p" * 31 + b"q"), skip(1, b"p" * 32)),
    "a prefix dropped at the same time": message(skip(5, b"p"), skip(1)),
    "an empty first range": message(skip(1)),
    "an empty first range, in other words": message(skip(1, b"\0\0")),
    "a prefix at infinity": message(skip(0, b"p")),
    "a range after infinity": message(skip(0), skip(5)),
    "three ranges up to infinity": message(skip(0), skip(0), skip(0)),
    "endless ranges": message(*[skip(0)] * 10_000),
    "ranges that stand still": message(skip(5), *[skip(1)] * 10_000),
}

UNUSUAL = {
    "no ranges": message(),
    "a skip that ends it": message(skip(5)),
    "two skips": message(skip(5), skip(2)),
    "a list up to infinity and then nothing": message(b"\x00\x00\x02\x00", b"\x00\x00\x01" + NO_ITEMS),
    "the latest timestamp": message(skip(2**64 - 1)),
    "a prefix of 32 bytes": message(skip(5, ID)),
    "a first prefix at time 0": message(skip(1, b"\1")),
    "an id listed twice": message(b"\x00\x00\x02\x02" + 2 * ID),
    "a fingerprint of nothing": message(b"\x05\x00\x01" + NO_ITEMS),
}


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_message_is_refused(role: Callable[[bytes], object], hostile: bytes) -> None:
    with pytest.raises(NegentropyError):
        role(hostile)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("unusual", UNUSUAL.values(), ids=UNUSUAL.keys())
def test_an_unusual_message_is_answered(role: Callable[[bytes], object], unusual: bytes) -> None:
    role(unusual)


@pytest.mark.parametrize(
    "claim",
    [
        b"\x00\x00\x02" + varint(2**40) + ID,
        b"\x00\x00\x02" + varint(2**63) + ID,
        b"\x05\xffp",
        b"\x81" * 5_000,
        skip(5) * 1_500,
    ],
    ids=["2**40 ids", "2**63 ids", "a prefix of 255", "a long varint", "many ranges"],
)
def test_a_claim_makes_no_room(claim: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(NegentropyError):
            Responder(ITEMS).reconcile(message(claim, skip(5)[:-1]))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000


def test_a_frame_limit_bounds_the_work_a_message_can_ask() -> None:
    """An empty list asks for everything; with a limit a frame of it comes, whatever the set."""
    many = item_set([(number, number.to_bytes(32, "big")) for number in range(20_000)])
    tracemalloc.start()
    try:
        answer = Responder(many, 4096).reconcile(message(b"\x00\x00\x02\x00"))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(answer) <= 4096
    assert peak < 200_000


def test_ranges_are_read_as_they_were_written() -> None:
    frame = Frame()
    frame.add((5, b""), 0, b"")
    frame.add((5, b"ab"), 1, NO_ITEMS)
    frame.add((2**60, ID), 2, varint(2) + 2 * ID)
    frame.add((float("inf"), b""), 0, b"")
    ranges = parse(b"\x61" + frame.bytes)
    assert ranges.bounds.created_at.tolist() == [5, 5, 2**60, 2**64 - 1]
    assert ranges.bounds.prefix_len.tolist() == [0, 2, 32, 0]
    assert ranges.bounds.prefix[1].tobytes() == b"ab".ljust(32, b"\0")
    assert ranges.mode.tolist() == [0, 1, 2, 0]
    assert ranges.count.tolist() == [0, 0, 2, 0]
