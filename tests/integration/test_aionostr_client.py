"""aionostr, a client of another make, against `graspd serve`."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from aionostr.event import Event  # type: ignore[import-untyped]
from aionostr.key import PrivateKey  # type: ignore[import-untyped]
from aionostr.relay import Manager, Relay  # type: ignore[import-untyped]

from tests.conformance.people import Person, now
from tests.peers.graspd_relay import GraspdRelay

PATIENCE_S = 20


@pytest.fixture(scope="module")
def relay() -> Iterator[GraspdRelay]:
    with GraspdRelay(settings={"events_per_minute": "0"}) as running:
        yield running


@pytest.fixture
def key() -> PrivateKey:
    return PrivateKey()


@pytest.fixture
async def connected(relay: GraspdRelay, key: PrivateKey) -> AsyncIterator[Relay]:
    async with Relay(relay.url, private_key=key.hex()) as opened:
        yield opened


def signed(key: PrivateKey, kind: int, *tags: list[str], content: str = "", at: int | None = None) -> Event:
    event = Event(key.public_key.hex(), content, at or now(), kind, [list(tag) for tag in tags])
    event.sign(key.hex())
    return event


async def add(connected: Relay, event: Event) -> list[Any]:
    """Publish; the whole OK."""
    await connected.add_event(event)
    async with asyncio.timeout(PATIENCE_S):
        answer: list[Any] = await connected.event_adds.get()
    return answer


async def fetched(relay: GraspdRelay, query: dict[str, Any]) -> list[str]:
    async with Manager([relay.url]) as manager:
        return [event.id async for event in manager.get_events(query, only_stored=True)]


async def test_publishes_and_queries(relay: GraspdRelay, connected: Relay, key: PrivateKey, owner: Person) -> None:
    events = [signed(key, 1621, ["a", owner.repo], content=str(step), at=now() - 10 + step) for step in range(3)]

    for event in events:
        assert await add(connected, event) == ["OK", event.id, True, ""]

    found = await fetched(relay, {"authors": [key.public_key.hex()]})
    assert found == [event.id for event in reversed(events)]


async def test_is_told_why_an_event_is_refused(connected: Relay, key: PrivateKey) -> None:
    event = signed(key, 1, content="about nothing here")

    _, event_id, accepted, text = await add(connected, event)

    assert (event_id, accepted) == (event.id, False)
    assert text.startswith("restricted: ")


async def test_deletes(relay: GraspdRelay, connected: Relay, key: PrivateKey, owner: Person) -> None:
    event = signed(key, 1621, ["a", owner.repo])
    request = signed(key, 5, ["e", event.id])

    for one in (event, request):
        assert (await add(connected, one))[2] is True

    assert await fetched(relay, {"authors": [key.public_key.hex()]}) == [request.id]


async def test_subscribes_and_unsubscribes(connected: Relay, key: PrivateKey, owner: Person) -> None:
    queue = await connected.subscribe("live", {"authors": [key.public_key.hex()]})
    async with asyncio.timeout(PATIENCE_S):
        assert await queue.get() is None, "nothing is stored"
    event = signed(key, 1621, ["a", owner.repo])

    await add(connected, event)

    async with asyncio.timeout(PATIENCE_S):
        assert (await queue.get()).id == event.id
    await connected.unsubscribe("live")
    await add(connected, signed(key, 1621, ["a", owner.repo], content="unheard"))
    assert "live" not in connected.subscriptions


async def test_authenticates_to_publish_what_is_protected(connected: Relay, key: PrivateKey, owner: Person) -> None:
    event = signed(key, 1621, ["a", owner.repo], ["-"])

    refused = await add(connected, event)
    assert refused[3].startswith("auth-required: ")
    async with asyncio.timeout(PATIENCE_S):
        authenticated = await connected.event_adds.get()
    assert authenticated[2] is True

    assert (await add(connected, event))[2] is True
