"""Where everything that happens waits for the engine: one lane for each link, and one for our own side.

A lane is short. When it is full the link's task waits, and with it the peer's socket, so a flood waits at the one who
sends it. Lanes are served in turn, one message each; what our own side has to tell goes first, since it is bounded by
what the engine asked for. A lane can be held: that is how a peer waits for the events it has sent to be stored.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

from graspd.sync.inputs import Input, Ticked
from graspd.types import Monotonic

LANE_MESSAGES_MAX: Final = 64
LANE_BYTES_MAX: Final = 512 * 1024  # a message may be larger and then waits alone


class Giver(Protocol):
    """Has something to tell, or had."""

    def take(self) -> Input | None:
        """The next input, where there is one; who has more says again that it is ready."""


class Lane:
    """One link's way in. Only its link puts; only the inbox takes."""

    def __init__(self, inbox: "Inbox") -> None:
        self._inbox = inbox
        self._waiting: deque[tuple[Input, int]] = deque()
        self._bytes = 0
        self._room = asyncio.Event()
        self._room.set()
        self._is_held = False
        self._is_shut = False

    async def put(self, event: Input, size: int = 0) -> None:
        """Wait until there is room, then leave a message of this many bytes."""
        await self._room.wait()
        self.put_now(event, size)

    def put_now(self, event: Input, size: int = 0) -> None:
        """Leave a message, whatever else waits: for the one that says how the link ended."""
        if self._is_shut:
            return
        self._waiting.append((event, size))
        self._bytes += size
        self._look_for_room()
        if len(self._waiting) == 1 and not self._is_held:
            self._inbox.is_ready(self)

    def take(self) -> Input | None:
        """The next message, where there is one and the lane is not held."""
        if self._is_held or not self._waiting:
            return None
        event, size = self._waiting.popleft()
        self._bytes -= size
        self._look_for_room()
        if self._waiting:
            self._inbox.is_ready(self)
        return event

    def hold(self) -> None:
        """Give nothing until released."""
        self._is_held = True

    def release(self) -> None:
        """Give again."""
        if self._is_held:
            self._is_held = False
            if self._waiting:
                self._inbox.is_ready(self)

    def shut(self) -> None:
        """The link is over: what waits is dropped, and whoever waits for room goes on."""
        self._is_shut = True
        self._waiting.clear()
        self._bytes = 0
        self._room.set()

    def _look_for_room(self) -> None:
        if len(self._waiting) < LANE_MESSAGES_MAX and self._bytes < LANE_BYTES_MAX:
            self._room.set()
        else:
            self._room.clear()


class Inbox:
    """All lanes together. One task takes from it."""

    def __init__(self, mono: Callable[[], Monotonic]) -> None:
        self._mono = mono
        self._own: deque[Input] = deque()
        self._ready: OrderedDict[Giver, None] = OrderedDict()  # in the order of their turns, each once
        self._woken = asyncio.Event()
        self._ticked = False

    def tell(self, event: Input) -> None:
        """Something of our own side: an answer, the feed, an order."""
        self._own.append(event)
        self._woken.set()

    def lane(self) -> Lane:
        """A new lane."""
        return Lane(self)

    def is_ready(self, giver: Giver) -> None:
        """Somebody has something to take."""
        self._ready.setdefault(giver)
        self._woken.set()

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits."""
        return not self._own and not self._ready

    def wake(self) -> None:
        """Let the one who waits look around."""
        self._woken.set()

    async def get_before(self, deadline: Monotonic | None) -> Input | None:
        """The next input, a tick once the deadline has passed, or nothing where somebody called `wake`."""
        event = self._next(deadline)
        if event is None:
            self._woken.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(None if deadline is None else max(0.0, deadline - self._mono())):
                    await self._woken.wait()
            event = self._next(deadline)
        return event

    def _next(self, deadline: Monotonic | None) -> Input | None:
        is_due = deadline is not None and self._mono() >= deadline
        # Of two ticks in a row the second waits for its turn, so that no deadline can starve the rest.
        if is_due and not self._ticked:
            self._ticked = True
            return Ticked()
        self._ticked = False
        if self._own:
            return self._own.popleft()
        while self._ready:
            giver, _ = self._ready.popitem(last=False)
            event = giver.take()
            if event is not None:
                return event
        return Ticked() if is_due else None
