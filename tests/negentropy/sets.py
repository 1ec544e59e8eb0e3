"""Item sets for the tests, and one whole reconciliation between two of them."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from graspd.negentropy import Initiator, ItemSet, Responder, id_list
from tests.negentropy.model import Item, Party

ROUNDS_MAX = 2_000  # far above what any test needs; a reconciliation that goes on for ever fails here


def item_set(items: Sequence[Item]) -> ItemSet:
    created_at = np.array([created_at for created_at, _ in items], np.uint64)
    ids = np.frombuffer(b"".join(id_ for _, id_ in items), np.uint8).reshape(-1, 32)
    return ItemSet.from_unsorted(created_at, ids)


class Asking(Protocol):
    have: set[bytes]
    need: set[bytes]

    def initiate(self) -> bytes: ...
    def reconcile(self, message: bytes) -> bytes: ...


class Answering(Protocol):
    def reconcile(self, message: bytes) -> bytes: ...


class OurInitiator:
    """The package's initiator in the shape of the model's, seeing to it that no id is reported twice."""

    def __init__(self, items: ItemSet, limit: int = 0) -> None:
        self._initiator = Initiator(items, limit)
        self.have: set[bytes] = set()
        self.need: set[bytes] = set()

    def initiate(self) -> bytes:
        return self._initiator.initiate()

    def reconcile(self, message: bytes) -> bytes:
        reply = self._initiator.reconcile(message)
        for new, known in ((id_list(reply.have), self.have), (id_list(reply.need), self.need)):
            assert len(set(new)) == len(new)
            assert known.isdisjoint(new)
            known.update(new)
        return reply.message or b"\x61"


def ours(items: Sequence[Item], limit: int = 0) -> OurInitiator:
    return OurInitiator(item_set(items), limit)


def our_responder(items: Sequence[Item], limit: int = 0) -> Responder:
    return Responder(item_set(items), limit)


def model(items: Sequence[Item], limit: int = 0) -> Party:
    return Party(list(items), limit, initiator=True)


def model_responder(items: Sequence[Item], limit: int = 0) -> Party:
    return Party(list(items), limit)


def talk(asking: Asking, answering: Answering) -> list[bytes]:
    """All messages of a reconciliation, the initiator's first."""
    messages = [asking.initiate()]
    for _ in range(ROUNDS_MAX):
        messages.append(answering.reconcile(messages[-1]))
        message = asking.reconcile(messages[-1])
        if message == b"\x61":
            return messages
        messages.append(message)
    raise AssertionError(f"not done after {ROUNDS_MAX} rounds")
