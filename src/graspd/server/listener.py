"""HTTP and WebSocket on one port: the relay at `/`, its NIP-11 document, CORS as GRASP-01 wants it."""

import asyncio
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson
from aiohttp import web

from graspd.relay.session import Session
from graspd.server.arrivals import Arrivals, Network
from graspd.server.connection import Connection
from graspd.server.guarded import CORS, Guarded
from graspd.server.hub import Hub

_HANDSHAKE: Final = ("Upgrade", "Sec-WebSocket-Key", "Sec-WebSocket-Version")


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
    trusted_proxies: tuple[Network, ...]
    information: Mapping[str, Any]  # the NIP-11 document
    greeting: str  # for people who come with a browser


_SWEEP_S: Final = 5.0  # between looks for idle clients


class Listener:
    """Accepts connections, counts them, and hands WebSockets to `Connection`."""

    def __init__(self, door: Door, hub: Hub) -> None:
        self._door = door
        self._hub = hub
        self._arrivals = Arrivals(door.connections_max, door.connections_per_address, door.trusted_proxies)
        self._connections: dict[web.WebSocketResponse, Connection] = {}
        self._server: asyncio.Server | None = None
        self._sweeping: asyncio.Task[None] | None = None

    async def start(self) -> int:
        """Listen; the port."""
        loop = asyncio.get_running_loop()
        site = web.Server(self._handle, access_log=None)
        self._server = await loop.create_server(
            lambda: Guarded(self._arrivals, self._door.handshake_s_max, site, loop=loop, access_log=None),
            self._door.host,
            self._door.port,
            backlog=1024,
        )
        self._sweeping = asyncio.create_task(self._sweep())
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def stop(self) -> None:
        """Take nothing new and say goodbye to every client."""
        if self._server is not None:
            self._server.close()
        if self._sweeping is not None:
            self._sweeping.cancel()
        goodbye = b"the relay is stopping"
        await asyncio.gather(*(socket.close(code=1001, message=goodbye) for socket in self._connections))

    async def _sweep(self) -> None:
        """Let go of idle clients: one look at all of them is cheaper than a timer for each message."""
        while True:
            await asyncio.sleep(min(_SWEEP_S, self._hub.idle_s_max / 4))
            now = self._hub.clock.now().mono
            idle = [socket for socket, connection in self._connections.items() if connection.is_idle(now)]
            await asyncio.gather(*(socket.close(message=b"idle") for socket in idle))

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        connection = request.protocol
        assert isinstance(connection, Guarded)
        connection.request_came()
        try:
            return await self._answer(request)
        finally:
            connection.expect_request()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "OPTIONS":
            return web.Response(status=204, headers=CORS)
        if request.path == "/" and "upgrade" in request.headers.get("Connection", "").lower():
            return await self._web_socket(request)
        if request.method not in ("GET", "HEAD"):
            return web.Response(
                status=405, text="Method not allowed\n", headers={**CORS, "Allow": "GET, HEAD, OPTIONS"}
            )
        if request.path != "/":
            return web.Response(status=404, text="Not found\n", headers=CORS)
        if "application/nostr+json" in request.headers.get("Accept", "").lower():
            document = orjson.dumps(self._door.information)
            return web.Response(body=document, content_type="application/nostr+json", headers=CORS)
        return web.Response(text=self._door.greeting, headers=CORS)

    async def _web_socket(self, request: web.BaseRequest) -> web.StreamResponse:
        if not all(request.headers.get(name, "").isascii() for name in _HANDSHAKE):
            # aiohttp stumbles over such a header and would blame us, with a traceback.
            return web.Response(status=400, text="Bad request\n", headers=CORS)
        remote = request.remote or ""
        client = self._arrivals.client(remote, request.headers.getall("X-Forwarded-For", ()))
        refusal = self._arrivals.enter(client, remote)
        if refusal is not None:
            return web.Response(status=refusal.status, text=refusal.why, headers=CORS)
        try:
            return await self._converse(request, client)
        finally:
            self._arrivals.leave(client, remote)

    async def _converse(self, request: web.BaseRequest, client: str) -> web.StreamResponse:
        socket = web.WebSocketResponse(
            max_msg_size=self._door.message_bytes_max + 1,  # aiohttp refuses a message of this size, not beyond it
            heartbeat=self._door.ping_s,
            compress=False,  # a message of a thousand to one is cheaper to refuse than to bound
        )
        socket.headers.update(CORS)
        try:
            await socket.prepare(request)
            session = Session(self._hub.limits, self._hub.domain, secrets.token_hex(16))
            connection = Connection(self._hub, session, socket, request, client)
            self._connections[socket] = connection
            await connection.serve()
        except web.HTTPException as refusal:
            refusal.headers.update(CORS)
            raise
        finally:
            self._connections.pop(socket, None)
        return socket
