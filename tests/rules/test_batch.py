"""The events of one batch see each other, as if each had come alone."""

import pytest

from graspd.nostr import kinds
from graspd.nostr.event import Event
from graspd.rules.facts import segments
from graspd.rules.verdict import Reason
from sim.store import MemoryStore, take
from tests.nostr.made import made
from tests.rules.world import (
    ALICE,
    BOB,
    CAROL,
    NOW,
    POLICY,
    announcement,
    deletion,
    issue,
    repo,
    state,
    vanish,
)

OWNER = announcement(maintainers=[BOB])
ISSUE = issue()


def note(tag: str, value: str, at: int = 1000) -> Event:
    return made(1, CAROL, at, [[tag, value]])


SPEAKING = made(kinds.ISSUE, BOB, 1000, [["a", repo()], ["q", made(1, CAROL).id]])
ARTICLE = made(30023, BOB, 1000, [["d", "x"], ["a", repo()], ["q", made(1, CAROL).id]])
SILENT_ARTICLE = made(30023, BOB, 1001, [["d", "x"], ["a", repo()]])


@pytest.mark.parametrize(
    ("batch", "reasons"),
    [
        ([OWNER, ISSUE, note("e", ISSUE.id)], [Reason.STORED] * 3),
        ([OWNER, state(), state(BOB), state(CAROL)], [Reason.STORED] * 3 + [Reason.NOT_ENTITLED]),
        ([OWNER, announcement(BOB, host="elsewhere.example")], [Reason.STORED] * 2),
        ([OWNER, SPEAKING, made(1, CAROL)], [Reason.STORED] * 3),
        ([OWNER, ISSUE, ISSUE], [Reason.STORED, Reason.STORED, Reason.KNOWN]),
        ([ISSUE, OWNER], [Reason.UNRELATED, Reason.STORED]),
        ([OWNER, OWNER, announcement(at=999)], [Reason.STORED, Reason.KNOWN, Reason.SUPERSEDED]),
        ([OWNER, made(kinds.GRASP_LIST, ALICE)], [Reason.STORED] * 2),
        ([OWNER, ISSUE, deletion(BOB, 1001, ["e", ISSUE.id]), ISSUE], [Reason.STORED] * 3 + [Reason.DELETED]),
        ([OWNER, deletion(ALICE, 1001, ["a", repo()]), ISSUE], [Reason.STORED, Reason.STORED, Reason.UNRELATED]),
        (
            [OWNER, vanish(ALICE, 1001), state(), ISSUE],
            [Reason.STORED, Reason.STORED, Reason.NO_ANNOUNCEMENT, Reason.UNRELATED],
        ),
        (
            [OWNER, announcement(at=1001, host="elsewhere.example"), state(BOB), ISSUE],
            [Reason.STORED, Reason.SERVICE_NOT_LISTED, Reason.NO_ANNOUNCEMENT, Reason.UNRELATED],
        ),
        (
            # A held request is served once it concerns something; what else it names is not thereby spoken of.
            [OWNER, deletion(BOB, 999, ["e", ISSUE.id], ["e", made(1, CAROL).id]), ISSUE, made(1, CAROL)],
            [Reason.STORED, Reason.HELD, Reason.DELETED, Reason.UNRELATED],
        ),
        ([OWNER, ARTICLE, made(1, CAROL)], [Reason.STORED] * 3),
        ([OWNER, ARTICLE, SILENT_ARTICLE, made(1, CAROL)], [Reason.STORED] * 3 + [Reason.UNRELATED]),
        ([OWNER, announcement(at=1001), state(BOB)], [Reason.STORED, Reason.STORED, Reason.NOT_ENTITLED]),
    ],
)
def test_a_batch_is_judged_as_its_events_are_one_by_one(batch: list[Event], reasons: list[Reason]) -> None:
    at_once, one_by_one = MemoryStore(), MemoryStore()
    assert [verdict.reason for verdict in take(at_once, batch, POLICY, NOW)] == reasons
    assert [take(one_by_one, [event], POLICY, NOW)[0].reason for event in batch] == reasons
    assert vars(at_once) == vars(one_by_one)


def test_segments_are_the_batch_in_order() -> None:
    batch = [OWNER, ISSUE, deletion(BOB, 1, ["e", ISSUE.id]), vanish(BOB, 1), ARTICLE, ISSUE, SILENT_ARTICLE, state()]
    cut = segments(batch)
    assert [event for segment in cut for event in segment] == batch
    assert all(cut)
    assert segments([]) == []


def test_a_request_is_a_segment_of_its_own() -> None:
    request, farewell = deletion(BOB, 1, ["e", ISSUE.id]), vanish(BOB, 1)
    assert segments([ISSUE, request, farewell, ISSUE]) == [[ISSUE], [request], [farewell], [ISSUE]]


def test_a_long_run_of_plain_events_is_one_segment() -> None:
    issues = [issue(at=at) for at in range(500)]
    assert segments([*issues]) == [issues]


def test_announcements_and_states_are_not_cut_apart() -> None:
    batch = [announcement(at=at) for at in range(5)] + [state(at=at) for at in range(5)]
    assert segments(batch) == [batch]
