"""Bytes that a hostile client might send after, or instead of, a handshake. One integer gives the same bytes again."""

import random
import zlib
from collections.abc import Callable
from typing import Final

import orjson

from tests.conformance.client import BINARY, CLOSE, CONTINUATION, FINAL, PING, PONG, TEXT, frame, upgrade_request
from tests.conformance.people import Person

_OPCODES: Final = (CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG, 3, 7, 11, 15)
_INTEGERS: Final = (0, 1, -1, 65_535, 65_536, 2**31, 2**53, 2**63 - 1, 2**64, -(2**63), 10**40, 1.5, 1e300)
_TEXTS: Final = ("", "x", "\0", "\ud7ff", "\U0010ffff", "a" * 64, "A" * 64, "ab" * 32, "61", "-", "30617:x:y", '"\\')
_VERBS: Final = ("EVENT", "REQ", "COUNT", "CLOSE", "AUTH", "NEG-OPEN", "NEG-MSG", "NEG-CLOSE", "", "OK", "req")
_FIELDS: Final = [
    "ids",
    "authors",
    "kinds",
    "since",
    "until",
    "limit",
    "search",
    "#e",
    "#p",
    "#a",
    "#t",
    "#T",
    "#tt",
    "#",
    "id",
    "pubkey",
    "created_at",
    "kind",
    "tags",
    "content",
    "sig",
]

Json = object


class Attacker:
    """Draws one attack after another."""

    def __init__(self, seed: int, url: str) -> None:
        self._random = random.Random(seed)
        self._url = url
        self._person = Person(secret=self._random.randbytes(32))

    def handshake(self) -> bytes | None:
        """What is sent first; None means a proper handshake."""
        if self._random.random() < 0.9:
            return None
        whole = upgrade_request(self._url)
        return self._random.choice((self._mutated(whole), whole[: self._random.randrange(len(whole))], self._noise()))

    def attack(self) -> bytes:
        """What is sent next."""
        kinds: tuple[Callable[[], bytes], ...] = (
            self._noise,
            self._random_frame,
            self._random_frame,
            self._message,
            self._message,
            self._message,
            self._mutated_message,
            self._cut_message,
            self._fragments,
            self._controls,
            self._bomb,
            self._oversized,
        )
        return b"".join(self._random.choice(kinds)() for _ in range(self._random.randint(1, 6)))

    def _noise(self) -> bytes:
        return self._random.randbytes(self._random.choice((0, 1, 2, 14, 200, 5000)))

    def _random_frame(self) -> bytes:
        flags = self._random.choice((FINAL, FINAL, 0, FINAL | 0x40, 0x70, 0xF0))
        return frame(self._noise(), self._random.choice(_OPCODES), flags=flags, mask=self._random.randbytes(4))

    def _message(self) -> bytes:
        return frame(self._text(), mask=self._random.randbytes(4))

    def _mutated_message(self) -> bytes:
        return self._mutated(self._message())

    def _cut_message(self) -> bytes:
        whole = self._message()
        return whole[: self._random.randrange(len(whole))]

    def _fragments(self) -> bytes:
        text, sent, opcode = self._text(), b"", TEXT
        while text:
            size = self._random.randint(0, len(text))
            sent += frame(text[:size], opcode, flags=0)
            text, opcode = text[size:], CONTINUATION
            if self._random.random() < 0.3:
                sent += frame(b"", self._random.choice(_OPCODES))
            if self._random.random() < 0.1:
                break
        return sent + frame(b"", CONTINUATION)

    def _controls(self) -> bytes:
        opcode = self._random.choice((PING, PONG, CLOSE))
        return frame(self._noise()[: self._random.choice((0, 1, 2, 125, 300))], opcode) * self._random.randint(1, 200)

    def _bomb(self) -> bytes:
        packer = zlib.compressobj(9, zlib.DEFLATED, -15)
        packed = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_SYNC_FLUSH)
        return frame(packed, flags=FINAL | 0x40)

    def _oversized(self) -> bytes:
        size = self._random.choice((1 << 20, 1 << 31, (1 << 63) - 1, 1 << 63, (1 << 64) - 1))
        return b"\x81\xff" + size.to_bytes(8, "big") + self._noise()

    def _mutated(self, data: bytes) -> bytes:
        changed = bytearray(data)
        for _ in range(self._random.randint(1, 8)):
            at = self._random.randrange(len(changed))
            changed[at] = self._random.randrange(256)
        return bytes(changed)

    def _text(self) -> bytes:
        choice = self._random.random()
        if choice < 0.15:
            kind = self._random.choice((1, 5, 62, 1621, 10_317, 20_001, 22_242, 30_617, 30_618))
            tags = [[self._random.choice("aeEdqp-"), self._random.choice(_TEXTS)] for _ in range(3)]
            return b'["EVENT",' + self._person.signs(kind, *tags, at=1_700_000_000).raw + b"]"
        if choice < 0.25:
            return b"[" * self._random.randint(1, 3000)
        message = [self._random.choice(_VERBS), self._random.choice(_TEXTS), *(self._value(3) for _ in range(2))]
        return orjson.dumps(message, default=str)

    def _value(self, depth: int) -> Json:
        choice = self._random.randrange(8 if depth else 5)
        match choice:
            case 0 | 1:
                number = self._random.choice(_INTEGERS)
                return number if -(2**63) <= number < 2**64 else str(number)
            case 2 | 3:
                return self._random.choice(_TEXTS)
            case 4:
                return self._random.choice((None, True, False, [], {}))
            case 5:
                return [self._value(depth - 1) for _ in range(self._random.randrange(4))]
            case _:
                return {self._random.choice(_FIELDS): self._value(depth - 1) for _ in range(self._random.randrange(4))}
