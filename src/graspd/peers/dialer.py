"""The address guard: from a URL that a stranger wrote to a session that can reach the checked addresses and no other.

A name is looked up once. If any answer may not be dialled, none is. What is left is pinned: the session resolves
nothing, follows no redirect, knows no proxy, and makes a socket for a pinned address only. TLS names are verified
against the URL. Nothing here retries; that is the engine's decision.
"""

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Final
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from graspd import __version__
from graspd.peers.addresses import address_fault
from graspd.sync.inputs import LinkFault
from graspd.types import RelayUrl

LOOK_UP_S_MAX: Final = 5.0
LOOK_UPS_MAX: Final = 64  # threads in getaddrinfo; one that hangs cannot be ended, only waited out
ADDRESSES_MAX: Final = 4  # of one name are tried; the handshake deadline is for all of them together
_DEFAULT_PORT: Final = {"ws": 80, "wss": 443}

Look = Callable[[str, int], Sequence[str]]


class DialRefused(Exception):
    """There will be no connection, and nothing was connected to."""

    def __init__(self, fault: LinkFault, text: str) -> None:
        super().__init__(text)
        self.fault = fault


def look_up(host: str, port: int) -> Sequence[str]:
    """The addresses of a name by the system's resolver, which also reads every odd spelling of a number."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


def is_own(address: str) -> bool:
    """Whether an address is one of this machine: only those can be bound."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return True


@dataclass(slots=True)
class Dialer:
    """Made once. `allow_private` opens the guard for tests and private networks; `own_ports` are never dialled.

    `trusted` is what the operator named as the relay we work for: it may be anywhere.
    """

    allow_private: bool = False
    own_ports: frozenset[int] = frozenset()
    trusted: frozenset[RelayUrl] = frozenset()
    look: Look = look_up
    tls: ssl.SSLContext = field(default_factory=ssl.create_default_context)
    _looking: int = 0

    async def session(self, url: RelayUrl) -> aiohttp.ClientSession:
        """A session that reaches this URL's host at its checked addresses. The caller closes it."""
        parts = urlsplit(url)
        if parts.scheme not in _DEFAULT_PORT or parts.hostname is None:
            raise DialRefused(LinkFault.FORBIDDEN, "not a URL of a relay")
        port = parts.port or _DEFAULT_PORT[parts.scheme]
        addresses = await self._resolved(parts.hostname, port)
        if url not in self.trusted:
            for address in addresses:
                self._judge(address, port)
        return _pinned_session(parts.hostname, addresses[:ADDRESSES_MAX], self.tls)

    def _judge(self, address: str, port: int) -> None:
        why = None if self.allow_private else address_fault(address)
        if why is None and (not self.allow_private or port in self.own_ports) and is_own(address):
            why = "our own"
        if why is not None:
            raise DialRefused(LinkFault.FORBIDDEN, f"{address} is {why}")

    async def _resolved(self, host: str, port: int) -> list[str]:
        if self._looking >= LOOK_UPS_MAX:
            raise DialRefused(LinkFault.NAME, "too many names are being looked up")
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Sequence[str]] = loop.create_future()
        # A thread that nothing waits for at the end: a resolver may hang for longer than we have to stop.
        threading.Thread(target=self._look_in_thread, args=(loop, answer, host, port), daemon=True).start()
        self._looking += 1
        try:
            found = await asyncio.wait_for(answer, LOOK_UP_S_MAX)
        except TimeoutError:
            raise DialRefused(LinkFault.NAME, f"no answer within {LOOK_UP_S_MAX:g} s") from None
        except (OSError, UnicodeError) as error:
            raise DialRefused(LinkFault.NAME, str(error)) from error
        if not found:
            raise DialRefused(LinkFault.NAME, "no address")
        return list(found)

    def _look_in_thread(
        self, loop: asyncio.AbstractEventLoop, answer: asyncio.Future[Sequence[str]], host: str, port: int
    ) -> None:
        found: Sequence[str] | OSError | UnicodeError
        try:
            found = self.look(host, port)
        except (OSError, UnicodeError) as error:
            found = error
        if not loop.is_closed():
            loop.call_soon_threadsafe(self._looked, answer, found)

    def _looked(self, answer: asyncio.Future[Sequence[str]], found: Sequence[str] | OSError | UnicodeError) -> None:
        self._looking -= 1
        if answer.done():
            return
        if isinstance(found, OSError | UnicodeError):
            answer.set_exception(found)
        else:
            answer.set_result(found)


class _Pinned(AbstractResolver):
    """Answers for one host with addresses that were checked, and for no other."""

    def __init__(self, host: str, addresses: Sequence[str]) -> None:
        self._host = host
        self._addresses = addresses

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_UNSPEC,  # noqa: ARG002 -- of both families are those that were checked
    ) -> list[ResolveResult]:
        if host != self._host:
            raise DialRefused(LinkFault.FORBIDDEN, "led to another host")
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in self._addresses
        ]

    async def close(self) -> None:
        """Nothing is held."""


def _pinned_session(host: str, addresses: Sequence[str], tls: ssl.SSLContext) -> aiohttp.ClientSession:
    def pinned_socket(info: aiohttp.AddrInfoType) -> socket.socket:
        # The resolver is not asked about numbers, so the address is looked at once more where it becomes a socket.
        family, kind, proto, _, sockaddr = info
        if sockaddr[0] not in addresses:
            raise DialRefused(LinkFault.FORBIDDEN, f"{sockaddr[0]!r} was not checked")
        return socket.socket(family, kind, proto)

    trace = aiohttp.TraceConfig()
    trace.on_request_redirect.append(_refuse_redirect)
    connector = aiohttp.TCPConnector(
        resolver=_Pinned(host, addresses), use_dns_cache=False, socket_factory=pinned_socket, ssl=tls, force_close=True
    )
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
        auto_decompress=False,  # a bomb stays packed
        headers={"User-Agent": f"graspd/{__version__}", "Accept-Encoding": "identity"},
        trace_configs=[trace],
    )


async def _refuse_redirect(
    _session: aiohttp.ClientSession, _context: SimpleNamespace, _redirect: aiohttp.TraceRequestRedirectParams
) -> None:
    raise DialRefused(LinkFault.HANDSHAKE, "it redirects, which is not followed")
