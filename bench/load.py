"""The load: publishing with a window in flight, and asking again and again.

Decides what is sent when and what counts. Every figure is a count of exact answers: an id that was not asked about, an
OK false, a CLOSED, a NOTICE, a short answer or a lost connection ends the run with RelayMisbehaved. Must not know which
relay it talks to: each is asked in the same bytes.
"""

import gc
import select
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

import orjson

from bench.corpus import event_id
from bench.wire import RelayMisbehaved, Wire, frame

ANSWER_DEADLINE_S = 60.0


@dataclass(frozen=True, slots=True)
class Asking:
    """What one client asks over and over, and how many events each answer must hold."""

    filters: Sequence[dict[str, object]]
    events: int


@contextmanager
def quiet_collector() -> Iterator[None]:
    """Keep the garbage collector out of the measured stretch."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def publish(url: str, events: Sequence[bytes], *, connections: int, in_flight: int) -> float:
    """Publish every event once, dealt over the connections; seconds from the first sent to the last OK."""
    lanes = [_Lane(Wire(url), events[i::connections]) for i in range(connections)]
    with quiet_collector(), _Poll(lanes) as poll:
        started = time.perf_counter()
        for lane in lanes:
            lane.begin(in_flight)
        poll.until_done()
        return time.perf_counter() - started


def ask(url: str, clients: Sequence[Asking], *, duration_s: float) -> tuple[int, float]:
    """Each client asks for `duration_s`, one question at a time; answers completed and the seconds they took."""
    ends = time.perf_counter() + duration_s
    askers = [
        _Asker(Wire(url), f"ask{i}", client, lambda: time.perf_counter() < ends) for i, client in enumerate(clients)
    ]
    with quiet_collector(), _Poll(askers) as poll:
        started = time.perf_counter()
        ends = started + duration_s
        for asker in askers:
            asker.begin()
        poll.until_done()
        return sum(asker.answered for asker in askers), time.perf_counter() - started


class _Poll:
    """Reads whichever connection has something, until every one is done."""

    def __init__(self, talkers: Sequence["_Lane | _Asker"]) -> None:
        self._talker_by_fd = {talker.wire.sock.fileno(): talker for talker in talkers}
        self._poll = select.epoll(len(talkers))
        for fd in self._talker_by_fd:
            self._poll.register(fd, select.EPOLLIN)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._poll.close()
        for talker in self._talker_by_fd.values():
            talker.wire.close()

    def until_done(self) -> None:
        remaining = sum(not talker.done for talker in self._talker_by_fd.values())
        while remaining:
            ready = self._poll.poll(ANSWER_DEADLINE_S)
            if not ready:
                raise RelayMisbehaved(f"no answer for {ANSWER_DEADLINE_S} s, {remaining} connections waiting")
            for fd, _ in ready:
                talker = self._talker_by_fd[fd]
                was_done = talker.done
                talker.take(talker.wire.receive())
                remaining -= talker.done and not was_done


class _Lane:
    """One publishing connection: as many events are sent as were acknowledged."""

    __slots__ = ("_awaited", "_events", "_frames", "_sent", "done", "wire")

    def __init__(self, wire: Wire, events: Sequence[bytes]) -> None:
        self.wire = wire
        self._events = events
        self._frames = [frame(b'["EVENT",' + event + b"]") for event in events]
        self._sent = 0
        self._awaited: set[bytes] = set()
        self.done = not events

    def begin(self, in_flight: int) -> None:
        self._send(in_flight)

    def _send(self, count: int) -> None:
        first, self._sent = self._sent, min(self._sent + count, len(self._frames))
        self._awaited.update(map(event_id, self._events[first : self._sent]))
        self.wire.send(b"".join(self._frames[first : self._sent]))

    def take(self, messages: list[bytes]) -> None:
        accepted = 0
        for message in messages:
            if message.startswith(b'["OK","') and message.startswith(b'",true,', 71) and message[7:71] in self._awaited:
                self._awaited.remove(message[7:71])
                accepted += 1
            else:
                refuse_unless_idle(message)
        if self._sent < len(self._frames):
            self._send(accepted)
        self.done = not self._awaited


class _Asker:
    """One asking connection: the next question goes out when the last is answered and closed."""

    __slots__ = ("_close", "_eose", "_event", "_events", "_frames", "_may_ask", "_received", "answered", "done", "wire")

    def __init__(self, wire: Wire, name: str, asking: Asking, may_ask: Callable[[], bool]) -> None:
        self.wire = wire
        self._frames = [frame(orjson.dumps(["REQ", name, chosen])) for chosen in asking.filters]
        self._close = frame(orjson.dumps(["CLOSE", name]))
        self._event = f'["EVENT","{name}",'.encode()
        self._eose = f'["EOSE","{name}"'.encode()
        self._events = asking.events
        self._may_ask = may_ask
        self._received = 0
        self.answered = 0
        self.done = False

    def begin(self) -> None:
        self.wire.send(self._frames[0])

    def take(self, messages: list[bytes]) -> None:
        event = self._event
        for message in messages:
            if message.startswith(event):
                self._received += 1
            elif message.startswith(self._eose):
                self._finish_answer()
            else:
                refuse_unless_idle(message)

    def _finish_answer(self) -> None:
        if self._received != self._events:
            raise RelayMisbehaved(f"an answer of {self._received} events where {self._events} are stored and asked for")
        self._received = 0
        self.answered += 1
        if self._may_ask():
            self.wire.send(self._close + self._frames[self.answered % len(self._frames)])
        else:
            self.done = True


def refuse_unless_idle(message: bytes) -> None:
    """Let pass what a relay may say unasked (an AUTH challenge); anything else ends the run."""
    if not message.startswith(b'["AUTH"'):
        raise RelayMisbehaved(message[:300].decode(errors="replace"))
