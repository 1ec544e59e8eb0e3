"""`graspd serve` as a service manager sees it: it comes up, it is told to end, and it ends in time."""

import signal
import time
from pathlib import Path

import pytest

from tests.cli.command import graspd
from tests.cli.service import Service
from tests.conformance.client import Client, open_socket
from tests.conformance.people import Person

END_WITHIN_S = 10.0


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_in_time_and_says_goodbye(told: signal.Signals) -> None:
    owner = Person()
    with Service() as relay:
        with Client(relay.url) as listener, Client(relay.url) as silent, open_socket(relay.url) as half_open:
            listener.subscribe("live", {"kinds": [1621]})
            listener.take(owner.announces(relay.domain))
            half_open.sendall(b"GET / HT")
            began = time.monotonic()
            relay.signal(told)
            assert listener.closed() == 1001
            assert silent.closed() == 1001
            code = relay.ended()
            took_s = time.monotonic() - began
        log = relay.written()
        relay.restart()
        with Client(relay.url) as client:
            assert client.count({"authors": [owner.pubkey]}) == 1

    assert code == 0
    assert took_s < END_WITHIN_S
    assert "Traceback" not in log


def test_it_ends_in_time_with_a_client_that_does_not_read() -> None:
    owner = Person()
    with Service(settings={"events_per_minute": "0"}) as relay:
        with Client(relay.url) as client, Client(relay.url) as deaf:
            client.take(owner.announces(relay.domain))
            for number in range(150):
                client.take(owner.opens_issue(owner.repo, content=f"{number} {'x' * 100_000}"))
            deaf.send("REQ", "all", {"kinds": [1621]})
            assert client.count({"kinds": [1621]}) == 150
            began = time.monotonic()
            relay.signal(signal.SIGTERM)
            code = relay.ended()
            took_s = time.monotonic() - began

        assert code == 0
        assert took_s < END_WITHIN_S


def test_every_event_taken_before_the_end_is_answered_or_not_kept() -> None:
    owner = Person()
    with Service(settings={"events_per_minute": "0"}) as relay:
        with Client(relay.url) as client:
            client.take(owner.announces(relay.domain))
            events = [owner.opens_issue(owner.repo, content=str(number)) for number in range(2000)]
            for event in events:
                client.send_text(b'["EVENT",' + event.raw + b"]")
            acknowledged = {client.next_of("OK")[1]}
            relay.signal(signal.SIGTERM)
            acknowledged |= {message[1] for message in client.rest() if message[0] == "OK" and message[2]}
            assert relay.ended() == 0
        relay.restart()
        with Client(relay.url) as client:
            asked = sorted(acknowledged)
            found = {one for at in range(0, len(asked), 400) for one in client.query({"ids": asked[at : at + 400]})}

    assert found == acknowledged


def test_help_names_every_command() -> None:
    ended = graspd("--help")

    assert ended.code == 0
    assert all(command in ended.out for command in ("serve", "settings", "import", "export"))


def test_the_data_directory_is_made(tmp_path: Path) -> None:
    with Service() as relay:
        assert (relay.data_dir / "data" / "graspd.sqlite").exists()
    assert not list(tmp_path.iterdir())
