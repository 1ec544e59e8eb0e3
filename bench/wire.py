"""A WebSocket client that costs next to nothing, for a load that must leave the cores to the relay.

Decides how bytes become messages and back. Frames are built before the clock starts and masked with the key zero,
which the protocol allows and which makes masking free. Sockets block on sending: what the load has in flight is bounded
and far below a socket buffer. Must not know what a message means; must not survive a lost connection.
"""

import base64
import os
import socket
import struct
from urllib.parse import urlsplit

SEND_DEADLINE_S = 60.0
RECEIVE_BYTES = 1 << 18
SO_TIMESTAMPNS = 35  # Linux; the socket module has no name for it
TIMESPEC = struct.Struct("qq")

TEXT, CONTINUATION_LAST, PING, PONG = 0x81, 0x80, 0x89, 0x8A
TEXT_BEGUN, CONTINUATION = 0x01, 0x00


class RelayMisbehaved(Exception):
    """The relay broke off, refused or answered with something that the load did not ask for."""


def frame(payload: bytes, opcode: int = TEXT) -> bytes:
    """A client's frame, masked with the key zero."""
    size = len(payload)
    if size < 126:
        return struct.pack(">BB4x", opcode, 0x80 | size) + payload
    if size < 1 << 16:
        return struct.pack(">BBH4x", opcode, 0x80 | 126, size) + payload
    return struct.pack(">BBQ4x", opcode, 0x80 | 127, size) + payload


class FrameReader:
    """Messages out of a relay's bytes, however they were cut; pings are put aside to be answered."""

    __slots__ = ("_begun", "_rest", "pings")

    def __init__(self, first_bytes: bytes = b"") -> None:
        self._rest = first_bytes
        self._begun: list[bytes] = []
        self.pings: list[bytes] = []

    def feed(self, received: bytes) -> list[bytes]:
        """The messages that these bytes complete."""
        if not received:
            raise RelayMisbehaved("the relay closed the connection")
        received = self._rest + received
        messages: list[bytes] = []
        position, end = 0, len(received)
        while end - position >= 2:
            opcode, size = received[position], received[position + 1]
            start = position + 2
            if size >= 126:
                start += 2 if size == 126 else 8
                if start > end:
                    break
                size = int.from_bytes(received[position + 2 : start])
            stop = start + size
            if stop > end:
                break
            if opcode == TEXT:
                messages.append(received[start:stop])
            else:
                self._take_uncommon(opcode, received[start:stop], messages)
            position = stop
        self._rest = received[position:]
        return messages

    def _take_uncommon(self, opcode: int, payload: bytes, messages: list[bytes]) -> None:
        if opcode in (TEXT_BEGUN, CONTINUATION):
            self._begun.append(payload)
        elif opcode == CONTINUATION_LAST:
            messages.append(b"".join((*self._begun, payload)))
            self._begun.clear()
        elif opcode == PING:
            self.pings.append(payload)
        elif opcode != PONG:
            raise RelayMisbehaved(f"frame of opcode {opcode:#x}: {payload!r}")


class Wire:
    """One open connection to a relay."""

    __slots__ = ("_reader", "sock")

    def __init__(self, url: str) -> None:
        target = urlsplit(url)
        self.sock = socket.create_connection((target.hostname, target.port or 80), timeout=SEND_DEADLINE_S)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._reader = FrameReader(self._shake_hands(target.netloc, target.path or "/"))

    def _shake_hands(self, host: str, path: str) -> bytes:
        key = base64.b64encode(os.urandom(16)).decode()
        lines = (
            f"GET {path} HTTP/1.1",
            f"Host: {host}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Key: {key}",
            "Sec-WebSocket-Version: 13",
        )
        self.sock.sendall("\r\n".join((*lines, "", "")).encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            more = self.sock.recv(RECEIVE_BYTES)
            if not more:
                raise RelayMisbehaved(f"connection closed in the handshake after {answer!r}")
            answer += more
        head, _, rest = answer.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 101"):
            raise RelayMisbehaved(f"no WebSocket: {head.splitlines()[0]!r}")
        return rest

    def send(self, frames: bytes) -> None:
        """Send frames that `frame` built."""
        self.sock.sendall(frames)

    def receive(self) -> list[bytes]:
        """The messages completed by what is there to read now; waits only when nothing is."""
        return self._read(self.sock.recv(RECEIVE_BYTES))

    def stamp_arrivals(self) -> None:
        """Have the kernel note when data arrives, for `receive_stamped`."""
        self.sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)

    def receive_stamped(self) -> tuple[list[bytes], int]:
        """As `receive`, with the time in ns at which the kernel took the last of it in, however late we read it."""
        received, notes, _, _ = self.sock.recvmsg(RECEIVE_BYTES, socket.CMSG_SPACE(TIMESPEC.size))
        messages = self._read(received)
        for level, sort, value in notes:
            if level == socket.SOL_SOCKET and sort == SO_TIMESTAMPNS:
                seconds, nanoseconds = TIMESPEC.unpack(value)
                return messages, seconds * 10**9 + nanoseconds
        raise AssertionError("the kernel did not stamp the arrival")

    def _read(self, received: bytes) -> list[bytes]:
        messages = self._reader.feed(received)
        while self._reader.pings:
            self.send(frame(self._reader.pings.pop(), PONG))
        return messages

    def close(self) -> None:
        """Drop the connection without ceremony."""
        self.sock.close()
