"""Whatever a peer sends as frames, the link ends or goes on, and says so; nothing breaks and nobody is starved."""

import asyncio
import base64
import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random

import pytest

from graspd.nostr import messages as m
from graspd.peers.dialer import Dialer
from graspd.peers.link import SIGNS_OF_LIFE_MAX
from graspd.sync import inputs as i
from graspd.types import RelayUrl
from tests.peers.linked import DEADLINE_S, LINK, Linked

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def frame(opcode: int, payload: bytes = b"", flags: int = 0x80) -> bytes:
    size = len(payload)
    if size < 126:
        return bytes([flags | opcode, size]) + payload
    if size < 1 << 16:
        return bytes([flags | opcode, 126]) + size.to_bytes(2, "big") + payload
    return bytes([flags | opcode, 127]) + size.to_bytes(8, "big") + payload


NOTICE = frame(1, m.notice("well"))
HOSTILE: dict[str, Callable[[Random], bytes]] = {
    "noise": lambda chance: chance.randbytes(5000),
    "noise after a message": lambda chance: NOTICE + chance.randbytes(500),
    "reserved bits": lambda _: frame(1, b"x", 0xF0),
    "unknown opcode": lambda _: frame(3, b"x"),
    "unknown control": lambda _: frame(11, b"x"),
    "compressed though not agreed": lambda _: frame(1, b"\x00" * 50, 0xC0),
    "length of 2^63": lambda _: bytes([0x81, 127]) + b"\x80" + bytes(7),
    "length of a terabyte": lambda _: bytes([0x81, 127]) + (1 << 40).to_bytes(8, "big"),
    "masked": lambda _: bytes([0x81, 0x81]) + b"\1\2\3\4x",
    "continuation of nothing": lambda _: frame(0, b"x"),
    "text within text": lambda _: frame(1, b"[", 0) + frame(1, b"]"),
    "endless fragments": lambda _: frame(1, b"[", 0) + frame(0, b"x" * 60_000, 0) * 100,
    "empty fragments": lambda _: frame(1, b"", 0) + frame(0, b"", 0) * 50_000,
    "fragmented ping": lambda _: frame(9, b"x", 0),
    "ping too long": lambda _: frame(9, b"x" * 126),
    "close of one byte": lambda _: frame(8, b"\x03"),
    "close with a code that is none": lambda _: frame(8, (5000).to_bytes(2, "big") + b"x"),
    "close that is no text": lambda _: frame(8, (1000).to_bytes(2, "big") + b"\xff\xfe"),
    "half a frame": lambda _: NOTICE[:-3],
}


@asynccontextmanager
async def raw_relay(answer: bytes, *, stays: bool = False) -> AsyncIterator[RelayUrl]:
    """Upgrades, sends these bytes, and hangs up."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if b"Sec-WebSocket-Key: " in head:
            key = head.partition(b"Sec-WebSocket-Key: ")[2].split(b"\r\n")[0]
            accept = base64.b64encode(hashlib.sha1(key + _GUID).digest())
            writer.write(b"HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: upgrade\r\n")
            writer.write(b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n" + answer)
            if stays:
                await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield RelayUrl(f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    finally:
        server.close()


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("seed", range(3))
async def test_hostile_frames_end_the_link_and_nothing_else(name: str, seed: int) -> None:
    async with asyncio.timeout(DEADLINE_S), raw_relay(HOSTILE[name](Random(seed))) as url:
        linked = Linked(url, Dialer(allow_private=True))
        assert isinstance(await linked.told(), i.LinkOpened)

        while not isinstance(told := await linked.told(), i.LinkLost):
            assert isinstance(told, i.JunkArrived | i.NoticeArrived)

        await linked.task


async def test_text_that_is_no_utf8_is_junk() -> None:
    async with raw_relay(frame(1, b'["NOTICE","\xff"]') + NOTICE) as url:
        linked = Linked(url, Dialer(allow_private=True))
        await linked.told()

        assert isinstance(await linked.told(), i.JunkArrived)
        assert isinstance(await linked.told(), i.NoticeArrived)


async def test_pings_without_end_are_junk() -> None:
    async with raw_relay(frame(9, b"x") * (SIGNS_OF_LIFE_MAX + 5) + NOTICE, stays=True) as url:
        linked = Linked(url, Dialer(allow_private=True))
        await linked.told()

        told = await linked.told()
        assert told == i.JunkArrived(LINK, "pings without end")
        while isinstance(told, i.JunkArrived):
            told = await linked.told()

        assert isinstance(told, i.NoticeArrived)
        await linked.end()
