"""Planted defects are found: what the simulator cannot see, it cannot vouch for."""

from typing import Final

import pytest

from sim.mutations import MUTATIONS, Mutation
from sim.world import World

SEEDS: Final = range(150)


def test_there_are_enough() -> None:
    assert len(MUTATIONS) >= 10


@pytest.mark.parametrize("mutation", MUTATIONS.values(), ids=MUTATIONS.keys())
def test_a_planted_defect_is_found(mutation: Mutation) -> None:
    """By a seed that passes without it."""
    seed = next((seed for seed in SEEDS if is_broken(mutation, seed)), None)
    assert seed is not None, f"nobody noticed that {mutation.what}"
    assert World(seed).run().violation is None


def is_broken(mutation: Mutation, seed: int) -> bool:
    with mutation.planted():
        try:
            return World(seed).run().violation is not None
        except (AssertionError, KeyError):
            # The engine's own assertions are among those that notice.
            return True
