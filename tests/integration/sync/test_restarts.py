"""We ourselves go and come back: killed at any moment nothing is lost or fetched twice; stopped, we say goodbye."""

import time
from functools import partial
from pathlib import Path
from random import Random

from graspd.nostr.event import raw_id
from graspd.store.sqlite.connection import FILE_NAME
from graspd.store.sqlite.store import export
from tests.conformance.client import Client
from tests.conformance.people import Person, now
from tests.integration.sync.served import Served
from tests.integration.sync.world import about, address, announced, arrive, eventually, lines, syncing

ISSUES = 1500
KILLS = 8
PACED = {"sync_fetch_ids": "50", "sync_requests_burst": "2", "sync_requests_per_s": "6"}


def stored_ids(data_dir: Path) -> set[str]:
    return {raw_id(raw) for raw in export(data_dir / "data" / FILE_NAME)}


def has_issues(client: Client, count: int) -> bool:
    return client.count({"kinds": [1621]}) >= count


def test_killed_at_random_moments_it_converges_and_fetches_nothing_twice() -> None:
    chance = Random(5)
    owner = Person()
    repo = address(owner, "one")
    # Signed yesterday: `since` of a quick reconnect does not reach them, so whatever comes again was asked for by id.
    issues = [owner.opens_issue(repo, at=now() - 90_000 + n, content=str(n)) for n in range(ISSUES)]
    with Served() as peer:
        peer.publish([announced(owner, "one", [peer.url], at=now() - 90_000), *issues])
        with syncing([peer.url], PACED) as ours:
            before: set[str] = set()
            for _ in range(KILLS):
                goal = len(before) + chance.randrange(1, ISSUES // KILLS)
                with Client(ours.url) as client:
                    eventually(partial(has_issues, client, goal), said=ours.written)
                ours.kill()
                assert not before & set(peer.sent_ids)
                before = stored_ids(ours.data_dir)
                peer.sent_ids.clear()
                ours.restart()

            arrive(ours, issues, 60)

            assert not before & set(peer.sent_ids)


def test_stopped_it_says_goodbye_in_time_and_comes_back_quickly() -> None:
    owner = Person()
    hosts = [f"127.0.0.{number}" for number in range(1, 21)]
    with Served(hosts=hosts) as peer:
        peer.publish([announced(owner, "one", peer.urls[:10]), *about(owner, "one", 5)])
        with syncing(peer.urls) as ours:
            eventually(lambda: peer.connections == len(hosts), said=ours.written)
            eventually(lambda: len(lines(ours, "became=live")) >= len(hosts), said=ours.written)

            start = time.monotonic()
            ours.stop()

            assert time.monotonic() - start < 10
            assert peer.closed_with == [1000] * len(hosts)
            missed = Person().opens_issue(address(owner, "one"), at=now(), content="missed")
            peer.publish([missed])

            ours.restart()

            arrive(ours, [missed])
            eventually(lambda: len(lines(ours, "sync_started", "kind=quick")) == len(hosts), said=ours.written)
            assert len(lines(ours, "sync_started", "kind=fresh")) == len(hosts)
            assert not lines(ours, "Traceback")
