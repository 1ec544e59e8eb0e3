"""What a peer may get wrong before it is left alone for a while: every offence has its price."""

from typing import Final

from graspd.sync.limits import SyncLimits
from graspd.sync.reports import Offence
from graspd.types import Monotonic

PRICES: Final[dict[Offence, float]] = {
    Offence.JUNK: 1.0,
    Offence.UNASKED: 1.0,
    Offence.FORGED: 5.0,  # each costs us the check of a signature
    Offence.UNSERVED: 0.5,
    Offence.RESTLESS: 20.0,
    Offence.ENDLESS: 50.0,
    Offence.STALLED: 2.0,  # slow is not malicious, but a link that never answers is of no use
}


class Budget:
    """Of one peer. Regained slowly, so that a rare slip is forgotten."""

    def __init__(self, limits: SyncLimits, now: Monotonic) -> None:
        self._limits = limits
        self._left = limits.budget
        self._at = now

    def left(self, now: Monotonic) -> float:
        """What it may still spend."""
        self._left = min(self._left + (now - self._at) * self._limits.budget_per_s, self._limits.budget)
        self._at = now
        return self._left

    def spend(self, offence: Offence, now: Monotonic) -> float:
        """Pay for an offence. Returns what is left: nothing, or less, means that it is to rest."""
        self._left = self.left(now) - PRICES[offence]
        return self._left

    def renew(self, now: Monotonic) -> None:
        """After a rest."""
        self._left = self._limits.budget
        self._at = now


def rest_s(rests: int, limits: SyncLimits) -> float:
    """How long the n-th rest is."""
    assert rests > 0
    return float(min(limits.rest_s_first * 2.0 ** min(rests - 1, 32), limits.rest_s_max))
