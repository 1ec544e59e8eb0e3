"""Events a minute: a minute's worth at once, then evenly."""

from graspd.relay.rate import RateLimit
from graspd.types import Monotonic


def taken(limit: RateLimit, address: str, at: float, tries: int) -> int:
    return sum(limit.take(address, Monotonic(at)) for _ in range(tries))


def test_a_minutes_worth_may_come_at_once_and_no_more() -> None:
    assert taken(RateLimit(60), "a", 0, 100) == 60


def test_then_as_many_as_time_brings() -> None:
    limit = RateLimit(60)
    taken(limit, "a", 0, 60)

    assert taken(limit, "a", 5, 100) == 5
    assert taken(limit, "a", 5.5, 100) == 0
    assert taken(limit, "a", 6.5, 100) == 1


def test_rest_is_not_saved_up_beyond_a_minute() -> None:
    limit = RateLimit(10)
    taken(limit, "a", 0, 10)

    assert taken(limit, "a", 100_000, 100) == 10


def test_addresses_do_not_pay_for_each_other() -> None:
    limit = RateLimit(10)
    taken(limit, "a", 0, 100)

    assert taken(limit, "b", 0, 100) == 10


def test_zero_is_no_limit() -> None:
    assert taken(RateLimit(0), "a", 0, 1000) == 1000
