"""One accepted connection before it is a WebSocket: counted from its first byte, and made to speak in time."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, cast

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from graspd.server.arrivals import Arrivals, Refusal

# GRASP-01: any web page may talk to us.
CORS: Final[Mapping[str, str]] = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET, POST, OPTIONS",
    "Access-Control-Allow-Headers": (
        "Authorization, Content-Type, Git-Protocol, Accept, Content-Encoding, X-Requested-With"
    ),
}

# A long answer waits for its client between these: enough to keep a fast one busy, little to hold for a slow one.
_UNSENT_HIGH: Final = 256 * 1024
_UNSENT_LOW: Final = 64 * 1024

log = logging.getLogger("graspd.listener")


class Guarded(RequestHandler):
    """aiohttp's side of a connection, with our deadline and our count."""

    __slots__ = ("_admitted", "_arrivals", "_deadline", "_remote", "_request_s_max")

    def __init__(self, arrivals: Arrivals, request_s_max: float, manager: web.Server, **options: Any) -> None:
        super().__init__(manager, **options)
        self._arrivals = arrivals
        self._request_s_max = request_s_max
        self._remote = ""
        self._admitted = False
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        stream = cast("asyncio.Transport", transport)  # uvloop's have the methods without being of the class
        peer = stream.get_extra_info("peername")
        self._remote = peer[0] if isinstance(peer, tuple) else ""
        refusal = self._arrivals.connect(self._remote)
        if refusal is not None:
            stream.write(_response(refusal))
            stream.close()
            return
        self._admitted = True
        stream.set_write_buffer_limits(high=_UNSENT_HIGH, low=_UNSENT_LOW)
        self.expect_request()

    def connection_lost(self, exc: BaseException | None) -> None:
        self.request_came()
        if self._admitted:
            self._admitted = False
            self._arrivals.disconnect(self._remote)
        super().connection_lost(exc)

    def expect_request(self) -> None:
        """A request, the first or the next, must be here whole before the deadline."""
        transport = self.transport
        if transport is not None and not transport.is_closing():
            self._deadline = asyncio.get_running_loop().call_later(self._request_s_max, transport.abort)

    async def drained(self) -> None:
        """Wait until most of what was written has been sent, or the connection has ended."""
        with suppress(ConnectionError):
            await self._drain_helper()

    def request_came(self) -> None:
        """The request is here."""
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer what is no HTTP at all. Only a fault of our own is worth a traceback in the log."""
        if status < 500:
            log.debug("%s sent no valid HTTP: %s", request.remote, message)
            response: web.StreamResponse = web.Response(status=status, text="Bad request\n")
            response.force_close()
        else:
            response = super().handle_error(request, status, exc, message)
        response.headers.update(CORS)
        return response


def _response(refusal: Refusal) -> bytes:
    """The whole answer to a connection whose request we will not read."""
    fields = {**CORS, "Content-Type": "text/plain", "Content-Length": str(len(refusal.why)), "Connection": "close"}
    lines = [f"HTTP/1.1 {refusal.status} {refusal.reason}", *(f"{name}: {value}" for name, value in fields.items())]
    return "\r\n".join([*lines, "", refusal.why]).encode()
