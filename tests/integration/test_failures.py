"""When the machine fails us: a disk that takes no more, and workers that are killed."""

import os
import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.client import Client, frame, wait_until
from tests.conformance.people import Person
from tests.peers.graspd_relay import GraspdRelay


@pytest.fixture
def relay() -> Iterator[GraspdRelay]:
    with GraspdRelay(settings={"events_per_minute": "0", "verify_workers": "2"}) as running:
        yield running


def workers_of(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children if b"verify_worker" in Path(f"/proc/{child}/cmdline").read_bytes()]


def test_a_disk_that_takes_no_more_gets_no_ok_and_no_second_chance(relay: GraspdRelay, owner: Person) -> None:
    before = owner.opens_issue(owner.repo, content="before")
    refused = owner.opens_issue(owner.repo, content="x" * 100_000)
    later = owner.opens_issue(owner.repo, content="later")
    log_size = (relay.data_dir / "data" / "graspd.sqlite-wal").stat().st_size
    with Client(relay.url) as client, Client(relay.url) as listener:
        client.take(before)
        listener.subscribe("live", {"authors": [owner.pubkey], "kinds": [1621], "limit": 0})
        # No file of that process may grow beyond this, which is how a full disk looks to it.
        resource.prlimit(relay.pid, resource.RLIMIT_FSIZE, (log_size + 50_000, log_size + 50_000))

        accepted, text = client.publish(refused)
        assert not accepted
        assert text.startswith("error: ")
        accepted, text = client.publish(later)
        assert not accepted, "after a failed commit nothing is taken, whether it would fit or not"
        assert text.startswith("error: ")

        assert client.query({"authors": [owner.pubkey], "kinds": [1621]}) == [before.id], "what is there is served"
        assert listener.settle() == [], "nobody hears of what was not kept"
    assert "CRITICAL" in relay.written()
    assert "Traceback" not in relay.written()

    relay.kill()
    relay.restart()

    with Client(relay.url) as client:
        assert client.query({"authors": [owner.pubkey], "kinds": [1621]}) == [before.id]
        client.take(refused, later)


def test_workers_that_are_killed_are_replaced_and_no_event_is_lost(relay: GraspdRelay, owner: Person) -> None:
    with Client(relay.url) as client:
        for cycle in range(5):
            events = [owner.opens_issue(owner.repo, content=f"{cycle} {number}") for number in range(200)]
            client.send_raw(b"".join(frame(b'["EVENT",' + event.raw + b"]") for event in events))
            for worker in workers_of(relay.pid):
                os.kill(worker, signal.SIGKILL)
            answered = [client.next_of("OK") for _ in events]
            assert [message[1:3] for message in answered] == [[event.id, True] for event in events]
        wait_until(lambda: len(workers_of(relay.pid)) >= 1)
    assert "Traceback" not in relay.written()


def test_signatures_are_still_checked_by_new_workers(relay: GraspdRelay, owner: Person) -> None:
    for worker in workers_of(relay.pid):
        os.kill(worker, signal.SIGKILL)
    forged = owner.opens_issue(owner.repo)

    with Client(relay.url) as client:
        client.send_text(b'["EVENT",' + forged.raw.replace(forged.sig.encode(), b"0" * 128) + b"]")

        assert client.next_of("OK")[2] is False
