"""Signature checks in worker processes: 46 us each is the floor, and it must not be paid under the server's lock."""

import asyncio
import sys
from collections import deque
from typing import Final

from graspd.nostr.event import Event
from graspd.nostr.signature import RECORD_SIZE, record

_TRIES: Final = 3  # a worker that dies takes its batch with it; the batch goes to a new one


class _WorkerDied(Exception):
    pass


class _Worker:
    """One process; batches are answered in the order they were sent."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._waiting: deque[tuple[int, asyncio.Future[bytes]]] = deque()
        self.load = 0

    async def verify(self, records: bytes) -> bytes:
        count = len(records) // RECORD_SIZE
        self.load += count
        try:
            process = await self._running()
            assert process.stdin is not None
            answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
            self._waiting.append((count, answer))
            process.stdin.write(len(records).to_bytes(4, "big") + records)
            return await answer
        finally:
            self.load -= count

    async def start(self) -> None:
        await self._running()

    async def stop(self) -> None:
        if self._process is not None and self._process.returncode is None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            await self._process.wait()
        if self._reading is not None:
            await self._reading

    async def _running(self) -> asyncio.subprocess.Process:
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "graspd.server.verify_worker",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
            )
            self._reading = asyncio.create_task(self._read(self._process))
        return self._process

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        try:
            while True:
                first = await process.stdout.readexactly(1)
                count, answer = self._waiting[0]
                rest = await process.stdout.readexactly(count - 1)
                self._waiting.popleft()
                if not answer.done():
                    answer.set_result(first + rest)
        except (asyncio.IncompleteReadError, ConnectionError):
            await process.wait()
            while self._waiting:
                _, answer = self._waiting.popleft()
                if not answer.done():
                    answer.set_exception(_WorkerDied())


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
        for _ in range(_TRIES - 1):
            try:
                return list(map(bool, await self._least_loaded().verify(records)))
            except _WorkerDied:
                continue
        return list(map(bool, await self._least_loaded().verify(records)))

    async def stop(self) -> None:
        """End the processes."""
        for worker in self._workers:
            await worker.stop()

    def _least_loaded(self) -> _Worker:
        return min(self._workers, key=lambda worker: worker.load)
