"""Signature checks in worker processes: 46 us each is the floor, and it must not be paid under the server's lock.

Processes may die, by the hand of whoever is short of memory. Their work goes to new ones, for as long as it takes: an
event whose signature was not checked is neither taken nor refused.
"""

import asyncio
import logging
import sys
from collections import deque
from typing import Final, Self

from graspd.nostr.event import Event
from graspd.nostr.signature import RECORD_SIZE, record

_PAUSE_S_FIRST: Final = 0.05  # after a second failure in a row; then twice as long each time
_PAUSE_S_MAX: Final = 5.0

log = logging.getLogger("graspd.verify")


class _WorkerDied(Exception):
    pass


class _Life:
    """One process from its start to its end; batches are answered in the order they were sent."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        # Of this process alone: answers of one that died must never be taken for those of the next.
        self._waiting: deque[tuple[int, asyncio.Future[bytes]]] = deque()
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def begin(cls) -> Self:
        pipe = asyncio.subprocess.PIPE
        command = (sys.executable, "-m", "graspd.server.verify_worker")
        return cls(await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe))

    @property
    def is_over(self) -> bool:
        return self._reading.done() or self._process.returncode is not None

    async def verify(self, records: bytes) -> bytes:
        if self.is_over:
            raise _WorkerDied
        assert self._process.stdin is not None
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting.append((len(records) // RECORD_SIZE, answer))
        self._process.stdin.write(len(records).to_bytes(4, "big") + records)
        return await answer

    async def end(self) -> None:
        if self._process.returncode is None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            await self._process.wait()
        await self._reading

    async def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            while True:
                first = await self._process.stdout.readexactly(1)
                count, answer = self._waiting[0]
                rest = await self._process.stdout.readexactly(count - 1)
                self._waiting.popleft()
                if not answer.done():
                    answer.set_result(first + rest)
        except (asyncio.IncompleteReadError, ConnectionError):
            await self._process.wait()
            while self._waiting:
                _, answer = self._waiting.popleft()
                if not answer.done():
                    answer.set_exception(_WorkerDied())


class _Worker:
    """One process at a time, and a new one when it has died."""

    def __init__(self) -> None:
        self._life: _Life | None = None
        self._beginning = asyncio.Lock()  # else two batches at once would begin two
        self.load = 0

    async def verify(self, records: bytes) -> bytes:
        count = len(records) // RECORD_SIZE
        self.load += count
        try:
            return await (await self._alive()).verify(records)
        finally:
            self.load -= count

    async def start(self) -> None:
        await self._alive()

    async def stop(self) -> None:
        if self._life is not None:
            await self._life.end()

    async def _alive(self) -> _Life:
        async with self._beginning:
            if self._life is None or self._life.is_over:
                self._life = await _Life.begin()
            return self._life


class VerifyPool:
    """The workers, the least loaded first."""

    def __init__(self, workers: int) -> None:
        self._workers = [_Worker() for _ in range(workers)]

    async def start(self) -> None:
        """Have every process ready before the first client."""
        for worker in self._workers:
            await worker.start()

    async def verify(self, events: list[Event]) -> list[bool]:
        """Whether each event's signature is its author's."""
        if not events:
            return []
        records = b"".join(record(event.id, event.pubkey, event.sig) for event in events)
        failures = 0
        while True:
            try:
                return list(map(bool, await self._least_loaded().verify(records)))
            except (_WorkerDied, OSError) as error:
                failures += 1
                why = "died" if isinstance(error, _WorkerDied) else f"cannot be started: {error}"
                log.warning("a process that checks signatures %s; %d events go to another", why, len(events))
            if failures > 1:
                await asyncio.sleep(min(_PAUSE_S_FIRST * 2 ** (failures - 2), _PAUSE_S_MAX))

    async def stop(self) -> None:
        """End the processes."""
        for worker in self._workers:
            await worker.stop()

    def _least_loaded(self) -> _Worker:
        return min(self._workers, key=lambda worker: worker.load)
