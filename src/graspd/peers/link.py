"""One connection to one peer: dialled through the guard, its messages parsed and put into its lane, ours sent.

A link decides nothing. It says what the peer sent, that it opened, and why it ended; when the engine closed it, it
ends without a word.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Final, assert_never

import aiohttp
from aiohttp import ClientSession, ClientWSTimeout, WSMessage, WSMsgType
from aiohttp.http import WSMessageTextBytes

from graspd.nostr import relay_messages as r
from graspd.peers.dialer import Dialer, DialRefused
from graspd.peers.identity import Identity
from graspd.peers.inbox import Lane
from graspd.peers.terms import read_terms
from graspd.sync import inputs as i
from graspd.types import EventId, LinkId, Now, RelayUrl

HANDSHAKE_S_MAX: Final = 10.0  # name, connection, TLS and upgrade together
TERMS_S_MAX: Final = 2.0  # that an open link waits for the NIP-11 document
PING_S: Final = 30.0  # of silence, then a ping; half of it again without an answer, and the link is lost
CLOSE_S_MAX: Final = 2.0
MESSAGE_BYTES_MAX: Final = 4 * 1024 * 1024  # relays send reconciliation frames of a megabyte, in hex
SIGNS_OF_LIFE_MAX: Final = 120  # pings and pongs a minute; more are a flood that no lane would hold back
OUTBOX_BYTES_MAX: Final = 8 * 1024 * 1024  # a peer that leaves this much unread has stopped reading
_HINT: Final = {None: i.EoseHint.NONE, True: i.EoseHint.FINISH, False: i.EoseHint.MORE}

Socket = aiohttp.ClientWebSocketResponse[bool]
Message = WSMessage | WSMessageTextBytes
Why = tuple[i.LinkFault, str]


class Link:
    """Run once, by `run`, in a task of its own."""

    def __init__(
        self,
        link_id: LinkId,
        peer: RelayUrl,
        dialer: Dialer,
        identity: Identity,
        lane: Lane,
        now: Callable[[], Now],
    ) -> None:
        self._id = link_id
        self._peer = peer
        self._dialer = dialer
        self._identity = identity
        self._lane = lane
        self._now = now
        self._challenge: str | None = None
        self._answer_id: EventId | None = None
        self._outbox: deque[bytes] = deque()
        self._outbox_bytes = 0
        self._sendable = asyncio.Event()
        self._signs_of_life = (0, 0)  # the minute, and how many in it

    async def run(self) -> None:
        """Dial and carry messages until the link ends; the last thing put into the lane is why."""
        outcome: type[i.LinkFailed | i.LinkLost] = i.LinkFailed
        try:
            async with AsyncExitStack() as stack:
                socket, terms = await self._opened(stack)
                await self._lane.put(i.LinkOpened(self._id, terms))
                outcome = i.LinkLost
                why = await self._carried(socket)
        except (DialRefused, aiohttp.ClientError, OSError, ValueError) as error:
            why = fault_of(error)
        self._lane.put_now(outcome(self._id, *why))

    def send(self, message: bytes) -> None:
        """Send a message, in the order given."""
        self._outbox.append(message)
        self._outbox_bytes += len(message)
        self._sendable.set()

    def send_auth(self) -> None:
        """Answer the newest challenge."""
        if self._challenge is None:
            self._lane.put_now(i.AuthAnswered(self._id, accepted=False, text="there is no challenge"))
            return
        answer = self._identity.answer(self._peer, self._challenge, self._now().wall)
        self._answer_id = answer.id
        self.send(r.auth(answer))

    async def _opened(self, stack: AsyncExitStack) -> tuple[Socket, i.PeerTerms | None]:
        async with asyncio.timeout(HANDSHAKE_S_MAX):
            session = await stack.enter_async_context(await self._dialer.session(self._peer))
            reading = asyncio.create_task(read_terms(session, self._peer))
            stack.callback(reading.cancel)
            socket = await connect(session, self._peer, autoping=False)
        stack.push_async_callback(socket.close)
        done, _ = await asyncio.wait([reading], timeout=TERMS_S_MAX)
        reading.cancel()
        return socket, reading.result() if done else None

    async def _carried(self, socket: Socket) -> Why:
        sending = asyncio.create_task(self._send_all(socket))
        try:
            return await self._receive_all(socket)
        finally:
            sending.cancel()

    async def _send_all(self, socket: Socket) -> None:
        try:
            while True:
                await self._sendable.wait()
                self._sendable.clear()
                while self._outbox:
                    message = self._outbox.popleft()
                    await socket.send_frame(message, WSMsgType.TEXT)
                    self._outbox_bytes -= len(message)
        except (aiohttp.ClientError, ConnectionError):
            return  # the reading side learns the same, and says so

    async def _receive_all(self, socket: Socket) -> Why:
        while True:
            message = await socket.receive()
            match message.type:
                case WSMsgType.TEXT:
                    await self._take(message.data)
                case WSMsgType.BINARY:
                    await self._lane.put(i.JunkArrived(self._id, "a binary message"), len(message.data))
                case WSMsgType.PING | WSMsgType.PONG:
                    await self._take_sign_of_life(message, socket)
                case _:
                    return _end_of(message, socket)
            if self._outbox_bytes > OUTBOX_BYTES_MAX:
                return i.LinkFault.SILENT, "it does not read what we send"

    async def _take_sign_of_life(self, message: Message, socket: Socket) -> None:
        minute = int(self._now().mono // 60)
        self._signs_of_life = (minute, self._signs_of_life[1] + 1 if self._signs_of_life[0] == minute else 1)
        if self._signs_of_life[1] > SIGNS_OF_LIFE_MAX:
            await self._lane.put(i.JunkArrived(self._id, "pings without end"))
        elif message.type is WSMsgType.PING:
            await socket.pong(message.data)

    async def _take(self, text: bytes) -> None:
        told = self._told(r.parse_relay_message(text))
        if told is not None:
            await self._lane.put(told, len(text))

    def _told(self, message: r.RelayMessage) -> i.Input | None:
        match message:
            case r.RelayEvent(sub, event):
                return i.EventArrived(self._id, sub, event)
            case r.RelayEose(sub, complete):
                return i.EoseArrived(self._id, sub, _HINT[complete])
            case r.RelayClosed(sub, prefix, text):
                return i.ClosedArrived(self._id, sub, prefix, text)
            case r.RelayNotice(text):
                return i.NoticeArrived(self._id, text)
            case r.RelayOk(event_id, accepted, _, text):
                # We publish nothing to peers, so the only OK that can mean something answers our AUTH.
                return i.AuthAnswered(self._id, accepted, text) if event_id == self._answer_id else None
            case r.RelayAuth(challenge):
                self._challenge = challenge
                return i.AuthChallenged(self._id)
            case r.RelayNegMsg(sub, data):
                return i.NegMsgArrived(self._id, sub, data)
            case r.RelayNegErr(sub, prefix, text, most):
                return i.NegErrArrived(self._id, sub, prefix, text, most)
            case r.Junk(why):
                return i.JunkArrived(self._id, why)
            case _:
                assert_never(message)


async def connect(session: ClientSession, url: RelayUrl, *, autoping: bool) -> Socket:
    """A WebSocket to a relay as we want one; without `autoping`, whoever reads it answers the pings."""
    return await session.ws_connect(
        url,
        timeout=ClientWSTimeout(ws_close=CLOSE_S_MAX),
        heartbeat=PING_S,
        autoping=autoping,
        compress=0,
        max_msg_size=MESSAGE_BYTES_MAX,
        decode_text=False,
    )


def fault_of(error: Exception) -> Why:
    """Why there was no link, from what was raised while it was dialled."""
    text = " ".join(str(error).split())[: r.TEXT_LENGTH_MAX] or type(error).__name__
    match error:
        case DialRefused():
            return error.fault, text
        case aiohttp.ClientSSLError() | ssl.SSLError() | ssl.CertificateError():
            return i.LinkFault.TLS, text
        case TimeoutError():
            return i.LinkFault.TIMEOUT, f"no link within {HANDSHAKE_S_MAX:g} s"
        case aiohttp.ClientConnectorError(os_error=ConnectionRefusedError()) | ConnectionRefusedError():
            return i.LinkFault.REFUSED, text
        case aiohttp.ClientConnectorError():
            return i.LinkFault.NETWORK, text
        case aiohttp.WSServerHandshakeError(status=status):
            return i.LinkFault.HANDSHAKE, f"answered {status}"
        case aiohttp.ClientError() | ValueError():
            return i.LinkFault.HANDSHAKE, text
        case _:
            return i.LinkFault.NETWORK, text


def _end_of(message: Message, socket: Socket) -> Why:
    code = socket.close_code
    error = message.data if message.type is WSMsgType.ERROR else socket.exception()
    if isinstance(error, TimeoutError):
        return i.LinkFault.SILENT, str(error)
    if code == aiohttp.WSCloseCode.MESSAGE_TOO_BIG and message.type is WSMsgType.ERROR:
        return i.LinkFault.OVERSIZED, str(error)
    if message.type is WSMsgType.CLOSE:
        return i.LinkFault.CLOSED, f"{code} {message.extra or ''}".strip()[: r.TEXT_LENGTH_MAX]
    return i.LinkFault.NETWORK, str(error) if error else f"ended with {code}"
