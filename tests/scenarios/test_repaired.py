"""Each of these has bitten a real system."""
# ruff: noqa: ARG002 - a hook is given what any temper may need

from itertools import pairwise

from graspd.nostr import kinds
from graspd.nostr import messages as m
from graspd.sync import inputs as i
from graspd.sync.lifecycle import State
from graspd.sync.reports import Offended, RateLimited
from graspd.types import RelayUrl, SubId
from sim.content import COMMENT, Repo, author, forged, make
from sim.peers.authenticating import Authenticating
from sim.peers.capped import Capped
from sim.peers.forging import Forging
from sim.peers.limit_zero import LimitZeroRefusing
from sim.peers.no_negentropy import NoNegentropy, Refusal
from sim.peers.relay import Reply, Talk, Temper, said
from sim.scenario import Scenario


def is_live(s: Scenario, url: RelayUrl) -> bool:
    view = s.view(url)
    return view is not None and view.state is State.LIVE


def walking(s: Scenario) -> NoNegentropy:
    return NoNegentropy(s.world.faults, Refusal.CLOSED, 0)


def with_honest_and_liar(s: Scenario) -> tuple[RelayUrl, RelayUrl, Repo]:
    """Two peers of one repository, both live; the second is to be given forgeries."""
    honest, liar = s.peer("honest"), s.peer("liar")
    repo = s.repository(liar, honest)
    s.start()
    s.expect_that(lambda: is_live(s, honest) and is_live(s, liar), within_s=60)
    return honest, liar, repo


class ClosesOnce(Temper):
    """Closes the first subscription with history."""

    def __init__(self) -> None:
        self.closed = 0

    def instead(self, talk: Talk, message: m.ClientMessage, now: float) -> list[Reply] | None:
        if not isinstance(message, m.Request) or self.closed or message.filters[0].limit == 0:
            return None
        self.closed += 1
        return [said(m.closed(message.sub_id, "error: try later"))]


class NeverEnds(Temper):
    """Sends events and no EOSE, for a while."""

    def __init__(self, until: float) -> None:
        self._until = until

    def after(self, talk: Talk, message: m.ClientMessage, replies: list[Reply], now: float) -> list[Reply]:
        if now >= self._until:
            return replies
        return [reply for reply in replies if reply.text is None or not reply.text.startswith('["EOSE"')]


class RepeatsEnds(Temper):
    """EOSE twice, late, and for subscriptions that never were."""

    def after(self, talk: Talk, message: m.ClientMessage, replies: list[Reply], now: float) -> list[Reply]:
        ends = [reply for reply in replies if reply.text is not None and reply.text.startswith('["EOSE"')]
        late = [Reply(reply.delay_s + 7, reply.text) for reply in ends]
        return [*replies, *ends, *late, *([said(m.eose(SubId("nobody"), None))] if ends else [])]


def test_closed_ends_one_subscription_and_not_the_link() -> None:
    s = Scenario()
    temper = ClosesOnce()
    alpha = s.peer("alpha", temper, walking(s))
    repo = s.repository(alpha)
    issue = s.issue(repo, on=[alpha])
    s.start()
    s.expect(issue, within_s=120)
    s.expect_that(lambda: is_live(s, alpha), within_s=120)
    assert temper.closed == 1
    assert len(s.dials(alpha)) == 1


def test_auth_required_is_answered_and_then_asked_again() -> None:
    s = Scenario()
    alpha = s.peer("alpha", Authenticating(s.world.rng, s.world.faults, at_start=False))
    repo = s.repository(alpha)
    issue = s.issue(repo, on=[alpha])
    s.start()
    s.expect(issue, within_s=60)
    assert s.relay(alpha).talks[0].authenticated
    assert len(s.dials(alpha)) == 1


def test_an_eose_that_never_comes_does_not_keep_anything_pending() -> None:
    s = Scenario()
    alpha = s.peer("alpha", NeverEnds(until=300), walking(s))
    repo = s.repository(alpha)
    issue = s.issue(repo, on=[alpha])
    s.start()
    s.expect_that(lambda: is_live(s, alpha), within_s=3600)
    assert s.has(issue)


def test_a_link_that_dies_half_open_is_given_up() -> None:
    """Even where nothing tells us that it is dead."""
    s = Scenario()
    alpha = s.peer("alpha", walking(s))
    repo = s.repository(alpha)
    s.start()
    s.wait(5.13)  # the window has closed, the link is open, and the first requests are on their way
    (line,) = s.own.network.lines_to(alpha)
    assert line.talk is not None
    line.half_open = True
    issue = s.issue(repo, on=[alpha])
    s.expect(issue, within_s=300)
    assert len(s.dials(alpha)) == 2


def test_late_doubled_and_unknown_eoses_are_normal() -> None:
    s = Scenario()
    alpha = s.peer("alpha", RepeatsEnds(), walking(s))
    repo = s.repository(alpha)
    issues = [s.issue(repo, ago_s=1000 + number, on=[alpha]) for number in range(30)]
    s.start()
    s.expect(*issues, within_s=60)
    s.wait(60)
    view = s.view(alpha)
    assert view is not None
    assert view.state is State.LIVE
    assert view.budget_left == s.own.limits.budget


def test_a_peer_that_fails_its_first_connect_is_tried_again() -> None:
    s = Scenario()
    alpha = s.peer("alpha")
    repo = s.repository(alpha)
    issue = s.issue(repo, on=[alpha])
    s.goes_down(alpha, i.LinkFault.NAME)
    s.start()
    s.wait(60)
    dials = s.dials(alpha)
    waits = [later - earlier for earlier, later in pairwise(dials)]
    assert all(wait >= least for wait, least in zip(waits, (5, 10, 20), strict=True))
    s.comes_back(alpha)
    s.expect(issue, within_s=120)


def test_spellings_of_one_relay_are_one_peer() -> None:
    s = Scenario()
    alpha = s.peer("alpha")
    repo = s.repository("WSS://Alpha.example:443/", "wss://alpha.example.", "alpha.example")
    issue = s.issue(repo, on=[alpha])
    s.start()
    s.expect(issue, within_s=30)
    assert len(s.dials(alpha)) == 1
    assert [url for _, url in s.log.dials] == [alpha]


def test_we_do_not_dial_ourselves() -> None:
    s = Scenario()
    s.repository("wss://grasp.example", "WSS://GRASP.example:443/")
    s.start()
    s.wait(60)
    assert s.log.dials == []


def test_a_state_before_its_announcement() -> None:
    s = Scenario(bootstrap=["alpha"])
    alpha = s.peer("alpha")
    repo = Repo(author("owner"), "proj", [alpha])
    state = s.state(repo, on=[alpha])
    s.start()
    s.wait(60)
    assert not s.has(state)
    s.publish_to_us(s.announcement(repo))
    s.expect(state, within_s=10)
    assert sum(1 for event in s.log.arrived if event.id == state.id) == 1  # kept, and not fetched again


def test_a_maintainer_before_the_owner() -> None:
    s = Scenario(bootstrap=["alpha"])
    alpha = s.peer("alpha")
    theirs = Repo(author("maintainer"), "proj", [alpha], listed=False)
    announcement = s.hold(s.announcement(theirs), [alpha])
    state = s.state(theirs, by="maintainer", on=[alpha])
    s.start()
    s.wait(60)
    assert not s.has(announcement)
    ours = Repo(author("owner"), "proj", [alpha], maintainers=[author("maintainer")])
    s.publish_to_us(s.announcement(ours))
    s.expect(announcement, state, within_s=10)


def test_a_reply_before_its_root() -> None:
    """The reply names the repository and its root; the root comes later, from elsewhere."""
    s = Scenario()
    alpha = s.peer("alpha")
    repo = s.repository(alpha)
    other = Repo(author("owner"), "other", [alpha])
    root = make(kinds.ISSUE, author("reporter"), s.second(), [["a", other.addr]])
    reply = make(COMMENT, author("replier"), s.second(), [["E", root.id], ["A", other.addr]])
    s.hold(reply, [alpha])
    s.hold(root, [alpha])
    s.start()
    s.expect_that(lambda: is_live(s, alpha), within_s=60)
    assert not s.has(reply)
    s.publish_to_us(s.announcement(other))
    s.expect(root, reply, within_s=60)
    assert s.has(s.issue(repo)) is False


def test_a_forgery_in_hand_does_not_keep_the_true_event_out() -> None:
    """The disk is slow, so that both copies come before the first is judged."""
    s = Scenario()
    s.own.machine.conditions.disk_s = (3.0, 3.0)
    honest = s.peer("honest", walking(s))
    liar = s.peer("liar", walking(s), Forging(s.world.rng, s.world.faults, 1.0))
    s.own.network.sites[honest].latency_s = (0.5, 0.6)
    repo = s.repository(liar, honest)
    issue = s.issue(repo, on=[honest, liar])
    s.start()
    s.expect(issue, within_s=200)
    s.expect_that(lambda: is_live(s, honest), within_s=200)
    assert {offended.peer for offended in s.found(Offended)} == {liar}


def test_a_forgery_in_hand_does_not_keep_the_true_event_out_that_comes_live() -> None:
    s = Scenario()
    honest, liar, repo = with_honest_and_liar(s)
    s.own.machine.conditions.disk_s = (3.0, 3.0)
    issue = s.issue(repo, ago_s=0)
    s.publish(forged(issue), liar)
    s.wait(0.5)
    s.publish(issue, honest)
    s.expect(issue, within_s=60)


def test_a_forgery_from_the_future_does_not_keep_the_true_event_out() -> None:
    """Nobody has checked its signature by the time it is put aside."""
    s = Scenario()
    honest, liar, repo = with_honest_and_liar(s)
    issue = s.issue(repo, ago_s=-1800)
    s.publish(forged(issue), liar)
    s.wait(5)
    s.publish(issue, honest)
    s.wait(600)
    assert not s.has(issue)
    s.expect(issue, within_s=600)
    assert {offended.peer for offended in s.found(Offended)} == {liar}


class RefusesTwice(Temper):
    """Gives two reasons for one refusal, the one that asks for time last."""

    def instead(self, talk: Talk, message: m.ClientMessage, now: float) -> list[Reply] | None:
        if not isinstance(message, m.NegOpen):
            return None
        return [said(m.neg_err(message.sub_id, "error: tired")), said(m.closed(message.sub_id, "rate-limited: wait"))]


def test_a_plea_for_time_is_heard_though_its_request_is_over() -> None:
    s = Scenario()
    tired = s.peer("tired", RefusesTwice())
    s.issue(s.repository(tired), on=[tired])
    s.start()
    s.expect_that(lambda: bool(s.found(RateLimited)), within_s=60)
    slowed = s.now
    s.wait(60)
    assert not s.asked(tired, after=slowed + 1)


def test_a_dropped_relay_is_let_go() -> None:
    s = Scenario()
    alpha, beta = s.peer("alpha"), s.peer("beta")
    repo = s.repository(alpha, beta)
    s.start()
    s.expect_that(lambda: is_live(s, alpha) and is_live(s, beta), within_s=60)
    repo.relays.remove(beta)
    s.publish_to_us(s.announcement(repo))
    s.expect_that(lambda: s.view(beta) is None, within_s=90)
    assert is_live(s, alpha)
    assert s.own.network.lines_to(beta) == []


def test_whoever_waits_for_a_room_is_looked_at_in_turn() -> None:
    """However many wait before it."""
    s = Scenario(peers_max=1, relays_per_announcement=200, relays_per_author=200)
    peers = [s.peer(f"peer-{number}") for number in range(120)]
    repo = s.repository(*peers)
    s.start()
    s.expect_that(lambda: is_live(s, peers[0]), within_s=60)
    repo.relays = [peers[-1], *peers[:-1]]
    s.publish_to_us(s.announcement(repo))
    s.expect_that(lambda: is_live(s, peers[-1]), within_s=300)
    assert s.view(peers[0]).state is State.PARKED


def test_a_deleted_announcement_lets_its_relays_go() -> None:
    s = Scenario()
    alpha = s.peer("alpha")
    repo = s.repository(alpha)
    s.start()
    s.expect_that(lambda: is_live(s, alpha), within_s=60)
    s.publish_to_us(make(kinds.DELETION, repo.owner, s.second(), [["a", repo.addr]]))
    s.expect_that(lambda: s.view(alpha) is None, within_s=90)


def test_an_announcement_that_lists_us_no_longer_lets_its_relays_go() -> None:
    s = Scenario()
    alpha = s.peer("alpha")
    repo = s.repository(alpha)
    s.start()
    s.expect_that(lambda: is_live(s, alpha), within_s=60)
    s.wait(5)
    repo.listed = False
    s.publish(s.announcement(repo), alpha)
    s.expect_that(lambda: s.view(alpha) is None, within_s=90)


def test_a_bootstrap_peer_is_never_let_go() -> None:
    s = Scenario(bootstrap=["alpha"])
    alpha = s.peer("alpha")
    s.start()
    s.wait(3600)
    assert is_live(s, alpha)


def test_what_was_signed_earlier_and_published_late_is_found_by_the_daily_sync() -> None:
    """`since` looks at created_at: while we are away for a minute, an event of last week slips under it."""
    s = Scenario()
    alpha = s.peer("alpha", walking(s))
    repo = s.repository(alpha)
    s.start()
    s.expect_that(lambda: is_live(s, alpha), within_s=60)
    s.goes_down(alpha)
    slipped = s.issue(repo, ago_s=7 * 86400, on=[alpha])
    within_margin = s.issue(repo, ago_s=600, on=[alpha])
    s.wait(60)
    s.comes_back(alpha)
    s.expect(within_margin, within_s=300)
    assert not s.has(slipped)
    s.expect(slipped, within_s=26 * 3600)


def test_a_peer_that_refuses_limit_zero_may_be_told_of_things_late() -> None:
    """What stands in for `limit: 0` is a time, and that reaches back as far as any other."""
    s = Scenario()
    alpha = s.peer("alpha", LimitZeroRefusing(s.world.faults))
    repo = s.repository(alpha)
    s.start()
    s.expect_that(lambda: is_live(s, alpha), within_s=120)
    s.wait(60)
    late = s.publish(s.issue(repo, ago_s=600), alpha)
    s.expect(late, within_s=10)


def test_a_clock_that_was_fast_and_is_set_right_costs_nothing() -> None:
    """What stands in for `limit: 0` would be a time that has not come."""
    s = Scenario()
    alpha = s.peer("alpha", LimitZeroRefusing(s.world.faults))
    repo = s.repository(alpha)
    s.own.clock_ahead_s = 7200
    s.start()
    s.expect_that(lambda: is_live(s, alpha), within_s=120)
    missed = s.publish(s.issue(repo, ago_s=0), alpha)
    s.wait(60)
    assert not s.has(missed)
    s.own.clock_ahead_s = 0
    s.expect(missed, within_s=120)
    s.expect_that(lambda: is_live(s, alpha), within_s=120)
    s.expect(s.publish(s.issue(repo, ago_s=0), alpha), within_s=10)


def test_a_feed_that_lags_is_read_again() -> None:
    s = Scenario()
    alpha = s.peer("alpha")
    repo = s.repository(to_us=False)
    repo.relays.append(alpha)
    issue = s.issue(repo, on=[alpha])
    s.start()
    s.wait(30)
    s.own.machine.conditions.lag_share = 1.0
    s.publish_to_us(s.announcement(repo))
    s.wait(30)
    s.own.machine.conditions.lag_share = 0.0
    s.expect(issue, within_s=60)


def test_ties_at_a_page_border_are_kept() -> None:
    s = Scenario()
    alpha = s.peer("alpha", walking(s), Capped(s.world.faults, 7))
    repos = [s.repository(alpha, name=f"proj-{number}") for number in range(4)]
    tied = [s.issue(repo, ago_s=5000, on=[alpha]) for repo in repos for _ in range(5)]
    others = [s.issue(repos[0], ago_s=4990 + number, on=[alpha]) for number in range(20)]
    s.start()
    s.expect(*tied, *others, within_s=120)


def test_a_restart_within_fifteen_minutes_is_a_quick_reconnect() -> None:
    s = Scenario()
    alpha = s.peer("alpha", walking(s))
    repo = s.repository(alpha)
    issues = [s.issue(repo, ago_s=100_000 + number, on=[alpha]) for number in range(50)]
    s.start()
    s.expect(*issues, within_s=60)
    s.wait(120)
    missed = s.issue(repo, ago_s=-120, on=[alpha])
    before = len(s.log.arrived)
    s.crash(away_s=120)
    s.expect(missed, within_s=60)
    s.wait(60)
    assert len(s.log.arrived) - before <= 5  # what was missed, and nothing that we had
