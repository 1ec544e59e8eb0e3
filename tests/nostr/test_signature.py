"""BIP-340's own vectors on every path that a signature takes here."""

import csv
from pathlib import Path
from typing import NamedTuple

import pytest
from coincurve import PrivateKey, PublicKeyXOnly

from graspd.nostr.signature import RECORD_SIZE, record, verify, verify_records
from tests.nostr.made import signed


class Vector(NamedTuple):
    number: str
    secret: bytes
    pubkey: bytes
    aux: bytes
    message: bytes
    sig: bytes
    good: bool


def vectors() -> list[Vector]:
    with (Path(__file__).parent / "data" / "bip340.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [
        Vector(
            row["index"],
            bytes.fromhex(row["secret key"]),
            bytes.fromhex(row["public key"]),
            bytes.fromhex(row["aux_rand"]),
            bytes.fromhex(row["message"]),
            bytes.fromhex(row["signature"]),
            row["verification result"] == "TRUE",
        )
        for row in rows
    ]


VECTORS = vectors()
OF_EVENTS = [vector for vector in VECTORS if len(vector.message) == 32]


def test_all_vectors_are_here() -> None:
    assert [int(vector.number) for vector in VECTORS] == list(range(19))
    assert len(OF_EVENTS) == 15
    assert sum(vector.good for vector in OF_EVENTS) == 5


@pytest.mark.parametrize("vector", OF_EVENTS, ids=lambda vector: vector.number)
def test_vector(vector: Vector) -> None:
    assert verify(vector.message, vector.pubkey, vector.sig) is vector.good


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.number)
def test_vector_with_a_message_of_any_length(vector: Vector) -> None:
    try:
        key = PublicKeyXOnly(vector.pubkey)
    except ValueError:
        assert not vector.good
        return
    assert key.verify(vector.sig, vector.message) is vector.good


@pytest.mark.parametrize("vector", [one for one in OF_EVENTS if one.secret], ids=lambda vector: vector.number)
def test_vector_signed_anew(vector: Vector) -> None:
    key = PrivateKey(vector.secret)
    assert key.public_key_xonly.format() == vector.pubkey
    assert key.sign_schnorr(vector.message, vector.aux) == vector.sig


def test_vectors_as_records_of_one_batch() -> None:
    records = b"".join(one.message + one.pubkey + one.sig for one in OF_EVENTS)
    assert len(records) == RECORD_SIZE * len(OF_EVENTS)
    assert verify_records(records) == bytes(one.good for one in OF_EVENTS)
    assert verify_records(b"") == b""


def test_an_event_is_one_record() -> None:
    event = signed(b"\x01" * 32, content="hello")
    packed = record(event.id, event.pubkey, event.sig)
    assert len(packed) == RECORD_SIZE
    assert verify_records(packed) == b"\x01"


@pytest.mark.parametrize("at", [0, 31, 32, 63, 64, 95, 96, 127])
def test_one_wrong_bit_in_a_record(at: int) -> None:
    event = signed(b"\x01" * 32)
    wrong = bytearray(record(event.id, event.pubkey, event.sig))
    wrong[at] ^= 1
    assert verify_records(bytes(wrong)) == b"\x00"


def test_a_key_that_was_refused_or_taken_once_is_judged_the_same_again() -> None:
    event = signed(b"\x01" * 32)
    good = record(event.id, event.pubkey, event.sig)
    no_point = good[:32] + b"\xff" * 32 + good[64:]
    assert verify_records((good + no_point) * 3) == b"\x01\x00" * 3
