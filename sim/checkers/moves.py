"""Every move of a peer is one of the table's, and each follows from the one before. Counts which were seen."""

from collections import Counter
from collections.abc import Sequence

from graspd.sync import effects as e
from graspd.sync import inputs as i
from graspd.sync.lifecycle import TRANSITIONS, State, Trigger
from graspd.sync.records import SavedState
from graspd.sync.reports import PeerMoved
from graspd.types import Now, RelayUrl
from sim.checkers.watch import Checker
from sim.own import Own


class Moves(Checker):
    """Follows each peer through its life."""

    name = "moves"

    def __init__(self, own: Own) -> None:
        super().__init__(own)
        self.seen: Counter[tuple[State, Trigger]] = Counter()
        self._states: dict[RelayUrl, State] = {}

    def started(self, now: Now, saved: SavedState) -> None:  # noqa: ARG002
        """A new life."""
        self._states.clear()

    def stepped(self, now: Now, told: i.Input, effects: Sequence[e.Effect]) -> None:  # noqa: ARG002
        """Follow the reports."""
        for effect in effects:
            if isinstance(effect, e.Report) and isinstance(effect.finding, PeerMoved):
                self._follow(effect.finding)

    def _follow(self, moved: PeerMoved) -> None:
        step = (moved.was, moved.trigger)
        if TRANSITIONS.get(step) is not moved.became:
            self.fail(f"{moved.peer} was {moved.was.value}, {moved.trigger.value}, and became {moved.became.value}")
        if self._states.get(moved.peer, moved.was) is not moved.was:
            self.fail(f"{moved.peer} was {self._states[moved.peer].value} and is said to have been {moved.was.value}")
        self.seen[step] += 1
        if moved.became is State.GONE:
            self._states.pop(moved.peer, None)
        else:
            self._states[moved.peer] = moved.became
