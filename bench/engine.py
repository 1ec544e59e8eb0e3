"""The sync engine alone, at the papers' scale and at ten times it: first plan, one more root, memory, longest step.

Peers here answer every request at once, honestly, and have nothing that we lack; links and the own relay cost nothing,
so what is measured is the engine. Every step is timed by itself, in seconds of the processor, with Python's garbage
collector off: when that runs is the process's to decide, and what one run of it costs is a figure of its own.
"""

import argparse
import gc
import hashlib
import json
import random
import resource
import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import numpy as np
from rich.console import Console
from rich.table import Table

from graspd.negentropy import ItemSet, Responder
from graspd.nostr.event import Event, load_event
from graspd.nostr.kinds import ANNOUNCEMENT, ISSUE
from graspd.nostr.nip19 import encode_npub
from graspd.nostr.relay_url import Domain
from graspd.rules.policy import Policy
from graspd.sync import effects, inputs
from graspd.sync.engine import SyncEngine
from graspd.sync.lifecycle import State
from graspd.sync.limits import SyncLimits
from graspd.sync.records import SavedState
from graspd.types import Monotonic, Now, PubKey, UnixTime

HOST = "grasp.example"
WALL = UnixTime(1_750_000_000)
SLICE = 200  # events fed in one input
MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Scale:
    """How much there is, and what was promised for it."""

    name: str
    repositories: int
    roots: int  # a repository
    peers: int
    relays: int = 5  # a repository
    memory_mib_max: float | None = None
    root_ms_max: float | None = None
    step_ms_max: float = 50.0


PAPERS = Scale("papers", 1_000, 50, 100)
TENFOLD = Scale("tenfold", 10_000, 50, 500, memory_mib_max=150.0, root_ms_max=1.0)
# Nothing says that relays are named evenly: here every repository names the same one first.
POPULAR = Scale("popular", 10_000, 50, 500)


def digest(text: str) -> str:
    """Something that looks like an id or a key."""
    return hashlib.sha256(text.encode()).hexdigest()


def event(kind: int, by: str, at: int, tags: list[list[str]], name: str) -> Event:
    """An event whose id nobody checks: the engine takes it from the shell, which did."""
    fields = {"id": digest(name), "pubkey": by, "created_at": at, "kind": kind, "tags": tags, "content": ""}
    return load_event(json.dumps({**fields, "sig": "0" * 128}).encode())


def relay_urls(scale: Scale, repository: int) -> list[str]:
    """The relays that a repository names."""
    rng = random.Random(repository)
    named = [f"wss://relay{number}.example" for number in rng.sample(range(scale.peers), scale.relays)]
    return ["wss://relay0.example", *named[1:]] if scale is POPULAR else named


def announcement(scale: Scale, number: int) -> Event:
    """The announcement of the n-th repository."""
    by = PubKey(digest(f"author {number}"))
    clone = f"https://{HOST}/{encode_npub(by)}/repo{number}.git"
    relays = ["relays", f"wss://{HOST}", *relay_urls(scale, number)]
    return event(ANNOUNCEMENT, by, 1_700_000_000, [["d", f"repo{number}"], ["clone", clone], relays], f"a{number}")


def root(repository: int, number: int, at: int = 1_710_000_000) -> Event:
    """A root event of the n-th repository."""
    by = digest(f"author {repository}")
    tags = [["a", f"{ANNOUNCEMENT}:{by}:repo{repository}"]]
    return event(ISSUE, by, at + number, tags, f"r{repository}/{number}")


def history(scale: Scale) -> Iterator[tuple[Event, ...]]:
    """Everything the own relay holds, in slices."""
    batch: list[Event] = []
    for number in range(scale.repositories):
        batch.append(announcement(scale, number))
        batch.extend(root(number, index) for index in range(scale.roots))
        while len(batch) >= SLICE:
            yield tuple(batch[:SLICE])
            del batch[:SLICE]
    yield tuple(batch)


@dataclass
class World:
    """The engine, and peers that answer at once."""

    engine: SyncEngine
    mono: float = 1000.0
    queue: deque[inputs.Input] = field(default_factory=deque)
    steps: int = 0
    busy_s: float = 0.0
    longest_s: float = 0.0
    longest: str = ""
    requests: int = 0

    def tell(self, *happened: inputs.Input) -> None:
        """Feed inputs, and whatever follows from them without time passing."""
        self.queue.extend(happened)
        while self.queue:
            self.step(self.queue.popleft())

    def step(self, happened: inputs.Input) -> None:
        """One step, timed; what it answers with is performed."""
        now = Now(Monotonic(self.mono), UnixTime(WALL + int(self.mono)))
        began = time.thread_time()
        wanted = self.engine.step(happened, now)
        took = time.thread_time() - began
        self.steps += 1
        self.busy_s += took
        if took > self.longest_s:
            self.longest_s, self.longest = took, f"{type(happened).__name__}, {len(wanted)} effects"
        for effect in wanted:
            self._perform(effect)

    def run(self, seconds: float) -> None:
        """Let time pass."""
        end = self.mono + seconds
        while (at := self.engine.next_deadline()) is not None and at <= end:
            self.mono = max(self.mono, at)
            self.tell(inputs.Ticked())
        self.mono = end

    def reset(self) -> None:
        """Begin another measurement."""
        self.steps, self.busy_s, self.longest_s, self.longest = 0, 0.0, 0.0, ""

    def _perform(self, effect: effects.Effect) -> None:
        answer = self.queue.append
        match effect:
            case effects.OpenLink(link, _):
                answer(inputs.LinkOpened(link, None))
            case effects.SendReq(link, sub, _):
                self.requests += 1
                answer(inputs.EoseArrived(link, sub))
            case effects.SendNegOpen(link, sub, _, message) | effects.SendNegMsg(link, sub, message):
                self.requests += 1
                answer(inputs.NegMsgArrived(link, sub, NOTHING_THERE.reconcile(message)))
            case effects.ReadItems(job, _):
                answer(inputs.ItemsRead(job, NOTHING))
            case effects.SaveState(job):
                answer(inputs.StateSaved(job))
            case _:
                pass


NOTHING = ItemSet.from_columns(np.zeros(0, np.uint64), np.zeros((0, 32), np.uint8))
NOTHING_THERE = Responder(NOTHING)


def resident_mib() -> float:
    """What this process takes now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / MEBIBYTE


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured at one scale."""

    history_s: float
    plan_s: float
    sync_s: float
    sync_requests: int
    root_ms: float
    root_whole_ms: float
    memory_mib: float
    longest_ms: float
    longest: str
    collection_ms: float


def measure(scale: Scale) -> Figures:
    """Read the history, sync with everybody, then publish one root at a time."""
    gc.collect()
    gc.disable()
    before = resident_mib()
    world = World(SyncEngine(Policy(Domain(HOST)), SyncLimits(), SavedState(), random.Random(1)))
    longest: list[tuple[float, str]] = []
    read_s = _read_history(world, scale, longest)
    plan_s = _close_window(world, longest)
    sync_s, requests = _sync(world, scale, longest)
    memory = resident_mib() - before
    began = time.thread_time()
    gc.collect()
    collection_ms = 1000 * (time.thread_time() - began)
    roots = [_one_more_root(world, scale, number, longest) for number in range(100)]
    longest_s, what = max(longest)
    return Figures(
        read_s,
        plan_s,
        sync_s,
        requests,
        1000 * median(planned for planned, _ in roots),
        1000 * median(whole for _, whole in roots),
        memory,
        1000 * longest_s,
        what,
        collection_ms,
    )


def _read_history(world: World, scale: Scale, longest: list[tuple[float, str]]) -> float:
    job = next(effect.job for effect in _first_step(world) if isinstance(effect, effects.ReadOwnHistory))
    world.reset()
    for events in history(scale):
        world.tell(inputs.OwnEventsRead(job, events))
    world.tell(inputs.OwnHistoryEnded(job))
    longest.append((world.longest_s, f"history: {world.longest}"))
    return world.busy_s


def _first_step(world: World) -> list[effects.Effect]:
    return world.engine.step(inputs.Ticked(), Now(Monotonic(world.mono), UnixTime(WALL + int(world.mono))))


def _close_window(world: World, longest: list[tuple[float, str]]) -> float:
    """From the window to the last peer dialled."""
    world.reset()
    while not any(view.state is not State.WAITING for view in world.engine.snapshot().peers):
        _tick(world)
    longest.append((world.longest_s, f"plan: {world.longest}"))
    return world.busy_s


def _sync(world: World, scale: Scale, longest: list[tuple[float, str]]) -> tuple[float, int]:
    """Until every peer is live."""
    world.reset()
    world.requests = 0
    for _ in range(200):
        world.run(60)
        views = world.engine.snapshot().peers
        if len(views) == scale.peers and all(view.state is State.LIVE for view in views):
            break
    else:
        raise SystemExit("the peers did not catch up")
    longest.append((world.longest_s, f"sync: {world.longest}"))
    return world.busy_s, world.requests


def _tick(world: World) -> None:
    """One step by time, its consequences left in the queue."""
    at = world.engine.next_deadline()
    assert at is not None
    world.mono = max(world.mono, at)
    world.step(inputs.Ticked())


def _one_more_root(world: World, scale: Scale, number: int, longest: list[tuple[float, str]]) -> tuple[float, float]:
    """Until its live filters are open at its relays, and until they are also transferred."""
    world.run(90)
    world.reset()
    fresh = root(number * scale.repositories // 100, scale.roots + number, WALL)
    world.tell(inputs.OwnEventsStored((fresh,)))
    taken_in = world.busy_s
    world.run(0.0)
    at = world.mono + 6.0
    while (deadline := world.engine.next_deadline()) is not None and deadline <= at and world.busy_s == taken_in:
        _tick(world)
    planned = world.busy_s
    while world.queue:
        world.step(world.queue.popleft())
    world.run(6.0)
    longest.append((world.longest_s, f"root: {world.longest}"))
    return planned, world.busy_s


def main(argv: list[str]) -> int:
    """Measure at the scales asked for."""
    scales = {scale.name: scale for scale in (PAPERS, TENFOLD, POPULAR)}
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("scale", nargs="*", default=list(scales), help=f"of {', '.join(scales)} (all)")
    given = parser.parse_args(argv)
    failed = False
    for name in given.scale:
        scale = scales[name]
        figures = measure(scale)
        failed |= not show(scale, figures)
    return 1 if failed else 0


def show(scale: Scale, figures: Figures) -> bool:
    """Print the figures beside what they have to stay below; returns whether they all do."""
    rows = [
        ("reading the history", "s", figures.history_s, None),
        ("first plan, window to first dials", "s", figures.plan_s, None),
        ("first sync with every peer, engine's share", "s", figures.sync_s, None),
        ("requests of that sync", "", float(figures.sync_requests), None),
        ("one more root, planned and live", "ms", figures.root_ms, scale.root_ms_max),
        ("one more root, transferred from all its relays", "ms", figures.root_whole_ms, None),
        ("memory of the engine", "MiB", figures.memory_mib, scale.memory_mib_max),
        (f"longest step ({figures.longest})", "ms", figures.longest_ms, scale.step_ms_max),
        ("one full garbage collection", "ms", figures.collection_ms, None),
    ]
    title = f"{scale.name}: {scale.repositories} repositories, {scale.roots} roots each, {scale.peers} peers"
    table = Table("figure", "measured", "at most", title=title)
    well = True
    for what, unit, value, most in rows:
        well &= most is None or value <= most
        table.add_row(what, f"{value:.2f} {unit}", "" if most is None else f"{most:g} {unit}")
    Console().print(table)
    print(
        json.dumps(
            {"bench": "engine", "scale": scale.name, **{name: value for what, _, value, _ in rows for name in [what]}}
        )
    )
    return well


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
