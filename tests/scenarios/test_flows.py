"""The five flows of the papers, each as a small story."""

from graspd.sync.lifecycle import State
from graspd.sync.reports import Consolidated, GapFound, SustainedGapFound, SyncKind, SyncStarted
from sim.content import COMMENT, author, make
from sim.peers.no_negentropy import NoNegentropy, Refusal
from sim.scenario import Scenario


def kinds_of_sync(s: Scenario) -> list[SyncKind]:
    return [finding.kind for finding in s.found(SyncStarted)]


def walking(s: Scenario) -> NoNegentropy:
    return NoNegentropy(s.world.faults, Refusal.NOTICE, 0)


def test_initial_connect() -> None:
    """From a blank state everything is fetched: layer 1, what tags the repository, what tags its roots."""
    s = Scenario()
    alpha = s.peer("alpha")
    repo = s.repository(alpha)
    issue = s.issue(repo, on=[alpha])
    reply, state = s.reply(issue, on=[alpha]), s.state(repo, on=[alpha])
    s.start()
    s.expect(issue, reply, state, within_s=30)
    assert kinds_of_sync(s) == [SyncKind.FRESH]
    first = s.asked(alpha)[0]
    assert first.is_live  # before any history, so that nothing falls between
    assert all(wanted.since is None for asked in s.asked(alpha) for wanted in asked.filters)
    s.expect_that(lambda: (view := s.view(alpha)) is not None and view.state is State.LIVE, within_s=10)
    news = s.publish(make(COMMENT, author("replier"), s.second(), [["E", issue.id]], "news"), alpha)
    assert s.expect(news, within_s=5) <= 1


def test_a_bootstrap_peer_tells_of_repositories() -> None:
    """Nothing is known at the start; layer 1 of one peer leads to another."""
    s = Scenario(bootstrap=["alpha"])
    alpha, beta = s.peer("alpha"), s.peer("beta")
    repo = s.repository(beta, to_us=False)
    announcement = s.hold(s.announcement(repo), [alpha])
    issue = s.issue(repo, on=[beta])
    s.start()
    s.expect(announcement, issue, within_s=30)


def test_quick_reconnect() -> None:
    """Away for less than fifteen minutes: what was missed is asked for since the link was lost, less a margin."""
    s = Scenario()
    alpha = s.peer("alpha", walking(s))
    repo = s.repository(alpha)
    issue = s.issue(repo, on=[alpha])
    s.start()
    s.expect(issue, within_s=60)
    s.wait(3600)  # longer than fifteen minutes: what counts is when the link was lost, not when it was made
    lost_at, lost_second = s.now, s.second()
    s.goes_down(alpha)
    s.wait(10)
    missed = [
        s.reply(issue, ago_s=0, on=[alpha]),
        s.issue(repo, ago_s=0, on=[alpha]),
        s.state(repo, ago_s=0, on=[alpha]),
    ]
    s.wait(300)
    s.comes_back(alpha)
    s.expect(*missed, within_s=600)
    assert kinds_of_sync(s) == [SyncKind.FRESH, SyncKind.QUICK]
    history = [asked for asked in s.asked(alpha, after=lost_at) if not asked.is_live]
    catching_up = [wanted.since for asked in history for wanted in asked.filters if wanted.since is not None]
    assert catching_up
    assert min(catching_up) >= lost_second - 901
    assert {finding.event_id for finding in s.found(GapFound)} == set()  # nobody could have brought them


def test_stale_reconnect() -> None:
    """Away for longer: nothing counts as confirmed, and everything is compared again."""
    s = Scenario()
    alpha = s.peer("alpha")
    repo = s.repository(alpha)
    issue = s.issue(repo, on=[alpha])
    s.start()
    s.expect(issue, within_s=60)
    old = s.issue(repo, ago_s=90 * 86400)  # signed long ago, published while we were away
    back_at = s.now + 1000
    s.goes_down(alpha)
    s.hold(old, [alpha])
    s.wait(1000)
    s.comes_back(alpha)
    s.expect(old, within_s=1200)
    assert kinds_of_sync(s) == [SyncKind.FRESH, SyncKind.FRESH]
    again = [asked for asked in s.asked(alpha, after=back_at) if asked.negentropy]
    assert again
    assert all(wanted.since is None for asked in again for wanted in asked.filters)


def test_consolidation() -> None:
    """Many small live filters become few full ones, live first, and nothing that is confirmed is lost."""
    s = Scenario(filters_max=16, filter_values=1)
    alpha = s.peer("alpha")
    repo = s.repository(alpha)
    s.start()
    s.expect_that(lambda: (view := s.view(alpha)) is not None and view.state is State.LIVE, within_s=60)
    issues = []
    for _ in range(8):
        issues.append(s.publish(s.issue(repo, ago_s=0), alpha))
        s.wait(20)
    s.expect(*issues, within_s=30)
    assert s.found(Consolidated)
    view = s.view(alpha)
    assert view is not None
    assert view.live_filters <= 16
    assert view.items_confirmed == view.items_wanted
    reply = s.publish(make(COMMENT, author("replier"), s.second(), [["E", issues[0].id]], "late"), alpha)
    s.expect(reply, within_s=5)


def test_daily_sync() -> None:
    """Every 23 to 25 hours everything is compared again; what that finds is a sustained gap."""
    s = Scenario()
    alpha = s.peer("alpha")
    repo = s.repository(alpha)
    issue = s.issue(repo, on=[alpha])
    s.start()
    s.expect(issue, within_s=60)
    s.wait(600)
    slipped = s.issue(repo, ago_s=5 * 86400, on=[alpha])  # there, and nobody was told
    took = s.expect(slipped, within_s=26 * 3600)
    assert 22.5 * 3600 <= took <= 25.5 * 3600
    assert kinds_of_sync(s) == [SyncKind.FRESH, SyncKind.DAILY]
    assert [finding.event_id for finding in s.found(SustainedGapFound)] == [slipped.id]
