"""The load's events are what they claim to be, and the same on every machine."""

import hashlib
from pathlib import Path

import orjson
from coincurve import PublicKeyXOnly

from bench import corpus

SEED, COUNT = 3, 600


def test_same_seed_gives_same_bytes(tmp_path: Path) -> None:
    first = corpus.events(SEED, COUNT, tmp_path / "one")
    again = corpus.events(SEED, COUNT, tmp_path / "two")
    other = corpus.events(SEED + 1, COUNT, tmp_path / "two")

    assert first == again
    assert not set(first) & set(other)


def test_corpus_is_read_back_from_cache(tmp_path: Path) -> None:
    made = corpus.events(SEED, COUNT, tmp_path)
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(b"\n".join(made[:10]))

    assert corpus.events(SEED, COUNT, tmp_path) == made[:10]


def test_events_are_signed_distinct_and_of_the_wanted_size(tmp_path: Path) -> None:
    made = corpus.events(SEED, COUNT, tmp_path)

    assert len({corpus.event_id(event) for event in made}) == COUNT
    assert 650 < sum(map(len, made)) / COUNT < 750
    times = [orjson.loads(event)["created_at"] for event in made]
    assert times == sorted(set(times))
    for event in made:
        assert_signed(event)


def test_every_event_names_the_announced_repository(tmp_path: Path) -> None:
    announced = orjson.loads(corpus.announcement(SEED, "relay.example:7334"))
    identifier = dict(announced["tags"])["d"]
    address = ["a", f"30617:{announced['pubkey']}:{identifier}"]

    assert all(address in orjson.loads(event)["tags"] for event in corpus.events(SEED, COUNT, tmp_path))


def test_announcement_names_the_relay() -> None:
    announced = corpus.announcement(SEED, "relay.example:7334")
    tags = dict(orjson.loads(announced)["tags"])

    assert_signed(announced)
    assert tags["relays"] == "ws://relay.example:7334"
    assert tags["clone"].startswith("http://relay.example:7334/npub1")


def assert_signed(event: bytes) -> None:
    parsed = orjson.loads(event)
    body = [0, *(parsed[field] for field in ("pubkey", "created_at", "kind", "tags", "content"))]
    digest = hashlib.sha256(orjson.dumps(body)).digest()
    assert corpus.event_id(event).decode() == parsed["id"] == digest.hex()
    assert PublicKeyXOnly(bytes.fromhex(parsed["pubkey"])).verify(bytes.fromhex(parsed["sig"]), digest)
