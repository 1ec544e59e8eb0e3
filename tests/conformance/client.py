"""A plain client over a real socket, for tests that must see every message as it comes.

Decides nothing about what is right: it sends what it is told, valid or not, and hands back what the relay said. Every
wait has a deadline and fails loudly when that passes.
"""

import base64
import os
import select
import socket
import struct
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Self
from urllib.parse import urlsplit

import orjson

from graspd.nostr.event import Event

DEADLINE_S: Final = 20.0
_RECEIVE_BYTES: Final = 1 << 18
CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
FINAL: Final = 0x80

Message = list[Any]


class Gone(Exception):
    """The relay closed the connection; `code` is what its close frame said, if there was one."""

    def __init__(self, code: int | None) -> None:
        super().__init__(f"closed with code {code}")
        self.code = code


def frame(payload: bytes, opcode: int = TEXT, *, flags: int = FINAL, mask: bytes = b"\1\2\3\4") -> bytes:
    """One frame of a client. `flags` are the upper four bits of the first byte, for those that must be wrong."""
    size = len(payload)
    head = bytes([flags | opcode])
    if size < 126:
        head += bytes([0x80 | size])
    elif size < 1 << 16:
        head += struct.pack(">BH", 0x80 | 126, size)
    else:
        head += struct.pack(">BQ", 0x80 | 127, size)
    keys = (mask * (size // 4 + 1))[:size]
    masked = int.from_bytes(payload, "big") ^ int.from_bytes(keys, "big")
    return head + mask + masked.to_bytes(size, "big")


def is_readable(sock: socket.socket, within_s: float) -> bool:
    """Whether there is something to read, or comes in time. Not select(), which knows no descriptor above 1023."""
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(max(0.0, within_s) * 1000))


def open_socket(url: str, source: str | None = None) -> socket.socket:
    """A TCP connection to where the URL points. All of 127.0.0.0/8 is this machine, so `source` may be any of it."""
    target = urlsplit(url)
    assert target.hostname is not None
    bound = None if source is None else (source, 0)
    opened = socket.create_connection((target.hostname, target.port or 80), DEADLINE_S, bound)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return opened


def http(url: str, request: bytes) -> tuple[int, dict[str, str], bytes]:
    """Send the bytes of one HTTP request that ends its connection: status, headers (lower case) and body."""
    with open_socket(url) as opened:
        opened.sendall(request)
        received = b""
        # A relay that refuses without reading the request resets the connection behind its answer.
        with suppress(ConnectionResetError):
            while more := opened.recv(_RECEIVE_BYTES):
                received += more
    return parse_response(received)


def parse_response(received: bytes) -> tuple[int, dict[str, str], bytes]:
    """An HTTP response taken apart."""
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return int(first.split()[1]), headers, body


def upgrade_request(url: str, **headers: str) -> bytes:
    """The opening handshake; headers are given with underscores for dashes and beat the usual ones."""
    fields = {
        "Host": urlsplit(url).netloc,
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
        "Sec-WebSocket-Version": "13",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    lines = [f"{name}: {value}" for name, value in fields.items()]
    return "\r\n".join(["GET / HTTP/1.1", *lines, "", ""]).encode()


class Client:
    """One open WebSocket. Answers pings while it waits for something, unless told not to."""

    def __init__(
        self, url: str, *, handshake: bytes | None = None, pongs: bool = True, source: str | None = None
    ) -> None:
        self._pongs = pongs
        self.sock = open_socket(url, source)
        self.sock.sendall(handshake or upgrade_request(url))
        self._rest = b""
        self._messages: deque[Message] = deque()
        self._begun: list[bytes] = []
        self.controls: list[tuple[int, bytes]] = []
        while b"\r\n\r\n" not in self._rest:
            received = self.sock.recv(_RECEIVE_BYTES)
            if not received:
                raise Gone(None)
            self._rest += received
        head, _, self._rest = self._rest.partition(b"\r\n\r\n")
        self.status, self.headers, _ = parse_response(head)
        assert self.status == 101, head

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.sock.close()

    def send(self, *message: Any) -> None:
        """One message, as JSON."""
        self.send_text(orjson.dumps(message))

    def send_text(self, text: bytes) -> None:
        """One text message, whatever it holds."""
        self.sock.sendall(frame(text))

    def send_raw(self, data: bytes) -> None:
        """Bytes that may be frames."""
        self.sock.sendall(data)

    def next(self, within_s: float = DEADLINE_S) -> Message:
        """The next message; raises Gone when the relay has closed, TimeoutError when nothing comes."""
        deadline = time.monotonic() + within_s
        while not self._messages:
            self._read(deadline - time.monotonic())
        return self._messages.popleft()

    def next_of(self, *verbs: str) -> Message:
        """The next message, which must be one of these."""
        message = self.next()
        assert message[0] in verbs, message
        return message

    def is_silent(self, for_s: float = 0.2) -> bool:
        """Whether nothing comes for a while, after everything sent before a round trip has been answered."""
        try:
            self._messages.appendleft(self.next(for_s))
        except TimeoutError:
            return True
        return False

    def closed(self, within_s: float = DEADLINE_S) -> int | None:
        """Wait until the relay closes; the code it gave."""
        deadline = time.monotonic() + within_s
        try:
            while True:
                self._read(deadline - time.monotonic())
        except Gone as gone:
            return gone.code

    def rest(self) -> list[Message]:
        """Everything until the relay closes."""
        seen = []
        try:
            while True:
                seen.append(self.next())
        except Gone:
            return seen

    def publish(self, event: Event) -> tuple[bool, str]:
        """Publish and wait: whether it was accepted, and what was said."""
        self.send_text(b'["EVENT",' + event.raw + b"]")
        _, event_id, accepted, text = self._until("OK")
        assert event_id == event.id
        return accepted, text

    def take(self, *events: Event) -> None:
        """Publish events that must all be accepted."""
        for event in events:
            accepted, text = self.publish(event)
            assert accepted, text

    def query(self, *filters: dict[str, Any]) -> list[str]:
        """The ids of the stored events that match, in the order they came."""
        return [event["id"] for event in self.query_events(*filters)]

    def query_events(self, *filters: dict[str, Any]) -> list[dict[str, Any]]:
        """The stored events that match, in the order they came."""
        self.send("REQ", "query", *filters)
        found = []
        while (message := self.next_of("EVENT", "EOSE"))[0] == "EVENT":
            assert message[1] == "query"
            found.append(message[2])
        self.send("CLOSE", "query")
        return found

    def subscribe(self, sub_id: str, *filters: dict[str, Any]) -> list[str]:
        """The ids of the stored events; the subscription stays open."""
        self.send("REQ", sub_id, *filters)
        found = []
        while (message := self.next_of("EVENT", "EOSE"))[0] == "EVENT":
            found.append(message[2]["id"])
        return found

    def count(self, *filters: dict[str, Any]) -> int:
        """How many match."""
        self.send("COUNT", "count", *filters)
        number: int = self.next_of("COUNT")[2]["count"]
        return number

    def settle(self) -> list[Message]:
        """A round trip: everything the relay said before it answered the last question."""
        self.send("COUNT", "settle", {"ids": []})
        seen = []
        while (message := self.next())[:2] != ["COUNT", "settle"]:
            seen.append(message)
        return seen

    def _until(self, verb: str) -> Message:
        aside = []
        while (message := self.next())[0] != verb:
            aside.append(message)
        self._messages.extendleft(reversed(aside))
        return message

    def _read(self, within_s: float) -> None:
        if not is_readable(self.sock, within_s):
            raise TimeoutError
        try:
            received = self.sock.recv(_RECEIVE_BYTES)
        except ConnectionResetError:
            raise Gone(None) from None
        if not received:
            raise Gone(None)
        self._rest += received
        while taken := _first_frame(self._rest):
            first, payload, self._rest = taken
            self._take(first, payload)

    def _take(self, first: int, payload: bytes) -> None:
        match first & 0x0F:
            case 1 | 0:
                self._begun.append(payload)
                if first & FINAL:
                    message = orjson.loads(b"".join(self._begun))
                    assert isinstance(message, list)
                    self._messages.append(message)
                    self._begun.clear()
            case 8:
                raise Gone(int.from_bytes(payload[:2], "big") if payload else None)
            case opcode:
                self.controls.append((opcode, payload))
                if opcode == PING and self._pongs:
                    self.send_raw(frame(payload, PONG))


def _first_frame(received: bytes) -> tuple[int, bytes, bytes] | None:
    if len(received) < 2:
        return None
    first, size, start = received[0], received[1], 2
    if size >= 126:
        start += 2 if size == 126 else 8
        if len(received) < start:
            return None
        size = int.from_bytes(received[2:start], "big")
    if len(received) < start + size:
        return None
    return first, received[start : start + size], received[start + size :]


def wait_until(condition: Callable[[], bool], within_s: float = DEADLINE_S) -> None:
    """Wait for a condition, with a deadline."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.01)
