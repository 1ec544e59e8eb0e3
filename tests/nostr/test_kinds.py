"""The four classes of kinds, at each of their borders."""

import pytest

from graspd.nostr import kinds
from graspd.nostr.kinds import KindClass, kind_class


@pytest.mark.parametrize(
    ("expected", "numbers"),
    [
        (KindClass.REPLACEABLE, (0, 3, 10000, 10317, 19999)),
        (KindClass.EPHEMERAL, (20000, 22242, 29999)),
        (KindClass.ADDRESSABLE, (30000, 30617, 30618, 39999)),
        (KindClass.REGULAR, (1, 2, 4, 5, 44, 45, 62, 999, 1000, 1617, 1621, 9999, 40000, 65535)),
    ],
)
def test_classes(expected: KindClass, numbers: tuple[int, ...]) -> None:
    assert {kind_class(number) for number in numbers} == {expected}


def test_every_kind_has_one_class() -> None:
    sizes = dict.fromkeys(KindClass, 0)
    for number in range(kinds.KIND_MAX + 1):
        sizes[kind_class(number)] += 1
    assert sizes == {
        KindClass.REPLACEABLE: 10_002,
        KindClass.EPHEMERAL: 10_000,
        KindClass.ADDRESSABLE: 10_000,
        KindClass.REGULAR: 65_536 - 30_002,
    }


def test_roots_are_conversations_about_a_repository() -> None:
    assert set(kinds.ROOT_KINDS) == {1617, 1618, 1619, 1621}
    assert all(kind_class(kind) is KindClass.REGULAR for kind in kinds.ROOT_KINDS)
