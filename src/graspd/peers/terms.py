"""A peer's NIP-11 document: read where there is one, within bounds, and never needed."""

from typing import Any, Final

import aiohttp
import orjson

from graspd.nostr.nip11 import NEGENTROPY_NIP
from graspd.peers.dialer import DialRefused
from graspd.sync.inputs import PeerTerms
from graspd.types import RelayUrl

_BYTES_MAX: Final = 128 * 1024
_NUMBER_MAX: Final = 2**53


async def read_terms(session: aiohttp.ClientSession, url: RelayUrl) -> PeerTerms | None:
    """What the document says, or nothing where there is none that can be read."""
    # NIP-11: the same URL by HTTP, told apart by what is accepted.
    http_url = "http" + url.removeprefix("ws")
    try:
        async with session.get(http_url, headers={"Accept": "application/nostr+json"}, allow_redirects=False) as answer:
            if answer.status != 200:
                return None
            return parse_terms(await _bounded(answer))
    except (aiohttp.ClientError, OSError, DialRefused):
        return None


async def _bounded(answer: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in answer.content.iter_any():
        body += chunk
        if len(body) > _BYTES_MAX:
            return b""
    return bytes(body)


def parse_terms(document: bytes) -> PeerTerms | None:
    """The limits of a document; what is missing or odd counts as not said."""
    try:
        value = orjson.loads(document)
    except orjson.JSONDecodeError:
        return None
    if type(value) is not dict:
        return None
    limitation = value.get("limitation")
    said: dict[str, Any] = limitation if type(limitation) is dict else {}
    nips = value.get("supported_nips")
    return PeerTerms(
        message_bytes_max=_positive(said.get("max_message_length")),
        subscriptions_max=_positive(said.get("max_subscriptions")),
        filters_max=_positive(said.get("max_filters")),
        limit_max=_positive(said.get("max_limit")),
        limit_default=_positive(said.get("default_limit")),
        negentropy=NEGENTROPY_NIP in nips if type(nips) is list else None,
        auth_required=said.get("auth_required") is True,
    )


def _positive(value: Any) -> int | None:
    return value if type(value) is int and 0 < value < _NUMBER_MAX else None
