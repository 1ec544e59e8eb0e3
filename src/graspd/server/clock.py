"""The clocks of the machine, in the one place that reads them."""

import time
from typing import Protocol

from graspd.types import Monotonic, Now, UnixTime


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> Now:
        """Both clocks."""


class SystemClock:
    """The clocks of this machine."""

    def now(self) -> Now:
        """Both clocks."""
        return Now(Monotonic(time.monotonic()), UnixTime(int(time.time())))
