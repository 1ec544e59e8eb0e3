"""The own relay as the driver sees it: a history to read, a place to put events, a store to ask, a feed that never lags
into silence.
"""

from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final, Protocol

from graspd.negentropy.items import ItemSet
from graspd.nostr.event import Event
from graspd.nostr.filter import Filter
from graspd.nostr.kinds import KindClass, kind_class
from graspd.rules.verdict import Verdict
from graspd.sync.effects import Source
from graspd.sync.inputs import Input, OwnEventsErased, OwnEventsStored, OwnFeedLagged
from graspd.types import EventId

FEED_MAX: Final = 50_000  # changes that wait for the engine; beyond this it reads everything again
FEED_SLICE: Final = 250  # changes told at once, so that a step is short


class OwnRelay(Protocol):
    """What the engine asks of the relay it works for."""

    def history(self) -> AsyncIterator[tuple[Event, ...]]:
        """All announcements and root events it holds, in slices."""

    async def ingest(self, events: Sequence[Event], source: Source) -> tuple[Verdict, ...]:
        """Check and judge events and store them durably; one verdict each, in order."""

    async def items(self, wanted: Filter) -> ItemSet:
        """What it holds for a filter, sealed for reconciliation."""

    async def known(self, ids: Sequence[EventId]) -> frozenset[EventId]:
        """Which of these need not be fetched: held, or gone for good."""


class Feed:
    """What the own relay stores and erases, in order, as a lane of the inbox.

    Nothing waits for the engine here: when too much has gathered, it is dropped and the engine told to read anew.
    """

    def __init__(self, is_ready: Callable[["Feed"], None]) -> None:
        self._is_ready = is_ready
        self._changes: deque[Event | EventId] = deque()
        self._has_lagged = False

    def stored(self, event: Event) -> None:
        """An event was stored; one that is only passed on was not."""
        if kind_class(event.kind) is not KindClass.EPHEMERAL:
            self._add(event)

    def erased(self, ids: Sequence[EventId]) -> None:
        """Events are served no longer."""
        for event_id in ids:
            self._add(event_id)

    def take(self) -> Input | None:
        """The next slice of changes of one sort."""
        if self._has_lagged:
            self._has_lagged = False
            return OwnFeedLagged()
        if not self._changes:
            return None
        stored: list[Event] = []
        erased: list[EventId] = []
        while self._changes and len(stored) + len(erased) < FEED_SLICE:
            change = self._changes[0]
            if isinstance(change, Event):
                if erased:
                    break
                stored.append(change)
            else:
                if stored:
                    break
                erased.append(change)
            self._changes.popleft()
        if self._changes:
            self._is_ready(self)
        return OwnEventsStored(tuple(stored)) if stored else OwnEventsErased(tuple(erased))

    def _add(self, change: Event | EventId) -> None:
        if self._has_lagged:
            return
        self._changes.append(change)
        if len(self._changes) > FEED_MAX:
            self._changes.clear()
            self._has_lagged = True
        if len(self._changes) == 1 or self._has_lagged:
            self._is_ready(self)
