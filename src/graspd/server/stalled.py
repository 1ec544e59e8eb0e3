"""Answers that wait in memory for clients who do not read them: bounded in all, at the expense of who waits longest.

One answer may be tens of megabytes, and a thousand clients may ask for one each and read none. An honest slow client
makes progress, and with every slice that it takes it goes to the end of the line.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stalled:
    """Who waits for its client, with how much, the longest first."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._waiting: dict[Callable[[], None], int] = {}
        self._total = 0

    @contextmanager
    def waiting(self, drop: Callable[[], None], size: int) -> Iterator[None]:
        """While this lasts, so many bytes wait; `drop` ends the connection if they cannot be afforded."""
        self._waiting[drop] = size
        self._total += size
        while self._total > self._bytes_max and self._waiting:
            longest = next(iter(self._waiting))
            self._forget(longest)
            longest()
        try:
            yield
        finally:
            self._forget(drop)

    def _forget(self, drop: Callable[[], None]) -> None:
        self._total -= self._waiting.pop(drop, 0)
