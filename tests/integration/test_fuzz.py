"""A run over raw frames: whatever strangers send, the process lives, says nothing of a fault, and serves the honest."""

import os
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.conformance.client import Client, is_readable, open_socket, upgrade_request
from tests.conformance.people import Person
from tests.integration.fuzzing import Attacker
from tests.integration.memory import resident_mib
from tests.peers.graspd_relay import GraspdRelay

STILL_S = 0.02  # an attacker that gets no answer for so long goes on
GROWTH_MIB_MAX = 60


@pytest.fixture
def relay() -> Iterator[GraspdRelay]:
    with GraspdRelay(settings={"events_per_minute": "0", "handshake_s_max": "1"}) as running:
        yield running


def assail(relay: GraspdRelay, attacker: Attacker) -> None:
    """One hostile connection, from its first byte to its end."""
    with open_socket(relay.url) as sock, suppress(ConnectionError):
        sock.sendall(attacker.handshake() or upgrade_request(relay.url))
        if is_readable(sock, STILL_S):
            sock.recv(4096)
        for _ in range(4):
            sock.sendall(attacker.attack())
            while is_readable(sock, STILL_S):
                if not sock.recv(1 << 16):
                    return


def fuzz(relay: GraspdRelay, seeds: range) -> None:
    owner = Person()
    with Client(relay.url) as honest, Client(relay.url) as listener:
        honest.take(owner.announces(relay.domain))
        listener.subscribe("live", {"authors": [owner.pubkey], "kinds": [1621]})
        before = resident_mib(relay.pid)
        for seed in seeds:
            assail(relay, Attacker(seed, relay.url))
            event = owner.opens_issue(owner.repo, content=str(seed))
            assert honest.publish(event) == (True, ""), f"seed {seed}"
            assert listener.next_of("EVENT")[2]["id"] == event.id, f"seed {seed}"
        assert honest.count({"authors": [owner.pubkey], "kinds": [1621]}) == len(seeds)
        assert resident_mib(relay.pid) - before < GROWTH_MIB_MAX
    log = relay.written()
    assert "Traceback" not in log, log
    assert "ERROR" not in log, log


def test_frames_of_strangers_do_no_harm(relay: GraspdRelay) -> None:
    fuzz(relay, range(1500))


@pytest.mark.slow
def test_many_more_frames_of_strangers_do_no_harm(relay: GraspdRelay) -> None:
    first = int(os.environ.get("FUZZ_SEED", time.time_ns() % 10**9))
    print(f"seeds from {first}")
    fuzz(relay, range(first, first + 20_000))
