"""The own relay elsewhere: any relay that speaks NIP-01, over a WebSocket.

The engine asks much of its own relay (what it holds for a filter, which ids are gone, what the rules say of an event),
and most relays answer none of that. So a store of ours, the memory, stands in for it: the relay is synced into the
memory like a peer that is wanted for everything, and what the memory takes from others is published to the relay.

This module is the second half. It offers by id before it publishes, so that nothing is sent twice, and compares
everything at the start and once a day, so that nothing has to be remembered. What the relay refuses is counted by
reason. Whether an event belongs there was decided before, by the rules, for the memory.
"""

import asyncio
import logging
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from itertools import islice
from typing import Final

import aiohttp

from graspd.errors import StoreError
from graspd.negentropy.items import ItemSet
from graspd.nostr.event import Event
from graspd.nostr.filter import Filter
from graspd.nostr.prefix import Prefix
from graspd.peers.conversation import Conversation, converse
from graspd.peers.dialer import Dialer, DialRefused
from graspd.peers.embedded import EmbeddedRelay
from graspd.peers.identity import Identity
from graspd.peers.link import fault_of
from graspd.peers.log import Repeats
from graspd.rules.verdict import Verdict
from graspd.sync import SyncLimits
from graspd.sync.capability import asks_to_slow_down
from graspd.sync.effects import Source
from graspd.types import EventId, Now, RelayUrl

BATCH: Final = 50  # events offered at once; relays cap look-ups by id at about 150
WAITING_MAX: Final = 100_000  # ids; beyond this everything is compared again
TRIES_MAX: Final = 3  # of an event that the relay answers with an error, or not at all
COMPARE_S: Final = 24 * 3600.0

log = logging.getLogger("graspd.sidecar")


class RemoteRelay:
    """What `own_relay.OwnRelay` asks for, answered by the memory; and the task that publishes."""

    def __init__(
        self,
        url: RelayUrl,
        memory: EmbeddedRelay,
        dialer: Dialer,
        identity: Identity,
        now: Callable[[], Now],
        limits: SyncLimits,
    ) -> None:
        self._url = url
        self._memory = memory
        self._dialer = dialer
        self._identity = identity
        self._now = now
        self._limits = limits
        self._from_relay: Counter[EventId] = Counter()  # being taken from the relay itself
        self._waiting: OrderedDict[EventId, None] = OrderedDict()
        self._has_work = asyncio.Event()
        self._must_compare = True
        self._tries: Counter[EventId] = Counter()
        self._failures = 0
        self._repeats = Repeats(lambda: now().mono)
        self.published = 0
        self.refused: Counter[str] = Counter()  # by reason

    def history(self) -> AsyncIterator[tuple[Event, ...]]:
        """What the memory has of it."""
        return self._memory.history()

    async def ingest(self, events: Sequence[Event], source: Source) -> tuple[Verdict, ...]:
        """Let the memory judge; what it stores of others is published."""
        if source.peer != self._url:
            return await self._memory.ingest(events, source)
        ids = [event.id for event in events]
        self._from_relay.update(ids)
        try:
            return await self._memory.ingest(events, source)
        finally:
            self._from_relay.subtract(ids)
            for event_id in ids:
                if not self._from_relay[event_id]:
                    del self._from_relay[event_id]

    async def items(self, wanted: Filter) -> ItemSet:
        """What the memory has for a filter."""
        return await self._memory.items(wanted)

    async def known(self, ids: Sequence[EventId]) -> frozenset[EventId]:
        """What the memory has, or knows to be gone."""
        return await self._memory.known(ids)

    def stored(self, event: Event) -> None:
        """The memory has stored an event: the relay is to have it, unless that is where it came from."""
        if event.id not in self._from_relay:
            self._add([event.id])

    async def run(self) -> None:
        """Publish until cancelled."""
        while True:
            await self._work_to_do()
            try:
                async with converse(self._url, self._dialer, self._identity, self._now) as conversation:
                    await self._publish_all(conversation)
            except (DialRefused, aiohttp.ClientError, OSError, ValueError, StoreError) as error:
                await self._back_off(error)

    async def _back_off(self, error: Exception) -> None:
        fault, text = fault_of(error)
        wait_s = min(self._limits.backoff_s_first * 2 ** min(self._failures, 20), self._limits.backoff_s_max)
        self._failures += 1
        unsaid = self._repeats.unsaid(("lost", fault.value))
        if unsaid is not None:
            log.warning("relay_lost peer=%s fault=%r text=%r unsaid=%d", self._url, fault.value, text, unsaid)
        await asyncio.sleep(wait_s)

    async def _work_to_do(self) -> None:
        while not self._waiting and not self._must_compare:
            self._has_work.clear()
            try:
                await asyncio.wait_for(self._has_work.wait(), COMPARE_S)
            except TimeoutError:
                self._must_compare = True

    async def _publish_all(self, conversation: Conversation) -> None:
        """Publish while the conversation lasts."""
        while True:
            if self._must_compare:
                async for ids in self._memory.ids(Filter(), BATCH):
                    await self._publish_patiently(conversation, ids)
                self._must_compare = False
            while self._waiting:
                await self._publish_patiently(conversation, tuple(islice(self._waiting, BATCH)))
            await conversation.until(self._work_to_do())

    async def _publish_patiently(self, conversation: Conversation, ids: tuple[EventId, ...]) -> None:
        """Publish a batch; a relay that asks for patience gets it, more each time."""
        pause_s = self._limits.rate_limit_s
        while not await self._publish(conversation, ids):
            log.info("relay_rate_limited peer=%s for_s=%g", self._url, pause_s)
            await conversation.until(asyncio.sleep(pause_s))
            pause_s = min(2 * pause_s, self._limits.rate_limit_s_max)
        self._failures = 0

    async def _publish(self, conversation: Conversation, ids: tuple[EventId, ...]) -> bool:
        """Offer a batch: what the relay has is passed over, the rest is sent and its answers awaited.

        False where the relay asks us to slow down.
        """
        present = await conversation.held(ids)
        self._settle(present)
        lacking = tuple(event_id for event_id in ids if event_id not in present)
        events = await self._memory.events(lacking) if lacking else ()
        self._settle(set(lacking) - {event.id for event in events})  # erased meanwhile
        answers = await conversation.publish(events)
        for event in events:
            answer = answers.get(event.id)
            if answer is not None and not answer.accepted and asks_to_slow_down(answer.text):
                return False
            if answer is not None and (answer.accepted or answer.prefix is Prefix.DUPLICATE):
                self.published += 1
                self._settle([event.id])
            elif answer is not None and answer.prefix is not Prefix.ERROR:
                self._refuse(event.id, answer.prefix.value if answer.prefix else "no reason", answer.text)
            else:
                self._try_again(event.id, "no answer" if answer is None else answer.text)
        return True

    def _add(self, ids: Iterable[EventId]) -> None:
        for event_id in ids:
            self._waiting.setdefault(event_id)
        if len(self._waiting) > WAITING_MAX:
            self._waiting.clear()
            self._must_compare = True
        self._has_work.set()

    def _settle(self, ids: Iterable[EventId]) -> None:
        for event_id in ids:
            self._waiting.pop(event_id, None)
            self._tries.pop(event_id, None)

    def _refuse(self, event_id: EventId, reason: str, text: str) -> None:
        if self._repeats.unsaid(("refused", reason)) is not None:
            log.warning("relay_refused peer=%s reason=%r text=%r event_id=%s", self._url, reason, text, event_id)
        self.refused[reason] += 1
        self._settle([event_id])

    def _try_again(self, event_id: EventId, text: str) -> None:
        self._tries[event_id] += 1
        if self._tries[event_id] >= TRIES_MAX:
            self._refuse(event_id, Prefix.ERROR.value, text)
        else:
            self._waiting.setdefault(event_id)
            self._waiting.move_to_end(event_id)
