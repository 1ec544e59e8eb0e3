"""Slow: thinks for seconds before each answer, and lets the parts of it drip."""
# ruff: noqa: ARG002 - a hook is given what any temper may need

from random import Random

from graspd.nostr import messages as m
from sim.faults import Fault, Faults
from sim.peers.relay import Reply, Talk, Temper


class Slow(Temper):
    """Takes its time."""

    lasting = True

    def __init__(self, rng: Random, faults: Faults, think_s_max: float, drip_s_max: float) -> None:
        self._rng = rng
        self._faults = faults
        self._think_s_max = think_s_max
        self._drip_s_max = drip_s_max

    def after(self, talk: Talk, message: m.ClientMessage, replies: list[Reply], now: float) -> list[Reply]:
        """Later, and one after the other."""
        late = self._rng.uniform(0, self._think_s_max)
        slower: list[Reply] = []
        if replies:
            self._faults.saw(Fault.SLOW)
        if len(replies) > 1 and self._drip_s_max:
            self._faults.saw(Fault.DRIP)
        for reply in replies:
            late += self._rng.uniform(0, self._drip_s_max)
            slower.append(Reply(reply.delay_s + late, reply.text))
        return slower
