"""The order property of tests/rules/test_order.py on SQLite: in every order it knows what the plainest model knows."""

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graspd.nostr.event import Event
from graspd.types import UnixTime
from tests.rules.test_order import AFTER, BEFORE, BETWEEN, BOBS, event_sets, played, telling
from tests.rules.world import POLICY
from tests.store.twin import Twin, expire_all, model_known, take_into

TWIN = Twin()


def played_on_sqlite(steps: Sequence[Event | None]) -> dict[str, Any]:
    with TWIN.transaction() as transaction:
        now = BEFORE
        take_into(transaction, [BOBS], POLICY, now)
        for step in steps:
            if step is None:
                now = BETWEEN
                expire_all(transaction, now)
            else:
                take_into(transaction, [step], POLICY, now)
        expire_all(transaction, AFTER)
        return TWIN.known()


def check_every_order(events: list[Event]) -> None:
    steps: list[Event | None] = [*events]
    if any(event.expires_at == BETWEEN for event in events):
        steps.append(None)
    served = None
    for order in permutations(steps):
        known = played_on_sqlite(order)
        assert known == model_known(played(order)), [step and (step.kind, step.created_at, step.tags) for step in order]
        assert served in (None, known["served"])
        served = known["served"]


@pytest.mark.parametrize(("size", "examples"), [(2, 200), (3, 300), (4, 100), (5, 20), (6, 3)])
def test_every_order_gives_the_same_events(size: int, examples: int) -> None:
    settings(deadline=None, max_examples=examples, derandomize=True)(given(event_sets(size))(check_every_order))()


@pytest.mark.slow
@pytest.mark.parametrize(("size", "examples"), [(3, 10_000), (4, 3_000), (5, 600), (6, 200)])
def test_every_order_gives_the_same_events_in_other_sets_each_time(size: int, examples: int) -> None:
    settings(deadline=None, max_examples=examples)(given(event_sets(size))(check_every_order))()


@settings(deadline=None, max_examples=300, derandomize=True)
@given(event_sets(6), st.data(), st.sampled_from((BEFORE, AFTER)))
def test_batches_do_not_matter(events: list[Event], data: st.DataObject, later: UnixTime) -> None:
    order = [BOBS, *data.draw(st.permutations(events))]

    def known() -> dict[str, Any]:
        found = TWIN.known()
        return {**found, "buried": telling(found["buried"], events)}

    with TWIN.transaction() as transaction:
        at_once = take_into(transaction, order, POLICY, BEFORE)
        expire_all(transaction, later)
        before = known()
        again = take_into(transaction, order, POLICY, later)
        assert known() == before
    with TWIN.transaction() as transaction:
        assert [take_into(transaction, [event], POLICY, BEFORE) for event in order] == [[one] for one in at_once]
        expire_all(transaction, later)
        assert known() == before
        assert [take_into(transaction, [event], POLICY, later) for event in order] == [[one] for one in again]
