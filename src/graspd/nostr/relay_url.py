"""Relay URLs in one spelling, and the domain by which announcements name us.

`parse_relay_url` is the only maker of a RelayUrl. It judges spelling alone: whether an address may be dialled is
decided where it is dialled, on what the name resolves to.
"""

import ipaddress
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

import idna

from graspd.types import RelayUrl

URL_LENGTH_MAX: Final = 512  # a 29 kB relay URL has broken a database index in the field
_HOST_LENGTH_MAX: Final = 253
_LABEL_LENGTH_MAX: Final = 63  # a resolver raises on a longer one instead of not finding it
_DEFAULT_PORT: Final = {"ws": 80, "wss": 443, "http": 80, "https": 443}
# Every printable ASCII or non-ASCII character but white space, controls and the backslash that some parsers
# read as a slash and some do not.
_is_plain: Final = re.compile(r"[^\x00-\x20\x7f\\\s]+").fullmatch
_is_host_name: Final = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?").fullmatch


@dataclass(frozen=True, slots=True)
class Domain:
    """A host and, unless it is the usual one of the scheme, a port."""

    host: str
    port: int | None = None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port is None else f"{host}:{self.port}"

    def serves(self, url: SplitResult) -> bool:
        """Whether a URL leads to this domain. The URL comes from `split_url`."""
        usual = _DEFAULT_PORT[url.scheme]
        return url.hostname == self.host and (url.port or usual) == (self.port or usual)


def split_url(text: str, schemes: tuple[str, ...]) -> SplitResult | None:
    """A URL taken apart, its host in one spelling; nothing where it is not plainly one of these schemes."""
    if len(text) > URL_LENGTH_MAX or not _is_plain(text):
        return None
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError:
        return None
    if url.scheme not in schemes or "@" in url.netloc or "#" in text or port == 0:
        return None
    host = _ipv6(url.hostname or "") if "[" in url.netloc else _host_name(url.hostname or "")
    if host is None:
        return None
    return url._replace(netloc=str(Domain(host, None if port == _DEFAULT_PORT[url.scheme] else port)))


def parse_relay_url(text: str) -> RelayUrl | None:
    """The one spelling of a relay's URL, or nothing where the text is none.

    A missing scheme means wss: announcements in the field have that.
    """
    text = text.strip()
    url = split_url(text if "://" in text else f"wss://{text}", ("ws", "wss"))
    if url is None:
        return None
    spelled = url._replace(path=url.path.rstrip("/")).geturl()
    # Punycode is longer than what it stands for.
    return RelayUrl(spelled) if len(spelled) <= URL_LENGTH_MAX else None


def parse_domain(text: str) -> Domain | None:
    """`host` or `host:port`, as an operator writes it."""
    url = split_url(f"ws://{text.strip()}", ("ws",))
    if url is None or url.path or url.query:
        return None
    return Domain(url.hostname or "", url.port)


def is_service_relay(text: str, domain: Domain) -> bool:
    """Whether a `relays` value names us: ws(s)://<domain>, nothing behind it."""
    url = split_url(text.strip(), ("ws", "wss"))
    return url is not None and not url.path.strip("/") and not url.query and domain.serves(url)


def is_service_clone(text: str, domain: Domain, npub: str, identifier: str) -> bool:
    """Whether a `clone` value names us: http(s)://<domain>/<npub>/<identifier>.git.

    An identifier may have spaces, and then some clients leave them as they are.
    """
    url = split_url(text.strip().replace(" ", "%20"), ("http", "https"))
    if url is None or url.query or not domain.serves(url):
        return False
    # The path is decoded after it is split, so that an encoded slash stays part of a name.
    parts = [unquote(part) for part in url.path.strip("/").split("/")]
    return parts == [npub, f"{identifier}.git"]


def _ipv6(host: str) -> str | None:
    try:
        address = ipaddress.IPv6Address(host)
    except ValueError:
        return None
    # A zone names a network of the machine that reads it, not a place.
    return None if address.scope_id else address.compressed


def _host_name(host: str) -> str | None:
    host = host.removesuffix(".").lower()
    if not host.isascii():
        try:
            host = idna.encode(host, uts46=True).decode("ascii")
        except (idna.IDNAError, UnicodeError):
            return None
    if len(host) > _HOST_LENGTH_MAX or ".." in host or not _is_host_name(host):
        return None
    return None if any(len(label) > _LABEL_LENGTH_MAX for label in host.split(".")) else host
