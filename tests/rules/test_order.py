"""The order in which one author's events come, and how they are batched, must not matter.

Drawn sets have up to six events of few addresses, few seconds (so ties abound) and few kinds: replaceable,
addressable and regular events, announcements that list us and announcements that do not, deletions by id and by
address, requests to vanish, and expirations that pass before, between or after the events. Every permutation of a set
is played.
"""

from collections.abc import Callable, Sequence
from copy import copy
from itertools import permutations
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graspd.nostr import kinds
from graspd.nostr.event import Event
from graspd.types import EventId, PubKey, UnixTime
from sim.store import MemoryStore, take
from tests.nostr.made import made
from tests.rules.world import ALICE, BOB, HOST, POLICY, announcement, repo

LONG_FORM: Final = 30023
BEFORE, BETWEEN, AFTER = UnixTime(2000), UnixTime(3000), UnixTime(4000)
ABOUT_BOB: Final = ["a", repo(BOB)]
BOBS: Final = announcement(BOB, at=1)
ADDRESSES: Final = (
    repo(ALICE, "x"),
    f"{LONG_FORM}:{ALICE}:x",
    f"{kinds.GRASP_LIST}:{ALICE}:",
    f"{kinds.VANISH}:{ALICE}:",
)

seconds = st.integers(1, 4)
# An expiration that never comes, one that comes while the events do, and one that comes after them.
ends = st.sampled_from((None, None, None, BETWEEN, AFTER))
contents = st.sampled_from(("", "1", "2"))


def content_event(kind: int, at: int, end: UnixTime | None, content: str, listed: bool) -> Event:
    tags = [] if end is None else [["expiration", str(end)]]
    match kind:
        case kinds.ANNOUNCEMENT:
            return announcement(ALICE, "x", at, HOST if listed else "elsewhere.example", extra=[*tags, ["c", content]])
        case kinds.GRASP_LIST:
            return made(kind, ALICE, at, [["g", f"wss://{HOST}"], *tags], content)
        case _:
            return made(kind, ALICE, at, [["d", "x"], ABOUT_BOB, *tags], content)


content_events = st.builds(
    content_event,
    st.sampled_from((kinds.ANNOUNCEMENT, LONG_FORM, LONG_FORM, kinds.GRASP_LIST, kinds.ISSUE)),
    seconds,
    ends,
    contents,
    st.booleans(),
)
vanishes = st.builds(lambda at, text: made(kinds.VANISH, ALICE, at, [["relay", "ALL_RELAYS"]], text), seconds, contents)


def a_deletion(at: int, ids: Sequence[EventId], addresses: Sequence[str], end: UnixTime | None) -> Event:
    tags = [["e", one] for one in ids] + [["a", one] for one in addresses]
    return made(kinds.DELETION, ALICE, at, tags + ([] if end is None else [["expiration", str(end)]]))


def deletions(named: Sequence[Event]) -> st.SearchStrategy[Event]:
    ids = st.sampled_from([event.id for event in named]) if named else st.nothing()
    return st.builds(
        a_deletion,
        seconds,
        st.lists(ids, max_size=2, unique=True),
        st.lists(st.sampled_from(ADDRESSES), max_size=1),
        ends,
    )


@st.composite
def event_sets(draw: st.DrawFn, size: int) -> list[Event]:
    """Up to `size` different events; deletions name events of the set, other deletions and vanish requests too."""
    events = draw(st.lists(st.one_of(content_events, content_events, vanishes), min_size=1, max_size=size - 1))
    for _ in range(draw(st.integers(0, min(3, size - len(events))))):
        events.append(draw(deletions(events)))
    return list({event.id: event for event in events}.values())


def played(steps: Sequence[Event | None], *, purged: bool = True) -> MemoryStore:
    """A store that took these events one by one. None: now a minute passes that ends some of them.

    Where they are not purged at once, they are in the end.
    """
    store, now = MemoryStore(), BEFORE
    take(store, [BOBS], POLICY, now)
    for step in steps:
        if step is None:
            now = BETWEEN
            if purged:
                store.expire(now)
        else:
            take(store, [step], POLICY, now)
    store.expire(AFTER)
    return store


def memory(store: MemoryStore, events: Sequence[Event]) -> dict[str, Any]:
    """Everything a store knows, to be compared."""
    known = {name: copy(value) for name, value in vars(store).items()}
    return {**known, "buried": telling(known["buried"], events)}


def telling(buried: set[tuple[EventId, PubKey]], events: Sequence[Event]) -> set[tuple[EventId, PubKey]]:
    """What is buried but for requests: to delete one has no effect, so whether its id is buried means nothing."""
    requests = {event.id for event in events if event.kind in kinds.REQUEST_KINDS}
    return {(event_id, pubkey) for event_id, pubkey in buried if event_id not in requests}


def served(store: MemoryStore) -> list[EventId]:
    return [event.id for event in store.events()]


def check_every_order(events: list[Event]) -> None:
    # Six steps are 720 orders; where time passes between the events, that is one of the steps.
    steps: list[Event | None] = [*events]
    if any(event.expires_at == BETWEEN for event in events):
        steps.append(None)
    expected = served(played(steps))
    for order in permutations(steps):
        assert served(played(order)) == expected, [step and (step.kind, step.created_at, step.tags) for step in order]


def sets_checked(size: int, examples: int, *, derandomize: bool) -> Callable[[], None]:
    @settings(deadline=None, max_examples=examples, derandomize=derandomize)
    @given(event_sets(size))
    def check(events: list[Event]) -> None:
        check_every_order(events)

    return check


@pytest.mark.parametrize(("size", "examples"), [(2, 500), (3, 1500), (4, 600), (5, 120), (6, 40)])
def test_every_order_gives_the_same_events(size: int, examples: int) -> None:
    sets_checked(size, examples, derandomize=True)()


@settings(deadline=None, max_examples=300, derandomize=True)
@given(event_sets(3))
def test_a_late_purge_makes_no_difference(events: list[Event]) -> None:
    expected = served(played([*events, None]))
    for order in permutations([*events, None]):
        assert served(played(order, purged=False)) == expected


@pytest.mark.slow
@pytest.mark.parametrize(("size", "examples"), [(3, 30_000), (4, 10_000), (5, 2_500), (6, 1_000)])
def test_every_order_gives_the_same_events_in_other_sets_each_time(size: int, examples: int) -> None:
    sets_checked(size, examples, derandomize=False)()


@settings(deadline=None, max_examples=400, derandomize=True)
@given(event_sets(6), st.data())
def test_batches_do_not_matter(events: list[Event], data: st.DataObject) -> None:
    order = data.draw(st.permutations(events))
    one_by_one, at_once = MemoryStore(), MemoryStore()
    for store in (one_by_one, at_once):
        take(store, [BOBS], POLICY, BEFORE)
    verdicts = [verdict for event in order for verdict in take(one_by_one, [event], POLICY, BEFORE)]
    assert take(at_once, order, POLICY, BEFORE) == verdicts
    assert memory(at_once, events) == memory(one_by_one, events)


@settings(deadline=None, max_examples=400, derandomize=True)
@given(event_sets(6), st.data(), st.sampled_from((BEFORE, AFTER)))
def test_an_event_that_comes_again_changes_nothing(events: list[Event], data: st.DataObject, later: UnixTime) -> None:
    store = MemoryStore()
    take(store, [BOBS, *data.draw(st.permutations(events))], POLICY, BEFORE)
    store.expire(later)
    before = memory(store, events)
    again = take(store, events, POLICY, later)
    assert memory(store, events) == before
    assert take(store, events, POLICY, later) == again
