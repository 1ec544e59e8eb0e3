"""Once: without faults, the bytes received for missing events are at most 1.05 times their size.

Counts what comes in answer to requests for history; what live subscriptions bring twice is their nature.
"""

from collections.abc import Sequence
from typing import Final

from graspd.sync import effects as e
from graspd.sync import inputs as i
from graspd.sync.records import SavedState
from graspd.types import EventId, LinkId, Now, SubId
from sim.checkers.watch import Checker
from sim.own import Own

RATIO_MAX: Final = 1.05


class Once(Checker):
    """Counts bytes."""

    name = "once"

    def __init__(self, own: Own) -> None:
        super().__init__(own)
        self._live: set[tuple[LinkId, SubId]] = set()
        self._sizes: dict[EventId, int] = {}
        self.received = 0

    def started(self, now: Now, saved: SavedState) -> None:  # noqa: ARG002
        """A new life: numbers begin again."""
        self._live.clear()

    def stepped(self, now: Now, told: i.Input, effects: Sequence[e.Effect]) -> None:  # noqa: ARG002
        """Weigh every event that answers a request for history."""
        if isinstance(told, i.EventArrived) and (told.link, told.sub) not in self._live:
            self.received += len(told.event.raw)
            self._sizes[told.event.id] = len(told.event.raw)
        for effect in effects:
            if isinstance(effect, e.SendReq):
                key = (effect.link, effect.sub)
                if all(wanted.limit == 0 for wanted in effect.filters):
                    self._live.add(key)
                else:
                    self._live.discard(key)

    @property
    def size(self) -> int:
        """Bytes of the events that came, each counted once."""
        return sum(self._sizes.values())

    @property
    def events(self) -> int:
        """How many events came."""
        return len(self._sizes)

    def inspect(self) -> None:
        """Within a twentieth."""
        if self.received > RATIO_MAX * self.size:
            self.fail(f"{self.received} bytes came for {self.size} bytes of events")
