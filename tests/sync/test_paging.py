"""A walk brings everything a peer has, whatever it caps, and ends."""

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from graspd.nostr.event import Event
from graspd.nostr.filter import Filter
from graspd.sync.inputs import EoseHint
from graspd.sync.limits import SyncLimits
from graspd.sync.paging import Taken, Walk, halves
from graspd.types import UnixTime
from sim.store import matches
from tests.nostr.made import made

TAGS = ["x", "y", "z", "w"]
WANTED = Filter(tags=(("t", tuple(TAGS)),))


def page(events: list[Event], wanted: Filter, cap: int) -> list[Event]:
    """What a relay answers: the newest first, no more than it likes."""
    hits = sorted((one for one in events if matches(wanted, one)), key=lambda one: (-one.created_at, one.id))
    return hits[: min(cap, wanted.limit or cap)]


def walk(events: list[Event], cap: int, wanted: Filter = WANTED, hints: bool = False) -> tuple[set[str], Walk, int]:
    walking = Walk(wanted, 500, SyncLimits())
    found: set[str] = set()
    pages = 0
    while not walking.ended:
        pages += 1
        assert pages < 2000
        asked = walking.request
        answer = page(events, asked, cap)
        for event in answer:
            if walking.take(event) is Taken.NEW:
                assert event.id not in found
                found.add(event.id)
        whole = len([one for one in events if matches(asked, one)]) == len(answer)
        walking.end_page((EoseHint.FINISH if whole else EoseHint.MORE) if hints else EoseHint.NONE)
    return found, walking, pages


def event(at: int, number: int) -> Event:
    return made(1, at=at, tags=[["t", TAGS[number % len(TAGS)]]], content=str(number))


EVENTS = st.lists(st.integers(0, 12), max_size=60).map(
    lambda times: [event(1000 + at, number) for number, at in enumerate(times)]
)


@settings(max_examples=300, deadline=None)
@given(EVENTS, st.integers(5, 20), st.booleans())
def test_everything_is_found_or_named_as_a_hole(events: list[Event], cap: int, hints: bool) -> None:
    found, walking, _ = walk(events, cap, hints=hints)
    missing = {one.created_at for one in events if one.id not in found}
    assert missing <= set(walking.holes)
    assert walking.count == len(found)
    # A hole is a second in which one value alone fills a page.
    for second in walking.holes:
        per_tag = [sum(1 for one in events if one.created_at == second and one.tags[0][1] == tag) for tag in TAGS]
        assert max(per_tag) >= cap or len([one for one in events if one.created_at == second]) >= cap


@pytest.mark.parametrize("cap", [5, 7, 20, 100, 499, 500])
def test_ties_at_a_page_border_are_not_skipped(cap: int) -> None:
    events = [event(1000 + number // 3, number) for number in range(200)]
    found, walking, _ = walk(events, cap)
    assert len(found) == 200
    assert not walking.holes


def test_since_and_until_hold() -> None:
    events = [event(1000 + number, number) for number in range(100)]
    wanted = Filter(tags=WANTED.tags, since=UnixTime(1010), until=UnixTime(1050))
    found, _, _ = walk(events, 7, wanted)
    assert len(found) == 41


def test_a_peer_that_repeats_itself_is_stopped() -> None:
    walking = Walk(WANTED, 500, SyncLimits(pages_max=50))
    number = 0
    while not walking.ended:
        # New events for ever, all of them in the range asked for.
        until = walking.request.until or UnixTime(10**9)
        for _ in range(10):
            number += 1
            walking.take(event(until, number))
        walking.end_page(EoseHint.NONE)
    assert walking.endless


def test_what_was_not_asked_for_is_named_so() -> None:
    walking = Walk(WANTED, 500, SyncLimits())
    assert walking.take(made(1, tags=[["t", "other"]])) is Taken.UNASKED


def test_a_page_that_broke_off_is_asked_for_again_and_counted_once() -> None:
    walking = Walk(WANTED, 500, SyncLimits())
    one = event(1000, 1)
    assert walking.take(one) is Taken.NEW
    walking.restart_page()
    asked = walking.request
    assert asked.until is None
    walking.take(one)
    walking.end_page(EoseHint.FINISH)
    assert walking.ended


def test_halves_ask_for_the_same_between_them() -> None:
    first, second = halves(WANTED)
    assert (*first.tags[0][1], *second.tags[0][1]) == tuple(TAGS)
    assert halves(Filter(kinds=(1, 2))) == (Filter(kinds=(1,)), Filter(kinds=(2,)))
    assert halves(Filter(kinds=(1,))) == ()
