"""The reliability of one peer, counted while it goes on. In the records it is a ReliabilityRecord."""

from dataclasses import replace

from graspd.sync.records import ReliabilityRecord
from graspd.types import Monotonic


class Tally:
    """Counts; seconds up and down are kept whole, and what is left of one is carried on."""

    def __init__(self, record: ReliabilityRecord, now: Monotonic) -> None:
        self._record = record
        self._since = now
        self._up = False

    def record(self, now: Monotonic) -> ReliabilityRecord:
        """Everything up to now."""
        self._account(now)
        return self._record

    def went(self, *, up: bool, now: Monotonic) -> None:
        """The peer became reachable, or ceased to be."""
        self._account(now)
        self._up = up

    def _account(self, now: Monotonic) -> None:
        whole = int(now - self._since)
        self._since = Monotonic(self._since + whole)
        if self._up:
            self._record = replace(self._record, up_s=self._record.up_s + whole)
        else:
            self._record = replace(self._record, down_s=self._record.down_s + whole)

    def attempted(self) -> None:
        """It was dialled."""
        self._record = replace(self._record, attempts=self._record.attempts + 1)

    def failed(self) -> None:
        """A dial or a link of it failed."""
        self._record = replace(self._record, failures=self._record.failures + 1)

    def received(self) -> None:
        """It brought an event that was new to us."""
        self._record = replace(self._record, events_received=self._record.events_received + 1)

    def found_gap(self, *, sustained: bool) -> None:
        """It brought an event late."""
        if sustained:
            self._record = replace(self._record, sustained_gaps=self._record.sustained_gaps + 1)
        else:
            self._record = replace(self._record, gaps=self._record.gaps + 1)

    def begin_comparison(self) -> None:
        """Everything is about to be compared: what was known of its coverage is old."""
        self._record = replace(self._record, events_compared=0, events_lacking=0)

    def compared(self, ours: int, lacking: int) -> None:
        """A reconciliation showed how many of our events it lacks."""
        record = self._record
        self._record = replace(
            record,
            events_compared=record.events_compared + ours,
            events_lacking=record.events_lacking + lacking,
        )
