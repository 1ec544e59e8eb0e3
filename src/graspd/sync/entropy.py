"""Chance, as an argument: the shell and the simulator bring a seeded generator, `random.Random` fits."""

from typing import Protocol


class Entropy(Protocol):
    """The one draw the engine makes: for jitter and for the time of day of a daily sync."""

    def uniform(self, a: float, b: float, /) -> float:
        """A number between the two."""
        ...
