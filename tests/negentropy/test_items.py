"""Item sets: order, duplicates, extension, views, memory; bounds and fingerprints against plain Python."""

from bisect import bisect_left
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graspd.negentropy import ItemSet
from graspd.negentropy.wire import INFINITY, U8, U64, Bounds
from tests.negentropy.model import Item, Party
from tests.negentropy.sets import item_set

# Few distinct times, and ids that differ early, late or in the top limb only: ties, duplicates and carries abound.
times = st.sampled_from((0, 1, 2, 1_700_000_000, 2**64 - 2))
ids = st.one_of(
    st.binary(min_size=32, max_size=32),
    st.builds(lambda first: bytes([first]) + b"\xff" * 31, st.integers(0, 255)),
    st.builds(lambda last: b"\xff" * 31 + bytes([last]), st.integers(0, 255)),
    st.just(bytes(32)),
)
item_lists = st.lists(st.tuples(times, ids), max_size=60)
quick = settings(deadline=None, derandomize=True, max_examples=300)


def columns(items: list[Item]) -> tuple[U64, U8]:
    return (
        np.array([created_at for created_at, _ in items], np.uint64),
        np.frombuffer(b"".join(id_ for _, id_ in items), np.uint8).reshape(-1, 32),
    )


def listed(items: ItemSet) -> list[Item]:
    return [(int(when), id_.tobytes()) for when, id_ in zip(items.created_at, items.ids, strict=True)]


def check_fingerprints(items: ItemSet) -> None:
    """Every range's fingerprint against big integers."""
    naive, n = Party(listed(items)), len(items)
    edges = [(begin, end) for begin in range(0, n + 1, 1 + n // 7) for end in range(begin, n + 1, 1 + n // 9)]
    begin, end = (np.array(column, np.int64) for column in zip(*edges, strict=True))
    expected = [naive.fingerprint(*edge) for edge in edges]
    assert [row.tobytes() for row in items.fingerprints(begin, end)] == expected


@quick
@given(item_lists)
def test_unsorted_columns_are_sorted_and_taken_once(items: list[Item]) -> None:
    built = ItemSet.from_unsorted(*columns(items))
    assert listed(built) == sorted(set(items))
    check_fingerprints(built)
    check_fingerprints(ItemSet.from_columns(built.created_at, built.ids))


@quick
@given(item_lists, item_lists)
def test_an_extension_is_the_union(old: list[Item], new: list[Item]) -> None:
    before = item_set(old)
    after = before.extended(*columns(new))
    assert listed(after) == sorted({*old, *new})
    assert listed(before) == sorted(set(old))
    check_fingerprints(after)


def test_an_extension_by_what_is_known_is_the_same_set() -> None:
    items = item_set([(1, b"a" * 32), (2, b"b" * 32)])
    assert items.extended(*columns([(2, b"b" * 32)])) is items
    assert items.extended(*columns([])) is items


@quick
@given(item_lists, times, times)
def test_a_view_holds_the_items_of_its_time(items: list[Item], since: int, until: int) -> None:
    view = item_set(items).between(since, until)
    assert listed(view) == sorted({item for item in items if since <= item[0] <= until})
    check_fingerprints(view)


def test_a_view_can_be_extended() -> None:
    view = item_set([(when, bytes([when]) * 32) for when in range(1, 40)]).between(10, 20)
    extended = view.extended(*columns([(15, b"new" + bytes(29))]))
    assert listed(extended) == sorted([*listed(view), (15, b"new" + bytes(29))])
    check_fingerprints(extended)


def test_views_share_memory() -> None:
    items = item_set([(when, bytes([when]) * 32) for when in range(1, 40)])
    view = items.between(10, 20)
    assert np.shares_memory(view.ids, items.ids)
    assert np.shares_memory(view.created_at, items.created_at)


@quick
@given(item_lists, st.lists(st.tuples(times, ids, st.integers(0, 32)), min_size=1, max_size=20))
def test_bounds_fall_where_bisection_says(items: list[Item], wanted: list[tuple[int, bytes, int]]) -> None:
    prefixes = [id_[:n] for _, id_, n in wanted]
    width = max(map(len, prefixes))
    padded = np.frombuffer(b"".join(p.ljust(width, b"\0") for p in prefixes), np.uint8)
    created_at = np.array([when for when, _, _ in wanted], np.uint64)
    bounds = Bounds(created_at, np.array([len(p) for p in prefixes]), padded.reshape(len(wanted), width))
    expected = [
        bisect_left(sorted(set(items)), (when, prefix)) for (when, _, _), prefix in zip(wanted, prefixes, strict=True)
    ]
    assert item_set(items).lower_bounds(bounds).tolist() == expected


@quick
@given(item_lists)
def test_minimal_bounds_part_neighbours(items: list[Item]) -> None:
    built = item_set(items)
    naive = Party(listed(built))
    bounds = built.minimal_bounds(np.arange(1, max(len(built), 1)))
    found = [
        (int(when), prefix[:n].tobytes())
        for when, n, prefix in zip(bounds.created_at, bounds.prefix_len, bounds.prefix, strict=True)
    ]
    assert found == [naive.border(at) for at in range(1, len(built))]


def test_all_ones_carry_through_every_limb() -> None:
    random = Random(1)
    ones = [(when, b"\xff" * 32) for when in range(50)]
    check_fingerprints(item_set(ones))
    limbs = (b"\xff" * 8, bytes(8), b"\1" + bytes(7))
    check_fingerprints(item_set([(when, b"".join(random.choices(limbs, k=4))) for when in range(80)]))


def test_at_most_100_bytes_an_item() -> None:
    random = np.random.default_rng(5)
    created_at, rows = np.arange(10_000, dtype=np.uint64), random.integers(0, 256, (10_000, 32), np.uint8)
    assert ItemSet.from_columns(created_at, rows).nbytes / 10_000 < 73


@pytest.mark.parametrize(
    ("created_at", "rows", "complaint"),
    [
        (np.array([2, 1], np.uint64), np.zeros((2, 32), np.uint8), "do not ascend"),
        (np.array([1, 1], np.uint64), np.zeros((2, 32), np.uint8), "do not ascend"),
        (np.array([1, 1], np.uint64), np.array([[1] * 32, [0] * 32], np.uint8), "do not ascend"),
        (np.array([INFINITY], np.uint64), np.zeros((1, 32), np.uint8), "below"),
        (np.array([1], np.int64), np.zeros((1, 32), np.uint8), "uint64"),
        (np.array([1], np.uint64), np.zeros((1, 32), np.int8), "uint8"),
        (np.array([1], np.uint64), np.zeros((2, 32), np.uint8), "one for each"),
        (np.array([1], np.uint64), np.zeros((1, 31), np.uint8), "32 bytes"),
        (np.array([1], np.uint64), np.zeros((1, 64), np.uint8)[:, ::2], "contiguous"),
    ],
)
def test_columns_that_are_refused(created_at: U64, rows: U8, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        ItemSet.from_columns(created_at, rows)
