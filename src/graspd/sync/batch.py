"""A batch: filters of one peer that are transferred together, and are done only when all of them are.

Knows what is left to transfer, what has failed, and what the whole proves. Starts nothing itself; `link` does.
"""

from collections import deque
from dataclasses import dataclass
from typing import assert_never

from graspd.nostr.filter import Filter
from graspd.sync.coverage import Segment, together
from graspd.sync.filters import LAYER1, Cell, from_time
from graspd.sync.interest import Interest
from graspd.sync.limits import SyncLimits
from graspd.sync.records import Certificate, Method
from graspd.sync.reports import SyncKind
from graspd.sync.transfer import Bad, Done, FallBack, Outcome
from graspd.types import EventId, Monotonic, UnixTime


@dataclass(frozen=True, slots=True)
class Errand:
    """Why a batch is transferred, and how its events are to be seen."""

    kind: SyncKind
    since: UnixTime | None = None
    gap_until: UnixTime | None = None  # an event created before this should have come earlier


@dataclass(frozen=True, slots=True)
class Task:
    """One filter of a batch; by ids where there is no cell."""

    cell: Cell | None
    tag: str | None
    walks: bool  # reconciling it was refused, or has failed too often
    ids: bytes = b""


class Batch:
    """Pending until every task has ended well."""

    def __init__(
        self,
        number: int,
        errand: Errand,
        cells: list[Cell],
        segments: tuple[Segment, ...] = (),
        *,
        layer1: bool = False,
        ids: tuple[EventId, ...] = (),
    ) -> None:
        self.number = number
        self.errand = errand
        self.segments = segments
        self.layer1 = layer1
        self.ids = ids
        self.items = sum(hi - lo for _, lo, hi in segments)
        self.todo = deque(Task(cell, tag, walks=False) for cell in cells for tag in cell.tags or (None,))
        if ids:
            self.todo.append(Task(None, None, walks=True, ids=bytes.fromhex("".join(ids))))
        self.running: dict[int, Task] = {}  # by number of the transfer
        self.retry_at: Monotonic | None = None
        self.why = ""
        self._failed: list[Task] = []
        self._tries = 0
        self._spelled: tuple[Cell, tuple[str, ...]] | None = None
        self._certificate: Certificate | None = None

    def filter(self, task: Task, interest: Interest) -> Filter | None:
        """The filter of a task; None where nothing of it is left. The filters of one cell share their values."""
        if task.cell is None:
            return None
        if task.tag is None:
            return from_time(LAYER1, self.errand.since)
        if self._spelled is None or self._spelled[0] is not task.cell:
            self._spelled = (task.cell, task.cell.values(interest))
        values = self._spelled[1]
        return from_time(Filter(tags=((task.tag, values),)), self.errand.since) if values else None

    @property
    def waits(self) -> bool:
        """Whether it has ended badly and waits to be tried again."""
        return self.retry_at is not None

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to start or to come."""
        return not self.todo and not self.running

    @property
    def ended_well(self) -> bool:
        """Whether everything it stands for is confirmed."""
        return self.is_over and not self._failed

    def ended(self, transfer: int, outcome: Outcome, now: UnixTime) -> None:
        """One of its transfers has ended."""
        task = self.running.pop(transfer)
        match outcome:
            case Done(method, count, fingerprint, unserved, holes):
                proof = Certificate(method, now, count, fingerprint, unserved, holes)
                self._certificate = proof if self._certificate is None else together(self._certificate, proof)
            case Bad(why):
                self.why = why
                self._failed.append(task)
            case FallBack():
                self.todo.appendleft(Task(task.cell, task.tag, walks=True))
            case _:
                assert_never(outcome)

    def fail(self, now: Monotonic, limits: SyncLimits) -> None:
        """It has ended badly: what failed is tried again after a while, by walking once reconciling failed twice."""
        self._tries += 1
        delay = min(limits.retry_s_first * 2.0 ** min(self._tries - 1, 32), limits.retry_s_max)
        self.retry_at = Monotonic(now + delay)
        walks = self._tries >= limits.reconcile_tries
        self.todo.extend(Task(task.cell, task.tag, task.walks or walks, task.ids) for task in self._failed)
        self._failed.clear()

    def certificate(self, now: UnixTime) -> Certificate:
        """What it proves as a whole. An empty batch is proven by nothing having been there to ask."""
        return self._certificate or Certificate(Method.WALKED, now, 0, "")
