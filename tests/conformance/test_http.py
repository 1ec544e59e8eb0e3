"""The HTTP side of the port: NIP-11, CORS as GRASP-01 has it, and the upgrade to WebSocket."""

import json
from typing import Any

import pytest

from tests.conformance.client import Client, http, open_socket, parse_response, upgrade_request
from tests.peers.graspd_relay import GraspdRelay

CORS = {
    "access-control-allow-origin": "*",
    "access-control-allow-methods": "GET, POST, OPTIONS",
}


def request(method: str, path: str = "/", *headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: x", "Connection: close", *headers, "", ""]
    return "\r\n".join(lines).encode()


def information(relay: GraspdRelay, accept: str = "application/nostr+json") -> dict[str, Any]:
    status, headers, body = http(relay.url, request("GET", "/", f"Accept: {accept}"))
    assert status == 200
    assert headers["content-type"] == "application/nostr+json"
    document = json.loads(body)
    assert isinstance(document, dict)
    return document


def test_nip11_says_what_is_there(relay: GraspdRelay) -> None:
    document = information(relay)

    assert document["supported_nips"] == [1, 9, 11, 34, 40, 42, 45, 62, 67, 70, 77]
    assert document["supported_grasps"] == [], "nobody is dialled in these tests"
    assert relay.domain in document["repo_acceptance_criteria"]
    assert document["software"] == "graspd"
    assert document["limitation"]["restricted_writes"] is True
    assert "pubkey" not in document, "a field with nothing to say is left out"


def test_nip11_lists_proactive_sync_while_it_is_on() -> None:
    with GraspdRelay(settings={"sync": "on"}) as relay:
        assert information(relay)["supported_grasps"] == ["GRASP-02"]


@pytest.mark.parametrize(
    "accept", ["application/nostr+json", "text/html, application/nostr+json;q=0.9", "APPLICATION/NOSTR+JSON"]
)
def test_nip11_is_given_to_who_accepts_it(relay: GraspdRelay, accept: str) -> None:
    assert information(relay, accept)["name"] == relay.domain


def test_people_are_greeted(relay: GraspdRelay) -> None:
    status, headers, body = http(relay.url, request("GET", "/", "Accept: text/html"))

    assert status == 200
    assert headers["content-type"].startswith("text/plain")
    assert relay.domain in body.decode()


def test_head_has_the_headers_of_get_and_no_body(relay: GraspdRelay) -> None:
    _, get_headers, body = http(relay.url, request("GET", "/", "Accept: application/nostr+json"))
    status, headers, nothing = http(relay.url, request("HEAD", "/", "Accept: application/nostr+json"))

    assert status == 200
    assert headers["content-length"] == get_headers["content-length"] == str(len(body))
    assert nothing == b""


@pytest.mark.parametrize("path", ["/", "/anything", "/npub1x/repo.git/info/refs?service=git-upload-pack"])
def test_options_gets_204_anywhere(relay: GraspdRelay, path: str) -> None:
    headers = ["Origin: https://page.example", "Access-Control-Request-Headers: git-protocol"]

    status, answered, body = http(relay.url, request("OPTIONS", path, *headers))

    assert (status, body) == (204, b"")
    assert CORS.items() <= answered.items()
    assert "Git-Protocol" in answered["access-control-allow-headers"]


BAD_UPGRADE = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (request("GET"), 200),
        (request("GET", "/", "Accept: application/nostr+json"), 200),
        (request("GET", "/nothing/here"), 404),
        (request("PUT"), 405),
        (request("POST", "/", "Content-Length: 0"), 405),
        (request("PROPFIND"), 405),
        (BAD_UPGRADE + b"\r\n", 400),
        (BAD_UPGRADE + b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short\r\n\r\n", 400),
        (BAD_UPGRADE + b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: \xc3\xa9\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: w\xc3bsocket\r\n\r\n", 400),
        (BAD_UPGRADE + b"Sec-WebSocket-Version: 1\xb3\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: h2c\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 20_000 + b"\r\n\r\n", 400),
        (b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n", 400),
        (b"GET http://[ HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ],
)
def test_every_response_may_be_read_by_any_page(relay: GraspdRelay, sent: bytes, status: int) -> None:
    got, headers, _ = http(relay.url, sent)

    assert got == status
    assert CORS.items() <= headers.items()


def test_what_is_no_http_leaves_no_traceback_in_the_log(relay: GraspdRelay) -> None:
    http(relay.url, b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n")

    assert "Traceback" not in relay.written()


@pytest.mark.parametrize(
    "headers",
    [
        {"Connection": "keep-alive, Upgrade"},
        {"Connection": "upgrade", "Upgrade": "WebSocket"},
        {"Origin": "https://page.example"},
        {"Origin": "null", "Sec_WebSocket_Extensions": "permessage-deflate; client_max_window_bits"},
        {"X_Forwarded_For": "203.0.113.7", "X_Forwarded_Proto": "https", "Host": "public.example"},
    ],
)
def test_browsers_and_proxies_may_upgrade(relay: GraspdRelay, headers: dict[str, str]) -> None:
    with Client(relay.url, handshake=upgrade_request(relay.url, **headers)) as client:
        assert client.count({"ids": []}) == 0
        assert CORS.items() <= client.headers.items()
        assert "sec-websocket-extensions" not in client.headers, "compression is not taken up"


def test_a_connection_may_ask_several_times_and_then_upgrade(relay: GraspdRelay) -> None:
    with open_socket(relay.url) as opened:
        for _ in range(3):
            opened.sendall(b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert parse_response(opened.recv(65_536))[0] == 200
        opened.sendall(upgrade_request(relay.url))
        assert parse_response(opened.recv(65_536))[0] == 101
