"""A link tells what the peer sent, that it opened and why it ended; a flood waits at the peer's socket."""

import asyncio
import random
from collections.abc import Callable

import pytest
from aiohttp import WSMsgType, web

from graspd.nostr import messages as m
from graspd.nostr import relay_messages as r
from graspd.nostr.prefix import Prefix
from graspd.nostr.signature import verify
from graspd.peers import link as linking
from graspd.peers.dialer import Dialer
from graspd.peers.inbox import LANE_BYTES_MAX
from graspd.sync import inputs as i
from graspd.types import RelayUrl, SubId
from tests.nostr.made import made
from tests.peers.linked import DEADLINE_S, LINK, Linked
from tests.peers.scripted import Play, scripted

EVENT = made(kind=1621, content="x")
SUB = SubId("s")


def dialler() -> Dialer:
    return Dialer(allow_private=True)


async def opened(url: RelayUrl) -> Linked:
    linked = Linked(url, dialler())
    told = await linked.told()
    assert isinstance(told, i.LinkOpened), told
    return linked


async def stay(socket: web.WebSocketResponse) -> None:
    async for _ in socket:
        pass


def saying(*texts: bytes) -> Play:
    async def play(socket: web.WebSocketResponse) -> None:
        for text in texts:
            await socket.send_str(text.decode())
        await stay(socket)

    return play


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (m.event_prefix(SUB) + EVENT.raw + b"]", i.EventArrived(LINK, SUB, EVENT)),
        (m.eose(SUB, None), i.EoseArrived(LINK, SUB, i.EoseHint.NONE)),
        (m.eose(SUB, complete=True), i.EoseArrived(LINK, SUB, i.EoseHint.FINISH)),
        (m.eose(SUB, complete=False), i.EoseArrived(LINK, SUB, i.EoseHint.MORE)),
        (m.closed(SUB, "error: no"), i.ClosedArrived(LINK, SUB, Prefix.ERROR, "error: no")),
        (m.notice("hello"), i.NoticeArrived(LINK, "hello")),
        (m.auth("challenge"), i.AuthChallenged(LINK)),
        (m.neg_msg(SUB, b"\x61"), i.NegMsgArrived(LINK, SUB, b"\x61")),
        (m.neg_err(SUB, "blocked: x", 9), i.NegErrArrived(LINK, SUB, Prefix.BLOCKED, "blocked: x", 9)),
        (b"nonsense", i.JunkArrived(LINK, "the message is not valid JSON")),
    ],
)
async def test_message_is_told(text: bytes, told: i.Input) -> None:
    async with scripted(saying(text)) as url:
        linked = await opened(url)

        assert await linked.told() == told

        await linked.end()


async def test_ok_of_nothing_we_sent_is_passed_over() -> None:
    async with scripted(saying(m.ok("ab" * 32, accepted=True, text=""), m.notice("next"))) as url:
        linked = await opened(url)

        assert await linked.told() == i.NoticeArrived(LINK, "next")

        await linked.end()


async def test_binary_message_is_junk() -> None:
    async def play(socket: web.WebSocketResponse) -> None:
        await socket.send_bytes(b"\x00")
        await stay(socket)

    async with scripted(play) as url:
        linked = await opened(url)

        assert isinstance(await linked.told(), i.JunkArrived)

        await linked.end()


async def test_messages_are_sent_in_order() -> None:
    received: asyncio.Queue[str] = asyncio.Queue()

    async def play(socket: web.WebSocketResponse) -> None:
        async for message in socket:
            received.put_nowait(message.data)

    async with scripted(play) as url, asyncio.timeout(DEADLINE_S):
        linked = await opened(url)
        texts = [r.close(SubId(str(number))) for number in range(50)]
        for text in texts:
            linked.link.send(text)

        assert [(await received.get()).encode() for _ in texts] == texts

        await linked.end()


async def test_challenge_is_answered_by_the_stable_key() -> None:
    answers: asyncio.Queue[m.ClientMessage | m.BadMessage] = asyncio.Queue()

    async def play(socket: web.WebSocketResponse) -> None:
        await socket.send_str(m.auth("old").decode())
        await socket.send_str(m.auth("new").decode())
        async for message in socket:
            answer = m.parse_client_message(message.data.encode())
            answers.put_nowait(answer)
            assert isinstance(answer, m.Authenticate)
            await socket.send_str(m.ok(answer.event.id, accepted=False, text="restricted: no").decode())

    async with scripted(play) as url, asyncio.timeout(DEADLINE_S):
        linked = await opened(url)
        assert [await linked.told(), await linked.told()] == [i.AuthChallenged(LINK)] * 2

        linked.link.send_auth()

        assert await linked.told() == i.AuthAnswered(LINK, accepted=False, text="restricted: no")
        answer = await answers.get()
        assert isinstance(answer, m.Authenticate)
        event = answer.event
        assert (event.kind, event.first("challenge"), event.first("relay")) == (22242, "new", url)
        assert event.pubkey == linked.identity.pubkey
        assert verify(*map(bytes.fromhex, (event.id, event.pubkey, event.sig)))
        await linked.end()


async def test_without_a_challenge_there_is_nothing_to_answer() -> None:
    async with scripted(stay) as url:
        linked = await opened(url)

        linked.link.send_auth()

        assert await linked.told() == i.AuthAnswered(LINK, accepted=False, text="there is no challenge")
        await linked.end()


async def test_close_frame_of_the_peer_is_told() -> None:
    async def play(socket: web.WebSocketResponse) -> None:
        await socket.close(code=1001, message=b"going home")

    async with scripted(play) as url:
        linked = await opened(url)

        assert await linked.told() == i.LinkLost(LINK, i.LinkFault.CLOSED, "1001 going home")


async def test_broken_connection_is_told() -> None:
    async def abort(socket: web.WebSocketResponse) -> None:
        assert socket._req is not None
        assert socket._req.transport is not None
        socket._req.transport.abort()

    async with scripted(abort) as url:
        linked = await opened(url)

        told = await linked.told()

    assert isinstance(told, i.LinkLost)
    assert told.fault is i.LinkFault.NETWORK


async def test_message_larger_than_we_take_ends_the_link(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linking, "MESSAGE_BYTES_MAX", 10_000)
    async with scripted(saying(m.notice("x" * 9_000), m.notice("x" * 11_000))) as url:
        linked = await opened(url)
        assert isinstance(await linked.told(), i.NoticeArrived)

        told = await linked.told()

    assert isinstance(told, i.LinkLost)
    assert told.fault is i.LinkFault.OVERSIZED


async def test_peer_that_answers_no_ping_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linking, "PING_S", 0.1)
    async with scripted(stay, autoping=False) as url:
        linked = await opened(url)

        told = await linked.told()

    assert isinstance(told, i.LinkLost)
    assert told.fault is i.LinkFault.SILENT


async def test_link_closed_by_us_ends_with_a_close_frame_and_without_a_word() -> None:
    frames: list[tuple[WSMsgType, int | None]] = []
    ended = asyncio.Event()

    async def play(socket: web.WebSocketResponse) -> None:
        message = await socket.receive()
        frames.append((message.type, message.data))
        ended.set()

    async with scripted(play) as url, asyncio.timeout(DEADLINE_S):
        linked = await opened(url)

        await linked.end()

        await ended.wait()
        assert frames == [(WSMsgType.CLOSE, 1000)]
        assert linked.inbox.is_empty


async def test_flood_waits_at_the_socket_of_who_sends_it() -> None:
    sent = 0
    text = m.notice("x" * 20_000).decode()

    async def flood(socket: web.WebSocketResponse) -> None:
        nonlocal sent
        while True:
            await socket.send_str(text)
            sent += 1

    async with scripted(flood) as url, asyncio.timeout(DEADLINE_S):
        linked = await opened(url)
        level = -1
        while level != sent:  # until the sender no longer gets anything through
            level = sent
            await asyncio.sleep(0.2)
        stuck = sent
        assert LANE_BYTES_MAX <= linked.lane._bytes <= LANE_BYTES_MAX + len(text)

        for _ in range(2 * stuck):  # as soon as we read again, it goes on
            assert isinstance(await linked.told(), i.NoticeArrived)

        assert sent > stuck
        await linked.end()


ANSWERS: list[Callable[[random.Random], bytes]] = [
    lambda _: b"",
    lambda chance: chance.randbytes(chance.randrange(1, 4000)),
    lambda _: b"SSH-2.0-OpenSSH_9.6\r\n",
    lambda _: b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
    lambda _: b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
    lambda _: b"HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n",
    lambda _: b"HTTP/1.1 301 X\r\nLocation: http://[\r\n\r\n",
    lambda _: b"HTTP/1.1 302 X\r\nLocation: \xff\xfe\r\n\r\n",
    lambda _: b"HTTP/1.1 401 X\r\nWWW-Authenticate: Digest x\r\n\r\n",
    lambda _: b"HTTP/1.1 429 X\r\nSet-Cookie: \x00\r\n\r\n",
    lambda _: b"HTTP/9.9 999999 X\r\n\r\n",
    lambda _: b"HTTP/1.1 100 Continue\r\n\r\n" * 50,
    lambda _: b"HTTP/1.1 200 OK\r\nX: " + b"a" * 100_000,
    lambda _: b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000,
    lambda _: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    lambda _: b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
    lambda _: b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
    lambda chance: b"HTTP/1.1 " + chance.randbytes(60) + b"\r\n\r\n",
]


@pytest.mark.parametrize("made_up", range(len(ANSWERS) * 3))
async def test_server_that_is_no_relay_fails_the_link(made_up: int) -> None:
    chance = random.Random(made_up)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1000)
        writer.write(ANSWERS[made_up % len(ANSWERS)](chance))
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = RelayUrl(f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    linked = Linked(url, dialler())

    told = await linked.told()

    assert isinstance(told, i.LinkFailed)
    server.close()


async def test_handshake_has_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linking, "HANDSHAKE_S_MAX", 0.2)

    dripping = 0
    gone = asyncio.Event()

    async def drip(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal dripping
        dripping += 1
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nX: ")
        while not writer.is_closing():
            writer.write(b"y")
            await asyncio.sleep(0.02)
        dripping -= 1
        if not dripping:
            gone.set()

    server = await asyncio.start_server(drip, "127.0.0.1", 0)
    linked = Linked(RelayUrl(f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"), dialler())

    told = await linked.told()

    assert isinstance(told, i.LinkFailed)
    assert told.fault is i.LinkFault.TIMEOUT
    async with asyncio.timeout(DEADLINE_S):
        await gone.wait()
    server.close()
