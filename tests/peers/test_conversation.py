"""A conversation with the relay we work for: what it has, what it takes, who it lets in, and when it is over."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from graspd.nostr import messages as m
from graspd.nostr import relay_messages as r
from graspd.nostr.prefix import Prefix
from graspd.peers import conversation as conversing
from graspd.peers.conversation import Conversation, Ended, Unanswered, converse
from graspd.peers.dialer import Dialer
from graspd.peers.identity import Identity
from tests.nostr.made import made
from tests.peers.linked import DEADLINE_S, SECRET, now
from tests.peers.scripted import Play, scripted

EVENTS = [made(kind=1621, at=at) for at in range(4)]
IDS = [event.id for event in EVENTS]


@asynccontextmanager
async def with_relay(play: Play) -> AsyncIterator[Conversation]:
    async with (
        asyncio.timeout(DEADLINE_S),
        scripted(play) as url,
        converse(url, Dialer(allow_private=True), Identity(SECRET), now) as conversation,
    ):
        yield conversation


class Relay:
    """Has the first two events; takes what it is given, from those it knows where it asks."""

    def __init__(self, *, asks: bool = False) -> None:
        self._is_open = not asks
        self.published: list[str] = []

    async def __call__(self, socket: web.WebSocketResponse) -> None:
        async for message in socket:
            for text in self._answers(m.parse_client_message(message.data.encode())):
                await socket.send_str(text.decode())

    def _answers(self, message: m.ClientMessage | m.BadMessage) -> list[bytes]:
        match message:
            case m.Authenticate(event):
                self._is_open = event.first("challenge") == "who"
                return [m.ok(event.id, self._is_open, "")]
            case m.Request(sub_id) if not self._is_open:
                return [m.auth("who"), m.closed(sub_id, "auth-required: who are you")]
            case m.Publish(event) if not self._is_open:
                return [m.auth("who"), m.ok(event.id, accepted=False, text="auth-required: who are you")]
            case m.Request(sub_id, (wanted,)):
                have = [event for event in EVENTS[:2] if event.id in (wanted.ids or ())]
                found = [m.event_prefix(sub_id) + event.raw + b"]" for event in have]
                return [m.notice("hello"), *found, m.eose(sub_id, None)]
            case m.Publish(event):
                self.published.append(event.id)
                return [m.ok("0" * 64, accepted=True, text="of somebody else"), m.ok(event.id, accepted=True, text="")]
        return []


async def test_what_the_relay_has() -> None:
    async with with_relay(Relay()) as conversation:
        assert await conversation.held(IDS[1:]) == {IDS[1]}
        assert await conversation.held(IDS[2:]) == set()


async def test_what_the_relay_takes() -> None:
    relay = Relay()
    async with with_relay(relay) as conversation:
        answers = await conversation.publish(EVENTS)

        assert answers == {event_id: r.RelayOk(event_id, True, None, "") for event_id in IDS}
        assert relay.published == IDS


async def test_relay_that_asks_who_we_are_is_told_before_it_has_what_it_has() -> None:
    async with with_relay(Relay(asks=True)) as conversation:
        assert await conversation.held(IDS) == set(IDS[:2])


async def test_relay_that_asks_who_we_are_is_told_before_it_takes_anything() -> None:
    relay = Relay(asks=True)
    async with with_relay(relay) as conversation:
        answers = await conversation.publish(EVENTS)

        assert all(answer.accepted for answer in answers.values())
        assert relay.published == IDS


async def test_relay_that_lets_nobody_in_is_not_asked_for_ever() -> None:
    attempts = 0

    async def refuse(socket: web.WebSocketResponse) -> None:
        nonlocal attempts
        async for message in socket:
            given = m.parse_client_message(message.data.encode())
            if isinstance(given, m.Authenticate):
                attempts += 1
                await socket.send_str(m.ok(given.event.id, accepted=False, text="restricted: no").decode())
            elif isinstance(given, m.Publish):
                await socket.send_str(m.auth("who").decode())
                await socket.send_str(m.ok(given.event.id, accepted=False, text="auth-required: no").decode())

    async with with_relay(refuse) as conversation:
        answers = await conversation.publish(EVENTS)

        assert {answer.prefix for answer in answers.values()} == {Prefix.AUTH_REQUIRED}
        assert attempts == 1


async def test_relay_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversing, "ANSWER_S_MAX", 0.05)

    async def listen(socket: web.WebSocketResponse) -> None:
        async for _ in socket:
            pass

    async with with_relay(listen) as conversation:
        with pytest.raises(Unanswered):
            await conversation.held(IDS)
        with pytest.raises(Unanswered):
            await conversation.publish(EVENTS)


async def test_answers_to_some_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversing, "ANSWER_S_MAX", 0.2)

    async def answer_first(socket: web.WebSocketResponse) -> None:
        await socket.receive()
        await socket.send_str(m.ok(IDS[0], accepted=False, text="blocked: no").decode())
        async for _ in socket:
            pass

    async with with_relay(answer_first) as conversation:
        assert list(await conversation.publish(EVENTS)) == IDS[:1]


async def test_relay_that_leaves_ends_the_conversation() -> None:
    async def leave(socket: web.WebSocketResponse) -> None:
        await socket.receive()

    async with with_relay(leave) as conversation:
        with pytest.raises(Ended):
            await conversation.held(IDS)
        with pytest.raises(Ended):
            await conversation.until(asyncio.sleep(DEADLINE_S))
