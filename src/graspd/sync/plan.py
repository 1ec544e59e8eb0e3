"""The one decision point: what is wanted of a peer and neither pending nor confirmed, a batch at a time.

Every trigger ends here: a window, an opened link, the daily time, a batch that has ended. Work is proportional to the
batch: repositories with something to plan stand in a queue, and numbers say where to go on. In the papers:
compute_actions.
"""

from typing import NamedTuple

from graspd.sync.coverage import Coverage, Segment
from graspd.sync.interest import Interest


class Planned(NamedTuple):
    """Items for one batch: all of them confirmed once before and checked again, or none."""

    segments: tuple[Segment, ...]
    audited: bool


class Unplanned:
    """The repositories of one peer that may have unplanned items, in the order in which they came."""

    def __init__(self) -> None:
        self._queue: dict[int, None] = {}

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, repo: int) -> None:
        """The repository is new, has grown, or must be planned again."""
        self._queue[repo] = None

    def discard(self, repo: int) -> None:
        """The repository is not wanted of this peer any more."""
        self._queue.pop(repo, None)

    def clear(self) -> None:
        """Nothing is to be planned."""
        self._queue.clear()

    def next_batch(self, coverage: dict[int, Coverage], interest: Interest, items_max: int) -> Planned:
        """Up to so many items that are wanted - pending - confirmed, which count as pending from now on."""
        segments: list[Segment] = []
        room = items_max
        audited = False
        while room and self._queue:
            number = next(iter(self._queue))
            held = coverage[number]
            length = len(interest.repo(number))
            known = held.planned < held.audited
            if not segments:
                audited = known
            elif audited != known:
                break
            hi = min(held.audited if known else length, held.planned + room)
            if hi > held.planned:
                segments.append(Segment(number, held.planned, hi))
                room -= hi - held.planned
                held.planned = hi
            if hi == length:
                del self._queue[number]
        return Planned(tuple(segments), audited)
