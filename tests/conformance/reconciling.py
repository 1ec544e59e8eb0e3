"""The initiator's side of NIP-77 over a plain client: our own negentropy, asking a relay."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from graspd.negentropy.items import ItemSet
from graspd.negentropy.reconcile import Initiator
from tests.conformance.client import Client

Item = tuple[int, str]  # created_at and id


@dataclass(frozen=True)
class Outcome:
    """What a reconciliation showed."""

    have: set[str]  # ours, which the relay lacks
    need: set[str]  # the relay's, which we lack
    rounds: int


def item_set(items: Iterable[Item]) -> ItemSet:
    """A set of what we hold."""
    listed = list(items)
    times = np.array([at for at, _ in listed], np.uint64)
    ids = np.frombuffer(b"".join(bytes.fromhex(one) for _, one in listed), np.uint8).reshape(-1, 32)
    return ItemSet.from_unsorted(times, ids)


def reconcile(client: Client, wanted: dict[str, Any], items: Iterable[Item], frame_size_limit: int = 0) -> Outcome:
    """Reconcile what we hold with what the relay has of a filter, to the end."""
    initiator = Initiator(item_set(items), frame_size_limit)
    have: set[str] = set()
    need: set[str] = set()
    client.send("NEG-OPEN", "neg", wanted, initiator.initiate().hex())
    rounds = 0
    while True:
        verb, sub_id, answer = client.next_of("NEG-MSG")
        assert (verb, sub_id) == ("NEG-MSG", "neg")
        reply = initiator.reconcile(bytes.fromhex(answer))
        have.update(bytes(one).hex() for one in reply.have)
        need.update(bytes(one).hex() for one in reply.need)
        rounds += 1
        if reply.message is None:
            break
        client.send("NEG-MSG", "neg", reply.message.hex())
    client.send("NEG-CLOSE", "neg")
    return Outcome(have, need, rounds)
