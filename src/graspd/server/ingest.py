"""The one way in for every event: known ids, signatures, facts, rules, one commit; then the answer; then the fan-out.

Events are taken in batches. While one batch is being committed the next is being verified, and batches are committed
in the order they were taken, so a client that sends an announcement and then an issue about it need not wait between.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Final

from graspd.errors import StoreError
from graspd.nostr.event import Event
from graspd.rules.admission import judge_batch, learn, screen
from graspd.rules.changes import Change, Put
from graspd.rules.facts import segments
from graspd.rules.policy import Policy
from graspd.rules.verdict import BAD_SIGNATURE, KNOWN, Reason, Verdict
from graspd.server.clock import Clock
from graspd.server.verify import VerifyPool
from graspd.store.ports import EventStore, Transaction
from graspd.types import PubKey

DIRECT: Final = "direct"  # the source of what a client published
_BATCH_MAX: Final = 300  # checked together, while the next are being read
_BATCHES_AHEAD: Final = 16  # being verified while others are committed
_COMMIT_MAX: Final = 2000  # events; a larger commit costs less an event, and everyone in it waits for its end
_BACKLOG_MAX: Final = 8000  # beyond this, clients are read no further until it shrinks
_FAILED: Final = Verdict(Reason.STORE_FAILED, "the store failed; this relay takes no events until it is restarted")

log = logging.getLogger("graspd.ingest")


@dataclass(slots=True)
class _Candidate:
    event: Event
    source: str
    answer: Callable[[Verdict], None]


class Ingest:
    """Takes events, answers each, and tells of those that are new."""

    def __init__(self, store: EventStore, verify: VerifyPool, policy: Policy, clock: Clock) -> None:
        self._store = store
        self._verify = verify
        self._policy = policy
        self._clock = clock
        self._pending: list[_Candidate] = []
        self._arrived = asyncio.Event()
        self._roomy = asyncio.Event()
        self._roomy.set()
        self._backlog = 0
        self._slots: asyncio.Queue[asyncio.Task[list[_Candidate]]] = asyncio.Queue(_BATCHES_AHEAD)
        self._checked: deque[list[_Candidate]] = deque()  # in order; the writer takes them
        self._commit_waits = False
        self._failed = False
        self.commits_started = 0
        self.commits_finished = 0
        self.on_new: Callable[[Event, int], None] = lambda _event, _commit: None

    def submit(
        self, event: Event, answer: Callable[[Verdict], None], source: str, authenticated: frozenset[PubKey]
    ) -> None:
        """Take an event; `answer` is called once, after its commit."""
        verdict = _FAILED if self._failed else screen(event, self._policy, self._clock.now().wall, authenticated)
        if verdict is not None:
            answer(verdict)
            return
        self._pending.append(_Candidate(event, source, answer))
        self._arrived.set()
        self._backlog += 1
        if self._backlog >= _BACKLOG_MAX:
            self._roomy.clear()

    @property
    def is_full(self) -> bool:
        """Whether whoever brings events must wait for room."""
        return not self._roomy.is_set()

    async def room(self) -> None:
        """Wait until there is room for more."""
        await self._roomy.wait()

    async def drained(self) -> None:
        """Wait until everything that was taken is answered."""
        while self._backlog:
            self._roomy.clear()
            await self._roomy.wait()

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._collect(group))
            group.create_task(self._commit_in_order(group))

    async def _collect(self, group: asyncio.TaskGroup) -> None:
        while True:
            await self._arrived.wait()
            batch, self._pending = self._pending[:_BATCH_MAX], self._pending[_BATCH_MAX:]
            if not self._pending:
                self._arrived.clear()
            await self._slots.put(group.create_task(self._verified(batch)))

    async def _verified(self, batch: list[_Candidate]) -> list[_Candidate]:
        """Those of good signature and unknown id; the others are answered. A known id costs no signature check."""
        try:
            known = await self._store.known([candidate.event.id for candidate in batch])
        except StoreError as error:
            self._fail(error, batch)
            return []
        if known:
            for candidate in batch:
                if candidate.event.id in known:
                    self._answer(candidate, KNOWN)
            batch = [candidate for candidate in batch if candidate.event.id not in known]
        genuine = await self._verify.verify([candidate.event for candidate in batch])
        if all(genuine):
            return batch
        for candidate, good in zip(batch, genuine, strict=True):
            if not good:
                self._answer(candidate, BAD_SIGNATURE)
        return [candidate for candidate, good in zip(batch, genuine, strict=True) if good]

    async def _commit_in_order(self, group: asyncio.TaskGroup) -> None:
        while True:
            batch = await (await self._slots.get())
            if batch:
                self._checked.append(batch)
                self._have_committed(group)

    def _have_committed(self, group: asyncio.TaskGroup) -> None:
        """Have a commit wait behind the one under way, so that the writer never waits for us to come round."""
        if self._checked and not self._commit_waits:
            self._commit_waits = True
            group.create_task(self._commit(group))

    async def _commit(self, group: asyncio.TaskGroup) -> None:
        self.commits_started += 1
        number = self.commits_started
        batch: list[_Candidate] = []
        try:
            verdicts, new = await self._store.commit(lambda transaction: self._decide(transaction, batch))
        except StoreError as error:
            self._commit_waits = False
            self._fail(error, [*batch, *chain.from_iterable(self._checked)])
            self._checked.clear()
            return
        self._have_committed(group)
        self.commits_finished = number
        for candidate, verdict in zip(batch, verdicts, strict=True):
            self._answer(candidate, verdict)
        for event in new:
            self.on_new(event, number)

    def _decide(self, transaction: Transaction, batch: list[_Candidate]) -> tuple[list[Verdict], list[Event]]:
        """In the writer's thread: judge what has been checked by now on facts that no one else can change meanwhile."""
        self._commit_waits = False  # before anything is taken: what is checked from now on has another commit
        while self._checked and len(batch) < _COMMIT_MAX:
            batch += self._checked.popleft()
        verdicts: list[Verdict] = []
        new: list[Event] = []
        now = self._clock.now().wall
        for segment in segments([candidate.event for candidate in batch]):
            facts = learn(segment, transaction.facts, self._policy)
            changes: list[Change] = []
            source = batch[len(verdicts)].source
            for event, (verdict, made) in judge_batch(segment, facts, self._policy, now):
                if batch[len(verdicts)].source != source:
                    transaction.apply(changes, source)
                    changes, source = [], batch[len(verdicts)].source
                verdicts.append(verdict)
                changes += made
                new += [change.event for change in made if isinstance(change, Put)]
                if verdict.reason is Reason.RELAYED:
                    new.append(event)
            transaction.apply(changes, source)
        return verdicts, new

    def _fail(self, error: StoreError, batch: list[_Candidate]) -> None:
        self._failed = True
        log.critical("%s; no more events are taken until graspd is restarted", error)
        for candidate in batch:
            self._answer(candidate, _FAILED)

    def _answer(self, candidate: _Candidate, verdict: Verdict) -> None:
        self._backlog -= 1
        if self._backlog <= _BACKLOG_MAX // 2:
            self._roomy.set()
        candidate.answer(verdict)
