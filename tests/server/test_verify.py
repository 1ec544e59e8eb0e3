"""Signatures are told apart rightly, whatever happens to the processes that check them."""

import asyncio
import os
import random
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from graspd.nostr.event import Event
from graspd.server.verify import VerifyPool
from tests.conformance.people import Person
from tests.nostr.made import made

PATIENCE_S = 60


@pytest.fixture
async def pool() -> AsyncIterator[VerifyPool]:
    opened = VerifyPool(2)
    await opened.start()
    yield opened
    await opened.stop()


@pytest.fixture(scope="module")
def batches() -> list[tuple[list[Event], list[bool]]]:
    """Batches of different sizes, each with its own pattern of right and wrong."""
    rng, person = random.Random(7), Person()
    right = [person.signs(1, content=str(number)) for number in range(60)]
    wrong = [made(content=str(number)) for number in range(60)]
    patterns = [[rng.random() < 0.5 for _ in range(rng.randint(1, 40))] for _ in range(40)]
    return [([rng.choice(right if good else wrong) for good in pattern], pattern) for pattern in patterns]


def workers() -> list[int]:
    """The processes that work for this one; one that has not yet become what it will be is not among them."""
    me = os.getpid()
    found = []
    for task in Path(f"/proc/{me}/task").iterdir():
        for child in (task / "children").read_text().split():
            if b"verify_worker" in Path(f"/proc/{child}/cmdline").read_bytes():
                found.append(int(child))
    return found


async def test_right_and_wrong_are_told_apart(pool: VerifyPool, batches: list[tuple[list[Event], list[bool]]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        told = await asyncio.gather(*(pool.verify(events) for events, _ in batches))

    assert told == [pattern for _, pattern in batches]
    assert await pool.verify([]) == []


async def test_answers_are_right_while_workers_are_killed(
    pool: VerifyPool, batches: list[tuple[list[Event], list[bool]]]
) -> None:
    killed = 0
    async with asyncio.timeout(PATIENCE_S):
        for _ in range(6):
            asked = [asyncio.create_task(pool.verify(events)) for events, _ in batches]
            await asyncio.sleep(0)
            for worker in workers():
                os.kill(worker, signal.SIGKILL)
                killed += 1
            assert await asyncio.gather(*asked) == [pattern for _, pattern in batches]

    assert killed > 0


async def test_it_goes_on_however_often_they_die(pool: VerifyPool, caplog: pytest.LogCaptureFixture) -> None:
    event = Person().signs(1)
    async with asyncio.timeout(PATIENCE_S):
        asked = asyncio.create_task(pool.verify([event] * 400))
        killed = 0
        while not asked.done() and killed < 5:
            for worker in workers():
                os.kill(worker, signal.SIGKILL)
                killed += 1
            await asyncio.sleep(0.001)
        assert await asked == [True] * 400

    assert killed >= 5
    assert "died" in caplog.text
