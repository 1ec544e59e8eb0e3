"""Floods: whatever is asked, hundreds of events follow that nobody asked for."""
# ruff: noqa: ARG002 - a hook is given what any temper may need

from graspd.nostr import messages as m
from graspd.types import PubKey, SubId
from sim.content import make
from sim.faults import Fault, Faults
from sim.peers.relay import Reply, Talk, Temper, event_text

_NOBODY = PubKey("0" * 63 + "2")


class Flooding(Temper):
    """Never stops talking."""

    lies = True

    def __init__(self, faults: Faults, size: int) -> None:
        self._faults = faults
        self._size = size
        self._sent = 0

    def opening(self, talk: Talk, now: float) -> list[Reply]:
        """Another one, once everybody has calmed down."""
        return [Reply(120.0 + reply.delay_s, reply.text) for reply in self._flood(SubId("flood"))]

    def after(self, talk: Talk, message: m.ClientMessage, replies: list[Reply], now: float) -> list[Reply]:
        """The answer, and a flood."""
        if not isinstance(message, m.Request):
            return replies
        return replies + self._flood(message.sub_id)

    def _flood(self, sub_id: SubId) -> list[Reply]:
        self._faults.saw(Fault.FLOOD)
        flood = []
        for number in range(self._size):
            self._sent += 1
            event = make(1, _NOBODY, 1_699_000_000 + self._sent, [["t", "flood"]], str(self._sent))
            flood.append(Reply(number * 0.01, event_text(sub_id, event)))
        return flood
