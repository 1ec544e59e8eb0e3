"""Floods: whatever is asked, hundreds of events follow that nobody asked for."""
# ruff: noqa: ARG002 - a hook is given what any temper may need

from graspd.nostr import messages as m
from graspd.types import PubKey, SubId
from sim.content import make
from sim.faults import Fault, Faults
from sim.peers.relay import Reply, Talk, Temper, event_text

_NOBODY = PubKey("0" * 63 + "2")


def _flood(faults: Faults, sub_id: SubId, first: int, size: int) -> list[Reply]:
    faults.saw(Fault.FLOOD)
    events = (
        make(1, _NOBODY, 1_699_000_000 + number, [["t", "flood"]], str(number)) for number in range(first, first + size)
    )
    return [Reply(count * 0.01, event_text(sub_id, event)) for count, event in enumerate(events)]


class Flooding(Temper):
    """Never stops talking."""

    lies = True

    def __init__(self, faults: Faults, size: int) -> None:
        self._faults = faults
        self._size = size
        self._sent = 0

    def after(self, talk: Talk, message: m.ClientMessage, replies: list[Reply], now: float) -> list[Reply]:
        """The answer, and a flood."""
        if not isinstance(message, m.Request):
            return replies
        self._sent += self._size
        return replies + _flood(self._faults, message.sub_id, self._sent, self._size)


class Sleeping(Temper):
    """Behaves until everybody trusts it, and then floods."""

    lies = True

    def __init__(self, faults: Faults, sleep_s: float, size: int) -> None:
        self._faults = faults
        self._sleep_s = sleep_s
        self._size = size

    def opening(self, talk: Talk, now: float) -> list[Reply]:
        """The flood that is to come."""
        flood = _flood(self._faults, SubId("flood"), 0, self._size)
        return [Reply(self._sleep_s + reply.delay_s, reply.text) for reply in flood]
