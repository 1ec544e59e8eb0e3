"""How fast a peer is asked: a bucket of requests, and silence when it asked for that.

Told to slow down, we make no request for 65 s, twice as long each time it is said again soon after; and from then on we
ask less: no more than half of what it just refused. That is regained slowly. Decides nothing about health.
"""

from collections import deque
from typing import Final

from graspd.sync.limits import SyncLimits
from graspd.types import Monotonic

_COUNTED_S: Final = 60.0  # relays count by the minute


class Pace:
    """The requests of one peer."""

    def __init__(self, limits: SyncLimits, now: Monotonic) -> None:
        self._limits = limits
        self._rate = limits.requests_per_s
        self._burst = float(limits.requests_burst)
        self._tokens = self._burst
        self._filled_at = now
        self._asked: deque[Monotonic] = deque(maxlen=limits.requests_burst)  # lately
        self.quiet_until: Monotonic | None = None
        self._quiet_s = 0.0
        self._slowed_at = now

    def slow_down(self, now: Monotonic) -> float | None:
        """The peer asked for it. Returns for how long; None where that is the case already."""
        if self.is_quiet(now):
            return None
        limits = self._limits
        again = self.quiet_until is not None and now - self.quiet_until < limits.rate_limit_memory_s
        self._quiet_s = min(self._quiet_s * 2, limits.rate_limit_s_max) if again else limits.rate_limit_s
        self.quiet_until = Monotonic(now + self._quiet_s)
        self._fill(now)
        lately = sum(1 for at in self._asked if now - at <= _COUNTED_S)
        self._rate = max(limits.requests_per_s_min, min(self._rate, lately / _COUNTED_S) / 2)
        self._burst = max(1.0, min(self._burst, lately / 2) / 2)
        self._tokens = min(self._tokens, 1.0)
        self._slowed_at = self.quiet_until
        return self._quiet_s

    def is_quiet(self, now: Monotonic) -> bool:
        """Whether nothing may be asked now."""
        return self.quiet_until is not None and now < self.quiet_until

    def requests_per_s(self, now: Monotonic) -> float:
        """How many are made at most, in the long run."""
        self._regain(now)
        return self._rate

    def take(self, now: Monotonic) -> bool:
        """Use up one request, if there is one."""
        if self.is_quiet(now):
            return False
        self._fill(now)
        if self._tokens < 1:
            return False
        self._tokens -= 1
        self._asked.append(now)
        return True

    def ready_at(self, now: Monotonic) -> Monotonic:
        """When the next request may be made."""
        if self.quiet_until is not None and now < self.quiet_until:
            return self.quiet_until
        self._fill(now)
        if self._tokens >= 1:
            return now
        # A hair later than exact, so that rounding never leaves a token just short of whole.
        return Monotonic(now + (1.001 - self._tokens) / self._rate)

    def _fill(self, now: Monotonic) -> None:
        self._regain(now)
        # Nothing is gained in silence.
        begin = self._filled_at if self.quiet_until is None else max(self._filled_at, self.quiet_until)
        gained = max(0.0, now - begin) * self._rate
        self._tokens = min(self._tokens + gained, self._burst)
        self._filled_at = max(self._filled_at, now)

    def _regain(self, now: Monotonic) -> None:
        """For every while without another word, half as fast again."""
        limits = self._limits
        while self._rate < limits.requests_per_s and now - self._slowed_at >= limits.rate_limit_memory_s:
            self._slowed_at = Monotonic(self._slowed_at + limits.rate_limit_memory_s)
            self._rate = min(self._rate * 1.5, limits.requests_per_s)
            self._burst = min(self._burst * 1.5, float(limits.requests_burst))
