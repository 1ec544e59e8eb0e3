"""Both roles against a naive set difference, against the model, and against the fault in the reference's frames."""

from dataclasses import dataclass
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graspd.negentropy import Initiator, NegentropyError, Responder, id_list
from tests.negentropy.model import Item
from tests.negentropy.sets import (
    Answering,
    Asking,
    item_set,
    model,
    model_responder,
    our_responder,
    ours,
    talk,
)


@dataclass(frozen=True)
class Pair:
    """Two sets that share some items; shrinks to few items in few seconds."""

    common: tuple[Item, ...]
    only_ours: tuple[Item, ...]
    only_theirs: tuple[Item, ...]

    @property
    def ours(self) -> list[Item]:
        return [*self.common, *self.only_ours]

    @property
    def theirs(self) -> list[Item]:
        return [*self.common, *self.only_theirs]

    def check(self, asking: Asking, answering: Answering) -> list[bytes]:
        messages = talk(asking, answering)
        assert asking.have == {id_ for _, id_ in self.only_ours}
        assert asking.need == {id_ for _, id_ in self.only_theirs}
        return messages


@st.composite
def pairs(draw: st.DrawFn, common_max: int = 600, only_max: int = 120) -> Pair:
    random = Random(draw(st.integers(0, 2**32)))
    span = draw(st.sampled_from((1, 2, 30, 100_000)))
    zeros = draw(st.sampled_from((0, 0, 7, 8, 29)))
    numbers = draw(st.tuples(st.integers(0, common_max), st.integers(0, only_max), st.integers(0, only_max)))
    shifts = draw(st.tuples(*[st.sampled_from((0, 0, span))] * 2))

    def items(n: int, shift: int) -> tuple[Item, ...]:
        return tuple(
            (1_000 + shift + random.randrange(span), bytes(zeros) + random.randbytes(32 - zeros)) for _ in range(n)
        )

    common, only_ours, only_theirs = items(numbers[0], 0), items(numbers[1], shifts[0]), items(numbers[2], shifts[1])
    # With 29 zero bytes three are left, so a few ids may coincide: those would be neither common nor distinct.
    seen = {id_ for _, id_ in common}
    only_ours = tuple(item for item in dict.fromkeys(only_ours) if item[1] not in seen)
    seen |= {id_ for _, id_ in only_ours}
    return Pair(common, only_ours, tuple(item for item in dict.fromkeys(only_theirs) if item[1] not in seen))


LIMITS = st.sampled_from((0, 4096, 4100, 5000, 8192))
thorough = settings(deadline=None, derandomize=True, print_blob=True)


@settings(thorough, max_examples=2000)
@given(pairs(common_max=300, only_max=60))
def test_differences_without_frame_limits(pair: Pair) -> None:
    pair.check(ours(pair.ours), our_responder(pair.theirs))


@settings(thorough, max_examples=700)
@given(pairs(common_max=1500, only_max=300), LIMITS, LIMITS)
def test_differences_with_frame_limits(pair: Pair, our_limit: int, their_limit: int) -> None:
    messages = pair.check(ours(pair.ours, our_limit), our_responder(pair.theirs, their_limit))
    assert max(map(len, messages[::2])) <= (our_limit or 2**40)
    assert max(map(len, messages[1::2])) <= (their_limit or 2**40)


@settings(thorough, max_examples=250)
@given(pairs())
def test_messages_are_those_of_the_model(pair: Pair) -> None:
    expected = pair.check(model(pair.ours), model_responder(pair.theirs))
    assert talk(ours(pair.ours), our_responder(pair.theirs)) == expected


@settings(thorough, max_examples=150)
@given(pairs(common_max=1000, only_max=200), LIMITS, LIMITS)
def test_differences_with_the_model_at_the_other_end(pair: Pair, our_limit: int, their_limit: int) -> None:
    pair.check(ours(pair.ours, our_limit), model_responder(pair.theirs, their_limit))
    pair.check(model(pair.ours, our_limit), our_responder(pair.theirs, their_limit))


def pair_that_fills_frames(seed: int) -> Pair:
    """The responder has more after all the initiator's items, and both frames fill up just before those."""
    random = Random(seed)

    def some(first: int, last: int, n: int) -> list[Item]:
        return [(random.randrange(1000 * first, 1000 * last), random.randbytes(32)) for _ in range(n)]

    bucket = random.randrange(30, 52)
    common = [item for thousand in range(1, 13) for item in some(thousand, thousand + 1, bucket)]
    only_ours = [item for thousand in range(13, 17) for item in some(thousand, thousand + 1, bucket)]
    bucket = random.randrange(32, 40)
    only_theirs = [item for thousand in range(13, 16) for item in some(thousand, thousand + 1, bucket)]
    only_theirs += some(16, 17, random.randrange(10)) + some(17, 60, random.randrange(25, 90))
    return Pair(tuple(common), tuple(only_ours), tuple(only_theirs))


SEEDS_THE_REFERENCE_LOSES = (1116, 3390, 7642, 9222, 11386, 13952, 15227)


@pytest.mark.parametrize("seed", SEEDS_THE_REFERENCE_LOSES)
def test_nothing_is_lost_where_the_reference_loses(seed: int) -> None:
    pair = pair_that_fills_frames(seed)
    asking = model(pair.ours, 4096)
    talk(asking, model_responder(pair.theirs, 4096))
    assert asking.need < {id_ for _, id_ in pair.only_theirs}, "the reference's frames lose nothing here"
    pair.check(ours(pair.ours, 4096), our_responder(pair.theirs, 4096))
    pair.check(ours(pair.ours, 4096), model_responder(pair.theirs, 4096))
    pair.check(model(pair.ours, 4096), our_responder(pair.theirs, 4096))


@pytest.mark.parametrize("version", [0x60, 0x62, 0x6F])
def test_versions(version: int) -> None:
    message = bytes((version,)) + b"whatever that version says"
    assert Responder(item_set([])).reconcile(message) == b"\x61"
    with pytest.raises(NegentropyError, match="another version"):
        Initiator(item_set([])).reconcile(message)


def test_a_responder_serves_after_refusing_a_version() -> None:
    responder = our_responder([(5, b"i" * 32)])
    assert responder.reconcile(bytes.fromhex("62aabbccddeeff")) == b"\x61"
    assert responder.reconcile(bytes.fromhex("6100000200")) == bytes.fromhex("6100000201") + b"i" * 32


@pytest.mark.parametrize("limit", [1, 4095])
def test_frames_too_small_to_get_anywhere_are_refused(limit: int) -> None:
    with pytest.raises(ValueError, match="at least 4096"):
        Initiator(item_set([]), limit)
    with pytest.raises(ValueError, match="at least 4096"):
        Responder(item_set([]), limit)


def test_ids_are_reported_once_though_listed_again() -> None:
    initiator = Initiator(item_set([(5, b"a" * 32)]))
    listed = bytes.fromhex("6100000203") + b"b" * 32 + b"c" * 32 + b"b" * 32
    first, second = initiator.reconcile(listed), initiator.reconcile(listed)
    assert id_list(first.have) == [b"a" * 32]
    assert id_list(first.need) == [b"b" * 32, b"c" * 32]
    assert id_list(second.have) == id_list(second.need) == []
    assert first.message is second.message is None
