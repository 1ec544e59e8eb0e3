"""What cannot be held live is looked at in turn: one pass over it every ten minutes, a batch at a time."""

from graspd.sync.live import Shed
from graspd.types import Monotonic, Now, UnixTime


class Rota:
    """Of one link."""

    def __init__(self, rota_s: float, now: Now) -> None:
        self._rota_s = rota_s
        self._due_at = Monotonic(now.mono + rota_s)
        self._at: int | None = None  # how far the pass has come; None between passes
        self._began = now.mono
        self.since: UnixTime = now.wall  # when the pass before began

    def due_at(self, shed: Shed) -> Monotonic | None:
        """When the next pass begins, if there is something to look at."""
        return self._due_at if shed and self._at is None else None

    def next(self, shed: Shed, items_max: int, now: Now) -> Shed | None:
        """The next items to look at; None when there is nothing to do now."""
        if self._at is not None and self._at >= len(shed.repos) + len(shed.roots):
            self._at = None
            self._due_at = Monotonic(max(now.mono, self._began + self._rota_s))
        if self._at is None:
            if now.mono < self._due_at or not shed:
                return None
            self._at, self.since, self._began = 0, now.wall_at(self._began), now.mono
        begin, end = self._at, self._at + items_max
        in_roots = len(shed.repos)
        self._at = end
        return Shed(
            begin == 0 and shed.layer1,
            shed.repos[begin:end],
            shed.roots[max(0, begin - in_roots) : max(0, end - in_roots)],
        )
