"""Isolated: no peer can delay another's convergence by more than a small bound.

While the others misbehave as they like, an event that somebody publishes to an honest peer we are live with must be
in our store soon after.
"""

from typing import Final

from graspd.nostr.event import Event
from graspd.sync.lifecycle import State
from graspd.types import EventId, RelayUrl
from sim.checkers.watch import Checker
from sim.own import Own

BOUND_S: Final = 60.0  # and the time that the links themselves take


class Isolated(Checker):
    """Waits for events it knows to be on their way."""

    name = "isolated"

    def __init__(self, own: Own) -> None:
        super().__init__(own)
        self._due: dict[EventId, tuple[float, RelayUrl]] = {}

    def expect(self, event: Event, url: RelayUrl, by: float) -> None:
        """An event was published to a peer that we are live with."""
        self._due[event.id] = (by, url)

    def check(self, now: float) -> None:
        """None may be overdue."""
        assert self.own.engine is not None
        parked = [peer.url for peer in self.own.engine.snapshot().peers if peer.state is State.PARKED]
        for event_id, (by, url) in [*self._due.items()]:
            # One that another peer crowded out meanwhile is owed nothing.
            if self.own.machine.store.knows(event_id) or url in parked:
                del self._due[event_id]
            elif now >= by:
                self.fail(f"{event_id[:8]} was published to {url} and has not come in time")
