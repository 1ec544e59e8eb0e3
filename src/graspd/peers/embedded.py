"""The own relay in this very process: its store asked directly, its events taken by the one way in."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import Final, Protocol

from graspd.negentropy.items import ItemSet
from graspd.nostr.event import Event, load_event
from graspd.nostr.filter import Filter
from graspd.nostr.kinds import ANNOUNCEMENT, ROOT_KINDS
from graspd.rules.verdict import Verdict
from graspd.store.ports import EventStore, SyncStore
from graspd.sync.effects import Source
from graspd.types import EventId, PubKey, UnixTime

_SLICE: Final = 250
_HISTORY: Final = Filter(kinds=(ANNOUNCEMENT, *ROOT_KINDS))


class Intake(Protocol):
    """The way in, the same for clients and for peers."""

    def submit(
        self, event: Event, answer: Callable[[Verdict], None], source: str, authenticated: frozenset[PubKey]
    ) -> None:
        """Take an event; `answer` is called once, after its commit."""

    async def room(self) -> None:
        """Wait until there is room for more."""


class Store(EventStore, SyncStore, Protocol):
    """A store that has both sides."""


class EmbeddedRelay:
    """What `own_relay.OwnRelay` asks for."""

    def __init__(self, store: Store, intake: Intake, wall: Callable[[], UnixTime]) -> None:
        self._store = store
        self._intake = intake
        self._wall = wall

    async def history(self) -> AsyncIterator[tuple[Event, ...]]:
        """All announcements and root events, in slices."""
        async for ids in self.ids(_HISTORY, _SLICE):
            yield await self.events(ids)

    async def ids(self, wanted: Filter, size: int) -> AsyncIterator[tuple[EventId, ...]]:
        """Every id the store holds for a filter, in slices of a size: no limit on results can hide one."""
        columns = await self._store.columns(wanted, self._wall())
        for start in range(0, len(columns.ids), size):
            yield tuple(EventId(bytes(one).hex()) for one in columns.ids[start : start + size])

    async def events(self, ids: tuple[EventId, ...]) -> tuple[Event, ...]:
        """Those of these events that the store holds."""
        page = await self._store.query([Filter(ids=ids)], len(ids), self._wall())
        return tuple(map(load_event, page.raws))

    async def ingest(self, events: Sequence[Event], source: Source) -> tuple[Verdict, ...]:
        """Submit events like any other; wait for the commit of the last."""
        await self._intake.room()
        verdicts: dict[int, Verdict] = {}
        judged: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def answered(at: int, verdict: Verdict) -> None:
            verdicts[at] = verdict
            if len(verdicts) == len(events) and not judged.done():
                judged.set_result(None)

        for at, event in enumerate(events):
            self._intake.submit(event, partial(answered, at), f"{source.way.value} {source.peer}", frozenset())
        if events:
            await judged
        return tuple(verdicts[at] for at in range(len(events)))

    async def items(self, wanted: Filter) -> ItemSet:
        """What the store holds for a filter; sorted and summed away from the loop."""
        columns = await self._store.columns(wanted, self._wall())
        return await asyncio.to_thread(ItemSet.from_columns, columns.created_at, columns.ids)

    async def known(self, ids: Sequence[EventId]) -> frozenset[EventId]:
        """Held, or gone for good. What somebody merely asked to delete may be another author's and is not known."""
        return frozenset(await self._store.known(ids) | await self._store.gone(ids))
