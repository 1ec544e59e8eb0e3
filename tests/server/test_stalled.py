"""Answers that nobody reads are bounded in all, and who has waited longest goes first."""

from collections.abc import Callable
from contextlib import ExitStack

from graspd.server.stalled import Stalled


def notes(dropped: list[str], name: str) -> Callable[[], None]:
    def drop() -> None:
        dropped.append(name)

    return drop


def test_who_waits_longest_is_dropped_when_there_is_too_much() -> None:
    stalled = Stalled(100)
    dropped: list[str] = []
    with ExitStack() as waiting:
        for name in "ab":
            waiting.enter_context(stalled.waiting(notes(dropped, name), 50))
        assert dropped == []

        waiting.enter_context(stalled.waiting(notes(dropped, "c"), 60))

        assert dropped == ["a", "b"]


def test_progress_puts_a_client_at_the_end_of_the_line() -> None:
    stalled = Stalled(100)
    dropped: list[str] = []
    first = notes(dropped, "a")
    with ExitStack() as waiting:
        with stalled.waiting(first, 40):
            waiting.enter_context(stalled.waiting(notes(dropped, "b"), 40))
        waiting.enter_context(stalled.waiting(first, 40))
        waiting.enter_context(stalled.waiting(notes(dropped, "c"), 40))

        assert dropped == ["b"]


def test_what_is_over_no_longer_counts() -> None:
    stalled = Stalled(100)
    dropped: list[str] = []
    for name in "abc":
        with stalled.waiting(notes(dropped, name), 90):
            pass

    assert dropped == []
