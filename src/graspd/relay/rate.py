"""How many events a minute an address may publish: a bucket that fills evenly, with room for a minute's worth."""

from dataclasses import dataclass, field
from typing import Final

from graspd.types import Monotonic

_ADDRESSES_MAX: Final = 50_000  # full buckets are as good as none, so the oldest are forgotten first


@dataclass(slots=True)
class RateLimit:
    """Buckets by address. Nothing is limited where `per_minute` is 0."""

    per_minute: int
    _buckets: dict[str, tuple[float, Monotonic]] = field(default_factory=dict)

    def take(self, address: str, now: Monotonic) -> bool:
        """Whether one more event of this address is within its rate."""
        if self.per_minute == 0:
            return True
        level, since = self._buckets.pop(address, (float(self.per_minute), now))
        level = min(self.per_minute, level + (now - since) * self.per_minute / 60)
        allowed = level >= 1
        self._buckets[address] = (level - 1 if allowed else level, now)
        if len(self._buckets) > _ADDRESSES_MAX:
            del self._buckets[next(iter(self._buckets))]
        return allowed
