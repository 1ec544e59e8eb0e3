"""`graspd serve` with its signals and its exit code, as a service manager sees it."""

import signal

from tests.peers.graspd_relay import GraspdRelay
from tests.peers.process import STOP_DEADLINE_S


class Service(GraspdRelay):
    """A relay that can be told to end, and asked how it did."""

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, without waiting."""
        self._running().send_signal(number)

    def ended(self) -> int:
        """Wait for the end; the exit code."""
        code = self._running().wait(STOP_DEADLINE_S)
        self._process = None
        return code
