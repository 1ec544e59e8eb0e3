"""HTTP and WebSocket on one port: the relay at `/`, its NIP-11 document, CORS as GRASP-01 wants it."""

import asyncio
import ipaddress
import secrets
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson
from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from graspd.relay.session import Session
from graspd.server.connection import Connection
from graspd.server.hub import Hub

# GRASP-01: any web page may talk to us.
_CORS: Final = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET, POST, OPTIONS",
    "Access-Control-Allow-Headers": (
        "Authorization, Content-Type, Git-Protocol, Accept, Content-Encoding, X-Requested-With"
    ),
}


@dataclass(frozen=True, slots=True)
class Door:
    """Where we listen, whom we let in, and what we say of ourselves. Made from the settings."""

    host: str
    port: int  # 0 lets the system choose
    connections_max: int
    connections_per_address: int
    handshake_s_max: float
    message_bytes_max: int
    ping_s: float
    trusted_proxies: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]
    information: Mapping[str, Any]  # the NIP-11 document
    greeting: str  # for people who come with a browser


class Listener:
    """Accepts connections, counts them, and hands WebSockets to `Connection`."""

    def __init__(self, door: Door, hub: Hub) -> None:
        self._door = door
        self._hub = hub
        self._open: Counter[str] = Counter()  # WebSockets by address
        self._sockets: set[web.WebSocketResponse] = set()
        self._server: asyncio.Server | None = None
        self._accepted = 0

    async def start(self) -> int:
        """Listen; the port."""
        loop = asyncio.get_running_loop()
        site = web.Server(self._handle, access_log=None)
        self._server = await loop.create_server(
            lambda: _Guarded(self, site, loop=loop, access_log=None),
            self._door.host,
            self._door.port,
            backlog=1024,
        )
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def stop(self) -> None:
        """Take nothing new and say goodbye to every client."""
        if self._server is not None:
            self._server.close()
        for socket in list(self._sockets):
            await socket.close(code=1001, message=b"the relay is stopping")

    def admit(self) -> bool:
        """Whether one more connection may be open at all."""
        if self._accepted >= self._door.connections_max:
            return False
        self._accepted += 1
        return True

    def leave(self) -> None:
        """An admitted connection has ended."""
        self._accepted -= 1

    @property
    def handshake_s_max(self) -> float:
        """How long a connection may stay silent at first."""
        return self._door.handshake_s_max

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        assert isinstance(request.protocol, _Guarded)
        request.protocol.greeted()
        if request.method == "OPTIONS":
            return web.Response(status=204, headers=_CORS)
        if request.path == "/" and "upgrade" in request.headers.get("Connection", "").lower():
            return await self._web_socket(request)
        if request.method not in ("GET", "HEAD"):
            return web.Response(
                status=405, text="Method not allowed\n", headers={**_CORS, "Allow": "GET, HEAD, OPTIONS"}
            )
        if request.path != "/":
            return web.Response(status=404, text="Not found\n", headers=_CORS)
        if "application/nostr+json" in request.headers.get("Accept", ""):
            document = orjson.dumps(self._door.information)
            return web.Response(body=document, content_type="application/nostr+json", headers=_CORS)
        return web.Response(text=self._door.greeting, headers=_CORS)

    async def _web_socket(self, request: web.BaseRequest) -> web.StreamResponse:
        peer = self._address(request)
        most = self._door.connections_per_address
        if most and self._open[peer] >= most:
            return web.Response(status=429, text=f"More than {most} connections from one address\n", headers=_CORS)
        socket = web.WebSocketResponse(
            max_msg_size=self._door.message_bytes_max,
            heartbeat=self._door.ping_s,
            compress=False,  # a message of a thousand to one is cheaper to refuse than to bound
        )
        socket.headers.update(_CORS)
        self._open[peer] += 1
        try:
            await socket.prepare(request)
            self._sockets.add(socket)
            session = Session(self._hub.limits, self._hub.domain, secrets.token_hex(16))
            await Connection(self._hub, session, socket, request, peer).serve()
        except web.HTTPException as refusal:
            refusal.headers.update(_CORS)
            raise
        finally:
            self._sockets.discard(socket)
            self._open[peer] -= 1
            if not self._open[peer]:
                del self._open[peer]
        return socket

    def _address(self, request: web.BaseRequest) -> str:
        """The client's address: behind trusted proxies, the last one that none of them added for another of them."""
        hops = [hop.strip() for hop in request.headers.get("X-Forwarded-For", "").split(",") if hop.strip()]
        address = request.remote or ""
        while hops and self._is_trusted(address):
            address = hops.pop()
        return address

    def _is_trusted(self, address: str) -> bool:
        try:
            parsed = ipaddress.ip_address(address)
        except ValueError:
            return False
        return any(parsed in network for network in self._door.trusted_proxies)


class _Guarded(RequestHandler):
    """A connection that is counted from the first byte and must speak in time."""

    __slots__ = ("_admitted", "_deadline", "_listener")

    def __init__(self, listener: Listener, manager: web.Server, **options: Any) -> None:
        super().__init__(manager, **options)
        self._listener = listener
        self._admitted = False
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if not self._listener.admit():
            transport.close()
            return
        self._admitted = True
        loop = asyncio.get_running_loop()
        self._deadline = loop.call_later(self._listener.handshake_s_max, transport.close)

    def connection_lost(self, exc: BaseException | None) -> None:
        self.greeted()
        if self._admitted:
            self._admitted = False
            self._listener.leave()
        super().connection_lost(exc)

    def greeted(self) -> None:
        """The request is here."""
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
