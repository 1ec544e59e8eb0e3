"""Planted defects are found: what the simulator cannot see, it cannot vouch for."""

from collections.abc import Iterator
from itertools import islice
from random import Random
from typing import Final

import pytest

from sim.mutations import MUTATIONS, Mutation
from sim.options import draw
from sim.world import World

SEEDS: Final = range(5000)
TRIES: Final = 120
SAFETY_S_MAX: Final = 3600.0  # longer worlds see no more of these and take longer


def test_there_are_enough() -> None:
    assert len(MUTATIONS) >= 10


@pytest.mark.parametrize("mutation", MUTATIONS.values(), ids=MUTATIONS.keys())
def test_a_planted_defect_is_found(mutation: Mutation) -> None:
    """By a seed that passes without it."""
    tried = islice(seeds_for(mutation), TRIES)
    seed = next((seed for seed in tried if is_broken(mutation, seed)), None)
    assert seed is not None, f"nobody noticed that {mutation.what}"
    assert World(seed).run().violation is None


def seeds_for(mutation: Mutation) -> Iterator[int]:
    """Those of short worlds that have the faults in which the defect shows."""
    for seed in SEEDS:
        options = draw(Random(f"{seed}/world"))
        if options.faults >= mutation.shown_by and options.safety_s <= SAFETY_S_MAX:
            yield seed


def is_broken(mutation: Mutation, seed: int) -> bool:
    with mutation.planted():
        try:
            return World(seed).run().violation is not None
        except (AssertionError, KeyError):
            # The engine's own assertions are among those that notice.
            return True
