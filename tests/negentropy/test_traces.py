"""Recorded reconciliations of independent implementations, reproduced byte for byte in both roles.

record_traces.mjs says how they were recorded and with what. Long messages are kept as size and SHA-256. Since each
message is made from the one before, one side's bytes being right needs the other side's to have been so.
"""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.negentropy.model import Item
from tests.negentropy.sets import Answering, Asking, model, model_responder, our_responder, ours, talk

TRACES = json.loads((Path(__file__).parent / "traces" / "reference.json").read_bytes())["cases"]


def item(trace: dict[str, Any], number: int) -> Item:
    name, later = trace["name"], trace["later_s"] * (number >= trace["common"] + trace["ours"])
    time = int.from_bytes(sha256(f"{name}/{number}/time".encode()).digest()[:4], "big") % trace["span_s"]
    id_ = sha256(f"{name}/{number}".encode()).digest()
    zeros = trace["zero_bytes"]
    return (1_700_000_000 + later + time, bytes(zeros) + id_[zeros:])


def item_lists(trace: dict[str, Any]) -> tuple[list[Item], list[Item]]:
    middle = trace["common"] + trace["ours"]
    items = [item(trace, number) for number in range(middle + trace["theirs"])]
    return items[:middle], items[: trace["common"]] + items[middle:]


def kept(message: bytes) -> str:
    return message.hex() if len(message) <= 400 else f"{len(message)} {sha256(message).hexdigest()}"


def digest(ids: set[bytes]) -> str:
    return f"{len(ids)} {sha256(','.join(sorted(id_.hex() for id_ in ids)).encode()).hexdigest()}"


def check(trace: dict[str, Any], asking: Asking, answering: Answering) -> None:
    assert [kept(message) for message in talk(asking, answering)] == trace["messages"]
    assert (digest(asking.have), digest(asking.need)) == (trace["have"], trace["need"])


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: str(trace["name"]))
def test_our_messages_are_those_recorded(trace: dict[str, Any]) -> None:
    initial, other = item_lists(trace)
    check(trace, ours(initial, trace["our_limit"]), our_responder(other, trace["their_limit"]))


@pytest.mark.parametrize(
    "trace", [trace for trace in TRACES if trace["common"] <= 3000], ids=lambda trace: str(trace["name"])
)
def test_the_models_messages_are_those_recorded(trace: dict[str, Any]) -> None:
    initial, other = item_lists(trace)
    check(trace, model(initial, trace["our_limit"]), model_responder(other, trace["their_limit"]))
