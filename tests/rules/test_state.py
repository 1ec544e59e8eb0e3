"""Who may say what a repository's branches are at."""

import pytest

from graspd.rules.verdict import STORED, Reason, Verdict
from graspd.types import PubKey
from sim.store import MemoryStore, take
from tests.rules.world import ALICE, BOB, CAROL, NOW, POLICY, REPO, announcement, deletion, repo, state, store_with

NO_ANNOUNCEMENT = Verdict(Reason.NO_ANNOUNCEMENT, "no announcement of this repository is here")
NOT_ENTITLED = Verdict(Reason.NOT_ENTITLED, "the author is no maintainer of this repository")
UNLISTED = announcement(BOB, host="elsewhere.example", maintainers=[CAROL])


def verdict_of(store: MemoryStore, by: PubKey, identifier: str = REPO) -> Verdict:
    (verdict,) = take(store, [state(by, identifier)], POLICY, NOW)
    return verdict


def test_needs_an_announcement() -> None:
    assert verdict_of(MemoryStore(), ALICE) == NO_ANNOUNCEMENT
    assert verdict_of(store_with(announcement()), ALICE, "other") == NO_ANNOUNCEMENT


def test_is_taken_from_the_owner() -> None:
    assert verdict_of(store_with(announcement()), ALICE) == STORED


def test_is_taken_from_a_maintainer_without_an_announcement() -> None:
    assert verdict_of(store_with(announcement(maintainers=[BOB])), BOB) == STORED


def test_is_taken_from_a_maintainers_maintainer() -> None:
    assert verdict_of(store_with(announcement(maintainers=[BOB]), UNLISTED), CAROL) == STORED


def test_is_not_taken_from_anybody_else() -> None:
    assert verdict_of(store_with(announcement(maintainers=[BOB])), CAROL) == NOT_ENTITLED


def test_is_not_taken_from_a_maintainer_of_another_repository() -> None:
    store = store_with(announcement(maintainers=[BOB]), announcement(identifier="other"))
    assert verdict_of(store, BOB, "other") == NOT_ENTITLED


def test_is_not_taken_once_the_announcement_is_deleted() -> None:
    store = store_with(announcement(maintainers=[BOB]), deletion(ALICE, 1001, ["a", repo()]))
    assert verdict_of(store, ALICE) == NO_ANNOUNCEMENT
    assert verdict_of(store, BOB) == NO_ANNOUNCEMENT


def test_is_not_taken_from_those_whom_nobody_hosted_lists_any_more() -> None:
    store = store_with(announcement(maintainers=[BOB]), UNLISTED, deletion(ALICE, 1001, ["a", repo()]))
    assert verdict_of(store, BOB) == NOT_ENTITLED
    assert verdict_of(store, CAROL) == NOT_ENTITLED


def test_may_come_before_its_announcement_and_again_after() -> None:
    first, _, second = take(MemoryStore(), [state(), announcement(), state()], POLICY, NOW)
    assert first == NO_ANNOUNCEMENT
    assert second == STORED


@pytest.mark.parametrize("verdict", [NO_ANNOUNCEMENT, NOT_ENTITLED])
def test_may_be_tried_again_when_refused(verdict: Verdict) -> None:
    assert verdict.reason.may_change
    assert verdict.text.startswith("restricted: ")


def test_a_newer_one_replaces_an_older_one() -> None:
    store = store_with(announcement(), state(at=1000), state(at=1001))
    assert [event.created_at for event in store.events() if event.kind == 30618] == [1001]
