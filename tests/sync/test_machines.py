"""The small machines against tables and naive models: plan, coverage, backoff, pace, budget, alarms, ledger."""

import random

import hypothesis.strategies as st
import pytest
from hypothesis import given

from graspd.sync.alarms import Alarms
from graspd.sync.budget import PRICES, Budget, rest_s
from graspd.sync.coverage import Coverage, Segment
from graspd.sync.health import delay_s, failed, health_of, remaining_s, succeeded
from graspd.sync.interest import Interest
from graspd.sync.ledger import Ledger, Standing
from graspd.sync.limits import SyncLimits
from graspd.sync.pace import Pace
from graspd.sync.plan import Unplanned
from graspd.sync.records import Certificate, HealthRecord, Method
from graspd.sync.reports import Offence
from graspd.sync.view import Health
from graspd.types import EventId, Monotonic, UnixTime
from tests.rules.world import POLICY, issue, repo
from tests.sync.made import ONE, announced

LIMITS = SyncLimits()
PROOF = Certificate(Method.RECONCILED, UnixTime(1), 1, "00")


def interest_with(roots: list[int]) -> Interest:
    """One repository for each number, with so many roots."""
    interest = Interest(POLICY, LIMITS)
    for at, count in enumerate(roots):
        interest.put(announced([ONE], f"r{at}"))
        for number in range(count):
            interest.put(issue(at=number, about=repo(identifier=f"r{at}")))
    return interest


# Plan


def test_a_plan_is_wanted_less_pending_less_confirmed() -> None:
    interest = interest_with([3, 0])
    coverage = {0: Coverage(confirmed=2), 1: Coverage()}
    unplanned = Unplanned()
    unplanned.add(0)
    unplanned.add(1)
    assert unplanned.next_batch(coverage, interest, 100).segments == (Segment(0, 2, 4), Segment(1, 0, 1))
    assert unplanned.next_batch(coverage, interest, 100).segments == ()
    interest.put(issue(at=9, about=repo(identifier="r1")))
    unplanned.add(1)
    assert unplanned.next_batch(coverage, interest, 100).segments == (Segment(1, 1, 2),)


def test_a_batch_is_either_audited_or_not() -> None:
    interest = interest_with([4])
    held = Coverage(confirmed=3)
    held.clear()
    unplanned = Unplanned()
    unplanned.add(0)
    first = unplanned.next_batch({0: held}, interest, 100)
    assert (first.segments, first.audited) == ((Segment(0, 0, 3),), True)
    second = unplanned.next_batch({0: held}, interest, 100)
    assert (second.segments, second.audited) == ((Segment(0, 3, 5),), False)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=5), st.integers(1, 7))
def test_every_item_is_planned_exactly_once(roots: list[int], items_max: int) -> None:
    interest = interest_with(roots)
    coverage = {number: Coverage() for number in range(len(roots))}
    unplanned = Unplanned()
    for number in coverage:
        unplanned.add(number)
    seen: list[tuple[int, int]] = []
    while segments := unplanned.next_batch(coverage, interest, items_max).segments:
        assert sum(hi - lo for _, lo, hi in segments) <= items_max
        seen.extend((number, at) for number, lo, hi in segments for at in range(lo, hi))
    assert seen == [(number, at) for number, count in enumerate(roots) for at in range(count + 1)]


@given(st.permutations([(0, 2), (2, 3), (3, 7), (7, 8)]))
def test_confirmed_is_what_is_whole_from_the_first_on(order: list[tuple[int, int]]) -> None:
    held = Coverage()
    held.planned = 8
    done: set[int] = set()
    for lo, hi in order:
        held.confirm(lo, hi, PROOF)
        done.update(range(lo, hi))
        whole = next(at for at in range(9) if at not in done)
        assert held.confirmed == whole
    held.unlink()
    assert held.planned == held.confirmed == 8


# Health


@pytest.mark.parametrize(
    ("failures", "seconds"), [(1, 5), (2, 10), (3, 20), (4, 40), (10, 2560), (11, 3600), (12, 3600), (10_000, 3600)]
)
def test_backoff(failures: int, seconds: float) -> None:
    assert delay_s(failures, LIMITS) == seconds


def test_a_day_of_failures_is_death_and_a_success_resets() -> None:
    record, now = HealthRecord(), UnixTime(1_000_000)
    entropy = random.Random(1)
    record = failed(record, now, LIMITS, entropy).record
    assert health_of(record, now, LIMITS) is Health.DEGRADED
    later = UnixTime(now + LIMITS.dead_after_s)
    backoff = failed(record, later, LIMITS, entropy)
    assert health_of(backoff.record, later, LIMITS) is Health.DEAD
    assert backoff.delay_s >= LIMITS.dead_retry_s
    assert health_of(succeeded(), later, LIMITS) is Health.HEALTHY


def test_a_saved_delay_is_never_longer_than_it_was() -> None:
    record = HealthRecord(failures=3, failing_since=UnixTime(100), retry_at=UnixTime(10**9))
    assert remaining_s(record, UnixTime(0), LIMITS) == LIMITS.dead_retry_s
    assert remaining_s(record, UnixTime(10**9 + 5), LIMITS) == 0


def test_an_unwelcome_delay_is_at_least_what_was_asked_for() -> None:
    assert failed(HealthRecord(), UnixTime(0), LIMITS, random.Random(1), 3600.0).delay_s >= 3600


# Pace


def test_a_plea_is_silence_and_then_less() -> None:
    pace = Pace(LIMITS, Monotonic(0.0))
    now = Monotonic(0.0)
    while pace.take(now):
        pass
    assert pace.slow_down(now) == LIMITS.rate_limit_s
    assert pace.slow_down(now) is None
    assert not pace.take(Monotonic(LIMITS.rate_limit_s - 0.1))
    end = Monotonic(LIMITS.rate_limit_s)
    taken = sum(1 for tenth in range(600) if pace.take(Monotonic(end + tenth / 10)))
    assert 0 < taken <= LIMITS.requests_burst / 2
    end = Monotonic(end + 60)
    assert pace.slow_down(Monotonic(end + 1)) == 2 * LIMITS.rate_limit_s


@given(st.lists(st.floats(0, 100), min_size=1, max_size=60), st.sets(st.integers(0, 59)))
def test_pace_is_never_faster_than_its_bucket(gaps: list[float], pleas: set[int]) -> None:
    pace = Pace(LIMITS, Monotonic(0.0))
    now, taken = 0.0, 0
    for at, gap in enumerate(gaps):
        now += gap
        if at in pleas:
            pace.slow_down(Monotonic(now))
        ready = pace.ready_at(Monotonic(now))
        assert (ready <= now) == pace.take(Monotonic(now))
        taken += ready <= now
        assert taken <= LIMITS.requests_burst + now * LIMITS.requests_per_s + 1


# Budget


def test_a_budget_is_spent_and_regained() -> None:
    budget = Budget(LIMITS, Monotonic(0.0))
    spent = [budget.spend(Offence.JUNK, Monotonic(0.0)) for _ in range(int(LIMITS.budget))]
    assert spent[-1] == 0
    assert budget.left(Monotonic(100.0)) == pytest.approx(100 * LIMITS.budget_per_s)
    assert set(PRICES) == set(Offence)
    assert [rest_s(rests, LIMITS) for rests in (1, 2, 3, 9)] == [3600, 7200, 14400, 86400]


# Alarms


@given(st.lists(st.tuples(st.integers(0, 5), st.one_of(st.none(), st.integers(0, 30))), max_size=60))
def test_alarms_agree_with_a_dict(changes: list[tuple[int, int | None]]) -> None:
    alarms: Alarms[int] = Alarms()
    model: dict[int, int] = {}
    for name, at in changes:
        alarms.set(name, None if at is None else Monotonic(float(at)))
        model.pop(name, None)
        if at is not None:
            model[name] = at
        assert alarms.next() == (Monotonic(float(min(model.values()))) if model else None)
    found = []
    while (name_due := alarms.pop_due(Monotonic(15.0))) is not None:
        found.append(model.pop(name_due))
    assert found == sorted(found)
    assert all(at > 15 for at in model.values())


# Ledger

A, B = EventId("a" * 64), EventId("b" * 64)


def test_an_id_is_asked_for_once_and_the_others_are_told() -> None:
    ledger: Ledger[str] = Ledger(10)
    ledger.claim(A, "one")
    assert ledger.standing(A) is Standing.CLAIMED
    ledger.wait(A, "two")
    assert ledger.release(A, "two") == []
    ledger.arrived(A)
    assert ledger.standing(A) is Standing.IN_HAND
    assert ledger.judged(A, settled=True) == ["two"]
    assert ledger.standing(A) is Standing.RECENT


def test_a_claim_that_fails_frees_the_id_for_who_waited() -> None:
    ledger: Ledger[str] = Ledger(10)
    ledger.claim(A, "one")
    ledger.wait(A, "two")
    ledger.wait(A, "three")
    ledger.withdraw(A, "three")
    assert ledger.release(A, "one") == ["two"]
    assert ledger.standing(A) is Standing.FREE


def test_what_arrives_fulfils_another_claim() -> None:
    ledger: Ledger[str] = Ledger(10)
    ledger.claim(A, "one")
    ledger.arrived(A)
    assert ledger.claims == 0
    assert ledger.release(A, "one") == []
    ledger.judged(A, settled=False)
    assert ledger.standing(A) is Standing.FREE


def test_only_so_many_are_remembered() -> None:
    ledger: Ledger[str] = Ledger(1)
    for event_id in (A, B):
        ledger.arrived(event_id)
        ledger.judged(event_id, settled=True)
    assert (ledger.standing(A), ledger.standing(B)) == (Standing.FREE, Standing.RECENT)
