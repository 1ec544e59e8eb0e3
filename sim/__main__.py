"""`python -m sim --seed N [--trace]` runs one world; `python -m sim --seeds 200 [--first-seed K]` runs many.

Ends with one summary line, and with exit code 1 when anything that must always hold did not: each such seed has a line
of its own. A large run fails as well when some class of fault, or some move of a peer, was never seen in it.
"""

import argparse
import sys
import time

from sim.campaign import run_many
from sim.options import describe
from sim.world import World


def main(argv: list[str]) -> int:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(prog="python -m sim", description=__doc__)
    parser.add_argument("--seed", type=int, help="run this one world")
    parser.add_argument("--trace", action="store_true", help="print a line for each step of it")
    parser.add_argument("--seeds", type=int, help="run so many worlds, on all cores")
    parser.add_argument("--first-seed", type=int, default=0, help="the first of them")
    arguments = parser.parse_args(argv)
    if arguments.seeds is not None:
        return run_many(range(arguments.first_seed, arguments.first_seed + arguments.seeds))
    if arguments.seed is None:
        parser.error("one of --seed and --seeds is needed")
    return run_one(arguments.seed, trace=arguments.trace)


def run_one(seed: int, *, trace: bool) -> int:
    """Run one world and say how it ended."""
    world = World(seed, print if trace else None)
    if trace:
        print(describe(world.options))
    began = time.perf_counter()
    result = world.run()
    took = time.perf_counter() - began
    print(
        f"seed {seed}: {result.violation or 'ok'}; {result.virtual_s / 3600:.1f} h in {took:.2f} s, "
        f"{result.steps} steps, digest {result.digest}"
    )
    return 0 if result.violation is None else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
