"""Start to first answer, and resident memory with 1,000 idle connections, of graspd with 1,000,000 events stored.

The events come in by the door, signed, in 25 repositories of 40,000, so that what is on disk is what a relay of that
size would have. The start is timed after a clean stop and after a kill, from before the process exists to the EOSE of a
REQ for the 100 newest issues. Memory is that of the server and its worker processes together. There is no peer here:
the relay we compare with elsewhere keeps everything in memory and forgets.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from bench import contest, corpus, processes
from bench.load import Asking, ask, publish
from bench.wire import Wire
from tests.peers.graspd_relay import GraspdRelay
from tests.peers.process import RelayProcess

REPOSITORY_EVENTS = 40_000
QUESTION = Asking([{"kinds": [1621], "limit": 100}], 100)
MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Bound:
    """One figure, its unit and what it has to stay below, where something was promised."""

    name: str
    unit: str
    below: float | None = None


BOUNDS = (
    Bound("loaded at", "events/s"),
    Bound("start after a stop", "s", 2.0),
    Bound("start after a kill", "s", 2.0),
    Bound("resident, no connection", "MiB"),
    Bound("resident, idle connections", "MiB", 250.0),
    Bound("the same, shared pages split", "MiB"),
    Bound("on disk", "bytes/event"),
)


@dataclass(frozen=True, slots=True)
class Corpus:
    """The events of one repository."""

    seed: int
    events: Sequence[bytes]


def corpora(given: argparse.Namespace) -> Iterator[Corpus]:
    """As many events as asked for, repository by repository."""
    for first in range(0, given.events, REPOSITORY_EVENTS):
        seed = given.seed + first // REPOSITORY_EVENTS
        yield Corpus(seed, corpus.events(seed, min(REPOSITORY_EVENTS, given.events - first), given.cache_dir))


def load(relay: RelayProcess, given: argparse.Namespace) -> float:
    """Publish the corpora one after the other; events a second, their making not counted."""
    seconds = 0.0
    for repository in corpora(given):
        publish(relay.url, [corpus.announcement(repository.seed, relay.domain)], connections=1, in_flight=1)
        seconds += publish(relay.url, repository.events, connections=8, in_flight=100)
    return float(given.events) / seconds


def start_s(relay: RelayProcess, end: Callable[[RelayProcess], None]) -> float:
    """Seconds from starting the relay again to its first complete answer."""
    end(relay)
    started = time.perf_counter()
    relay.restart()
    ask(relay.url, [QUESTION], duration_s=0.0)
    return time.perf_counter() - started


def measure(relay: RelayProcess, given: argparse.Namespace) -> dict[str, float]:
    """All figures of BOUNDS by name."""
    measured = {"loaded at": load(relay, given)}
    measured["start after a kill"] = start_s(relay, RelayProcess.kill)
    measured["start after a stop"] = start_s(relay, RelayProcess.stop)
    measured["resident, no connection"] = processes.resident_bytes(relay.pid) / MEBIBYTE
    idle = [Wire(relay.url) for _ in range(given.connections)]
    measured["resident, idle connections"] = processes.resident_bytes(relay.pid) / MEBIBYTE
    measured["the same, shared pages split"] = processes.proportional_bytes(relay.pid) / MEBIBYTE
    for wire in idle:
        wire.close()
    stored = sum(path.stat().st_size for path in relay.data_dir.rglob("*") if path.is_file())
    measured["on disk"] = stored / given.events
    return measured


def main(argv: list[str]) -> int:
    """Load, measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--connections", type=int, default=1000)
    contest.add_common_options(parser)
    given = parser.parse_args(argv)
    settings = contest.settings_of(given)
    with GraspdRelay(settings=settings) as relay:
        measured = measure(relay, given)
    title = f"scale: {given.events} events stored, {given.connections} idle connections"
    table = Table("figure", "graspd", "goal", title=title)
    for bound in BOUNDS:
        goal = "" if bound.below is None else f"< {bound.below:g}"
        table.add_row(f"{bound.name}, {bound.unit}", f"{measured[bound.name]:,.3g}", goal)
    Console().print(table)
    print(f"graspd settings: {settings}")
    print(json.dumps({"bench": title, "figures": measured, "settings": settings, "machine": contest.machine()}))
    return 0
