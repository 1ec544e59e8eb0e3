"""One relay for all conformance tests of a worker: people are new in every test, so tests do not meet."""

from collections.abc import Iterator

import pytest

from tests.conformance.client import Client
from tests.conformance.people import Person
from tests.peers.graspd_relay import GraspdRelay


@pytest.fixture(scope="session")
def relay() -> Iterator[GraspdRelay]:
    with GraspdRelay(settings={"events_per_minute": "0", "connections_per_address": "0"}) as running:
        yield running


@pytest.fixture
def client(relay: GraspdRelay) -> Iterator[Client]:
    with Client(relay.url) as opened:
        yield opened


@pytest.fixture
def other(relay: GraspdRelay) -> Iterator[Client]:
    with Client(relay.url) as opened:
        yield opened


@pytest.fixture
def owner(relay: GraspdRelay, client: Client) -> Person:
    """Somebody whose repository is hosted here."""
    person = Person("owner")
    client.take(person.announces(relay.domain))
    return person


@pytest.fixture
def guest() -> Person:
    """Somebody with nothing here yet."""
    return Person("guest")


@pytest.fixture
def relay_domain(relay: GraspdRelay) -> str:
    return relay.domain
