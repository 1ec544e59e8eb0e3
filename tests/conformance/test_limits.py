"""Every limit that is a setting: what a client meets when it goes past it, and that NIP-11 told it so."""

import json
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from graspd.negentropy.reconcile import Initiator
from graspd.settings import Settings
from tests.conformance.client import PING, Client, frame, http, open_socket, wait_until
from tests.conformance.people import Person, now
from tests.conformance.reconciling import item_set, reconcile
from tests.peers.graspd_relay import GraspdRelay

EMPTY = Initiator(item_set([])).initiate().hex()

# What the tests set, and the name under which NIP-11 tells it.
TOLD = {
    "message_bytes_max": (8192, "max_message_length"),
    "event_bytes_max": (4096, "max_event_length"),
    "event_tags_max": (10, "max_event_tags"),
    "future_s_max": (60, "created_at_upper_limit"),
    "subscriptions_max": (3, "max_subscriptions"),
    "filters_max": (2, "max_filters"),
    "filter_values_max": (5, "max_filter_values"),
    "results_max": (4, "max_limit"),
    "query_s_max": (3.0, "max_query_seconds"),
    "events_per_minute": (0, "max_events_per_minute"),
    "connections_max": (60, "max_connections"),
    "connections_per_address": (20, "max_connections_per_address"),
    "handshake_s_max": (1.0, "max_handshake_seconds"),
    "idle_s_max": (1.5, "max_idle_seconds"),
    "unsent_bytes_max": (65_536, "max_unsent_length"),
    "stalled_bytes_max": (1 << 20, "max_stalled_length"),
    "auth_attempts_max": (2, "max_auth_attempts"),
    "neg_sessions_max": (2, "max_negentropy_sessions"),
    "neg_records_max": (6, "max_negentropy_records"),
    "neg_rounds_max": (3, "max_negentropy_rounds"),
    "neg_session_s_max": (1.0, "max_negentropy_seconds"),
    "neg_frame_bytes_max": (4096, "max_negentropy_frame_length"),
}


@pytest.fixture(scope="module")
def relay() -> Iterator[GraspdRelay]:
    settings = {name: str(value) for name, (value, _) in TOLD.items()}
    with GraspdRelay(settings={**settings, "ping_s": "0.5"}) as running:
        yield running


def limitation(relay: GraspdRelay) -> dict[str, Any]:
    sent = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept: application/nostr+json\r\n\r\n"
    told = json.loads(http(relay.url, sent)[2])["limitation"]
    assert isinstance(told, dict)
    return told


def test_every_limit_is_told(relay: GraspdRelay) -> None:
    told = limitation(relay)

    assert {name: told[key] for name, (_, key) in TOLD.items()} == {name: value for name, (value, _) in TOLD.items()}
    assert told["max_subid_length"] == 64
    assert told["default_limit"] == told["max_limit"]


def test_every_setting_that_bounds_a_client_is_told() -> None:
    # What bounds proactive sync is between us and our peers.
    bounds = {name for name in Settings.model_fields if name.endswith("_max") and not name.startswith("sync_")}
    named_otherwise = {"events_per_minute", "connections_per_address"}

    assert bounds | named_otherwise == set(TOLD)


def test_a_message_too_long_ends_the_connection(relay: GraspdRelay) -> None:
    def padded(size: int) -> bytes:
        start, end = b'["REQ","x",{"#t":["', b'"]}]'
        return start + b"y" * (size - len(start) - len(end)) + end

    with Client(relay.url) as client:
        client.send_text(padded(8192))
        assert client.next_of("EOSE")[1] == "x"
        client.send_text(padded(8193))
        assert client.closed() == 1009


def test_a_long_message_in_pieces_is_as_long(relay: GraspdRelay) -> None:
    with Client(relay.url) as client:
        for number in range(9):
            client.send_raw(frame(b"y" * 1000, 0 if number else 1, flags=0))
        assert client.closed() == 1009


@pytest.mark.parametrize(("tags", "content", "accepted"), [(5, 100, True), (5, 4096, False), (11, 100, False)])
def test_an_event_too_large_is_refused(
    relay: GraspdRelay, client: Client, owner: Person, guest: Person, tags: int, content: int, accepted: bool
) -> None:
    assert relay.pid
    event = guest.opens_issue(owner.repo, *(["t", str(number)] for number in range(tags - 1)), content="x" * content)

    got, text = client.publish(event)

    assert got is accepted
    assert text.startswith("" if accepted else "invalid: ")


@pytest.mark.parametrize(("ahead_s", "accepted"), [(30, True), (120, False)])
def test_an_event_too_far_ahead_is_refused(
    client: Client, owner: Person, guest: Person, ahead_s: int, accepted: bool
) -> None:
    assert client.publish(guest.opens_issue(owner.repo, at=now() + ahead_s))[0] is accepted


def test_too_many_subscriptions_are_closed(client: Client) -> None:
    for sub_id in ("one", "two", "three"):
        client.subscribe(sub_id, {"ids": []})

    client.send("REQ", "four", {"ids": []})
    _, sub_id, text = client.next_of("CLOSED")
    assert sub_id == "four"
    assert text.startswith("rate-limited: ")

    client.subscribe("two", {"ids": []})
    client.send("CLOSE", "one")
    client.subscribe("four", {"ids": []})


@pytest.mark.parametrize("verb", ["REQ", "COUNT"])
@pytest.mark.parametrize("filters", [[{}, {}, {}], [{"kinds": [1, 2, 3]}, {"#t": ["a", "b", "c"]}]])
def test_too_much_asked_at_once_is_closed(client: Client, verb: str, filters: list[dict[str, Any]]) -> None:
    client.send(verb, "much", *filters)

    _, sub_id, text = client.next_of("CLOSED")
    assert sub_id == "much"
    assert text.startswith("invalid: ")


def test_a_reconciliation_has_the_limits_of_a_request(client: Client) -> None:
    client.send("NEG-OPEN", "much", {"kinds": [1, 2, 3, 4, 5, 6]}, EMPTY)

    assert client.next_of("NEG-ERR")[2].startswith("invalid: ")


@pytest.mark.parametrize("limit", [{}, {"limit": 100}])
def test_results_are_capped_and_the_client_is_told_of_more(
    client: Client, owner: Person, guest: Person, limit: dict[str, int]
) -> None:
    events = [guest.opens_issue(owner.repo, at=now() - 100 + step) for step in range(5)]
    client.take(*events)

    client.send("REQ", "x", {"authors": [guest.pubkey], **limit})
    got = [client.next_of("EVENT")[2]["id"] for _ in range(4)]

    assert got == [event.id for event in events[:0:-1]]
    assert client.next_of("EOSE") == ["EOSE", "x", ["more"]]


@pytest.mark.parametrize("verb", ["REQ", "COUNT"])
def test_a_query_that_takes_too_long_is_given_up(verb: str) -> None:
    # The time is looked at every so many steps of the query, so it must have some to make.
    owner = Person()
    with (
        GraspdRelay(settings={"query_s_max": "0.000001", "events_per_minute": "0"}) as relay,
        Client(relay.url) as client,
    ):
        client.take(owner.announces(relay.domain))
        events = [owner.opens_issue(owner.repo, ["t", "x"], content=str(number)) for number in range(1500)]
        client.send_raw(b"".join(frame(b'["EVENT",' + event.raw + b"]") for event in events))
        assert all(client.next_of("OK")[2] for _ in events)

        client.send(verb, "long", {"#t": ["x"], "kinds": [1621]}, {"#a": [owner.repo], "kinds": [1621]})

        _, sub_id, text = client.next_of("CLOSED")
        assert sub_id == "long"
        assert text.startswith("blocked: ")
        assert client.count({"ids": []}) == 0, "the connection lives"


def test_events_a_minute_count_for_an_address_over_all_its_connections() -> None:
    with GraspdRelay(settings={"events_per_minute": "5"}) as strict:
        owner = Person()
        with Client(strict.url) as client, Client(strict.url) as second:
            client.take(owner.announces(strict.domain))
            client.take(*(owner.opens_issue(owner.repo, content=str(number)) for number in range(2)))
            second.take(*(owner.opens_issue(owner.repo, content=str(number)) for number in range(2, 4)))

            accepted, text = second.publish(owner.opens_issue(owner.repo, content="one more"))

            assert not accepted
            assert text.startswith("rate-limited: ")
            assert client.count({"authors": [owner.pubkey]}) == 5, "asking is not limited by it"


def test_connections_of_one_address_are_capped_from_the_first_byte(relay: GraspdRelay) -> None:
    with ExitStack() as opened:
        for number in range(20):
            opened.enter_context(Client(relay.url) if number % 2 else open_socket(relay.url))
        status, headers, _ = http(relay.url, b"")

        assert status == 429
        assert headers["access-control-allow-origin"] == "*"
        with Client(relay.url, source="127.0.0.9") as elsewhere:
            assert elsewhere.count({"ids": []}) == 0
    wait_until(lambda: http(relay.url, b"OPTIONS / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")[0] == 204)


def test_connections_in_all_are_capped(relay: GraspdRelay) -> None:
    with ExitStack() as held:
        for number in range(60):
            held.enter_context(open_socket(relay.url, f"127.0.1.{number % 6 + 1}"))
        with open_socket(relay.url, "127.0.2.1") as one_more:
            assert one_more.recv(100).startswith(b"HTTP/1.1 503")


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\n"])
def test_a_request_must_be_here_in_time(relay: GraspdRelay, sent: bytes) -> None:
    began = time.monotonic()
    with open_socket(relay.url) as slow:
        slow.sendall(sent)
        assert _ended(slow)
    assert 0.9 < time.monotonic() - began < 5


@pytest.mark.parametrize("sent", [b"", b"GET / HT"])
def test_so_must_the_next_one_of_a_kept_connection(relay: GraspdRelay, sent: bytes) -> None:
    with open_socket(relay.url) as slow:
        slow.sendall(b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert slow.recv(65_536).startswith(b"HTTP/1.1 200")
        began = time.monotonic()
        slow.sendall(sent)
        assert _ended(slow)
    assert 0.9 < time.monotonic() - began < 5


def _ended(opened: socket.socket) -> bool:
    try:
        return opened.recv(100) == b""
    except ConnectionResetError:
        return True


def test_a_silent_client_without_a_subscription_is_let_go_though_it_answers_pings(relay: GraspdRelay) -> None:
    began = time.monotonic()
    with Client(relay.url) as client:
        assert client.closed() == 1000
        assert [opcode for opcode, _ in client.controls].count(PING) > 1
    assert 1.4 < time.monotonic() - began < 6


def test_a_listening_client_may_be_silent(relay: GraspdRelay) -> None:
    with Client(relay.url) as client:
        client.subscribe("live", {"ids": ["0" * 64]})
        with pytest.raises(TimeoutError):
            client.next(3)
        assert client.count({"ids": []}) == 0


def test_a_client_that_answers_no_ping_is_gone(relay: GraspdRelay) -> None:
    with Client(relay.url, pongs=False) as client:
        client.subscribe("live", {"ids": ["0" * 64]})
        began = time.monotonic()
        client.closed()
    assert 0.5 < time.monotonic() - began < 6


def test_attempts_to_authenticate_are_capped(client: Client, owner: Person, guest: Person) -> None:
    client.send_text(b'["EVENT",' + guest.opens_issue(owner.repo, ["-"]).raw + b"]")
    client.next_of("AUTH")
    client.next_of("OK")
    wrong = guest.signs(22_242, ["challenge", "guessed"], at=now())
    texts = []
    for _ in range(3):
        client.send_text(b'["AUTH",' + wrong.raw + b"]")
        texts.append(client.next_of("OK")[3])

    assert [text.partition(":")[0] for text in texts] == ["invalid", "invalid", "rate-limited"]


def test_sessions_are_capped(client: Client) -> None:
    for sub_id in ("one", "two"):
        client.send("NEG-OPEN", sub_id, {"ids": []}, EMPTY)
        client.next_of("NEG-MSG")

    client.send("NEG-OPEN", "three", {"ids": []}, EMPTY)
    refused = client.next_of("NEG-ERR")
    assert refused[1] == "three"
    assert refused[2].startswith("rate-limited: ")

    client.send("NEG-CLOSE", "one")
    client.send("NEG-OPEN", "three", {"ids": []}, EMPTY)
    assert client.next_of("NEG-MSG")[1] == "three"


def test_records_are_capped_and_the_cap_is_told(client: Client, owner: Person, guest: Person) -> None:
    events = [guest.opens_issue(owner.repo, content=str(number)) for number in range(7)]
    mine = {"authors": [guest.pubkey]}
    client.take(*events[:6])
    assert len(reconcile(client, mine, []).need) == 6
    client.take(events[6])

    client.send("NEG-OPEN", "n", mine, EMPTY)

    _, sub_id, text, most = client.next_of("NEG-ERR")
    assert (sub_id, most) == ("n", 6)
    assert text.startswith("blocked: ")


def test_rounds_are_capped(client: Client) -> None:
    client.send("NEG-OPEN", "n", {"ids": []}, EMPTY)
    client.next_of("NEG-MSG")
    for _ in range(2):
        client.send("NEG-MSG", "n", EMPTY)
        client.next_of("NEG-MSG")

    client.send("NEG-MSG", "n", EMPTY)

    assert client.next_of("NEG-ERR")[2].startswith("closed: ")


def test_a_session_ends_in_time_though_its_client_is_silent(client: Client) -> None:
    client.send("NEG-OPEN", "n", {"ids": []}, EMPTY)
    client.next_of("NEG-MSG")

    verb, sub_id, text = client.next(5)

    assert (verb, sub_id) == ("NEG-ERR", "n")
    assert text.startswith("closed: ")


def test_frames_of_a_reconciliation_are_capped() -> None:
    with GraspdRelay(settings={"neg_frame_bytes_max": "4096", "events_per_minute": "0"}) as relay:
        owner = Person()
        with Client(relay.url) as client:
            client.take(owner.announces(relay.domain))
            events = [owner.opens_issue(owner.repo, content=str(number)) for number in range(400)]
            for event in events:
                client.send_text(b'["EVENT",' + event.raw + b"]")
            assert all(client.next_of("OK")[2] for _ in events)
            initiator = Initiator(item_set([]))
            need: set[str] = set()
            message: bytes | None = initiator.initiate()
            client.send("NEG-OPEN", "n", {"kinds": [1621]}, EMPTY)
            while message is not None:
                answer = bytes.fromhex(client.next_of("NEG-MSG")[2])
                assert len(answer) <= 4096
                reply = initiator.reconcile(answer)
                need.update(bytes(one).hex() for one in reply.need)
                message = reply.message
                if message is not None:
                    client.send("NEG-MSG", "n", message.hex())
    assert need == {event.id for event in events}


def test_negentropy_turned_off_is_neither_spoken_nor_advertised() -> None:
    with GraspdRelay(settings={"negentropy": "off"}) as relay, Client(relay.url) as client:
        sent = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept: application/nostr+json\r\n\r\n"
        document = json.loads(http(relay.url, sent)[2])
        client.send("NEG-OPEN", "n", {}, EMPTY)

        assert 77 not in document["supported_nips"]
        assert not any("negentropy" in name for name in document["limitation"])
        assert client.next_of("NEG-ERR")[2].startswith("blocked: ")


LONG = "x" * 100_000


def publish_long_issues(client: Client, owner: Person, numbers: Iterable[int]) -> None:
    for number in numbers:
        client.take(owner.opens_issue(owner.repo, content=f"{number} {LONG}"))


def test_a_client_that_does_not_read_what_it_asked_to_hear_is_dropped() -> None:
    settings = {"unsent_bytes_max": "65536", "events_per_minute": "0"}
    owner = Person()
    with GraspdRelay(settings=settings) as relay, Client(relay.url) as deaf, Client(relay.url) as client:
        client.take(owner.announces(relay.domain))
        deaf.subscribe("live", {"kinds": [1621]})
        # The kernel takes some megabytes on its own account before anything is left with the relay.
        numbers = iter(range(1000))
        while "was dropped" not in relay.written():
            publish_long_issues(client, owner, [next(numbers)])

        assert "a client at 127.0.0.1 was dropped" in relay.written()
        deaf.closed()
        assert client.count({"authors": [owner.pubkey], "kinds": [30617]}) == 1


def test_a_client_that_does_not_read_its_stored_events_is_dropped_when_too_many_new_ones_wait() -> None:
    settings = {"unsent_bytes_max": "1000000", "events_per_minute": "0"}
    owner = Person()
    with GraspdRelay(settings=settings) as relay, Client(relay.url) as client:
        client.take(owner.announces(relay.domain))
        publish_long_issues(client, owner, range(300))
        with Client(relay.url) as deaf:
            deaf.send("REQ", "all", {"kinds": [1621]})
            publish_long_issues(client, owner, range(300, 315))

            assert "was dropped" in relay.written()


def test_a_client_that_reads_its_stored_events_slowly_gets_them_all_and_costs_little() -> None:
    owner = Person()
    with GraspdRelay(settings={"events_per_minute": "0"}) as relay, Client(relay.url) as client:
        client.take(owner.announces(relay.domain))
        publish_long_issues(client, owner, range(300))
        with Client(relay.url) as slow, Client(relay.url) as second:
            before = resident_kib(relay.pid)
            for number in range(10):
                slow.send("REQ", str(number), {"kinds": [1621]})
            for _ in range(50):
                second.query({"kinds": [1621], "limit": 1})
            grown = resident_kib(relay.pid) - before
            ended = sum(slow.next()[0] == "EOSE" for _ in range(10 * 301))

    assert ended == 10
    assert grown < 80 * 1024, "30 MB of one answer may be in memory, not 300 MB of all"


def resident_kib(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))
