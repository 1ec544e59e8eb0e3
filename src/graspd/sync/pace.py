"""How fast a peer is asked: a bucket of requests, and silence when it asked for that.

Told to slow down, we make no request for 65 s, twice as long each time it is said again soon after. Decides nothing
about health.
"""

from graspd.sync.limits import SyncLimits
from graspd.types import Monotonic


class Pace:
    """The requests of one link."""

    def __init__(self, limits: SyncLimits, now: Monotonic) -> None:
        self._limits = limits
        self._tokens = float(limits.requests_burst)
        self._filled_at = now
        self.quiet_until: Monotonic | None = None
        self._quiet_s = 0.0

    def slow_down(self, now: Monotonic) -> float | None:
        """The peer asked for it. Returns for how long; None where that is the case already."""
        if self.is_quiet(now):
            return None
        limits = self._limits
        again = self.quiet_until is not None and now - self.quiet_until < limits.rate_limit_memory_s
        self._quiet_s = min(self._quiet_s * 2, limits.rate_limit_s_max) if again else limits.rate_limit_s
        self.quiet_until = Monotonic(now + self._quiet_s)
        return self._quiet_s

    def is_quiet(self, now: Monotonic) -> bool:
        """Whether nothing may be asked now."""
        return self.quiet_until is not None and now < self.quiet_until

    def take(self, now: Monotonic) -> bool:
        """Use up one request, if there is one."""
        if self.is_quiet(now):
            return False
        self._fill(now)
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def ready_at(self, now: Monotonic) -> Monotonic:
        """When the next request may be made."""
        if self.quiet_until is not None and now < self.quiet_until:
            return self.quiet_until
        self._fill(now)
        if self._tokens >= 1:
            return now
        # A hair later than exact, so that rounding never leaves a token just short of whole.
        return Monotonic(now + (1.001 - self._tokens) / self._limits.requests_per_s)

    def _fill(self, now: Monotonic) -> None:
        gained = (now - self._filled_at) * self._limits.requests_per_s
        self._tokens = min(self._tokens + gained, float(self._limits.requests_burst))
        self._filled_at = now
