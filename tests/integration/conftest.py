"""Somebody whose repository is hosted by the relay of a test."""

import pytest

from tests.conformance.client import Client
from tests.conformance.people import Person
from tests.peers.graspd_relay import GraspdRelay


@pytest.fixture
def owner(relay: GraspdRelay) -> Person:
    person = Person()
    with Client(relay.url) as client:
        client.take(person.announces(relay.domain))
    return person
