"""Sizes: how many values a filter holds, how many filters a request, and that nothing is left out or too large."""

import hypothesis.strategies as st
import orjson
import pytest
from hypothesis import given, settings

from graspd.sync.filters import LAYER1, LAYER1_CELL, Room, cells_of, filter_count, live, pack, values_per_filter
from graspd.sync.inputs import PeerTerms
from graspd.sync.interest import Interest
from graspd.sync.limits import SyncLimits
from graspd.sync.selection import select
from graspd.types import UnixTime
from tests.rules.world import POLICY, issue, repo
from tests.sync.made import ONE, announced

LIMITS = SyncLimits()


@pytest.mark.parametrize(
    ("terms", "room"),
    [
        (None, Room(131072, 20, 10, 500)),
        (PeerTerms(message_bytes_max=65536, subscriptions_max=5, filters_max=3, limit_max=100), Room(65536, 5, 3, 100)),
        (PeerTerms(message_bytes_max=10**9, subscriptions_max=10**6, filters_max=999), Room(524288, 20, 10, 500)),
        (PeerTerms(message_bytes_max=1, subscriptions_max=0, filters_max=0), Room(4096, 20, 10, 500)),
    ],
)
def test_a_peers_terms_are_taken_within_our_own_limits(terms: PeerTerms | None, room: Room) -> None:
    assert Room.of(terms, LIMITS) == room


@pytest.mark.parametrize(
    ("repos", "roots", "values"),
    [(1, 0, 100), (100, 900, 100), (100, 2200, 100), (100, 2300, 150), (100, 5000, 250), (100, 500_000, 650)],
)
def test_filters_grow_only_where_seventy_would_be_passed(repos: int, roots: int, values: int) -> None:
    room = Room.of(None, LIMITS)
    found = values_per_filter(repos, roots, LIMITS.filters_max, room, LIMITS)
    assert found == min(values, room.values_max())
    assert found == room.values_max() or filter_count(repos, roots, found) <= LIMITS.filters_max


def test_live_filters_ask_for_nothing_old() -> None:
    assert live([LAYER1], None)[0].limit == 0
    since = live([LAYER1], UnixTime(5))[0]
    assert (since.since, since.limit) == (5, None)


def world(repos: int, roots: int, odd: str = "") -> Interest:
    interest = Interest(POLICY, LIMITS)
    for number in range(repos):
        interest.put(announced([ONE], f"{odd}{number}"))
    for number in range(roots):
        interest.put(issue(at=number, about=repo(identifier=f"{odd}{number % repos}")))
    return interest


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 30),
    st.integers(0, 60),
    st.integers(1, 40),
    st.sampled_from([4096, 8192, 131072]),
    st.integers(1, 10),
    st.sampled_from(["r", 'quote"', "smile🙂"]),
)
def test_requests_hold_every_item_under_every_tag_and_fit(
    repos: int, roots: int, values: int, message_bytes: int, filters: int, odd: str
) -> None:
    interest = world(repos, roots, odd)
    room = Room(message_bytes, 20, filters, 500)
    numbers = [one.number for one in interest.wanted_repos()]
    requests = pack([LAYER1_CELL, *cells_of(numbers, range(roots), values, room, interest)], room)
    asked: dict[str, set[str]] = {}
    for cells in requests:
        found = live([wanted for cell in cells for wanted in cell.filters(interest)], None)
        assert len(found) <= filters
        assert len(orjson.dumps(["REQ", "g" * 20, *(one.to_json() for one in found)])) <= message_bytes
        for one in found:
            for letter, tagged in one.tags:
                assert len(tagged) <= values
                asked.setdefault(letter, set()).update(tagged)
    addresses = {one.addr for one in interest.wanted_repos()}
    ids = {key.hex() for number in range(roots) if (key := interest.roots.id(number)) is not None}
    expected = {"a": addresses, "A": addresses, "e": ids, "E": ids, "q": addresses | ids}
    assert asked == {letter: tagged for letter, tagged in expected.items() if tagged}


def test_what_does_not_fit_is_shed_least_active_first() -> None:
    interest = world(2, 400)
    room = Room(4096, 3, 10, 500)
    chosen = select([0, 1], 2, 63, room, interest)
    assert chosen.repos == [0, 1]
    assert 0 < len(chosen.roots) < 400
    assert sorted([*chosen.roots, *chosen.shed_roots.tolist()]) == list(range(400))
    active_at = interest.roots.active_at
    assert max(active_at[one] for one in chosen.shed_roots) <= min(active_at[one] for one in chosen.roots)
    assert [*chosen.shed_roots] == sorted(chosen.shed_roots, key=lambda one: active_at[one])
