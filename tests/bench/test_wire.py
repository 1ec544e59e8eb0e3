"""The load's WebSocket client reads what a relay may send, and a run ends loudly at anything it did not ask for."""

import asyncio
import struct
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from aiohttp import WSMsgType, web
from aiohttp.test_utils import TestServer
from hypothesis import given
from hypothesis import strategies as st

from bench import corpus
from bench.load import Asking, ask, publish
from bench.wire import FrameReader, RelayMisbehaved

Script = Callable[[web.WebSocketResponse, str], Awaitable[object]]
Serve = Callable[[Script], Awaitable[str]]

EVENTS = corpus.fresh_issues(5, 40, corpus.FIRST_CREATED_AT)


def server_frame(opcode: int, payload: bytes) -> bytes:
    if len(payload) < 126:
        return struct.pack(">BB", opcode, len(payload)) + payload
    if len(payload) < 1 << 16:
        return struct.pack(">BBH", opcode, 126, len(payload)) + payload
    return struct.pack(">BBQ", opcode, 127, len(payload)) + payload


@given(
    st.lists(st.tuples(st.sampled_from([0, 1, 125, 126, 700, 70_000]), st.integers(1, 3), st.booleans()), max_size=8),
    st.integers(1, 5000),
    st.booleans(),
)
def test_messages_survive_any_cut(plan: list[tuple[int, int, bool]], step: int, first_in_handshake: bool) -> None:
    stream, expected, pings = b"", [], 0
    for size, parts, pinged in plan:
        message = bytes(range(256)) * (size // 256) + bytes(size % 256)
        expected.append(message)
        cuts = [message[i * size // parts : (i + 1) * size // parts] for i in range(parts)]
        for i, piece in enumerate(cuts):
            opcode = (0x80 if i == parts - 1 else 0) | (0x01 if i == 0 else 0)
            stream += server_frame(opcode, piece)
        if pinged:
            stream += server_frame(0x89, b"still there?")
            pings += 1
    reader = FrameReader(stream[:step] if first_in_handshake else b"")
    rest = stream[step:] if first_in_handshake else stream

    messages = [message for i in range(0, len(rest), step) for message in reader.feed(rest[i : i + step])]

    if rest:
        assert messages == expected
        assert len(reader.pings) == pings


def test_lost_connection_and_close_frame_are_faults() -> None:
    with pytest.raises(RelayMisbehaved, match="closed"):
        FrameReader().feed(b"")
    with pytest.raises(RelayMisbehaved, match="0x88"):
        FrameReader().feed(server_frame(0x88, b"\x03\xe8"))


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    servers: list[TestServer] = []

    async def start(script: Script) -> str:
        async def talk(request: web.Request) -> web.WebSocketResponse:
            socket = web.WebSocketResponse()
            await socket.prepare(request)
            async for message in socket:
                assert message.type is WSMsgType.TEXT
                await script(socket, message.data)
            return socket

        app = web.Application()
        app.router.add_get("/", talk)
        server = TestServer(app)
        servers.append(server)
        await server.start_server()
        return f"ws://{server.host}:{server.port}"

    yield start
    for server in servers:
        await server.close()


def ok_for(message: str, accepted: str = "true") -> str:
    return f'["OK","{message[16:80]}",{accepted},""]'


async def test_publish_counts_every_event_once(serve: Serve) -> None:
    seen: list[str] = []

    async def accept(socket: web.WebSocketResponse, message: str) -> None:
        seen.append(message[9:-1])
        await socket.send_str(ok_for(message))

    url = await serve(accept)
    seconds = await asyncio.to_thread(publish, url, EVENTS, connections=3, in_flight=5)

    assert seconds > 0
    assert sorted(seen) == sorted(event.decode() for event in EVENTS)


@pytest.mark.parametrize(
    "answer",
    [
        lambda message: ok_for(message, "false"),
        lambda _: '["OK","' + "0" * 64 + '",true,""]',
        lambda _: '["NOTICE","slow down"]',
        lambda _: '["CLOSED","x","error: no"]',
    ],
)
async def test_publish_stops_at_any_other_answer(serve: Serve, answer: Callable[[str], str]) -> None:
    async def reply(socket: web.WebSocketResponse, message: str) -> None:
        await socket.send_str(answer(message))

    url = await serve(reply)
    with pytest.raises(RelayMisbehaved):
        await asyncio.to_thread(publish, url, EVENTS, connections=2, in_flight=5)


async def test_publish_stops_when_an_ok_comes_twice(serve: Serve) -> None:
    async def reply(socket: web.WebSocketResponse, message: str) -> None:
        await socket.send_str(ok_for(message))
        await socket.send_str(ok_for(message))

    url = await serve(reply)
    with pytest.raises(RelayMisbehaved):
        await asyncio.to_thread(publish, url, EVENTS, connections=1, in_flight=2)


@pytest.mark.parametrize(("sent", "wanted_ok"), [(3, True), (2, False), (4, False)])
async def test_ask_wants_answers_of_the_stated_size(serve: Serve, sent: int, wanted_ok: bool) -> None:
    async def reply(socket: web.WebSocketResponse, message: str) -> None:
        if message.startswith('["REQ"'):
            for _ in range(sent):
                await socket.send_str('["EVENT","ask0",{}]')
            await socket.send_str('["EOSE","ask0"]')

    url = await serve(reply)
    asked = asyncio.to_thread(ask, url, [Asking([{"limit": 3}], 3)], duration_s=0.1)
    if wanted_ok:
        answers, seconds = await asked
        assert answers >= 1
        assert seconds >= 0.1
    else:
        with pytest.raises(RelayMisbehaved, match=f"{sent} events"):
            await asked
