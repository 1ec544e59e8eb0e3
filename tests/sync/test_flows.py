"""The papers' five flows, and what must hold beside them, in a small honest world."""

import pytest

from graspd.nostr.event import Event
from graspd.rules.verdict import Reason, Verdict
from graspd.sync import effects, inputs
from graspd.sync.inputs import PeerTerms
from graspd.sync.lifecycle import State
from graspd.sync.limits import SyncLimits
from graspd.sync.records import Method, Speech
from graspd.sync.reports import Consolidated, GapFound, Offended, SustainedGapFound, SyncKind, SyncStarted
from graspd.sync.view import PeerView
from graspd.types import RelayUrl, RepoAddr
from tests.nostr.made import made
from tests.rules.world import DAVE, POLICY, issue, repo, state
from tests.sync.made import ONE, TWO, announced, reply
from tests.sync.world import START, FakePeer, World

BOOT = RelayUrl("wss://boot.example")
DAY = 24 * 3600


def view(world: World, peer: FakePeer) -> PeerView:
    return next(one for one in world.engine.snapshot().peers if one.url == peer.url)


def requests(peer: FakePeer) -> list[effects.SendReq]:
    return [one for one in peer.asked if isinstance(one, effects.SendReq)]


def holds(world: World, *events: Event) -> bool:
    return all(event.id in world.store.served for event in events)


def small_world(negentropy: bool = True, **switches: object) -> tuple[World, FakePeer, list[Event], list[Event]]:
    """We have a repository; the peer that it names has its issues and their replies."""
    world = World(POLICY)
    peer = world.peer(ONE, negentropy=negentropy, **switches)
    world.publish(announced([ONE]))
    issues = [issue(at=2000 + number // 4, content=str(number)) for number in range(30)]
    replies = [reply(one) for one in issues]
    peer.put(*issues, *replies)
    return world, peer, issues, replies


@pytest.mark.parametrize("negentropy", [True, False])
def test_a_blank_start_finds_everything_through_a_bootstrap_peer(negentropy: bool) -> None:
    world = World(POLICY)
    boot = world.peer(BOOT, negentropy=negentropy)
    one, two = world.peer(ONE, negentropy=negentropy), world.peer(TWO, negentropy=negentropy, page_cap=7)
    issues = [issue(at=2000 + number // 4, content=str(number)) for number in range(30)]
    replies = [reply(each) for each in issues]
    boot.put(announced([ONE, TWO]), announced([TWO], "elsewhere", host="other.example"))
    one.put(*issues, state())
    two.put(*issues[:5], *replies)
    world.tell(inputs.BootstrapConfigured((BOOT,)))
    world.run(60)
    assert holds(world, *issues, *replies, state())
    assert {each.state for each in world.engine.snapshot().peers} == {State.LIVE}
    speech = Speech.WORKS if negentropy else Speech.UNSUPPORTED
    assert view(world, one).capability.speech is speech


def test_live_opens_before_history_and_follows() -> None:
    world, peer, issues, _ = small_world()
    world.run(30)
    sent = [one for one in peer.asked if isinstance(one, effects.SendReq | effects.SendNegOpen)]
    assert isinstance(sent[0], effects.SendReq)
    assert all(wanted.limit == 0 for wanted in sent[0].filters)
    late = reply(issues[3], at=9000)
    world.publish_to(peer, late)
    assert holds(world, late)


def test_each_missing_event_crosses_the_wire_once() -> None:
    world = World(POLICY)
    peers = [world.peer(f"wss://p{number}.example") for number in range(5)]
    events = [issue(at=2000 + number, content=str(number)) for number in range(400)]
    for peer in peers:
        peer.put(*events)
    world.publish(announced([peer.url for peer in peers]))
    world.run(120)
    assert holds(world, *events)
    assert sum(peer.served for peer in peers) == len(events)


def test_a_quick_reconnect_asks_since_the_loss_in_all_layers() -> None:
    world, peer, issues, _ = small_world()
    world.run(DAY // 2)
    lost_at = world.now.wall
    world.cut(peer)
    peer.asked.clear()
    missed = [
        reply(issues[0], at=lost_at - 600, content="late"),
        issue(at=lost_at + 2, content="new root"),
        state(at=lost_at + 3),
    ]
    peer.put(*missed)
    peer.put(reply(missed[1], at=lost_at + 4))
    world.run(60)
    assert holds(world, *missed)
    historic = [one for one in requests(peer) if one.filters[0].limit]
    layers = {wanted.tags[0][0] if wanted.tags else "" for one in historic for wanted in one.filters}
    assert layers == {"", "a", "A", "q", "e", "E"}
    since = {wanted.since for one in historic for wanted in one.filters if wanted.until is None}
    # What was confirmed is asked for since the loss; the root that came meanwhile from its beginning.
    assert since == {lost_at - 900, None}
    assert [one.kind for one in world.findings if isinstance(one, SyncStarted)] == [SyncKind.FRESH, SyncKind.QUICK]
    assert [one.event_id for one in world.findings if isinstance(one, GapFound)] == [missed[0].id]


def test_a_quick_catch_up_that_breaks_off_is_not_forgotten() -> None:
    world, peer, issues, _ = small_world()
    world.run(3600)
    lost_at = world.now.wall
    missed = reply(issues[0], at=lost_at + 1)
    world.cut(peer)
    peer.put(missed)
    for _ in range(3):
        peer.mute = True
        world.run(200)
        if peer.link is not None:
            world.cut(peer)
    peer.mute = False
    world.run(3600)
    assert holds(world, missed)


def test_a_stale_reconnect_is_a_fresh_sync() -> None:
    world, peer, issues, _ = small_world()
    world.run(3600)
    peer.up = False
    world.cut(peer)
    old = reply(issues[0], at=5, content="signed long ago")
    peer.put(old)
    world.run(3600)
    peer.up = True
    world.run(3700)
    assert holds(world, old)
    kinds = [one.kind for one in world.findings if isinstance(one, SyncStarted)]
    assert kinds == [SyncKind.FRESH, SyncKind.FRESH]


@pytest.mark.parametrize("negentropy", [True, False])
def test_the_daily_sync_finds_what_live_missed(negentropy: bool) -> None:
    world, peer, issues, _ = small_world(negentropy)
    world.run(3600)
    slipped = reply(issues[0], at=5, content="never sent live")
    peer.put(slipped)
    world.run(22 * 3600)
    assert not holds(world, slipped)
    world.run(3 * 3600)
    assert holds(world, slipped)
    assert [one.event_id for one in world.findings if isinstance(one, SustainedGapFound)] == [slipped.id]
    assert view(world, peer).reliability.sustained_gaps == 1
    assert view(world, peer).state is State.LIVE


def test_consolidation_keeps_filters_within_bounds_and_loses_nothing() -> None:
    world = World(POLICY, SyncLimits(filters_max=20, filter_values=5))
    peer = world.peer(ONE)
    world.publish(announced([ONE]))
    world.run(30)
    issues = []
    for number in range(60):
        issues.append(issue(at=world.now.wall, content=str(number)))
        world.publish_to(peer, issues[-1])
        world.run(7)
        world.publish_to(peer, reply(issues[number // 2], at=world.now.wall))
    world.run(30)
    assert any(isinstance(one, Consolidated) for one in world.findings)
    assert view(world, peer).live_filters <= 20
    assert set(peer.events) <= set(world.store.served)
    assert view(world, peer).state is State.LIVE


def test_a_restart_within_minutes_is_a_quick_reconnect() -> None:
    world, peer, issues, _ = small_world()
    world.run(600)
    world.tell(inputs.Stopping())
    world.mono += 300
    missed = reply(issues[0], at=world.now.wall - 100)
    peer.put(missed)
    peer.asked.clear()
    world.restart()
    world.run(60)
    assert holds(world, missed)
    assert [one.kind for one in world.findings if isinstance(one, SyncStarted)][-1] is SyncKind.QUICK
    assert not any(isinstance(one, effects.SendNegOpen) for one in peer.asked)


def test_lost_state_costs_traffic_and_nothing_else() -> None:
    world, peer, issues, _ = small_world()
    world.run(600)
    world.records.clear()
    world.marks.clear()
    missed = reply(issues[0], at=5)
    peer.put(missed)
    world.restart()
    world.run(60)
    assert holds(world, missed)


def test_a_dropped_relay_is_left_and_a_bootstrap_peer_is_not() -> None:
    world, peer, _, _ = small_world()
    boot = world.peer(BOOT)
    world.tell(inputs.BootstrapConfigured((BOOT,)))
    world.run(60)
    world.publish(announced([], at=2000))
    world.tell()
    world.run(120)
    assert peer.link is None
    assert [one.url for one in world.engine.snapshot().peers] == [boot.url]
    world.tell(inputs.BootstrapConfigured(()))
    world.run(120)
    assert world.engine.snapshot().peers == ()


def test_a_state_before_its_announcement_is_tried_again() -> None:
    world = World(POLICY)
    peer = world.peer(BOOT)
    peer.put(state())
    world.tell(inputs.BootstrapConfigured((BOOT,)))
    world.run(60)
    assert not holds(world, state())
    served = peer.served
    world.publish(announced([]))
    world.tell()
    world.run(1)
    assert holds(world, state())
    assert peer.served == served


def test_rejected_events_are_fetched_once() -> None:
    world = World(POLICY)
    peer = world.peer(BOOT)
    strangers = [announced([], f"s{number}", host="other.example") for number in range(20)]
    peer.put(*strangers)
    world.tell(inputs.BootstrapConfigured((BOOT,)))
    world.run(60)
    served = peer.served
    world.cut(peer)
    world.run(3 * DAY)
    assert peer.served == served
    assert world.engine.snapshot().rejected == 20


def test_a_certificate_says_with_whom_we_are_equal() -> None:
    world, peer, _, _ = small_world()
    world.run(60)
    seen = world.engine.repository(RepoAddr(repo()))
    assert seen is not None
    assert seen.roots == 30
    certificate = seen.peers[0].certificate
    assert certificate is not None
    assert certificate.proven
    assert certificate.method is Method.RECONCILED
    assert (seen.peers[0].peer, seen.peers[0].confirmed) == (peer.url, True)


def test_terms_are_kept() -> None:
    terms = PeerTerms(message_bytes_max=8192, subscriptions_max=3, filters_max=2, limit_max=20)
    world, peer, issues, replies = small_world(terms=terms, live_cap=3, page_cap=20)
    world.run(600)
    assert holds(world, *issues, *replies)
    for one in requests(peer):
        assert len(one.filters) <= 2
        assert all(wanted.limit is None or wanted.limit <= 20 for wanted in one.filters)


def test_a_peer_that_takes_fewer_subscriptions_than_thought_is_served_all_the_same() -> None:
    world, peer, issues, replies = small_world(live_cap=2, negentropy=False)
    world.run(4 * 3600)
    assert holds(world, *issues, *replies)
    assert view(world, peer).state is State.LIVE


def test_a_flood_nobody_asked_for_ends_in_a_rest() -> None:
    world, peer, _, _ = small_world()
    world.run(60)
    sub, link = next(iter(peer.subs)), view(world, peer).link
    assert link is not None
    for number in range(150):
        world.tell(inputs.EventArrived(link, sub, made(1, DAVE, content=str(number))))
    assert view(world, peer).state is State.RESTING
    assert any(isinstance(one, Offended) for one in world.findings)
    world.run(3500)
    assert peer.link is None
    world.run(300)
    assert view(world, peer).state is State.LIVE


def test_what_the_store_could_not_take_is_stored_later(monkeypatch: pytest.MonkeyPatch) -> None:
    world, peer, issues, _ = small_world()
    world.run(60)
    late = reply(issues[0], at=START, content="while the disk is full")
    really = World._ingest
    monkeypatch.setattr(World, "_ingest", lambda _self, events: [Verdict(Reason.STORE_FAILED) for _ in events])
    world.publish_to(peer, late)
    world.run(300)
    assert not holds(world, late)
    monkeypatch.setattr(World, "_ingest", really)
    world.run(300)
    assert holds(world, late)


def test_the_same_inputs_give_the_same_effects() -> None:
    traces = []
    for _ in range(2):
        world, peer, _, _ = small_world()
        world.run(3600)
        world.cut(peer)
        world.run(2 * DAY)
        traces.append(repr(world.trace))
    assert traces[0] == traces[1]
