"""Many worlds on all cores: which failed, and whether everything that can happen was seen to happen."""

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import islice
from types import FrameType
from typing import Final

from graspd.sync.lifecycle import TRANSITIONS, State, Trigger
from sim.faults import Fault
from sim.world import Result, World

# A run of fewer worlds than this may miss a rare thing by chance.
SEES_ALL: Final = 200
_SEED_S_MAX: Final = 300
_AHEAD: Final = 64  # seeds handed out and not finished: a long run must not be held in memory


def run_seed(seed: int) -> Result:
    """One world, in a process of the pool. One that hangs ends by an alarm: a run that never ends is a failure."""
    signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(_SEED_S_MAX)
    result = World(seed).run()
    signal.alarm(0)
    return result


def _give_up(_signal: int, _frame: FrameType | None) -> None:
    raise TimeoutError(f"not over after {_SEED_S_MAX} s")


def run_many(seeds: Sequence[int]) -> int:
    """Run them all, print a line for each that failed, and one for all. Returns the exit code."""
    began = time.perf_counter()
    failed = 0
    virtual_s = 0.0
    faults: Counter[Fault] = Counter()
    moves: Counter[tuple[State, Trigger]] = Counter()
    for seed, ending in _endings(seeds):
        if isinstance(ending, Result):
            virtual_s += ending.virtual_s
            faults += ending.faults
            moves += ending.moves
        why = ending.violation if isinstance(ending, Result) else f"raised {ending!r}"
        if why is not None:
            failed += 1
            print(f"seed {seed}: {why}", flush=True)
    unseen = _unseen(faults, moves) if len(seeds) >= SEES_ALL else []
    for what in unseen:
        print(f"never seen: {what}")
    took = time.perf_counter() - began
    print(
        f"{len(seeds)} seeds, {failed} failed, {len(unseen)} never seen; {virtual_s / 3600:.0f} h of virtual time in "
        f"{took:.1f} s, {virtual_s / took:,.0f} x real time"
    )
    return 1 if failed or unseen else 0


def _endings(seeds: Sequence[int]) -> Iterator[tuple[int, Result | BaseException]]:
    """How each ended, in the order of the seeds; an exception is an ending like any other."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        coming = iter(seeds)
        running: dict[int, Future[Result]] = {seed: pool.submit(run_seed, seed) for seed in islice(coming, _AHEAD)}
        while running:
            seed = next(iter(running))
            future = running.pop(seed)
            error = future.exception()
            yield seed, error if error is not None else future.result()
            for following in islice(coming, 1):
                running[following] = pool.submit(run_seed, following)


def _unseen(faults: Counter[Fault], moves: Counter[tuple[State, Trigger]]) -> list[str]:
    unseen = [fault.value for fault in Fault if not faults[fault]]
    return unseen + [
        f"a {state.value} peer {trigger.value}" for state, trigger in TRANSITIONS if not moves[state, trigger]
    ]
