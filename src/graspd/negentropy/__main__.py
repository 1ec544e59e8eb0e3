"""The line harness by which implementations of negentropy are tested against each other.

Reads commands from standard input, one a line: `item,<created_at>,<hex id>`, `seal`, `initiate`, `msg,<hex>`.
Writes `have,<hex>`, `need,<hex>`, `msg,<hex>`, and `done` when an initiator has nothing more to ask. Whoever was
never told to `initiate` answers as a responder. FRAMESIZELIMIT in the environment bounds the frames.

The only module of this package that touches the world outside.
"""

import os
import sys
from array import array
from collections.abc import Iterable, Iterator

import numpy as np

from graspd.negentropy import Initiator, ItemSet, NegentropyError, Responder, id_list


class HarnessError(Exception):
    """A line that is not a command, or comes at the wrong time."""


class Harness:
    """One party, driven by lines."""

    def __init__(self, frame_size_limit: int) -> None:
        self._frame_size_limit = frame_size_limit
        self._created_at = array("Q")
        self._ids = bytearray()
        self._items: ItemSet | None = None
        self._initiator: Initiator | None = None

    def answer(self, line: str) -> Iterator[str]:
        """The lines to write for one line read."""
        match line.split(","):
            case ["item", created_at, hex_id] if self._items is None:
                self._add(int(created_at), bytes.fromhex(hex_id))
            case ["seal"] if self._items is None:
                ids = np.frombuffer(self._ids, np.uint8).reshape(-1, 32)
                self._items = ItemSet.from_unsorted(np.frombuffer(self._created_at, np.uint64), ids)
            case ["initiate"] if self._items is not None and self._initiator is None:
                self._initiator = Initiator(self._items, self._frame_size_limit)
                yield f"msg,{self._initiator.initiate().hex()}"
            case ["msg", message] if self._items is not None:
                yield from self._reconciled(self._items, bytes.fromhex(message))
            case _:
                raise HarnessError(f"unexpected line: {line[:80]}")

    def _add(self, created_at: int, id_: bytes) -> None:
        if len(id_) != 32:
            raise HarnessError("an id has 32 bytes")
        self._created_at.append(created_at)
        self._ids += id_

    def _reconciled(self, items: ItemSet, message: bytes) -> Iterator[str]:
        if self._initiator is None:
            yield f"msg,{Responder(items, self._frame_size_limit).reconcile(message).hex()}"
            return
        reply = self._initiator.reconcile(message)
        yield from (f"have,{id_.hex()}" for id_ in id_list(reply.have))
        yield from (f"need,{id_.hex()}" for id_ in id_list(reply.need))
        yield "done" if reply.message is None else f"msg,{reply.message.hex()}"


def run(lines: Iterable[str], frame_size_limit: int) -> int:
    """Serves one conversation; the exit code."""
    harness = Harness(frame_size_limit)
    for line in lines:
        try:
            sys.stdout.writelines(f"{answer}\n" for answer in harness.answer(line.strip()))
        except (HarnessError, NegentropyError, ValueError, OverflowError) as error:
            sys.stderr.write(f"{error}\n")
            return 1
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.stdin, int(os.environ.get("FRAMESIZELIMIT", "0"))))
