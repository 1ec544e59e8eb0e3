"""A peer goes and comes back: what was missed arrives, what we have stays, and no more is asked for than need be."""

from tests.conformance.people import Person, now
from tests.integration.sync.served import Served
from tests.integration.sync.world import about, address, announced, arrive, eventually, held, lines, publish, syncing
from tests.peers.nostr_relay_py import PythonNostrRelay

SLOW_BACKOFF = {"sync_backoff_s_first": "1.5", "sync_backoff_s_max": "2"}


def test_quick_reconnect_brings_exactly_what_was_missed() -> None:
    owner = Person()
    with Served() as peer:
        first = [announced(owner, "one", [peer.url]), *about(owner, "one", 3)]
        peer.publish(first)
        with syncing([peer.url], {**SLOW_BACKOFF, "sync_since_margin_s": "1"}) as ours:
            arrive(ours, first)
            eventually(lambda: lines(ours, "became=live"))
            peer.leave()
            issue = Person().opens_issue(address(owner, "one"), at=now(), content="layer 2")
            missed = [
                issue,
                Person().signs(1, ["q", address(owner, "one")], at=now(), content="layer 2 by q"),
                Person().signs(1111, ["E", first[2].id], at=now(), content="layer 3"),
                Person().signs(1, ["e", issue.id], at=now(), content="layer 3 of what is new itself"),
            ]
            peer.publish(missed)
            peer.sent_ids.clear()
            peer.come_back()

            arrive(ours, missed)

            assert lines(ours, "sync_started", "kind=quick")
            assert len(lines(ours, "sync_started", "kind=fresh")) == 1
            assert set(peer.sent_ids) == {event.id for event in missed}


def test_away_for_longer_than_the_window_is_a_fresh_sync() -> None:
    owner = Person()
    with Served() as peer:
        first = [announced(owner, "one", [peer.url]), *about(owner, "one")]
        peer.publish(first)
        with syncing([peer.url], {**SLOW_BACKOFF, "sync_quick_reconnect_s": "1"}) as ours:
            arrive(ours, first)
            peer.leave()
            # Signed long ago and published late: no `since` would find it.
            late = Person().opens_issue(address(owner, "one"), at=now() - 90_000, content="an old one")
            peer.publish([late])
            eventually(lambda: len(lines(ours, "trigger=failed")) >= 1)
            eventually(lambda: len(lines(ours, "trigger=due")) >= 4)
            peer.come_back()

            arrive(ours, [late])

            assert len(lines(ours, "sync_started", "kind=fresh")) == 2


def test_peer_whose_database_is_wiped_costs_us_nothing() -> None:
    owner = Person()
    with Served() as peer:
        first = [announced(owner, "one", [peer.url]), *about(owner, "one", 3)]
        peer.publish(first)
        with syncing([peer.url], {**SLOW_BACKOFF, "sync_quick_reconnect_s": "1"}) as ours:
            arrive(ours, first)
            peer.leave()
            peer.wipe()
            eventually(lambda: len(lines(ours, "trigger=due")) >= 4)
            peer.come_back()

            eventually(lambda: lines(ours, "peer_lacks"))

            ids = {event.id for event in first}
            assert held(ours.url, ids) == ids


def test_killed_during_a_transfer_it_is_resumed() -> None:
    owner = Person()
    with PythonNostrRelay() as peer:
        events = [announced(owner, "one", [peer.url]), *about(owner, "one", 150)]
        publish(peer.url, events)
        with syncing([peer.url], {"sync_page_limit": "20", "sync_requests_burst": "5"}) as ours:
            eventually(lambda: len(held(ours.url, [event.id for event in events])) > 20)
            peer.kill()
            assert len(held(ours.url, [event.id for event in events])) < len(events)
            peer.restart()

            arrive(ours, events, 120)
