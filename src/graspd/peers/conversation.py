"""A conversation with the relay we work for: which of these events do you have, and please take those.

One question at a time, each with a deadline. A relay that wants to know who asks is told, once (NIP-42).
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from aiohttp import WSMsgType

from graspd.nostr import relay_messages as r
from graspd.nostr.event import Event
from graspd.nostr.filter import Filter
from graspd.nostr.prefix import Prefix
from graspd.peers.dialer import Dialer
from graspd.peers.identity import Identity
from graspd.peers.link import HANDSHAKE_S_MAX, Socket, connect
from graspd.types import EventId, Now, RelayUrl, SubId

ANSWER_S_MAX: Final = 30.0
_UNREAD_MAX: Final = 1000


class Ended(ConnectionError):
    """The relay is gone."""


class Unanswered(Ended):
    """It does not answer."""


class Conversation:
    """Made by `converse`."""

    def __init__(self, url: RelayUrl, socket: Socket, identity: Identity, now: Callable[[], Now]) -> None:
        self._url = url
        self._socket = socket
        self._identity = identity
        self._now = now
        self._arrived: asyncio.Queue[r.RelayMessage] = asyncio.Queue(_UNREAD_MAX)
        self._reading = asyncio.create_task(self._read())
        self._challenge: str | None = None
        self._asked = 0

    async def held(self, ids: Sequence[EventId]) -> set[EventId]:
        """Which of these events the relay has."""
        found, refusal = await self._held(ids)
        if refusal is Prefix.AUTH_REQUIRED and await self._authenticated():
            found, _ = await self._held(ids)
        return found

    async def publish(self, events: Sequence[Event]) -> dict[EventId, r.RelayOk]:
        """Publish; the answers that came in time, by id."""
        answers = await self._published(events)
        unknown = [event for event in events if event.id in answers and _asks_who(answers[event.id])]
        if unknown and await self._authenticated():
            answers |= await self._published(unknown)
        return answers

    async def until(self, waiting: Coroutine[Any, Any, None]) -> None:
        """Wait for something else while the relay is still there; raises Ended when it is not."""
        wanted = asyncio.ensure_future(waiting)
        try:
            await asyncio.wait([wanted, self._reading], return_when=asyncio.FIRST_COMPLETED)
            if not wanted.done():
                raise Ended("the relay closed the connection")
        finally:
            wanted.cancel()

    def end(self) -> None:
        """Read no further."""
        self._reading.cancel()

    async def _held(self, ids: Sequence[EventId]) -> tuple[set[EventId], Prefix | None]:
        self._asked += 1
        sub = SubId(f"have{self._asked}")
        await self._send(r.req(sub, (Filter(ids=tuple(ids), limit=len(ids)),)))
        found: set[EventId] = set()
        async with _deadline():
            while True:
                match await self._next():
                    case r.RelayEvent(sub_id, event) if sub_id == sub:
                        found.add(event.id)
                    case r.RelayEose(sub_id) if sub_id == sub:
                        await self._send(r.close(sub))
                        return found, None
                    case r.RelayClosed(sub_id, prefix) if sub_id == sub:
                        return found, prefix

    async def _published(self, events: Sequence[Event]) -> dict[EventId, r.RelayOk]:
        wanted = {event.id for event in events}
        answers: dict[EventId, r.RelayOk] = {}
        for event in events:
            await self._send(r.event(event))
        try:
            async with _deadline():
                while len(answers) < len(wanted):
                    message = await self._next()
                    if isinstance(message, r.RelayOk) and message.event_id in wanted:
                        answers[message.event_id] = message
        except Unanswered:
            if not answers:
                raise
        return answers

    async def _authenticated(self) -> bool:
        if self._challenge is None:
            return False
        answer = self._identity.answer(self._url, self._challenge, self._now().wall)
        self._challenge = None  # answered: the same one is not answered again
        await self._send(r.auth(answer))
        async with _deadline():
            while True:
                message = await self._next()
                if isinstance(message, r.RelayOk) and message.event_id == answer.id:
                    return message.accepted

    async def _send(self, text: bytes) -> None:
        await self._socket.send_frame(text, WSMsgType.TEXT)

    async def _next(self) -> r.RelayMessage:
        if not self._arrived.empty():
            return self._arrived.get_nowait()
        taking = asyncio.ensure_future(self._arrived.get())
        try:
            await asyncio.wait([taking, self._reading], return_when=asyncio.FIRST_COMPLETED)
            if taking.done():
                return taking.result()
            raise Ended("the relay closed the connection")
        finally:
            taking.cancel()

    async def _read(self) -> None:
        while (message := await self._socket.receive()).type is WSMsgType.TEXT:
            parsed = r.parse_relay_message(message.data)
            if isinstance(parsed, r.RelayAuth):
                self._challenge = parsed.challenge
            else:
                await self._arrived.put(parsed)


@asynccontextmanager
async def _deadline() -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(ANSWER_S_MAX):
            yield
    except TimeoutError:
        raise Unanswered(f"no answer within {ANSWER_S_MAX:g} s") from None


def _asks_who(answer: r.RelayOk) -> bool:
    return not answer.accepted and answer.prefix is Prefix.AUTH_REQUIRED


@asynccontextmanager
async def converse(
    url: RelayUrl, dialer: Dialer, identity: Identity, now: Callable[[], Now]
) -> AsyncIterator[Conversation]:
    """Open a conversation; it ends with a close frame."""
    async with asyncio.timeout(HANDSHAKE_S_MAX):
        session = await dialer.session(url)
    async with session:
        async with asyncio.timeout(HANDSHAKE_S_MAX):
            socket = await connect(session, url, autoping=True)
        conversation = Conversation(url, socket, identity, now)
        try:
            yield conversation
        finally:
            conversation.end()
            await socket.close()
