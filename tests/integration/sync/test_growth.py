"""Interest grows and shrinks: filters are consolidated without a gap, what nobody names is let go, many peers fit."""

import threading
import time

from graspd.nostr.event import Event
from tests.conformance.people import Person, now
from tests.integration.sync.served import Served
from tests.integration.sync.world import about, address, announced, arrive, eventually, lines, publish, syncing

PEERS = 100
CONNECTED_S_MAX = 10.0


def test_more_filters_than_may_be_open_are_consolidated_without_a_gap() -> None:
    owner = Person()
    names = [f"repo{number}" for number in range(120)]
    with Served() as peer:
        peer.publish([announced(owner, name, [peer.url]) for name in names[:10]])
        with syncing([peer.url], {"sync_filter_values": "4", "sync_filters_max": "70"}) as ours:
            eventually(lambda: lines(ours, "became=live"))
            told: list[Event] = []
            over = threading.Event()

            def keep_telling() -> None:
                while not over.is_set():
                    event = Person().opens_issue(
                        address(owner, names[len(told) % 10]), at=now(), content=str(len(told))
                    )
                    peer.publish([event])
                    told.append(event)
                    time.sleep(0.02)

            telling = threading.Thread(target=keep_telling)
            telling.start()
            try:
                for start in range(10, len(names), 22):  # each in a window of its own
                    batch = [announced(owner, name, [peer.url]) for name in names[start : start + 22]]
                    peer.publish(batch)
                    arrive(ours, batch)
                eventually(lambda: lines(ours, "consolidated"), said=ours.written)
            finally:
                over.set()
                telling.join()
            arrive(ours, told)
            late = [owner.opens_issue(address(owner, name), at=now(), content="after") for name in names]
            peer.publish(late)
            arrive(ours, late)


def test_relay_that_an_announcement_drops_is_left() -> None:
    owner = Person()
    with Served() as kept, Served() as dropped, syncing([kept.url]) as ours:
        publish(ours.url, [announced(owner, "one", [kept.url, dropped.url])])
        eventually(lambda: dropped.connections == 1)

        publish(ours.url, [announced(owner, "one", [kept.url], at=now())])

        eventually(lambda: dropped.connections == 0)
        assert lines(ours, dropped.url, "became=gone")
        assert kept.connections == 1


def test_peer_of_a_deleted_repository_is_let_go_and_a_bootstrap_peer_is_not() -> None:
    owner = Person()
    with Served() as bootstrap, Served() as emptied, syncing([bootstrap.url]) as ours:
        publish(ours.url, [announced(owner, "one", [bootstrap.url, emptied.url])])
        eventually(lambda: emptied.connections == 1)

        publish(ours.url, [owner.deletes(["a", address(owner, "one")], at=now())])

        eventually(lambda: emptied.connections == 0)
        assert bootstrap.connections == 1


def test_a_hundred_peers_are_connected_in_time() -> None:
    owner = Person()
    with Served(hosts=[f"127.0.0.{number}" for number in range(1, PEERS + 1)]) as peers:
        events = [announced(owner, "one", peers.urls[:20]), *about(owner, "one", 3)]
        peers.publish(events)
        with syncing(peers.urls) as ours:
            assert eventually(lambda: peers.connections == PEERS, said=ours.written) < CONNECTED_S_MAX
            arrive(ours, events)


def test_announcement_that_names_many_relays_gets_its_share() -> None:
    owner = Person()
    with Served(hosts=[f"127.0.0.{number}" for number in range(1, 41)]) as named, Served() as bootstrap:
        settings = {"sync_relays_per_announcement": "4", "sync_relays_per_author": "6"}
        with syncing([bootstrap.url], settings) as ours:
            publish(ours.url, [announced(owner, f"repo{n}", named.urls[10 * n : 10 * n + 10]) for n in range(4)])
            eventually(lambda: lines(ours, "cap_reached"), said=ours.written)
            marker = announced(Person(), "after", [bootstrap.url])
            bootstrap.publish([marker])
            arrive(ours, [marker])

            eventually(lambda: named.connections == 6, said=ours.written)
            assert len({line.split("peer=")[1].split()[0] for line in lines(ours, "trigger=due")}) == 7
