"""The simulator's relays over real WebSockets: in a thread of their own, and counting what passes.

A relay can be told to leave and to come back on the same port, or to fall silent with its connections open.
"""

import asyncio
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, Self, TypeVar

import orjson
from aiohttp import WSMsgType, web

from graspd.nostr.event import Event
from graspd.types import RelayUrl
from sim.peers.relay import Manners, Relay, Reply, Talk, Temper

HOST = "127.0.0.1"
DEADLINE_S = 20.0
T = TypeVar("T")


class Served:
    """One relay. Everything it holds is touched by its own thread only."""

    def __init__(
        self, tempers: Sequence[Temper] = (), manners: Manners | None = None, hosts: Sequence[str] = (HOST,)
    ) -> None:
        self._hosts = hosts
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._outboxes: dict[Talk, asyncio.Queue[str | None]] = {}
        self._handlers: set[asyncio.Task[Any]] = set()
        self._listening: asyncio.Server | None = None
        self._thawed = asyncio.Event()
        self._thawed.set()
        self.sent: Counter[str] = Counter()  # messages by verb
        self.sent_ids: Counter[str] = Counter()  # events by id
        self.received: Counter[str] = Counter()
        self.closed_with: list[int] = []  # the codes of clients that said goodbye
        self.port = 0
        self._wait(self._listen())
        self.relay = Relay(RelayUrl(self.url), manners or Manners(), tempers)

    @property
    def url(self) -> str:
        return self.urls[0]

    @property
    def urls(self) -> list[str]:
        """One for each host: all of 127.0.0.0/8 is this machine, so one relay can look like many."""
        return [f"ws://{host}:{self.port}" for host in self._hosts]

    @property
    def connections(self) -> int:
        """How many are open."""
        return len(self._outboxes)

    def publish(self, events: Iterable[Event]) -> None:
        """Take events, and tell whoever listens."""
        for event in events:
            self._call(lambda event=event: self._publish(event))  # type: ignore[misc]

    def wipe(self) -> None:
        """Lose everything."""
        self._call(lambda: setattr(self.relay, "shelf", type(self.relay.shelf)(low_ids_first=True)))

    def leave(self) -> None:
        """Close every connection without a word, and listen no more."""
        self._wait(self._leave())

    def come_back(self) -> None:
        """Listen again, on the same port."""
        self._wait(self._listen())

    def freeze(self) -> None:
        """Read and send nothing more, with every connection open."""
        self._call(self._thawed.clear)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._call(self._thawed.set)
        self._wait(self._leave())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(DEADLINE_S)

    def _call(self, work: Callable[[], T]) -> T:
        async def called() -> T:
            return work()

        return self._wait(called())

    async def _listen(self) -> None:
        server = web.Server(self._handle)
        if not self.port:
            with socket.socket() as probe:
                probe.bind((HOST, 0))
                self.port = probe.getsockname()[1]
        self._listening = await self._loop.create_server(server, self._hosts, self.port, reuse_address=True)

    async def _leave(self) -> None:
        if self._listening is not None:
            self._listening.close()
            self._listening = None
        handlers = list(self._handlers)
        for handler in handlers:
            handler.cancel()
        await asyncio.gather(*handlers, return_exceptions=True)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if "upgrade" not in request.headers.get("Connection", "").lower():
            document = self.relay.document()
            return web.Response(status=404) if document is None else web.Response(body=orjson.dumps(document))
        opened = web.WebSocketResponse(max_msg_size=self.relay.manners.message_bytes_max)
        await opened.prepare(request)
        handler = asyncio.current_task()
        assert handler is not None
        self._handlers.add(handler)
        talk, replies = self.relay.connect(time.time())
        self._outboxes[talk] = asyncio.Queue()
        sending = asyncio.create_task(self._send(talk, opened))
        try:
            self._say(talk, replies)
            await self._converse(talk, opened)
        finally:
            sending.cancel()
            self._handlers.discard(handler)
            del self._outboxes[talk]
            self.relay.disconnect(talk)
            if request.transport is not None:
                request.transport.abort()
        return opened

    async def _converse(self, talk: Talk, opened: web.WebSocketResponse) -> None:
        while True:
            await self._thawed.wait()
            message = await opened.receive()
            if message.type is WSMsgType.CLOSE:
                self.closed_with.append(message.data)
            if message.type is not WSMsgType.TEXT:
                return
            self.received[orjson.loads(message.data)[0]] += 1
            self._say(talk, talk.receive(message.data, time.time()))

    def _publish(self, event: Event) -> None:
        for talk, reply in self.relay.publish(event, time.time()):
            self._say(talk, [reply])

    def _say(self, talk: Talk, replies: Iterable[Reply]) -> None:
        outbox = self._outboxes[talk]
        for delay_s, text in replies:
            if delay_s:
                self._loop.call_later(delay_s, outbox.put_nowait, text)
            else:
                outbox.put_nowait(text)

    async def _send(self, talk: Talk, opened: web.WebSocketResponse) -> None:
        outbox = self._outboxes[talk]
        while (text := await outbox.get()) is not None:
            await self._thawed.wait()
            if opened.closed:
                return
            self._count(text)
            await opened.send_str(text)
        await opened.close()

    def _count(self, text: str) -> None:
        verb = text[2 : text.index('"', 2)]
        self.sent[verb] += 1
        if verb == "EVENT":
            at = text.index('{"id":"') + len('{"id":"')
            self.sent_ids[text[at : at + 64]] += 1
