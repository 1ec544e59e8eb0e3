"""The index of subscriptions tells exactly those whom a plain look at every filter would tell."""

from hypothesis import given
from hypothesis import strategies as st

from graspd.nostr.event import Event
from graspd.nostr.filter import Filter, Matcher
from graspd.relay.subscriptions import SubscriptionIndex
from graspd.types import UnixTime
from tests.nostr.made import author, made

AUTHORS = [author(name) for name in ("alice", "bob", "carol")]
LETTERS, VALUES = ["t", "T", "a"], ["x", "y", "z"]

events = st.builds(
    made,
    kind=st.integers(1, 3),
    by=st.sampled_from(AUTHORS),
    at=st.integers(0, 5),
    tags=st.lists(st.tuples(st.sampled_from([*LETTERS, "tt"]), st.sampled_from(VALUES)), max_size=3),
)


def some(values: list[str]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(values), max_size=2, unique=True).map(tuple)


@st.composite
def filters(draw: st.DrawFn, known: list[Event]) -> Filter:
    ids = st.lists(st.sampled_from([event.id for event in known]), max_size=2, unique=True).map(tuple)
    letters = draw(st.lists(st.sampled_from(LETTERS), max_size=2, unique=True))
    times = st.none() | st.integers(0, 5).map(UnixTime)
    return Filter(
        ids=draw(st.none() | ids),
        authors=draw(st.none() | st.lists(st.sampled_from(AUTHORS), max_size=2, unique=True).map(tuple)),
        kinds=draw(st.none() | st.lists(st.integers(1, 3), max_size=2, unique=True).map(tuple)),
        tags=tuple((letter, draw(some(VALUES))) for letter in letters),
        since=draw(times),
        until=draw(times),
    )


def wants(wanted: tuple[Filter, ...], event: Event) -> bool:
    return any(not one.matches_nothing and Matcher.of(one).matches(event) for one in wanted)


@given(st.data())
def test_it_agrees_with_a_look_at_every_filter(data: st.DataObject) -> None:
    known = data.draw(st.lists(events, min_size=1, max_size=6))
    index: SubscriptionIndex[int] = SubscriptionIndex()
    model: dict[int, tuple[Filter, ...]] = {}
    for _ in range(data.draw(st.integers(1, 12))):
        owner = data.draw(st.integers(0, 4))
        if data.draw(st.booleans()):
            model[owner] = tuple(data.draw(st.lists(filters(known), min_size=1, max_size=3)))
            index.add(owner, model[owner])
        else:
            index.remove(owner)
            model.pop(owner, None)
        for event in known:
            told = index.wanting(event)
            assert sorted(told) == sorted(owner for owner, wanted in model.items() if wants(wanted, event))
    assert len(index) == len(model)


def test_nothing_is_left_of_those_who_have_gone() -> None:
    index: SubscriptionIndex[int] = SubscriptionIndex()
    for owner in range(10):
        index.add(owner, (Filter(kinds=(1, 2)), Filter(tags=(("t", ("x", "y")),)), Filter()))
    for owner in range(10):
        index.remove(owner)

    assert index == SubscriptionIndex()
