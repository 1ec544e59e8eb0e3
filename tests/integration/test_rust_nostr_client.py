"""rust-nostr's client (PyPI nostr-sdk) against `graspd serve`: what an application built on it does all day."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path

import nostr_sdk as sdk  # type: ignore[import-untyped]
import pytest

from tests.conformance.client import Client, frame
from tests.conformance.people import Person, now
from tests.conformance.reconciling import reconcile
from tests.peers.graspd_relay import GraspdRelay
from tests.peers.rust_nostr import RustNostrRelay

PATIENCE = timedelta(seconds=20)


@pytest.fixture(scope="module")
def relay() -> Iterator[GraspdRelay]:
    with GraspdRelay(settings={"events_per_minute": "0"}) as running:
        yield running


@pytest.fixture
def keys() -> sdk.Keys:
    return sdk.Keys.generate()


@pytest.fixture
async def client(relay: GraspdRelay, keys: sdk.Keys, tmp_path: Path) -> AsyncIterator[sdk.Client]:
    sdk.uniffi_set_event_loop(asyncio.get_running_loop())  # it calls back, to sign, from threads of its own
    database = await sdk.NostrLmdb.open(str(tmp_path / "events"))
    opened = sdk.ClientBuilder().authenticator(sdk.SignerAuthenticator(keys)).database(database).build()
    await opened.add_relay(sdk.RelayUrl.parse(relay.url))
    await opened.connect(and_wait=PATIENCE)
    yield opened
    await opened.shutdown()


def signed(keys: sdk.Keys, kind: int, *tags: list[str], content: str = "", at: int | None = None) -> sdk.Event:
    builder = sdk.EventBuilder(sdk.Kind(kind), content).tags([sdk.Tag.parse(tag) for tag in tags])
    return builder.custom_created_at(sdk.Timestamp.from_secs(at or now())).finalize(keys)


def issue(keys: sdk.Keys, owner: Person, content: str = "", at: int | None = None) -> sdk.Event:
    return signed(keys, 1621, ["a", owner.repo], content=content, at=at)


def by(keys: sdk.Keys) -> sdk.Filter:
    return sdk.Filter().author(keys.public_key())


async def fetched(client: sdk.Client, *filters: sdk.Filter) -> list[str]:
    found = await client.fetch_events(sdk.ReqTarget.auto(list(filters)), timeout=PATIENCE)
    return [event.id().to_hex() for event in found]


async def sent(client: sdk.Client, *events: sdk.Event) -> None:
    for event in events:
        output = await client.send_event(event)
        assert output.success, output.failed


async def test_publishes_and_queries(client: sdk.Client, keys: sdk.Keys, owner: Person) -> None:
    events = [issue(keys, owner, str(step), now() - 10 + step) for step in range(3)]

    await sent(client, *events)

    ids = [event.id().to_hex() for event in events]
    assert await fetched(client, by(keys)) == ids[::-1]
    assert await fetched(client, by(keys).limit(1)) == ids[-1:]
    assert sorted(await fetched(client, sdk.Filter().ids([events[0].id()]), by(keys).limit(1))) == sorted(ids[::2])


async def test_is_told_why_an_event_is_refused(client: sdk.Client, keys: sdk.Keys) -> None:
    output = await client.send_event(signed(keys, 1, content="about nothing here"))

    assert not output.success
    (reason,) = output.failed.values()
    assert "restricted" in reason


async def test_counts(client: sdk.Client, relay: GraspdRelay, keys: sdk.Keys, owner: Person) -> None:
    await sent(client, *(issue(keys, owner, str(number)) for number in range(4)))

    connected = await client.relay(sdk.RelayUrl.parse(relay.url))

    assert connected is not None
    assert await connected.count_events(by(keys), PATIENCE) == 4


async def test_deletes(client: sdk.Client, keys: sdk.Keys, owner: Person) -> None:
    event = issue(keys, owner)
    await sent(client, event)
    request = signed(keys, 5, ["e", event.id().to_hex()])

    await sent(client, request)

    assert await fetched(client, by(keys)) == [request.id().to_hex()]


async def test_subscribes(client: sdk.Client, keys: sdk.Keys, owner: Person) -> None:
    notifications = client.notifications()
    guest = Person()
    wanted = sdk.Filter().author(sdk.PublicKey.parse(guest.pubkey))
    await client.subscribe(sdk.ReqTarget.auto([wanted]), id="live")
    event = guest.opens_issue(owner.repo)
    # Subscribed for certain once a question asked on the same connection afterwards is answered.
    await fetched(client, by(keys))

    await sent(client, sdk.Event.from_json(event.raw.decode()))

    async with asyncio.timeout(PATIENCE.total_seconds()):
        while not (heard := await notifications.next()).is_message() or "EVENT" not in heard.message.as_json():
            pass
    assert event.id in heard.message.as_json()


async def test_authenticates_to_publish_what_is_protected(client: sdk.Client, keys: sdk.Keys, owner: Person) -> None:
    event = signed(keys, 1621, ["a", owner.repo], ["-"])

    await sent(client, event)

    assert await fetched(client, by(keys)) == [event.id().to_hex()]


@pytest.mark.parametrize(("ours", "shared", "theirs"), [(0, 0, 40), (40, 0, 0), (30, 200, 50), (0, 60, 0)])
async def test_syncs_both_ways_to_equal_sets(
    client: sdk.Client, relay: GraspdRelay, keys: sdk.Keys, owner: Person, ours: int, shared: int, theirs: int
) -> None:
    at = now() - 10_000
    events = [issue(keys, owner, str(number), at + number // 3) for number in range(ours + shared + theirs)]
    for event in events[: ours + shared]:
        await client.database().save_event(event)
    with Client(relay.url) as plain:
        for event in events[ours:]:
            plain.send_text(b'["EVENT",' + event.as_json().encode() + b"]")
        assert all(plain.next_of("OK")[2] for _ in events[ours:])

    summary = await client.sync(by(keys), opts=sdk.SyncOptions().direction(sdk.SyncDirection.BOTH))

    everything = {event.id().to_hex() for event in events}
    with Client(relay.url) as plain:
        assert set(plain.query(*[{"authors": [keys.public_key().to_hex()], "kinds": [1621]}])) == everything
    held = await client.database().query(by(keys))
    assert {event.id().to_hex() for event in held} == everything
    assert (len(summary.report.sent), len(summary.report.received)) == (ours, theirs)


@pytest.mark.parametrize(("ours", "shared", "theirs"), [(0, 0, 40), (40, 0, 0), (300, 700, 500)])
def test_our_initiator_finds_the_differences_to_its_relay(ours: int, shared: int, theirs: int) -> None:
    guest, at = Person(), now() - 10_000
    repo = guest.repo
    events = [
        guest.opens_issue(repo, at=at + number // 3, content=str(number)) for number in range(ours + shared + theirs)
    ]
    mine, yours = events[: ours + shared], events[ours:]
    mine_as_items = [(event.created_at, event.id) for event in mine]
    with RustNostrRelay() as other:
        with Client(other.url) as client:
            client.send_raw(b"".join(frame(b'["EVENT",' + event.raw + b"]") for event in yours))
            assert all(client.next_of("OK")[2] for _ in yours)
            outcome = reconcile(client, {"authors": [guest.pubkey]}, mine_as_items)
        missing = {event.id: event for event in mine if event.id in outcome.have}
        with Client(other.url) as client:
            client.take(*missing.values())
            got = set(client.subscribe("all", {"ids": sorted(outcome.need)}))
        with Client(other.url) as client:  # that relay closes a request for ids once it has served them
            again = reconcile(client, {"authors": [guest.pubkey]}, [(event.created_at, event.id) for event in events])

    assert got == {event.id for event in yours} - {event.id for event in mine}
    assert len(missing) == ours
    assert (again.have, again.need) == (set(), set())
