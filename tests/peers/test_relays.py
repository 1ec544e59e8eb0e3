"""Each relay of another make starts, takes an event, gives it back, and comes back after a stop or a kill."""

from collections.abc import Callable, Iterator

import orjson
import pytest

from bench import corpus
from bench.wire import Wire, frame
from tests.peers.nostr_relay_py import PythonNostrRelay
from tests.peers.process import RelayEnded, RelayProcess
from tests.peers.rust_nostr import RustNostrRelay

SEED = 7


@pytest.fixture(params=[RustNostrRelay, PythonNostrRelay])
def relay(request: pytest.FixtureRequest) -> Iterator[RelayProcess]:
    with request.param() as running:
        yield running


@pytest.fixture
def durable() -> Iterator[RelayProcess]:
    with PythonNostrRelay() as running:
        yield running


def next_message(wire: Wire) -> list[object]:
    messages: list[bytes] = []
    while not messages:
        messages = wire.receive()
    (message,) = messages
    parsed = orjson.loads(message)
    assert isinstance(parsed, list)
    return parsed


def publish(relay: RelayProcess, event: bytes) -> list[object]:
    wire = Wire(relay.url)
    wire.send(frame(b'["EVENT",' + event + b"]"))
    answer = next_message(wire)
    wire.close()
    return answer


def stored(relay: RelayProcess) -> list[object]:
    wire = Wire(relay.url)
    wire.send(frame(b'["REQ","all",{"kinds":[30617]}]'))
    answer: list[object] = []
    pending: list[bytes] = []
    while True:
        pending += wire.receive()
        for message in pending:
            parsed = orjson.loads(message)
            if parsed[0] == "EOSE":
                wire.close()
                return answer
            assert parsed[:2] == ["EVENT", "all"]
            answer.append(parsed[2])
        pending.clear()


def test_event_published_is_read_back(relay: RelayProcess) -> None:
    event = corpus.announcement(SEED, relay.domain)

    assert publish(relay, event)[:3] == ["OK", corpus.event_id(event).decode(), True]

    assert stored(relay) == [orjson.loads(event)]


def test_altered_signature_is_refused(relay: RelayProcess) -> None:
    event = corpus.announcement(SEED, relay.domain)
    altered = event[:-4] + (b'00"}' if event[-4:] != b'00"}' else b'11"}')

    assert publish(relay, altered)[2] is False

    assert stored(relay) == []


def test_restart_keeps_port(relay: RelayProcess) -> None:
    url, first_pid = relay.url, relay.pid

    relay.restart()

    assert relay.url == url
    assert relay.pid != first_pid
    assert stored(relay) == []


@pytest.mark.parametrize("end", [RelayProcess.stop, RelayProcess.kill])
def test_relay_with_a_disk_keeps_its_events(durable: RelayProcess, end: Callable[[RelayProcess], None]) -> None:
    event = corpus.announcement(SEED, durable.domain)
    publish(durable, event)

    end(durable)
    durable.restart()

    assert stored(durable) == [orjson.loads(event)]


def test_relay_that_cannot_start_says_what_it_wrote() -> None:
    class Broken(RelayProcess):
        name = "broken"

        def command(self) -> list[str]:
            return ["sh", "-c", "echo no such setting >&2; exit 2"]

    with pytest.raises(RelayEnded, match="no such setting"):
        Broken()
