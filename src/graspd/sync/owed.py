"""What a link owes: items that were confirmed and whose live filters were shut for a while, each from when on.

While anything is owed, the time up to which live has brought everything stands still. Decides nothing about when.
"""

from collections import deque

from graspd.sync.coverage import Coverage, Segment
from graspd.sync.filters import Cell
from graspd.types import UnixTime


class Owed:
    """Cells, each with its time, and whole repositories with one time for all of them."""

    def __init__(self) -> None:
        self._cells: deque[tuple[list[Cell], UnixTime]] = deque()
        self._segments: deque[Segment] = deque()
        self._since = UnixTime(0)

    def __bool__(self) -> bool:
        return bool(self._cells or self._segments)

    def clear(self) -> None:
        """Nothing is owed."""
        self._cells.clear()
        self._segments.clear()

    def add(self, cells: list[Cell], since: UnixTime) -> None:
        """Owe these from then on; what is owed already is asked for once, from the earlier time on."""
        for at, (others, earlier) in enumerate(self._cells):
            if others == cells:
                self._cells[at] = (cells, min(since, earlier))
                return
        self._cells.append((cells, since))

    def add_confirmed(self, coverage: dict[int, Coverage], since: UnixTime) -> None:
        """Owe everything that is confirmed."""
        self._since = min(self._since, since) if self._segments else since
        self._segments = deque(
            Segment(number, 0, held.confirmed) for number, held in coverage.items() if held.confirmed
        )

    def take_cells(self) -> tuple[list[Cell], UnixTime] | None:
        """The next cells that are owed."""
        return self._cells.popleft() if self._cells else None

    def take_segments(self, coverage: dict[int, Coverage], items_max: int) -> tuple[tuple[Segment, ...], UnixTime]:
        """The next items that are owed, where they are still wanted; none when nothing is."""
        taken: list[Segment] = []
        room = items_max
        while self._segments and room:
            number, lo, hi = self._segments.popleft()
            if number not in coverage:
                continue
            middle = min(hi, lo + room)
            room -= middle - lo
            taken.append(Segment(number, lo, middle))
            if middle < hi:
                self._segments.appendleft(Segment(number, middle, hi))
        return tuple(taken), self._since
