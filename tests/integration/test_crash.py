"""kill -9, over and over: an event that was acknowledged is there afterwards, and the database is whole.

Several clients publish and delete at once; at a moment drawn from the seed the process is killed; it is started again
on the same data. What had been acknowledged must be served, what had been deleted must not, and whatever was under way
may be either.
"""

import os
import random
import selectors
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

import apsw
import orjson
import pytest

from graspd.nostr.event import Event
from graspd.store.sqlite.connection import FILE_NAME
from tests.conformance.client import Client, Gone
from tests.conformance.people import Person, now
from tests.integration.zygote import Zygote

CONNECTIONS = 4
IN_FLIGHT = 40
KILL_WITHIN_S = 0.3  # the first tenth of a second goes into starting the worker that checks signatures
DELETE_SHARE = 0.1
READY_S = 20.0
IDS_A_REQUEST = 400


@dataclass
class Publisher:
    """One client: what it sent and what it was told."""

    client: Client
    owner: Person
    person: Person = field(default_factory=Person)
    sent: dict[str, Event] = field(default_factory=dict)
    acknowledged: set[str] = field(default_factory=set)
    deleting: set[str] = field(default_factory=set)  # ids that a deletion names, acknowledged or not
    targets: dict[str, str] = field(default_factory=dict)  # by the deletion's id

    def publish(self, rng: random.Random) -> None:
        """Keep so many events under way."""
        while len(self.sent) - len(self.acknowledged) < IN_FLIGHT:
            event = self._next(rng)
            self.sent[event.id] = event
            self.client.send_text(b'["EVENT",' + event.raw + b"]")

    def take(self) -> None:
        """Read what there is to read."""
        message = self.client.next()
        while True:
            assert message[0] == "OK", message
            assert message[2], message
            self.acknowledged.add(message[1])
            try:
                message = self.client.next(0)
            except TimeoutError:
                return

    def _next(self, rng: random.Random) -> Event:
        content = str(len(self.sent))
        deletable = [one for one in self.acknowledged - self.deleting if one not in self.targets]
        if deletable and rng.random() < DELETE_SHARE:
            target = min(deletable)
            request = self.person.signs(5, ["e", target], at=now(), content=content)
            self.deleting.add(target)
            self.targets[request.id] = target
            return request
        return self.person.opens_issue(self.owner.repo, content=content)

    @property
    def must_be_there(self) -> set[str]:
        return self.acknowledged - self.deleting

    @property
    def must_be_gone(self) -> set[str]:
        return {target for request, target in self.targets.items() if request in self.acknowledged}


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def zygote(port: int) -> Iterator[Zygote]:
    settings = {"DOMAIN": f"127.0.0.1:{port}", "EVENTS_PER_MINUTE": "0", "LOG_LEVEL": "warning"}
    with Zygote({f"GRASPD_{name}": value for name, value in settings.items()}) as running:
        yield running


def connected(port: int) -> Client:
    """A client, as soon as the relay is up."""
    deadline = time.monotonic() + READY_S
    while True:
        try:
            return Client(f"ws://127.0.0.1:{port}")
        except (ConnectionError, Gone):
            assert time.monotonic() < deadline, "the relay did not come up"
            time.sleep(0.005)


def load_until_killed(zygote: Zygote, pid: int, port: int, owner: Person, rng: random.Random) -> list[Publisher]:
    """Publish from all connections at once, and kill the relay at a moment that the seed decides."""
    with ExitStack() as opened:
        publishers = [Publisher(opened.enter_context(connected(port)), owner) for _ in range(CONNECTIONS)]
        ready = opened.enter_context(selectors.DefaultSelector())
        for publisher in publishers:
            ready.register(publisher.client.sock, selectors.EVENT_READ, publisher)
        kill_at = time.monotonic() + rng.uniform(0, KILL_WITHIN_S)
        for publisher in publishers:
            publisher.publish(rng)
        while (left_s := kill_at - time.monotonic()) > 0:
            for key, _ in ready.select(left_s):
                key.data.take()
                key.data.publish(rng)
        zygote.kill(pid)
        for publisher in publishers:
            # What the relay said before it died counts, however late it is read.
            with suppress(Gone):
                while True:
                    publisher.take()
    return publishers


def stored(client: Client, ids: set[str]) -> set[str]:
    """Which of these the relay serves."""
    asked = sorted(ids)
    found: set[str] = set()
    for first in range(0, len(asked), IDS_A_REQUEST):
        found.update(client.query({"ids": asked[first : first + IDS_A_REQUEST]}))
    return found


def check_database(data_dir: Path, statement: str) -> None:
    db = apsw.Connection(str(data_dir / FILE_NAME), flags=apsw.SQLITE_OPEN_READONLY)
    assert [row[0] for row in db.execute(statement)] == ["ok"]
    for table in ("body", "event"):
        other = "event" if table == "body" else "body"
        orphans = f"SELECT count(*) FROM {table} WHERE seq NOT IN (SELECT seq FROM {other})"
        assert db.execute(orphans).get == 0
    db.close()


def crash(zygote: Zygote, port: int, data_dir: Path, cycles: int, seed: int) -> None:
    owner = Person()
    all_there: set[str] = set()
    all_gone: set[str] = set()
    pid = zygote.serve(port, data_dir)
    with connected(port) as client:
        client.take(owner.announces(f"127.0.0.1:{port}"))
    for cycle in range(cycles):
        rng = random.Random(f"{seed} {cycle}")
        publishers = load_until_killed(zygote, pid, port, owner, rng)
        there = set().union(*(publisher.must_be_there for publisher in publishers))
        gone = set().union(*(publisher.must_be_gone for publisher in publishers))
        pid = zygote.serve(port, data_dir)
        with connected(port) as client:
            assert stored(client, there) == there, f"acknowledged and lost: seed {seed}, cycle {cycle}"
            assert stored(client, gone) == set(), f"deleted and back: seed {seed}, cycle {cycle}"
        if cycle % 20 == 0:
            check_database(data_dir, "PRAGMA quick_check")
        all_there |= there
        all_gone |= gone
    with connected(port) as client:
        assert stored(client, all_there) == all_there
        assert stored(client, all_gone) == set()
    zygote.kill(pid)
    check_database(data_dir, "PRAGMA integrity_check")
    print(orjson.dumps({"cycles": cycles, "kept": len(all_there), "deleted": len(all_gone)}).decode())
    assert len(all_there) > cycles
    assert all_gone


def test_no_acknowledged_event_is_lost(zygote: Zygote, port: int, tmp_path: Path) -> None:
    crash(zygote, port, tmp_path / "data", cycles=200, seed=1)


@pytest.mark.slow
def test_no_acknowledged_event_is_lost_in_thousands_of_crashes(zygote: Zygote, port: int, tmp_path: Path) -> None:
    seed = int(os.environ.get("CRASH_SEED", time.time_ns() % 10**9))
    crash(zygote, port, tmp_path / "data", cycles=int(os.environ.get("CRASH_CYCLES", "5000")), seed=seed)
