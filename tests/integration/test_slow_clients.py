"""A thousand clients that are slow, silent or deaf do not make an honest one wait.

The same questions are asked before and while they are there, in one run. A machine that does something else at the
same time makes one round slow; what the slow clients do to the relay shows in every round, so the best round counts.
"""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.conformance.client import Client, frame, open_socket, upgrade_request
from tests.conformance.people import Person
from tests.integration.memory import resident_mib
from tests.peers.graspd_relay import GraspdRelay

SLOW = 1000
ADDRESSES = 20  # the whole of 127.0.0.0/8 is this machine, so no limit need be lifted
QUESTIONS = 400
ROUNDS = 3
FACTOR_MAX = 2.0
MEMORY_MIB_MAX = 700  # 125 answers of ten megabytes would take twice that
LONG = "x" * 20_000  # 500 of them are more than the kernel takes on its own account


@pytest.fixture
def relay() -> Iterator[GraspdRelay]:
    with GraspdRelay(settings={"events_per_minute": "0", "handshake_s_max": "120"}) as running:
        yield running


def p99(relay: GraspdRelay, owner: Person, name: str) -> float:
    """How long an honest client waits for its answers: one in a hundred waits longer."""
    events = [owner.opens_issue(owner.repo, content=f"{name} {number}") for number in range(QUESTIONS)]
    took = []
    with Client(relay.url) as client:
        for event in events:
            began = time.perf_counter()
            client.take(event)
            client.query({"ids": [event.id]})
            took.append(time.perf_counter() - began)
    return sorted(took)[QUESTIONS * 99 // 100]


def source(number: int) -> str:
    return f"127.0.10.{number % ADDRESSES + 1}"


def half_open(relay: GraspdRelay, number: int) -> socket.socket:
    """Connected, and that is all."""
    return open_socket(relay.url, source(number))


def half_asked(relay: GraspdRelay, number: int) -> socket.socket:
    """In the middle of its request, for ever."""
    opened = open_socket(relay.url, source(number))
    opened.sendall(upgrade_request(relay.url)[:50])
    return opened


def half_said(relay: GraspdRelay, number: int) -> socket.socket:
    """In the middle of a message, for ever."""
    client = Client(relay.url, source=source(number))
    client.send_raw(frame(b'["REQ","x",{"kinds":[1]}]')[:-5])
    return client.sock


def deaf(relay: GraspdRelay, number: int) -> socket.socket:
    """Asked for ten megabytes and reads but the first byte."""
    client = Client(relay.url, source=source(number))
    client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.send("REQ", "all", {"kinds": [1617]})
    assert client.sock.recv(1)
    return client.sock


def test_slow_clients_do_not_double_an_honest_clients_p99(relay: GraspdRelay) -> None:
    owner = Person()
    with Client(relay.url) as client:
        client.take(owner.announces(relay.domain))
        client.take(*(owner.signs(1617, ["a", owner.repo], content=f"{number} {LONG}") for number in range(500)))
    factors = []
    for number in range(ROUNDS):
        before = p99(relay, owner, f"before {number}")
        with ExitStack() as held:
            for slow in range(SLOW):
                make = (half_open, half_asked, half_said, half_open, half_asked, half_said, half_said, deaf)[slow % 8]
                held.enter_context(make(relay, slow))
            during = p99(relay, owner, f"during {number}")
            memory_mib = resident_mib(relay.pid)
        factors.append(during / before)
        print(f"p99 {before * 1000:.2f} ms alone, {during * 1000:.2f} ms beside {SLOW} slow clients, {memory_mib} MiB")

        assert memory_mib < MEMORY_MIB_MAX, "answers that nobody reads are bounded in all"

    assert min(factors) < FACTOR_MAX, factors
