"""An hour with a hundred peers that come and go: memory, tasks and descriptors stay flat.

GRASPD_SOAK_S shortens it. The relay runs in this very process, so that its tasks can be counted.
"""

import asyncio
import gc
import os
import resource
import signal
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from random import Random

import pytest

from graspd import app
from graspd.settings import load
from tests.conformance.people import Person, now
from tests.integration.sync.served import Served
from tests.integration.sync.world import DOMAIN, HASTE, about, address, announced

SOAK_S = float(os.environ.get("GRASPD_SOAK_S", "3600"))
PEERS = 100
ROUND_S = 5.0
CALM_S_MAX = 60.0
MEMORY_KIB_MAX = 24 * 1024  # by which it may grow after the first quarter; the page cache of the database is in it


@dataclass(frozen=True)
class Sample:
    """What the process uses while every peer is connected."""

    kib: int
    tasks: int
    descriptors: int


def sampled() -> Sample:
    gc.collect()
    kib = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() // 1024
    return Sample(kib, len(asyncio.all_tasks()), len(list(Path("/proc/self/fd").iterdir())))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def calm(peers: Served) -> None:
    async with asyncio.timeout(CALM_S_MAX):
        while peers.connections < PEERS:  # noqa: ASYNC110 -- they are counted in another thread
            await asyncio.sleep(0.1)


def disturbances(peers: Served, owner: Person) -> Iterator[None]:
    """What happens in the world, one thing at a time."""
    chance = Random(3)
    for number in count():
        match chance.randrange(3):
            case 0:
                peers.leave()
                peers.come_back()
            case 1:
                peers.publish(about(Person(), "nobody", 2))
            case _:
                peers.publish([Person().opens_issue(address(owner, "one"), at=now(), content=str(number))])
        yield


@pytest.mark.slow
async def test_an_hour_leaves_no_trace(tmp_path: Path) -> None:
    owner = Person()
    with Served(hosts=[f"127.0.0.{number}" for number in range(1, PEERS + 1)]) as peers:
        peers.publish([announced(owner, "one", peers.urls[:20]), *about(owner, "one", 20)])
        given = {**HASTE, "domain": DOMAIN, "allow_private_peers": "on", "bootstrap": ",".join(peers.urls)}
        environ = {f"GRASPD_{name.upper()}": value for name, value in given.items()}
        settings, _ = load({"data_dir": tmp_path, "bind": f"127.0.0.1:{free_port()}"}, None, environ)
        serving = asyncio.create_task(app.serve(settings))
        samples: list[Sample] = []
        happening = disturbances(peers, owner)
        loop = asyncio.get_running_loop()
        end = loop.time() + SOAK_S
        while loop.time() < end:
            await calm(peers)
            samples.append(sampled())
            next(happening)
            await asyncio.sleep(ROUND_S)
        os.kill(os.getpid(), signal.SIGTERM)
        async with asyncio.timeout(10):
            await serving

    early, late = samples[len(samples) // 4], samples[-1]
    print(f"{len(samples)} samples; after a quarter {early}, at the end {late}")
    assert late.kib - early.kib < MEMORY_KIB_MAX
    assert late.tasks <= early.tasks + PEERS // 10
    assert late.descriptors <= early.descriptors + PEERS // 10
