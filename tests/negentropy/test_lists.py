"""Differences of id lists against Python's sets, with ids chosen to share their slots."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from graspd.negentropy.lists import differences
from graspd.negentropy.wire import U8

# Equal in all but their first byte, or in all but their last: the former meet in every slot of the table.
ids = st.one_of(
    st.builds(lambda first: bytes([first]) + b"s" * 31, st.integers(0, 40)),
    st.builds(lambda last: b"s" * 31 + bytes([last]), st.integers(0, 40)),
    st.binary(min_size=32, max_size=32),
)


def rows(listed: list[bytes]) -> U8:
    return np.frombuffer(b"".join(listed), np.uint8).reshape(-1, 32)


@settings(deadline=None, derandomize=True, max_examples=500)
@given(st.lists(ids, unique=True, max_size=60), st.lists(ids, max_size=60))
def test_each_id_of_only_one_list_is_found(ours: list[bytes], theirs: list[bytes]) -> None:
    have, need = differences(rows(ours), rows(theirs))
    assert [ours[i] for i in have] == [id_ for id_ in ours if id_ not in theirs]
    assert [theirs[i] for i in need] == [id_ for id_ in theirs if id_ not in ours]
