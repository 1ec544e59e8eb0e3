"""What every checker is: a watcher of our side that does nothing until it is told to."""

from collections.abc import Sequence

from graspd.nostr.event import Event
from graspd.rules.verdict import Verdict
from graspd.sync import effects as e
from graspd.sync import inputs as i
from graspd.sync.records import SavedState
from graspd.types import LinkId, Now, RelayUrl
from sim.own import Own
from sim.violation import Violation


class Checker:
    """The base watches and finds nothing."""

    name = ""

    def __init__(self, own: Own) -> None:
        self.own = own

    def started(self, now: Now, saved: SavedState) -> None:
        """The engine begins, with this state."""

    def stepped(self, now: Now, told: i.Input, effects: Sequence[e.Effect]) -> None:
        """The engine was told something and answered."""

    def answered(self, event: Event, verdict: Verdict) -> None:
        """A client was told what became of its event."""

    def inspect(self) -> None:
        """A while has passed."""

    def fail(self, what: str) -> None:
        """It does not hold."""
        raise Violation(self.name, what)


class Links:
    """Which peer each link leads to, told from what the engine asks for."""

    def __init__(self) -> None:
        self._peers: dict[LinkId, RelayUrl] = {}

    def note(self, effects: Sequence[e.Effect]) -> None:
        """Take in what a step asks for."""
        for effect in effects:
            if isinstance(effect, e.OpenLink):
                self._peers[effect.link] = effect.peer

    def __getitem__(self, link: LinkId) -> RelayUrl:
        return self._peers[link]

    def clear(self) -> None:
        """A new life: numbers begin again."""
        self._peers.clear()
