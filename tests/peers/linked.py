"""A link on its own, with an inbox that a test reads instead of the engine."""

import asyncio
import time

from graspd.peers.dialer import Dialer
from graspd.peers.identity import Identity
from graspd.peers.inbox import Inbox, Lane
from graspd.peers.link import Link
from graspd.sync.inputs import Input
from graspd.types import LinkId, Monotonic, Now, RelayUrl, UnixTime

DEADLINE_S = 20.0
LINK = LinkId(7)
SECRET = bytes(31) + b"\x01"


def now() -> Now:
    """The clocks of this machine."""
    return Now(Monotonic(time.monotonic()), UnixTime(int(time.time())))


class Linked:
    """A running link and what it told."""

    def __init__(self, url: RelayUrl, dialer: Dialer) -> None:
        self.inbox = Inbox(lambda: now().mono)
        self.lane: Lane = self.inbox.lane()
        self.identity = Identity(SECRET)
        self.link = Link(LINK, url, dialer, self.identity, self.lane, now)
        self.task = asyncio.create_task(self.link.run())

    async def told(self) -> Input:
        """The next thing the link tells."""
        async with asyncio.timeout(DEADLINE_S):
            event = None
            while event is None:
                event = await self.inbox.get_before(None)
            return event

    async def end(self) -> None:
        """Close the link as the driver does."""
        self.lane.shut()
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
