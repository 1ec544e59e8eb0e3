"""One negentropy session with one peer, as far as it is ours to judge: rounds, bounds, and what came of it.

The protocol itself is graspd.negentropy. Here is what a peer may cost: rounds in all, rounds that name nothing, ids it
claims. Pure.
"""

from dataclasses import dataclass

from graspd.negentropy import Initiator, ItemSet, NegentropyError
from graspd.sync.limits import SyncLimits


@dataclass(frozen=True, slots=True)
class Round:
    """Send this next."""

    message: bytes


@dataclass(frozen=True, slots=True)
class Agreed:
    """The difference is known: all of it, or as much as is worth fetching before asking again."""

    whole: bool


@dataclass(frozen=True, slots=True)
class Broken:
    """The peer's message made no sense, or the session no progress."""

    why: str
    restless: bool


class Reconciliation:
    """Drives an initiator over our items of one filter and time range."""

    def __init__(self, items: ItemSet, limits: SyncLimits) -> None:
        self._limits = limits
        self._initiator = Initiator(items, limits.frame_bytes)
        self._need: list[bytes] = []
        self._rounds = 0
        self._rounds_idle = 0
        self.items = items
        self.need_count = 0
        self.have_count = 0  # ours that the peer lacks

    def open(self) -> bytes:
        """The first message."""
        return self._initiator.initiate()

    def take(self, message: bytes) -> Round | Agreed | Broken:
        """A message of the peer."""
        try:
            reply = self._initiator.reconcile(message)
        except NegentropyError as fault:
            return Broken(str(fault), restless=False)
        self._rounds += 1
        found = len(reply.need) + len(reply.have)
        self._rounds_idle = 0 if found else self._rounds_idle + 1
        self.need_count += len(reply.need)
        self.have_count += len(reply.have)
        if len(reply.need):
            self._need.append(reply.need.tobytes())
        if reply.message is None:
            return Agreed(whole=True)
        if self.need_count >= self._limits.need_max:
            return Agreed(whole=False)
        if self._rounds >= self._limits.rounds_max or self._rounds_idle >= self._limits.rounds_idle_max:
            return Broken(f"no agreement after {self._rounds} rounds", restless=True)
        return Round(reply.message)

    def need(self) -> bytes:
        """The ids that the peer has and we lack, 32 bytes each, end to end."""
        return b"".join(self._need)
