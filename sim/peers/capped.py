"""Page-capped: gives no more than so many events an answer, an odd number that it tells nobody."""
# ruff: noqa: ARG002 - a hook is given what any temper may need

from graspd.nostr.event import Event
from graspd.nostr.filter import Filter
from sim.faults import Fault, Faults
from sim.peers.relay import Temper


class Capped(Temper):
    """Cuts pages short."""

    lasting = True

    def __init__(self, faults: Faults, most: int) -> None:
        self._faults = faults
        self.most = most

    def page(self, wanted: Filter, events: list[Event]) -> list[Event]:
        """The newest."""
        if len(events) > self.most:
            self._faults.saw(Fault.PAGE_CUT)
        return events[: self.most]
