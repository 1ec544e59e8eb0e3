"""The turns of what cannot be held live."""

from array import array

from graspd.sync.live import Shed
from graspd.sync.rota import Rota
from graspd.types import Monotonic, Now, UnixTime

ROTA_S = 600.0
SHED = Shed(True, [1, 2, 3], array("i", [10, 11, 12]))


def _at(seconds: float) -> Now:
    return Now(Monotonic(seconds), UnixTime(1_700_000_000 + int(seconds)))


def test_a_pass_comes_to_everything_once() -> None:
    rota = Rota(ROTA_S, _at(0))
    assert rota.next(SHED, 4, _at(ROTA_S - 1)) is None
    assert rota.due_at(SHED) == ROTA_S
    assert rota.next(SHED, 4, _at(ROTA_S)) == Shed(True, [1, 2, 3], array("i", [10]))
    assert rota.next(SHED, 4, _at(ROTA_S)) == Shed(False, [], array("i", [11, 12]))
    assert rota.next(SHED, 4, _at(ROTA_S)) is None


def test_the_next_pass_begins_when_its_time_has_come() -> None:
    rota = Rota(ROTA_S, _at(0))
    assert rota.next(SHED, 10, _at(ROTA_S)) is not None
    assert rota.next(SHED, 10, _at(ROTA_S + 100)) is None
    assert rota.due_at(SHED) == 2 * ROTA_S
    assert rota.next(SHED, 10, _at(2 * ROTA_S)) is not None
    assert rota.since == _at(ROTA_S).wall


def test_after_a_pass_that_took_too_long_the_next_begins_at_once() -> None:
    rota = Rota(ROTA_S, _at(0))
    assert rota.next(SHED, 10, _at(ROTA_S)) is not None
    assert rota.next(SHED, 10, _at(2 * ROTA_S + 50)) == SHED


def test_where_everything_is_live_there_is_no_turn() -> None:
    rota = Rota(ROTA_S, _at(0))
    nothing = Shed(False, [], array("i"))
    assert rota.next(nothing, 10, _at(2 * ROTA_S)) is None
    assert rota.due_at(nothing) is None


def test_layer_one_alone_takes_one_turn() -> None:
    rota = Rota(ROTA_S, _at(0))
    alone = Shed(True, [], array("i"))
    assert rota.next(alone, 10, _at(ROTA_S)) == alone
    assert rota.next(alone, 10, _at(ROTA_S)) is None
