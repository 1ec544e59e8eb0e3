"""Behind a proxy: whose word for a client's address counts, and for what."""

import socket
from collections.abc import Iterator

import pytest

from tests.conformance.client import Client, open_socket, parse_response, upgrade_request
from tests.conformance.people import Person
from tests.peers.graspd_relay import GraspdRelay

PROXY, STRANGER = "127.0.0.5", "127.0.0.6"


@pytest.fixture(scope="module")
def relay() -> Iterator[GraspdRelay]:
    settings = {"trusted_proxies": f"{PROXY}, 10.1.0.0/16", "connections_per_address": "2", "events_per_minute": "3"}
    with GraspdRelay(settings=settings) as running:
        yield running


class Visits:
    """Connections that stay open until the test ends."""

    def __init__(self, relay: GraspdRelay) -> None:
        self._relay = relay
        self._open: list[socket.socket] = []

    def status(self, via: str, *forwarded_for: str) -> int:
        """What an upgrade from this address, with these X-Forwarded-For lines, leads to."""
        request = upgrade_request(self._relay.url)
        lines = "".join(f"X-Forwarded-For: {line}\r\n" for line in forwarded_for).encode()
        opened = open_socket(self._relay.url, via)
        self._open.append(opened)
        # One write: a relay that refuses at the door answers before it has read the request.
        opened.sendall(request[:-2] + lines + b"\r\n")
        return parse_response(opened.recv(65_536))[0]

    def end(self) -> None:
        for opened in self._open:
            opened.close()


@pytest.fixture
def visits(relay: GraspdRelay) -> Iterator[Visits]:
    made = Visits(relay)
    yield made
    made.end()


def test_clients_of_a_trusted_proxy_count_one_by_one(visits: Visits) -> None:
    assert [visits.status(PROXY, "203.0.113.1") for _ in range(3)] == [101, 101, 429]
    assert visits.status(PROXY, "203.0.113.2") == 101


def test_a_stranger_cannot_speak_for_others(visits: Visits) -> None:
    assert [visits.status(STRANGER, f"203.0.113.{number}") for number in (11, 12)] == [101, 101]
    assert visits.status(STRANGER, "203.0.113.13") == 429


def test_a_client_cannot_hide_behind_what_it_says_of_itself(visits: Visits) -> None:
    # A proxy appends to the line, so the last address is the one that it saw.
    told = [visits.status(PROXY, f"198.51.100.{number}, 203.0.113.21") for number in range(3)]

    assert told == [101, 101, 429]


def test_a_proxy_may_add_a_line_of_its_own(visits: Visits) -> None:
    told = [visits.status(PROXY, f"198.51.100.{number}", "203.0.113.31") for number in range(3)]

    assert told == [101, 101, 429]


def test_proxies_may_stand_in_a_row(visits: Visits) -> None:
    told = [visits.status(PROXY, "203.0.113.41, 10.1.2.3") for _ in range(3)]

    assert told == [101, 101, 429]
    assert visits.status(PROXY, "203.0.113.42, 10.1.2.3") == 101


def test_a_proxy_that_names_nobody_is_not_capped_itself(visits: Visits) -> None:
    assert [visits.status(PROXY) for _ in range(4)] == [101] * 4


def test_events_a_minute_count_for_the_forwarded_address(relay: GraspdRelay) -> None:
    def through_proxy(address: str) -> Client:
        return Client(relay.url, handshake=upgrade_request(relay.url, X_Forwarded_For=address), source=PROXY)

    owner = Person()
    with through_proxy("203.0.113.51") as client, through_proxy("203.0.113.52") as neighbour:
        client.take(owner.announces(relay.domain))
        client.take(*(owner.opens_issue(owner.repo, content=str(number)) for number in range(2)))
        refused = owner.opens_issue(owner.repo, content="too much")

        assert client.publish(refused)[1].startswith("rate-limited: ")
        assert neighbour.publish(refused) == (True, "")
