"""Flaps: hangs up after a while, every time."""
# ruff: noqa: ARG002 - a hook is given what any temper may need

from random import Random

from sim.faults import Fault, Faults
from sim.peers.relay import Reply, Talk, Temper


class Flapping(Temper):
    """Lets nobody stay."""

    def __init__(self, rng: Random, faults: Faults, stay_s_max: float) -> None:
        self._rng = rng
        self._faults = faults
        self._stay_s_max = stay_s_max

    def opening(self, talk: Talk, now: float) -> list[Reply]:
        """Say when this will end."""
        self._faults.saw(Fault.FLAP)
        return [Reply(self._rng.uniform(0.5, self._stay_s_max), None)]
