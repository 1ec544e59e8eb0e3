"""Who may come in, and for whom a connection counts."""

import ipaddress

import pytest

from graspd.server.arrivals import Arrivals

PROXIES = [ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("::1/128")]


def arrivals(most: int = 100, per_address: int = 2) -> Arrivals:
    return Arrivals(most, per_address, PROXIES)


def status(refusal: object) -> int | None:
    return getattr(refusal, "status", None)


def test_an_address_has_so_many_and_gets_them_back() -> None:
    door = arrivals()
    assert [status(door.connect("192.0.2.1")) for _ in range(3)] == [None, None, 429]

    door.disconnect("192.0.2.1")

    assert status(door.connect("192.0.2.1")) is None
    assert status(door.connect("192.0.2.2")) is None


def test_all_together_have_so_many() -> None:
    door = arrivals(most=2)

    assert [status(door.connect(f"192.0.2.{number}")) for number in range(3)] == [None, None, 503]


def test_a_refused_connection_takes_no_place() -> None:
    door = arrivals(most=3)
    for _ in range(10):
        door.connect("192.0.2.1")

    assert status(door.connect("192.0.2.2")) is None
    assert status(door.connect("192.0.2.3")) == 503


def test_a_proxy_is_counted_in_all_and_its_clients_one_by_one() -> None:
    door = arrivals(most=5)
    assert [status(door.connect("10.0.0.1")) for _ in range(6)] == [None] * 5 + [503]

    assert [status(door.enter("192.0.2.1", "10.0.0.1")) for _ in range(3)] == [None, None, 429]
    door.leave("192.0.2.1", "10.0.0.1")
    assert status(door.enter("192.0.2.1", "10.0.0.1")) is None


def test_who_comes_directly_is_not_counted_twice() -> None:
    door = arrivals()
    door.connect("192.0.2.1")

    assert [status(door.enter("192.0.2.1", "192.0.2.1")) for _ in range(5)] == [None] * 5


@pytest.mark.parametrize(
    ("remote", "lines", "client"),
    [
        ("192.0.2.1", [], "192.0.2.1"),
        ("192.0.2.1", ["203.0.113.1"], "192.0.2.1"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["203.0.113.1"], "203.0.113.1"),
        ("10.0.0.1", ["198.51.100.9, 203.0.113.1"], "203.0.113.1"),
        ("10.0.0.1", ["198.51.100.9", "203.0.113.1"], "203.0.113.1"),
        ("10.0.0.1", ["203.0.113.1, 10.0.0.2"], "203.0.113.1"),
        ("10.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
        ("10.0.0.1", [" , ,"], "10.0.0.1"),
        ("10.0.0.1", ["unknown"], "unknown"),
        ("::1", ["2001:db8::1"], "2001:db8::1"),
        ("::ffff:10.0.0.1", ["203.0.113.1"], "203.0.113.1"),
        ("", ["203.0.113.1"], ""),
    ],
)
def test_whose_word_counts(remote: str, lines: list[str], client: str) -> None:
    assert arrivals().client(remote, lines) == client
