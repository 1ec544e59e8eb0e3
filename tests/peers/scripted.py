"""A WebSocket server on loopback whose every connection is played by a test's own function."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from graspd.types import RelayUrl

Play = Callable[[web.WebSocketResponse], Awaitable[None]]


@asynccontextmanager
async def scripted(play: Play, *, autoping: bool = True) -> AsyncIterator[RelayUrl]:
    """Serve; every connection is handed to `play` and closed when that returns. No NIP-11 document is given."""

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        if "upgrade" not in request.headers.get("Connection", "").lower():
            return web.Response(status=404)
        socket = web.WebSocketResponse(autoping=autoping, max_msg_size=64 * 1024 * 1024)
        await socket.prepare(request)
        await play(socket)
        return socket

    server = web.Server(handle)
    listening = await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    try:
        yield RelayUrl(f"ws://127.0.0.1:{port}")
    finally:
        listening.close()
        await server.shutdown(1.0)
