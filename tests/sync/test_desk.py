"""Verdicts are spread to those who wait for them, each by what it has to do with the event."""

from dataclasses import dataclass, field
from random import Random

import pytest

from graspd.rules.verdict import BAD_SIGNATURE, Reason, Verdict
from graspd.sync.desk import Desk, Gap, Settlement, Waiter
from graspd.sync.effects import Source, Way
from graspd.sync.interest import Interest
from graspd.sync.limits import SyncLimits
from graspd.types import EventId, RelayUrl
from tests.rules.world import POLICY, issue
from tests.sync.made import ONE, THREE, TWO

EVENT = issue()


@dataclass
class Listener(Waiter):
    """A transfer that writes down what it is told."""

    peer: RelayUrl
    told: list[Settlement] = field(default_factory=list)

    def settled(self, event_id: EventId, settlement: Settlement) -> None:
        assert event_id == EVENT.id
        self.told.append(settlement)


@pytest.fixture
def desk() -> Desk:
    limits = SyncLimits()
    return Desk(POLICY, limits, Random(1), Interest(POLICY, limits))


def judge(desk: Desk, verdict: Verdict) -> None:
    (job,) = desk.judging
    desk.judged(job, desk.judging.pop(job), verdict)


def test_a_forgery_settles_the_matter_with_whoever_sent_it_and_nobody_else(desk: Desk) -> None:
    desk.waiters = {1: Listener(ONE), 2: Listener(TWO)}
    desk.take(EVENT, Source(Way.CATCH_UP, ONE), Gap.NONE, 1)
    desk.take(EVENT, Source(Way.CATCH_UP, TWO), Gap.NONE, 2)
    desk.take(EVENT, Source(Way.LIVE, THREE), Gap.NONE, None)

    judge(desk, BAD_SIGNATURE)

    assert [waiter.told for waiter in desk.waiters.values()] == [[Settlement.FORGED], [Settlement.FREED]]
    assert desk.to_refetch == [(EVENT.id, THREE)]
    assert not desk.is_held(EVENT.id, None)


def test_a_true_event_is_asked_for_no_more(desk: Desk) -> None:
    desk.waiters = {1: Listener(ONE), 2: Listener(TWO)}
    desk.take(EVENT, Source(Way.CATCH_UP, ONE), Gap.NONE, 1)
    desk.take(EVENT, Source(Way.CATCH_UP, TWO), Gap.NONE, 2)
    desk.take(EVENT, Source(Way.LIVE, THREE), Gap.NONE, None)

    judge(desk, Verdict(Reason.STORED))

    assert [waiter.told for waiter in desk.waiters.values()] == [[Settlement.TAKEN], [Settlement.TAKEN]]
    assert desk.to_refetch == []
    assert desk.is_held(EVENT.id, None)
