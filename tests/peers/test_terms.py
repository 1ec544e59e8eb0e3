"""A NIP-11 document is read for what it says; what is odd counts as not said; what is endless is not read."""

import asyncio

import orjson
import pytest

from graspd.peers.dialer import Dialer
from graspd.peers.terms import parse_terms, read_terms
from graspd.sync.inputs import PeerTerms
from graspd.types import RelayUrl


@pytest.mark.parametrize(
    ("document", "terms"),
    [
        ({}, PeerTerms()),
        ({"supported_nips": [1, 77]}, PeerTerms(negentropy=True)),
        ({"supported_nips": [1]}, PeerTerms(negentropy=False)),
        ({"supported_nips": "all"}, PeerTerms()),
        ({"limitation": 5}, PeerTerms()),
        (
            {
                "limitation": {
                    "max_message_length": 131072,
                    "max_subscriptions": 20,
                    "max_filters": 10,
                    "max_limit": 500,
                    "default_limit": 100,
                    "auth_required": True,
                }
            },
            PeerTerms(131072, 20, 10, 500, 100, None, auth_required=True),
        ),
        (
            {
                "limitation": {
                    "max_message_length": -1,
                    "max_subscriptions": "20",
                    "max_filters": 0,
                    "max_limit": 1e9,
                    "default_limit": True,
                    "auth_required": 1,
                }
            },
            PeerTerms(),
        ),
    ],
)
def test_document_is_read(document: object, terms: PeerTerms) -> None:
    assert parse_terms(orjson.dumps(document)) == terms


@pytest.mark.parametrize("document", [b"", b"[]", b"<html>", b"null", b"\xff"])
def test_what_is_no_document_says_nothing(document: bytes) -> None:
    assert parse_terms(document) is None


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 404 X\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 302 X\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 X\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b",
        b"HTTP/1.1 200 X\r\n\r\n" + b'{"a":"' + b"x" * 1_000_000 + b'"}',
        b"nonsense",
    ],
)
async def test_answer_that_is_no_document_is_nothing(answer: bytes) -> None:
    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(respond, "127.0.0.1", 0)
    url = RelayUrl(f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}")

    async with await Dialer(allow_private=True).session(url) as session:
        assert await read_terms(session, url) is None

    server.close()
