"""One peer misbehaves: the others converge as fast as without it, and our memory stays flat."""

import functools
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from graspd.nostr import messages as m
from graspd.nostr.event import Event
from graspd.types import PubKey
from sim.faults import Faults
from sim.peers.capped import Capped
from sim.peers.flooding import Flooding
from sim.peers.lying import Phantoms
from sim.peers.rate_limiting import RateLimiting
from sim.peers.relay import Manners, Reply, Talk, Temper, event_text, said
from sim.peers.slow import Slow
from tests.conformance.client import Client
from tests.conformance.people import Person, now
from tests.integration.sync.served import Served
from tests.integration.sync.world import about, address, announced, eventually, lines, syncing
from tests.nostr.made import made
from tests.peers.graspd_relay import GraspdRelay

# The good peer is asked by pages at a fixed pace, so that its convergence is a matter of seconds that we know and
# not of how busy this machine is.
PACED = {"sync_page_limit": "40", "sync_requests_burst": "4", "sync_requests_per_s": "3"}
ISSUES = 400
DELAY_MAX = 1.10
NOISE_S = 0.7  # of the machine, on top
ATTEMPTS = 3  # the machine is busy with other things, too; a peer that delays others does so each time
MEMORY_KIB_MAX = 40 * 1024
NO_FAULTS = Faults(frozenset())


class NoEose(Temper):
    """Never says that an answer is over."""

    def after(self, talk: Talk, message: m.ClientMessage, replies: list[Reply], now: float) -> list[Reply]:  # noqa: ARG002
        return [reply for reply in replies if reply.text is None or not reply.text.startswith('["EOSE"')]


class Closing(Temper):
    """Closes every request."""

    def instead(self, talk: Talk, message: m.ClientMessage, now: float) -> list[Reply] | None:  # noqa: ARG002
        return [said(m.closed(message.sub_id, "error: not today"))] if isinstance(message, m.Request) else None


class Torrent(Temper):
    """Answers every request with twenty thousand events that nobody asked for, as fast as they are read."""

    def __init__(self) -> None:
        self._event = made(1, by=PubKey("0" * 63 + "3"), content="x" * 400)

    def after(self, talk: Talk, message: m.ClientMessage, replies: list[Reply], now: float) -> list[Reply]:  # noqa: ARG002
        if not isinstance(message, m.Request):
            return replies
        return [*replies, *[Reply(0.0, event_text(message.sub_id, self._event))] * 20_000]


class Freezing(Temper):
    """Marks the peer that is frozen once it is connected."""


BAD: dict[str, Callable[[], Temper]] = {
    "no EOSE": NoEose,
    "CLOSED": Closing,
    "rate limit": lambda: RateLimiting(NO_FAULTS, 3, 99),
    "floods": lambda: Flooding(NO_FAULTS, 3000),
    "a torrent": Torrent,
    "phantom ids": lambda: Phantoms(Random(1), NO_FAULTS, 500),
    "slow drip": lambda: Slow(Random(1), NO_FAULTS, 4.0, 0.5),
    "half open": Freezing,
}


def content(owner: Person, url: str) -> list[Event]:
    repo = address(owner, "one")
    issues = [owner.opens_issue(repo, at=now() - 1000 + number, content=str(number)) for number in range(ISSUES)]
    return [announced(owner, "one", [url]), *issues]


class Good(Served):
    """A peer that speaks no negentropy and has all issues of one author."""

    def __init__(self) -> None:
        super().__init__(manners=Manners(negentropy=False))
        self._owner = Person()
        self.publish(content(self._owner, self.url))

    def is_synced(self, ours: GraspdRelay) -> bool:
        with Client(ours.url) as client:
            return client.count({"kinds": [1621], "authors": [self._owner.pubkey]}) == ISSUES


def seconds_to_converge(good: Good, others: list[str], meanwhile: Callable[[GraspdRelay], None]) -> float:
    with syncing([*others, good.url], PACED) as ours:
        start = time.monotonic()
        meanwhile(ours)
        eventually(functools.partial(good.is_synced, ours), 90, lambda: ours.written()[-3000:])
        taken = time.monotonic() - start
        meanwhile(ours)
        return taken


@functools.cache
def alone_s(attempt: int) -> float:  # noqa: ARG001 -- each attempt measures anew, once for all tests
    """How long the good peer takes by itself."""
    with Good() as good:
        return seconds_to_converge(good, [], lambda _: None)


class Memory:
    """The memory of our process, at the start and at the end."""

    def __init__(self) -> None:
        self.kib: list[int] = []

    def __call__(self, ours: GraspdRelay) -> None:
        status = Path(f"/proc/{ours.pid}/status").read_text()
        self.kib.append(int(status.partition("VmRSS:")[2].split()[0]))


def beside_s(manner: str, memory: Memory) -> float:
    """How long the good peer takes beside a bad one."""
    somebody = Person()
    with Good() as good, Served([BAD[manner]()]) as bad:
        bad.publish([announced(somebody, "two", [bad.url]), *about(somebody, "two", 20)])

        def meanwhile(ours: GraspdRelay) -> None:
            if manner == "half open":
                eventually(lambda: bad.connections)
                bad.freeze()
            memory(ours)

        return seconds_to_converge(good, [bad.url], meanwhile)


@pytest.mark.parametrize("manner", BAD)
def test_others_are_not_delayed(manner: str) -> None:
    measured = []
    for attempt in range(ATTEMPTS):
        memory = Memory()
        taken_s, usual_s = beside_s(manner, memory), alone_s(attempt)
        assert memory.kib[-1] - memory.kib[0] < MEMORY_KIB_MAX
        if taken_s <= usual_s * DELAY_MAX + NOISE_S:
            return
        measured.append(f"{taken_s:.1f} s instead of {usual_s:.1f} s")
    pytest.fail(f"delayed every time: {measured}")


def test_peer_that_caps_its_answers_is_read_to_the_end() -> None:
    owner = Person()
    with Served([Capped(NO_FAULTS, 300)], Manners(negentropy=False, tells=False)) as peer:
        repo = address(owner, "one")
        # Ties: thirty events in every second.
        issues = [owner.opens_issue(repo, at=now() - 1000 + n // 30, content=str(n)) for n in range(1000)]
        peer.publish([announced(owner, "one", [peer.url]), *issues])
        with syncing([peer.url], {"sync_page_limit": "500"}) as ours, Client(ours.url) as client:
            eventually(lambda: client.count({"kinds": [1621]}) == len(issues), 60, lambda: ours.written()[-3000:])
            eventually(lambda: lines(ours, "batch_ended", "confirmed=true", "method=walked"))
