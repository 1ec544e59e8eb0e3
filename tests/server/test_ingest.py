"""Events taken by the hundred: every one is answered once, in the order they came, and after a failure with a no."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from graspd.nostr.event import Event
from graspd.nostr.kinds import ISSUE
from graspd.nostr.relay_url import Domain
from graspd.rules.policy import Policy
from graspd.rules.verdict import Reason, Verdict
from graspd.server.clock import SystemClock
from graspd.server.ingest import DIRECT, Ingest
from graspd.server.verify import VerifyPool
from graspd.store.sqlite.store import SqliteStore
from tests.conformance.people import Person
from tests.nostr.made import made

HOST = "grasp.example"
MANY = 700  # more than one batch and more than one commit
PATIENCE_S = 60

ALICE = Person()
ANNOUNCED = ALICE.announces(HOST)
ISSUES = [ALICE.opens_issue(ALICE.repo, content=str(number)) for number in range(MANY)]


class Desk:
    """Brings events and keeps what was answered."""

    def __init__(self, ingest: Ingest) -> None:
        self._ingest = ingest
        self.answered: list[tuple[Event, Reason]] = []
        self.new: list[Event] = []
        ingest.on_new = lambda event, _commit: self.new.append(event)

    def brings(self, *events: Event) -> None:
        for event in events:
            self._ingest.submit(event, partial(self._hear, event), DIRECT, frozenset())

    def _hear(self, event: Event, verdict: Verdict) -> None:
        self.answered.append((event, verdict.reason))

    async def waits(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await self._ingest.drained()


@asynccontextmanager
async def opened(store: SqliteStore) -> AsyncIterator[Desk]:
    verify = VerifyPool(1)
    ingest = Ingest(store, verify, Policy(Domain(HOST)), SystemClock())
    running = asyncio.create_task(ingest.run())
    try:
        yield Desk(ingest)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await verify.stop()
        await store.close()


async def test_what_follows_an_announcement_need_not_wait_for_it(tmp_path: Path) -> None:
    async with opened(SqliteStore(tmp_path)) as desk:
        desk.brings(ANNOUNCED, *ISSUES)
        await desk.waits()
        assert desk.answered == [(event, Reason.STORED) for event in (ANNOUNCED, *ISSUES)]
        assert desk.new == [ANNOUNCED, *ISSUES]


async def test_the_same_and_the_forged_among_many(tmp_path: Path) -> None:
    forged = made(kind=ISSUE, tags=[["a", ALICE.repo]])
    async with opened(SqliteStore(tmp_path)) as desk:
        desk.brings(ANNOUNCED, ISSUES[0])
        await desk.waits()
        desk.answered.clear()
        desk.brings(ISSUES[0], forged, ISSUES[1], ISSUES[1])
        await desk.waits()
        assert sorted((event.id, reason.name) for event, reason in desk.answered) == sorted(
            [
                (ISSUES[0].id, "KNOWN"),
                (forged.id, "BAD_SIGNATURE"),
                (ISSUES[1].id, "STORED"),
                (ISSUES[1].id, "KNOWN"),
            ]
        )


async def test_after_a_commit_has_failed_every_event_is_refused(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path)
    async with opened(store) as desk:
        desk.brings(ANNOUNCED)
        await desk.waits()
        store._db.pragma("query_only", True)
        desk.brings(*ISSUES)  # some of them wait behind the commit that fails
        await desk.waits()
        assert sorted(event.id for event, _ in desk.answered[1:]) == sorted(event.id for event in ISSUES)
        assert {reason for _, reason in desk.answered[1:]} == {Reason.STORE_FAILED}
        assert desk.new == [ANNOUNCED]
        desk.brings(ISSUES[0])
        assert desk.answered[-1] == (ISSUES[0], Reason.STORE_FAILED)
