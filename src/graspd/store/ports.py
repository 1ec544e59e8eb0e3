"""What the rest of graspd asks of a store. A second store is another package that fits these."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from graspd.nostr.filter import Filter
from graspd.rules.changes import Change
from graspd.rules.facts import Facts, Inquiry
from graspd.sync.effects import SaveState
from graspd.sync.records import SavedState
from graspd.types import EventId, UnixTime

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page:
    """The answer to a query: canonical JSON, newest first, ties by id. `complete`: no match was left out."""

    raws: list[bytes]
    complete: bool


@dataclass(frozen=True, slots=True)
class Columns:
    """What reconciliation needs of the matching events, sorted by created_at, then id."""

    created_at: NDArray[np.uint64]
    ids: NDArray[np.uint8]  # of shape (n, 32)


class Transaction(Protocol):
    """One commit in the making. Only the store's writer runs it."""

    def facts(self, inquiry: Inquiry) -> Facts:
        """Answer the questions of a segment."""

    def apply(self, changes: Sequence[Change], source: str) -> None:
        """Carry out changes in order; the events put come from this source."""


class EventStore(Protocol):
    """Durable events, with one writer and many readers."""

    # Told of events that are served no longer, whatever the cause: after their commit, in the writer's thread.
    on_erased: Callable[[Sequence[EventId]], None]

    async def commit(self, work: Callable[[Transaction], T]) -> T:
        """Run the work in one transaction; when this returns, its changes are on disk."""

    async def query(self, filters: Sequence[Filter], limit: int, now: UnixTime) -> Page:
        """The events that match any of the filters, at most `limit` for each filter."""

    async def count(self, filters: Sequence[Filter], now: UnixTime) -> int:
        """How many events match any of the filters."""

    async def known(self, ids: Collection[EventId]) -> set[EventId]:
        """Which of these events are here."""

    async def columns(self, wanted: Filter, now: UnixTime, most: int | None = None) -> Columns:
        """Every event that matches, as columns; where more than `most` do, any `most` of them."""

    async def purge_expired(self, now: UnixTime) -> int:
        """Erase what has expired; how many that were."""

    def export(self) -> Iterator[bytes]:
        """Every event, oldest first."""

    async def close(self) -> None:
        """Finish the commit under way and let go of the files."""


class SyncStore(Protocol):
    """What proactive sync asks of the store beside events."""

    async def gone(self, ids: Collection[EventId]) -> set[EventId]:
        """Which of these events were here, or came too late to be, and will not be taken again."""

    async def load_sync(self) -> SavedState:
        """What was kept of peers."""

    async def save_sync(self, changes: SaveState) -> None:
        """Make changes of that durable, in one transaction."""
