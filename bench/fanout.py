"""Time from the OK of an event to the last of its 1,000 deliveries, one connection and one filter each.

Every subscriber has a filter of its own, by kind, author, repository, label or several of them, and every filter
matches every event published. Times are those at which the kernel took the bytes in, so that the load's own speed in
reading a thousand sockets does not enter the figure. An event is published when the one before has reached everybody.
"""

import hashlib
import select
import time
from collections.abc import Sequence
from statistics import median

import orjson

from bench import contest, corpus
from bench.load import ANSWER_DEADLINE_S, publish, quiet_collector, refuse_unless_idle
from bench.wire import RelayMisbehaved, Wire, frame
from tests.peers.process import RelayProcess

FIGURES = (
    contest.Figure("OK to last delivery", "ms", more_is_better=False, goal=1.0),
    contest.Figure("sent to last delivery", "ms", more_is_better=False),
)


def different_filter(seed: int, index: int) -> dict[str, object]:
    """The filter of one subscriber: like no other's, and matching every event of `corpus.fresh_issues`."""
    owner = corpus.pubkey(seed, 0)
    nobody = hashlib.sha256(f"nobody {index}".encode()).hexdigest()
    match index % 5:
        case 0:
            return {"kinds": [1621, 10_000 + index]}
        case 1:
            return {"authors": [owner, nobody]}
        case 2:
            return {"#a": [corpus.repository_address(seed), f"30617:{nobody}:other"]}
        case 3:
            return {"#t": [corpus.label(0), f"other-{index}"]}
        case _:
            return {"kinds": [1621], "authors": [owner], "#p": [owner], "since": index}


def subscribe(url: str, chosen: dict[str, object]) -> Wire:
    """An open subscription named `live`, with everything stored already read."""
    wire = Wire(url)
    wire.send(frame(orjson.dumps(["REQ", "live", chosen])))
    while True:
        for message in wire.receive():
            if message.startswith(b'["EOSE","live"'):
                wire.stamp_arrivals()
                return wire
            if not message.startswith(b'["EVENT","live",'):
                refuse_unless_idle(message)


class Audience:
    """One publisher and its subscribers, read together."""

    def __init__(self, url: str, filters: Sequence[dict[str, object]]) -> None:
        self._subscribers = {wire.sock.fileno(): wire for wire in (subscribe(url, chosen) for chosen in filters)}
        self._publisher = Wire(url)
        self._publisher.stamp_arrivals()
        self._poll = select.epoll(len(filters) + 1)
        for fd in (*self._subscribers, self._publisher.sock.fileno()):
            self._poll.register(fd, select.EPOLLIN)

    def deliver(self, event: bytes) -> tuple[int, int, int]:
        """Publish one event; when it was sent, acknowledged and last delivered, in ns."""
        ok_at, delivered_at, waiting = 0, 0, set(self._subscribers)
        sent_at = time.clock_gettime_ns(time.CLOCK_REALTIME)
        self._publisher.send(frame(b'["EVENT",' + event + b"]"))
        while waiting or not ok_at:
            ready = self._poll.poll(ANSWER_DEADLINE_S)
            if not ready:
                raise RelayMisbehaved(f"{len(waiting)} subscribers did not get the event in {ANSWER_DEADLINE_S} s")
            for fd, _ in ready:
                if fd in self._subscribers:
                    at = _arrival(self._subscribers[fd], b'["EVENT","live",', corpus.event_id(event))
                    if at:
                        delivered_at = max(delivered_at, at)
                        waiting.remove(fd)
                else:
                    ok_at = _arrival(self._publisher, b'["OK",', corpus.event_id(event) + b'",true') or ok_at
        return sent_at, ok_at, delivered_at

    def close(self) -> None:
        """Leave without ceremony."""
        self._poll.close()
        for wire in (*self._subscribers.values(), self._publisher):
            wire.close()


def _arrival(wire: Wire, start: bytes, part: bytes) -> int:
    """When the one message awaited came in, in ns; 0 where only a ping or a challenge did."""
    messages, at = wire.receive_stamped()
    awaited = [message for message in messages if message.startswith(start) and part in message]
    for message in messages:
        if message not in awaited:
            refuse_unless_idle(message)
    if len(awaited) > 1:
        raise RelayMisbehaved(f"the same event {len(awaited)} times")
    return at if awaited else 0


def main(argv: list[str]) -> int:
    """Run the contest."""
    parser = contest.options(__doc__, events=100, rounds=3)
    parser.add_argument("--subscribers", type=int, default=1000)
    given = parser.parse_args(argv)
    events = corpus.fresh_issues(given.seed, given.events, corpus.FIRST_CREATED_AT)
    filters = [different_filter(given.seed, index) for index in range(given.subscribers)]

    def measure(relay: RelayProcess) -> dict[str, float]:
        publish(relay.url, [corpus.announcement(given.seed, relay.domain)], connections=1, in_flight=1)
        audience = Audience(relay.url, filters)
        with quiet_collector():
            times = [audience.deliver(event) for event in events]
        audience.close()
        return {
            "OK to last delivery": median(delivered - ok for _, ok, delivered in times) / 1e6,
            "sent to last delivery": median(delivered - sent for sent, _, delivered in times) / 1e6,
        }

    return contest.run(f"fanout: {given.subscribers} connections, {given.events} events", FIGURES, measure, given)
