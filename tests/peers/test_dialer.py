"""The guard: whatever a stranger writes as a relay's URL, no socket connects to where it must not."""

import asyncio
import socket
import ssl
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from graspd.nostr.relay_url import parse_relay_url
from graspd.peers import dialer as dialing
from graspd.peers.dialer import Dialer, DialRefused, is_own
from graspd.sync.inputs import LinkFailed, LinkFault, LinkOpened
from graspd.types import RelayUrl
from tests.peers.certificates import Authority
from tests.peers.linked import Linked

# Names as an attacker's DNS answers them: the second answer of a name is for whoever looks it up again.
ANSWERS: dict[str, list[list[str]]] = {
    "localhost": [["127.0.0.1", "::1"]],
    "sub.localhost": [["127.0.0.1"]],
    "ip6-localhost": [["::1"]],
    "loopback.example": [["127.0.0.1"]],
    "mapped.example": [["::ffff:127.0.0.1"]],
    "mapped-public.example": [["::ffff:8.8.8.8"]],
    "compatible.example": [["::127.0.0.1"]],
    "nat64.example": [["64:ff9b::7f00:1"]],
    "nat64-public.example": [["64:ff9b::808:808"]],
    "sixtofour.example": [["2002:7f00:1::"]],
    "teredo.example": [["2001:0:7f00:1::"]],
    "metadata.google.internal": [["169.254.169.254"]],
    "metadata.azure.example": [["168.63.129.16"]],
    "metadata.aws6.example": [["fd00:ec2::254"]],
    "metadata.alibaba.example": [["100.100.100.200"]],
    "metadata.oracle.example": [["192.0.0.192"]],
    "mixed-last.example": [["93.184.215.14", "93.184.215.15", "10.0.0.1"]],
    "mixed-first.example": [["10.0.0.1", "93.184.215.14"]],
    "mixed-family.example": [["93.184.215.14", "::1"]],
    "mixed-many.example": [[f"93.184.215.{last}" for last in range(1, 60)] + ["192.168.1.1"]],
    "rebind.example": [["127.0.0.1"], ["93.184.215.14"]],
    "scoped.example": [["fe80::1%1"]],
    "garbage.example": [["not an address"]],
    "empty.example": [[]],
    "xn--localhost.example": [["127.0.0.1"]],
    "kubernetes.default.svc.cluster.local": [["10.96.0.1"]],
    "router.local": [["192.168.0.1"]],
}

NUMBERS = """
    127.0.0.1 127.0.0.2 127.255.255.254 127.1 127.0.1 127.00.00.01 2130706433 0x7f000001 0x7f.1 0x7f.0.0.1 0X7F.0X1
    0177.0.0.1 0177.1 017700000001 00000177.0.0.1 127.0.0.1. ①②⑦.⓪.⓪.① １２７.０.０.１ 127。0。0。1 127．0．0．1
    0 0.0.0.0 0x0 00 0.1.2.3 10.0.0.1 10.1 167772161 0xa000001 012.0.0.1 100.64.0.1 100.100.100.200 168.63.129.16
    169.254.169.254 169.254.43518 2852039166 0xa9fea9fe 0251.0376.0251.0376 172.16.0.1 172.31.255.255 192.0.0.1
    192.0.0.192 192.0.2.1 192.88.99.1 192.168.0.1 192.168.1 3232235521 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1
    239.255.255.250 240.0.0.1 255.255.255.255 4294967295 0xffffffff
    [::] [::1] [0:0:0:0:0:0:0:1] [0000:0000:0000:0000:0000:0000:0000:0001] [::127.0.0.1] [::ffff:127.0.0.1]
    [::ffff:7f00:1] [::FFFF:127.0.0.1] [::ffff:0:127.0.0.1] [::ffff:10.0.0.1] [::ffff:169.254.169.254] [::ffff:8.8.8.8]
    [64:ff9b::7f00:1] [64:ff9b::a9fe:a9fe] [64:ff9b:1::7f00:1] [2002:7f00:1::] [2002:a9fe:a9fe::] [2001:0:7f00:1::1]
    [2001::1] [2001:10::1] [2001:20::1] [2001:db8::1] [3fff::1] [5f00::1] [100::1] [fc00::1] [fd00:ec2::254] [fe80::1]
    [fe80::1%lo] [fe80::1%251] [fec0::1] [ff02::1] [ff0e::1] [::2] [4000::1]
"""

SPELLINGS = [
    "ws://127.0.0.1:22",
    "ws://127.0.0.1:80/",
    "wss://127.0.0.1:443/x?y=z",
    "WS://127.0.0.1",
    "wss://127.0.0.1.:7777",
    "ws://localhost.:8080",
    "ws://LOCALHOST",
    "ws://ｌｏｃａｌｈｏｓｔ",
    "ws://user@127.0.0.1",
    "ws://user:secret@127.0.0.1",
    "wss://relay.example@127.0.0.1",
    "wss://127.0.0.1@relay.example",
    "wss://relay.example:443@127.0.0.1:80",
    "wss://relay.example\\@127.0.0.1/",
    "wss://127.0.0.1\\.relay.example",
    "wss://relay.example#@127.0.0.1",
    "wss://127.0.0.1#relay.example",
    "ws://127.0.0.1\t",
    "ws://127.\t0.0.1",
    "ws://127.0.0.1\n.relay.example",
    "ws://127.0.0.1\r\nHost: relay.example",
    "ws://127.0.0.1 ",
    "ws:// 127.0.0.1",
    "ws://127.0.0.1%00.relay.example",
    "ws://127.0.0.1%2f@relay.example",
    "ws://%31%32%37.0.0.1",
    "ws://127.0.0.1:0",
    "ws://127.0.0.1:99999",
    "ws://127.0.0.1:-1",
    "ws://127.0.0.1:80:80",
    "ws://[::1",
    "ws://::1",
    "ws://[::1]x",
    "ws://[127.0.0.1]",
    "ws://[v1.127.0.0.1]",
    "ws:127.0.0.1",
    "ws:/127.0.0.1",
    "ws:///127.0.0.1",
    "ws:////127.0.0.1",
    "//127.0.0.1",
    "127.0.0.1",
    "127.0.0.1:6379",
    "localhost",
    "localhost:7777/path",
    "http://127.0.0.1",
    "https://127.0.0.1",
    "file:///etc/passwd",
    "ftp://127.0.0.1",
    "gopher://127.0.0.1:6379/_INFO",
    "dict://127.0.0.1:11211/",
    "unix:///run/docker.sock",
    "wss+unix://%2frun%2fdocker.sock",
    "javascript:alert(1)",
    "data:text/plain,x",
    "wss://",
    "wss://.",
    "wss://..",
    "wss://a..b",
    "",
    "wss://" + "a" * 300,
    "wss://relay.example/" + "a" * 30_000,
    "wss://-relay.example-",
    "wss://ws://127.0.0.1",
    "wss://https://127.0.0.1",
    "wss://relay\u202eexample",
    "wss://relay\u0000.example",
    "wss://\ud800.example",
]

HOSTILE = [
    *(f"{scheme}://{number}" for scheme, number in zip(cycle(["ws", "wss"]), NUMBERS.split(), strict=False)),
    *(f"ws://{number}:7334/relay" for number in NUMBERS.split()[::4]),
    *(f"wss://{name}" for name in ANSWERS),
    *SPELLINGS,
]


def test_there_are_enough() -> None:
    assert len(set(HOSTILE)) >= 150


class Connects:
    """Every attempt to connect that reaches a socket, by Python's audit events. None gets through while watching."""

    def __init__(self) -> None:
        self.watching = False
        self.seen: list[Any] = []
        sys.addaudithook(self._hook)  # an audit hook stays for ever; it only looks while watching

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.watching and event == "socket.connect":
            self.seen.append(arguments[1])
            raise ConnectionRefusedError("the test stops here")


CONNECTS = Connects()


@pytest.fixture
def connects() -> Iterator[list[Any]]:
    CONNECTS.seen = []
    CONNECTS.watching = True
    yield CONNECTS.seen
    CONNECTS.watching = False


class Changing:
    """A resolver that answers differently each time; it reads numbers as the system does, and asks nobody."""

    def __init__(self, answers: dict[str, list[list[str]]]) -> None:
        self._answers = {name: list(given) for name, given in answers.items()}
        self.asked: list[str] = []

    def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        if host in self._answers:
            given = self._answers[host]
            return given.pop(0) if len(given) > 1 else given[0]
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        return [str(sockaddr[0]) for *_, sockaddr in found]


@pytest.mark.parametrize("text", HOSTILE)
async def test_hostile_url_leads_to_no_connect(text: str, connects: list[Any]) -> None:
    url = parse_relay_url(text)
    if url is not None:
        linked = Linked(url, Dialer(look=Changing(ANSWERS)))
        told = await linked.told()
        assert isinstance(told, LinkFailed)
        assert told.fault in (LinkFault.FORBIDDEN, LinkFault.NAME)

    assert connects == []


@pytest.mark.parametrize("later", [["127.0.0.1"], ["169.254.169.254"], ["::1"], ["10.0.0.1", "93.184.215.14"]])
async def test_name_that_changes_is_dialled_at_the_checked_address_only(later: list[str], connects: list[Any]) -> None:
    look = Changing({"rebind.example": [["93.184.215.14"], later]})
    linked = Linked(RelayUrl("ws://rebind.example:8080"), Dialer(look=look))

    told = await linked.told()

    assert isinstance(told, LinkFailed)
    assert told.fault is LinkFault.REFUSED
    assert {address[:2] for address in connects} == {("93.184.215.14", 8080)}
    assert look.asked == ["rebind.example"]


async def test_own_address_is_not_dialled(monkeypatch: pytest.MonkeyPatch, connects: list[Any]) -> None:
    monkeypatch.setattr(dialing, "is_own", lambda address: address == "93.184.215.14")
    dialer = Dialer(look=lambda _host, _port: ["93.184.215.14"])

    with pytest.raises(DialRefused, match="our own"):
        await dialer.session(RelayUrl("wss://relay.example"))

    assert connects == []


async def test_own_port_is_not_dialled_even_on_a_private_network() -> None:
    dialer = Dialer(allow_private=True, own_ports=frozenset({7334}))

    with pytest.raises(DialRefused, match="our own"):
        await dialer.session(RelayUrl("ws://127.0.0.1:7334"))


def test_own_addresses_are_those_that_can_be_bound() -> None:
    assert is_own("127.0.0.1")
    assert not is_own("93.184.215.14")
    assert not is_own("2606:4700::1")


async def test_look_up_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    monkeypatch.setattr(dialing, "LOOK_UP_S_MAX", 0.05)
    monkeypatch.setattr(dialing, "LOOK_UPS_MAX", 2)

    def hang(_host: str, _port: int) -> Sequence[str]:
        released.wait()
        return ["93.184.215.14"]

    dialer = Dialer(look=hang)
    for expected in ("no answer", "no answer", "too many"):
        with pytest.raises(DialRefused, match=expected) as refused:
            await dialer.session(RelayUrl("wss://slow.example"))
        assert refused.value.fault is LinkFault.NAME
    released.set()


# From here on, against servers of our own on loopback.


class Served:
    """An HTTP server on loopback that answers as it is told, and counts."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.answer: web.StreamResponse | None = None
        self.port = 0

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.paths.append(request.path)
        if self.answer is not None:
            return self.answer
        if "upgrade" not in request.headers.get("Connection", "").lower():
            return web.Response(text='{"supported_nips":[1,77],"limitation":{"max_subscriptions":9}}')
        response = web.WebSocketResponse()
        await response.prepare(request)
        async for _ in response:
            pass
        return response


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    site = Served()
    async for _ in _serving(site, None):
        yield site


async def _serving(site: Served, tls: ssl.SSLContext | None) -> AsyncIterator[None]:
    loop = asyncio.get_running_loop()
    server = web.Server(site.handle)
    listening = await loop.create_server(server, "127.0.0.1", 0, ssl=tls)
    site.port = listening.sockets[0].getsockname()[1]
    yield
    listening.close()
    await server.shutdown(1.0)


async def test_private_peer_is_dialled_where_that_is_allowed(served: Served) -> None:
    linked = Linked(RelayUrl(f"ws://localhost:{served.port}"), Dialer(allow_private=True, look=Changing(ANSWERS)))

    told = await linked.told()

    assert isinstance(told, LinkOpened)
    assert told.terms is not None
    assert told.terms.subscriptions_max == 9
    assert told.terms.negentropy is True
    await linked.end()


async def test_redirect_is_not_followed(served: Served) -> None:
    served.answer = web.Response(status=302, headers={"Location": "/elsewhere"})
    linked = Linked(RelayUrl(f"ws://127.0.0.1:{served.port}"), Dialer(allow_private=True))

    told = await linked.told()

    assert isinstance(told, LinkFailed)
    assert told.fault is LinkFault.HANDSHAKE
    assert set(served.paths) == {"/"}


async def test_proxy_of_the_environment_is_not_used(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "ws_proxy", "wss_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{served.port}")
        monkeypatch.setenv(name.upper(), f"http://127.0.0.1:{served.port}")
    closed = _closed_port()
    linked = Linked(RelayUrl(f"ws://127.0.0.1:{closed}"), Dialer(allow_private=True))

    told = await linked.told()

    assert isinstance(told, LinkFailed)
    assert told.fault is LinkFault.REFUSED
    assert served.paths == []


def _closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def test_tls_name_is_verified(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    site = Served()
    dialer = Dialer(allow_private=True, look=lambda _host, _port: ["127.0.0.1"], tls=authority.client_context())
    async for _ in _serving(site, authority.server_context("relay.example")):
        right = Linked(RelayUrl(f"wss://relay.example:{site.port}"), dialer)
        assert isinstance(await right.told(), LinkOpened)
        await right.end()
        wrong = Linked(RelayUrl(f"wss://other.example:{site.port}"), dialer)
        told = await wrong.told()
        assert isinstance(told, LinkFailed)
        assert told.fault is LinkFault.TLS
        strange = Linked(
            RelayUrl(f"wss://relay.example:{site.port}"),
            Dialer(allow_private=True, look=lambda _host, _port: ["127.0.0.1"]),
        )
        told = await strange.told()
        assert isinstance(told, LinkFailed)
        assert told.fault is LinkFault.TLS
