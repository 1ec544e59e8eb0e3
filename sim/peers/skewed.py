"""Skewed in clock: behind the times, it hides what it takes for the future, and shows it later to who asks."""

from graspd.nostr.event import Event
from sim.faults import Fault, Faults
from sim.peers.relay import Temper
from sim.timeline import EPOCH


class Skewed(Temper):
    """Its clock is wrong by so many seconds."""

    def __init__(self, faults: Faults, behind_s: int) -> None:
        self._faults = faults
        self._behind_s = behind_s

    def shows(self, event: Event, now: float) -> bool:
        """Only what is past by its own clock."""
        if event.created_at <= EPOCH + now - self._behind_s:
            return True
        self._faults.saw(Fault.SKEWED)
        return False
