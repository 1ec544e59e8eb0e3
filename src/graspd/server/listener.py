"""HTTP and WebSocket on one port: the relay at `/`, its NIP-11 document, CORS as GRASP-01 wants it."""

import asyncio
import ipaddress
import logging
import secrets
from collections import Counter
from typing import Any, Final

import orjson
from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from graspd import __version__
from graspd.nostr import nip11
from graspd.nostr.messages import SUB_ID_LENGTH_MAX
from graspd.relay.session import Session
from graspd.server.connection import Connection
from graspd.server.hub import Hub
from graspd.settings import Settings

log = logging.getLogger("graspd.listener")

# GRASP-01: any web page may talk to us.
_CORS: Final = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET, POST, OPTIONS",
    "Access-Control-Allow-Headers": (
        "Authorization, Content-Type, Git-Protocol, Accept, Content-Encoding, X-Requested-With"
    ),
}
_SOFTWARE: Final = "graspd"


class Listener:
    """Accepts connections, counts them, and hands WebSockets to `Connection`."""

    def __init__(self, settings: Settings, hub: Hub) -> None:
        self._settings = settings
        self._hub = hub
        self._open: Counter[str] = Counter()  # WebSockets by address
        self._trusted = [ipaddress.ip_network(network, strict=False) for network in settings.trusted_proxies]
        self._sockets: set[web.WebSocketResponse] = set()
        self._server: asyncio.Server | None = None
        self._accepted = 0

    async def start(self) -> int:
        """Listen; the port."""
        loop = asyncio.get_running_loop()
        site = web.Server(self._handle, access_log=None)
        self._server = await loop.create_server(
            lambda: _Guarded(self, site, loop=loop, access_log=None),
            self._settings.bind_host,
            self._settings.bind_port,
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
        if self._accepted >= self._settings.connections_max:
            return False
        self._accepted += 1
        return True

    def leave(self) -> None:
        """An admitted connection has ended."""
        self._accepted -= 1

    @property
    def handshake_s_max(self) -> float:
        """How long a connection may stay silent at first."""
        return self._settings.handshake_s_max

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
            return web.Response(
                body=orjson.dumps(self._information()), content_type="application/nostr+json", headers=_CORS
            )
        return web.Response(text=self._greeting(), headers=_CORS)

    async def _web_socket(self, request: web.BaseRequest) -> web.StreamResponse:
        peer = self._address(request)
        most = self._settings.connections_per_address
        if most and self._open[peer] >= most:
            return web.Response(status=429, text=f"More than {most} connections from one address\n", headers=_CORS)
        socket = web.WebSocketResponse(
            max_msg_size=self._settings.message_bytes_max,
            heartbeat=self._settings.ping_s,
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
        return any(parsed in network for network in self._trusted)

    def _information(self) -> dict[str, Any]:
        settings = self._settings
        return nip11.information(
            {
                "name": settings.name or str(self._hub.domain),
                "description": settings.description,
                "pubkey": settings.owner_pubkey,
                "contact": settings.contact,
                "supported_nips": nip11.supported_nips(settings.negentropy),
                "supported_grasps": list(nip11.SUPPORTED_GRASPS),
                "repo_acceptance_criteria": self._criteria(),
                "software": _SOFTWARE,
                "version": __version__,
                "limitation": self._limitation(),
            }
        )

    def _limitation(self) -> dict[str, Any]:
        settings = self._settings
        return {
            "max_message_length": settings.message_bytes_max,
            "max_subscriptions": settings.subscriptions_max,
            "max_filters": settings.filters_max,
            "max_limit": settings.results_max,
            "default_limit": settings.results_max,
            "max_subid_length": SUB_ID_LENGTH_MAX,
            "max_event_tags": settings.event_tags_max,
            "max_content_length": settings.event_bytes_max,
            "created_at_upper_limit": settings.future_s_max,
            "auth_required": False,
            "payment_required": False,
            "restricted_writes": True,
        }

    def _criteria(self) -> str:
        if self._settings.archive:
            return f"Announcements that list {self._hub.domain}, and repositories that the operator archives"
        return f"Announcements that list {self._hub.domain} in both clone and relays"

    def _greeting(self) -> str:
        return (
            f"{self._settings.name or self._hub.domain}: a GRASP relay (graspd {__version__})\n\n"
            f"Connect a Nostr client to ws://{self._hub.domain} (wss:// behind TLS).\n"
        )


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
