"""A rejected event is tried again when what it waits for arrives, and its keys leave nothing out."""

from hypothesis import given, settings
from hypothesis import strategies as st

from graspd.nostr import kinds
from graspd.nostr.event import Event
from graspd.rules.verdict import Reason
from graspd.rules.waiting import provides, waits_for
from sim.store import MemoryStore, take
from tests.nostr.made import made
from tests.rules.world import (
    ALICE,
    BOB,
    CAROL,
    HOST,
    NOW,
    POLICY,
    REPO,
    announcement,
    deletion,
    issue,
    repo,
    state,
    store_with,
    vanish,
)

people = st.sampled_from((ALICE, BOB, CAROL))
ARTICLES = [made(30023, by, 1000, [["d", "x"]]) for by in (ALICE, BOB, CAROL)]
NOTES = [made(1, by, 1000) for by in (ALICE, BOB, CAROL)]
spoken_of = st.sampled_from([event.id for event in NOTES + ARTICLES] + [issue(by).id for by in (ALICE, BOB, CAROL)])
addresses = st.sampled_from([repo(by) for by in (ALICE, BOB, CAROL)] + [f"30023:{by}:x" for by in (ALICE, BOB, CAROL)])
mentions = st.one_of(
    st.tuples(st.sampled_from(("e", "E", "q")), spoken_of), st.tuples(st.sampled_from(("a", "A", "q")), addresses)
)
world = st.one_of(
    st.builds(
        announcement,
        people,
        host=st.sampled_from((HOST, "elsewhere.example")),
        maintainers=st.lists(people, max_size=2),
    ),
    st.builds(state, people),
    st.builds(lambda by, tags: made(1111, by, 1000, tags), people, st.lists(mentions, max_size=2)),
    st.builds(lambda by, tags: made(30023, by, 1000, [("d", "x"), *tags]), people, st.lists(mentions, max_size=1)),
    st.builds(lambda by: made(kinds.GRASP_LIST, by, 1000, [["g", "wss://elsewhere.example"]]), people),
    st.sampled_from(NOTES + ARTICLES + [issue(by) for by in (ALICE, BOB, CAROL)]),
)


@settings(max_examples=1500, deadline=None, derandomize=True)
@given(world, st.lists(world, max_size=4), world)
def test_what_lets_an_event_in_provides_what_it_waited_for(event: Event, before: list[Event], last: Event) -> None:
    store = MemoryStore()
    take(store, before, POLICY, NOW)
    (verdict,) = take(store, [event], POLICY, NOW)
    here = {one.id for one in store.events()}
    (taken,) = take(store, [last], POLICY, NOW)
    new = [one for one in store.events() if one.id not in here]
    (again,) = take(store, [event], POLICY, NOW)
    if taken.reason is Reason.STORED and not verdict.accepted and again.accepted:
        assert verdict.reason.may_change
        assert any(set(waits_for(event, verdict.reason)) & set(provides(one)) for one in new)


def test_what_each_rejection_waits_for() -> None:
    comment = made(1111, CAROL, 1000, [["e", "ab" * 32], ["a", repo()], ["q", repo()], ["p", BOB]])
    article = made(30023, CAROL, 1000, [["d", "x"]])
    for reason in (Reason.SERVICE_NOT_LISTED, Reason.NO_ANNOUNCEMENT, Reason.NOT_ENTITLED):
        assert waits_for(state(), reason) == (f"d:{REPO}",)
    assert waits_for(comment, Reason.UNRELATED) == (f"t:{comment.id}", f"i:{'ab' * 32}", f"a:{repo()}")
    assert waits_for(article, Reason.UNRELATED) == (f"t:{article.id}", f"g:30023:{CAROL}:x")
    assert waits_for(made(kinds.GRASP_LIST, BOB), Reason.CONCERNS_OTHERS) == (f"p:{BOB}",)
    assert waits_for(vanish(BOB, 1), Reason.CONCERNS_OTHERS) == ()


def test_what_cannot_change_waits_for_nothing() -> None:
    for reason in Reason:
        assert reason.may_change or waits_for(issue(), reason) == ()


def test_what_an_event_provides() -> None:
    owner = announcement()
    assert provides(owner) == (f"i:{owner.id}", f"p:{ALICE}", f"d:{REPO}", f"a:{repo()}")
    comment = made(1111, CAROL, 1000, [["e", "ab" * 32], ["A", repo()]])
    assert provides(comment) == (f"i:{comment.id}", f"p:{CAROL}", f"t:{'ab' * 32}", f"g:{repo()}")
    request = deletion(BOB, 1, ["e", "ab" * 32])
    assert provides(request) == (f"i:{request.id}", f"p:{BOB}")


def test_a_reply_before_its_root_waits_for_exactly_that() -> None:
    root = issue()
    reply = made(1111, CAROL, 1000, [["e", root.id]])
    store = store_with(announcement())
    (verdict,) = take(store, [reply], POLICY, NOW)
    assert set(waits_for(reply, verdict.reason)) & set(provides(root)) == {f"i:{root.id}"}
