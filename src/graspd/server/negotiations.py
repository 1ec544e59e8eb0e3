"""The relay's side of NIP-77: sessions over sets of events, shared where filters and moment are the same."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from weakref import WeakValueDictionary

from graspd.errors import StoreError
from graspd.negentropy.items import ItemSet
from graspd.negentropy.reconcile import Responder
from graspd.negentropy.wire import NegentropyError
from graspd.nostr import messages as m
from graspd.nostr.filter import Filter
from graspd.nostr.prefix import Prefix
from graspd.relay.limits import RelayLimits
from graspd.server.clock import Clock
from graspd.store.ports import EventStore
from graspd.types import SubId

_INLINE_ITEMS_MAX: Final = 5000  # a round over more than this is done in a thread, so that nobody waits for it


@dataclass(slots=True, weakref_slot=True, eq=False)
class SharedSet:
    """A set that lives as long as a session uses it."""

    items: ItemSet


@dataclass(slots=True)
class _Session:
    shared: SharedSet
    responder: Responder
    deadline: asyncio.TimerHandle
    rounds: int = 0


class SharedSets:
    """Item sets by filter and commit: equal questions at the same moment share one set while anybody uses it."""

    def __init__(self, store: EventStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._sets: WeakValueDictionary[tuple[Filter, int], SharedSet] = WeakValueDictionary()

    async def of(self, wanted: Filter, commit: int, most: int) -> SharedSet:
        """The events that match now; one more than `most` where more match, which is as far as anybody looks."""
        found = self._sets.get((wanted, commit))
        if found is None:
            columns = await self._store.columns(wanted, self._clock.now().wall, most + 1)
            found = SharedSet(await asyncio.to_thread(ItemSet.from_columns, columns.created_at, columns.ids))
            self._sets[wanted, commit] = found
        return found


class Negotiations:
    """The sessions of one connection."""

    def __init__(self, sets: SharedSets, limits: RelayLimits, on_late: Callable[[SubId, bytes], None]) -> None:
        self._sets = sets
        self._limits = limits
        self._on_late = on_late  # told of a session that ended by its deadline, and what to say to the client
        self._sessions: dict[SubId, _Session] = {}

    async def open(self, sub_id: SubId, wanted: Filter, message: bytes, commit: int) -> bytes:
        """The answer to NEG-OPEN."""
        self.close(sub_id)
        most = self._limits.neg_records_max
        try:
            shared = await self._sets.of(wanted, commit, most)
        except StoreError as error:
            return m.neg_err(sub_id, Prefix.ERROR.says(str(error)))
        if len(shared.items) > most:
            return m.neg_err(sub_id, Prefix.BLOCKED.says(f"the filter matches more than {most} events"), most)
        responder = Responder(shared.items, self._limits.neg_frame_bytes_max)
        # A set of a million takes 100 MB, so a client that falls silent must not keep one.
        deadline = asyncio.get_running_loop().call_later(self._limits.neg_session_s_max, self._late, sub_id)
        self._sessions[sub_id] = _Session(shared, responder, deadline)
        return await self.proceed(sub_id, message)

    async def proceed(self, sub_id: SubId, message: bytes) -> bytes:
        """The answer to NEG-MSG."""
        session = self._sessions.get(sub_id)
        if session is None:
            return m.neg_err(sub_id, Prefix.CLOSED.says("no session of this id is open"))
        session.rounds += 1
        if session.rounds > self._limits.neg_rounds_max:
            self.close(sub_id)
            return m.neg_err(sub_id, Prefix.CLOSED.says("the session took too many rounds"))
        try:
            if len(session.shared.items) > _INLINE_ITEMS_MAX:
                reply = await asyncio.to_thread(session.responder.reconcile, message)
            else:
                reply = session.responder.reconcile(message)
        except NegentropyError as error:
            self.close(sub_id)
            return m.neg_err(sub_id, Prefix.INVALID.says(str(error)))
        return m.neg_msg(sub_id, reply)

    def close(self, sub_id: SubId) -> None:
        """Let go of a session."""
        session = self._sessions.pop(sub_id, None)
        if session is not None:
            session.deadline.cancel()

    def close_all(self) -> None:
        """Let go of every session."""
        for sub_id in list(self._sessions):
            self.close(sub_id)

    def is_open(self, sub_id: SubId) -> bool:
        """Whether a session of this id is open."""
        return sub_id in self._sessions

    def _late(self, sub_id: SubId) -> None:
        self.close(sub_id)
        self._on_late(sub_id, m.neg_err(sub_id, Prefix.CLOSED.says("the session took too long")))
