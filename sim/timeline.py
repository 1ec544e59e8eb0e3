"""Virtual time: one heap of happenings. Two at the same instant happen in the order in which they were scheduled."""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Final

EPOCH: Final = 1_700_000_000  # when the world begins, by the calendar

Action = Callable[[], None]


class Timeline:
    """Now, and what is to come."""

    def __init__(self) -> None:
        self.now = 0.0
        self._heap: list[tuple[float, int, Action]] = []
        self._turn = 0

    def at(self, when: float, action: Action) -> None:
        """Let something happen at a time, which must not have passed."""
        self._turn += 1
        heappush(self._heap, (max(when, self.now), self._turn, action))

    def after(self, delay_s: float, action: Action) -> None:
        """Let something happen after a while."""
        self.at(self.now + delay_s, action)

    def run_until(self, when: float) -> None:
        """Let everything happen that is due by then."""
        while self._heap and self._heap[0][0] <= when:
            self.now, _, action = heappop(self._heap)
            action()
        self.now = when
