"""Messages bent, spliced and made up, to both roles: an answer within the frame or NegentropyError, nothing else."""

from collections import Counter
from collections.abc import Callable
from random import Random

import pytest

from graspd.negentropy import Initiator, ItemSet, NegentropyError, Responder
from graspd.negentropy.wire import parse
from tests.negentropy.model import Bound, Frame, Item, varint
from tests.negentropy.sets import OurInitiator, item_set, talk

MESSAGES = 3_000  # for each seed and kind
LIMIT = 4096


def random_items(random: Random, n: int, span: int) -> list[Item]:
    return [(random.randrange(span), random.randbytes(32)) for _ in range(n)]


def random_sets(random: Random) -> tuple[ItemSet, ItemSet]:
    span = random.choice((1, 5, 100_000))
    common = random_items(random, random.randrange(900), span)
    only = [random_items(random, random.randrange(90), span) for _ in range(2)]
    return item_set(common + only[0]), item_set(common + only[1])


def bent(random: Random, honest: list[bytes]) -> bytes:
    """An honest message after what a liar may do to it."""
    body = bytearray(random.choice(honest))
    at = random.randrange(1, len(body))
    match random.randrange(8):
        case 0:
            del body[at:]
        case 1:
            del body[at : at + random.randrange(1, 40)]
        case 2:
            body[at:at] = random.randbytes(random.randrange(1, 20))
        case 3:
            other = random.choice(honest)
            body[at:] = other[random.randrange(len(other)) :]
        case 4:
            body[at:at] = bytes(random.choices((0, 1, 2, 5, 0x20, 0x21, 0x7F, 0x80, 0xFF), k=6))
        case _:
            for spot in random.choices(range(1, len(body)), k=random.randrange(1, 4)):
                body[spot] = random.randrange(256)
    return bytes(body)


def made_up(random: Random, items: ItemSet) -> bytes:
    """Well-formed ranges that no honest party would send, over borders of our items and others."""
    frame = Frame()
    for bound in sorted({random_bound(random, items) for _ in range(random.randrange(1, 30))}):
        ids = [items.ids[random.randrange(len(items))].tobytes(), random.randbytes(32)] * random.randrange(3)
        payload = [b"", random.randbytes(16), varint(len(ids)) + b"".join(ids)]
        mode = random.randrange(3)
        frame.add(bound, mode, payload[mode])
    return b"\x61" + frame.bytes


def random_bound(random: Random, items: ItemSet) -> Bound:
    at = random.randrange(len(items))
    created_at, id_ = int(items.created_at[at]), items.ids[at].tobytes()
    prefix = random.choice((id_, random.randbytes(32)))[: random.choice((0, 1, 2, 8, 9, 31, 32))]
    # Bounds that are equal but for trailing zeros would not ascend, nor does one before everything.
    return random.choice(((created_at + 1, prefix.rstrip(b"\0")), (float("inf"), b"")))


def outcome(answered: Callable[[], bytes], limit: int) -> str:
    try:
        answer = answered()
    except NegentropyError:
        return "refused"
    parse(answer)
    assert not limit or len(answer) <= limit
    return "answered"


def outcomes(items: ItemSet, limit: int, message: bytes) -> list[str]:
    return [
        outcome(lambda: Responder(items, limit).reconcile(message), limit),
        outcome(lambda: Initiator(items, limit).reconcile(message).message or b"\x61", limit),
    ]


@pytest.mark.parametrize("seed", range(4))
def test_bent_messages(seed: int) -> None:
    random = Random(seed)
    ours, theirs = random_sets(random)
    honest = talk(OurInitiator(ours), Responder(theirs)) + talk(OurInitiator(ours, LIMIT), Responder(theirs, LIMIT))
    seen: Counter[str] = Counter()
    for _ in range(MESSAGES):
        seen.update(outcomes(ours, random.choice((0, LIMIT)), bent(random, honest)))
    # A fuzzer that hears only one of the two tests half of what it should.
    assert min(seen["refused"], seen["answered"]) > MESSAGES // 5


@pytest.mark.parametrize("seed", range(4))
def test_made_up_messages(seed: int) -> None:
    random = Random(seed)
    ours, _ = random_sets(random)
    for _ in range(MESSAGES // 2):
        message = made_up(random, ours)
        assert outcomes(ours, random.choice((0, LIMIT)), message) == ["answered", "answered"], message.hex()


@pytest.mark.parametrize("seed", range(2))
def test_random_bytes(seed: int) -> None:
    random = Random(seed)
    ours, _ = random_sets(random)
    for _ in range(MESSAGES):
        message = b"\x61" + bytes(random.choices(range(256), [20] * 3 + [1] * 253, k=random.randrange(60)))
        outcomes(ours, LIMIT, message)
