"""What is saved, what a failed saving leaves to be saved, and what a rejection is worth after a restart."""

from graspd.rules.policy import Policy, RepoList
from graspd.rules.verdict import Reason
from graspd.sync.effects import Source, Way
from graspd.sync.jobs import JobId
from graspd.sync.limits import SyncLimits
from graspd.sync.rejected import RejectedMemory, rules_digest
from graspd.sync.unsaved import Unsaved
from graspd.types import RepoAddr, UnixTime
from tests.rules.world import ALICE, BOB, POLICY, issue, repo, state
from tests.sync.made import ONE, TWO, reply

PROJ = RepoAddr(repo())
JOB = JobId(1)
NOW = UnixTime(10_000)
SOURCE = Source(Way.LIVE, ONE)


def memory(limits: SyncLimits | None = None, policy: Policy = POLICY) -> RejectedMemory:
    return RejectedMemory(limits or SyncLimits(), policy, Unsaved())


def test_a_failed_saving_is_part_of_the_next() -> None:
    unsaved = Unsaved()
    unsaved.changed(ONE)
    unsaved.marked(ONE, PROJ)
    unsaved.sent(JOB, unsaved.take(10))
    assert unsaved.waiting == 0
    unsaved.unmarked(ONE, PROJ)
    unsaved.failed(JOB)
    changes = unsaved.take(10)
    assert [*changes.peers] == [ONE]
    assert [*changes.unmarked] == [(ONE, PROJ)]
    assert not changes.marked


def test_what_is_forgotten_leaves_nothing_and_may_come_back() -> None:
    unsaved = Unsaved()
    unsaved.marked(ONE, PROJ)
    unsaved.changed(ONE)
    unsaved.forgot(ONE)
    assert unsaved.waiting == 1
    unsaved.sent(JOB, unsaved.take(10))
    unsaved.changed(ONE)
    unsaved.failed(JOB)
    changes = unsaved.take(10)
    assert [*changes.peers] == [ONE]
    assert not changes.marked


def test_a_clearing_outlives_the_marks_before_it_and_not_those_after() -> None:
    unsaved = Unsaved()
    unsaved.marked(ONE, PROJ)
    unsaved.marked(TWO, PROJ)
    unsaved.cleared(ONE)
    unsaved.marked(ONE, RepoAddr("other"))
    changes = unsaved.take(10)
    assert [*changes.cleared] == [ONE]
    assert [*changes.marked] == [(TWO, PROJ), (ONE, "other")]


def test_savings_are_cut() -> None:
    unsaved = Unsaved()
    for number in range(5):
        unsaved.marked(ONE, RepoAddr(str(number)))
    assert len(unsaved.take(3).marked) == 3
    assert len(unsaved.take(3).marked) == 2


def test_a_rejected_event_wakes_by_what_it_waited_for_and_only_once() -> None:
    rejected = memory()
    one, other = state(), reply(issue())
    rejected.add(one, Reason.NO_ANNOUNCEMENT, SOURCE, NOW)
    rejected.add(other, Reason.UNRELATED, SOURCE, NOW)
    assert [event_id for event_id, _ in rejected.wake(("d:proj",))] == [one.id]
    assert rejected.wake(("d:proj",)) == []
    assert [event_id for event_id, _ in rejected.wake((f"i:{issue().id}",))] == [other.id]
    assert len(rejected) == rejected.kept == rejected.kept_bytes == 0


def test_an_event_from_the_future_waits_for_its_time() -> None:
    rejected = memory()
    early = state(at=NOW + 5000)
    rejected.add(early, Reason.FROM_THE_FUTURE, SOURCE, NOW)
    assert rejected.knows(early.id, NOW)
    record = rejected.record(early.id)
    assert record is not None
    in_another_life = memory()
    in_another_life.restore((record,))
    for life in (rejected, in_another_life):
        assert life.wake_early(NOW) == []
        assert [event_id for event_id, _ in life.wake_early(UnixTime(NOW + 5000 - POLICY.future_s_max))] == [early.id]


def test_rejections_are_bounded_by_count_bytes_and_age() -> None:
    limits = SyncLimits(rejected_max=3, rejected_bytes_max=2 * len(state().raw) + 10)
    rejected = memory(limits)
    events = [state(at=number) for number in range(5)]
    for event in events:
        rejected.add(event, Reason.NO_ANNOUNCEMENT, SOURCE, NOW)
    assert (len(rejected), rejected.kept) == (3, 2)
    assert not rejected.knows(events[0].id, NOW)
    assert rejected.knows(events[4].id, NOW)
    assert not rejected.knows(events[4].id, UnixTime(NOW + limits.rejected_s + 1))


def test_rejections_are_restored_under_the_same_rules_only() -> None:
    rejected = memory()
    event = state()
    rejected.add(event, Reason.NO_ANNOUNCEMENT, SOURCE, NOW)
    record = rejected.record(event.id)
    assert record is not None
    again = memory()
    again.restore((record,))
    assert again.knows(event.id, NOW)
    [(_, entry)] = again.wake(("d:proj",))
    assert entry.event == event
    assert entry.source.peer == ONE
    others = memory(policy=Policy(POLICY.domain, archive=RepoList.parse(["proj"])))
    others.restore((record,))
    assert not others.knows(event.id, NOW)


def test_rules_have_the_same_name_whatever_the_order_of_their_parts() -> None:
    first = Policy(POLICY.domain, blocked_authors=frozenset([ALICE, BOB]))
    second = Policy(POLICY.domain, blocked_authors=frozenset([BOB, ALICE]))
    assert rules_digest(first) == rules_digest(second) != rules_digest(POLICY)
