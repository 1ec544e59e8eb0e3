"""Small worlds of several people, in batches, on SQLite and on the plainest model: the same verdicts and memory."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from graspd.nostr import kinds
from graspd.nostr.event import Event
from graspd.rules.verdict import Reason
from graspd.types import PubKey, UnixTime
from sim.store import MemoryStore, take
from tests.nostr.made import made
from tests.rules.test_waiting import addresses, mentions, people, spoken_of, world
from tests.rules.world import ALICE, BOB, CAROL, POLICY, announcement, deletion, issue
from tests.store.twin import Twin, expire_all, model_known, take_into

TWIN = Twin()
BEFORE, AFTER = UnixTime(1500), UnixTime(2500)
seconds = st.integers(999, 1001)


def ending(by: PubKey, at: int, tags: Sequence[tuple[str, str]]) -> Event:
    return made(30023, by, at, [("d", "x"), *tags, ("expiration", "2000")])


def request(by: PubKey, at: int, ids: Sequence[str], named: Sequence[str]) -> Event:
    return deletion(by, at, *(["e", one] for one in ids), *(["a", one] for one in named))


def farewell(by: PubKey, at: int, relay: str, tags: Sequence[tuple[str, str]]) -> Event:
    return made(kinds.VANISH, by, at, [("relay", relay), *tags])


steps = st.one_of(
    world,
    world,
    world,
    st.builds(ending, people, seconds, st.lists(mentions, max_size=1)),
    st.builds(
        request,
        people,
        seconds,
        st.lists(spoken_of, max_size=2),
        st.lists(addresses | st.sampled_from([f"{kinds.GRASP_LIST}:{by}:" for by in (ALICE, BOB, CAROL)]), max_size=2),
    ),
    st.builds(farewell, people, seconds, st.sampled_from(("ALL_RELAYS", "wss://x")), st.lists(mentions, max_size=1)),
)
batches = st.lists(st.lists(steps, min_size=1, max_size=8), min_size=1, max_size=4)


@settings(deadline=None, max_examples=500, derandomize=True)
@given(batches, st.integers(0, 4))
def test_both_stores_decide_and_remember_the_same(taken: list[list[Event]], expire_at: int) -> None:
    model, now = MemoryStore(), BEFORE
    with TWIN.transaction() as transaction:
        for number, batch in enumerate(taken):
            if number == expire_at:
                now = AFTER
                model.expire(now)
                expire_all(transaction, now)
            assert take_into(transaction, batch, POLICY, now) == take(model, batch, POLICY, now)
            assert TWIN.known() == model_known(model)


def test_a_request_vouches_for_nothing() -> None:
    owner, spoken_of = announcement(), made(1, CAROL)
    theirs = [issue(BOB), issue(ALICE, 1)]
    requests = [
        deletion(BOB, 1001, ["e", theirs[0].id], ["e", spoken_of.id], ["q", spoken_of.id]),
        farewell(ALICE, 2, "ALL_RELAYS", [("e", spoken_of.id)]),
    ]
    with TWIN.transaction() as transaction:
        verdicts = [take_into(transaction, [one], POLICY, BEFORE)[0] for one in (owner, *theirs, *requests, spoken_of)]
        assert [verdict.reason for verdict in verdicts] == [Reason.STORED] * 5 + [Reason.UNRELATED]
