"""Everything else: what is said about a repository or an event that is here, or is spoken of here."""

import pytest

from graspd.nostr import kinds
from graspd.nostr.event import Event
from graspd.rules.verdict import RELAYED, STORED, Reason, Verdict
from graspd.types import PubKey
from sim.store import MemoryStore, take
from tests.nostr.made import made
from tests.rules.world import (
    ALICE,
    BOB,
    CAROL,
    HOST,
    MALLORY,
    NOW,
    POLICY,
    announcement,
    deletion,
    issue,
    repo,
    state,
    store_with,
    vanish,
)

REPO_HERE = announcement()
ISSUE_HERE = issue()
UNRELATED = Verdict(Reason.UNRELATED, "the event tags no repository or event that is here, and none here tags it")


def verdict_on(event: Event, *before: Event) -> Verdict:
    (verdict,) = take(store_with(*before), [event], POLICY, NOW)
    return verdict


def note(*tags: list[str], kind: int = 1, by: PubKey = CAROL, at: int = 1000) -> Event:
    return made(kind, by, at, tags)


@pytest.mark.parametrize("name", ["a", "A", "q"])
@pytest.mark.parametrize("kind", [1, 1111, 1617, 1618, 1619, 1621, 1630, 30023, 40000])
def test_what_tags_a_repository_is_taken(name: str, kind: int) -> None:
    assert verdict_on(note([name, repo()], kind=kind), REPO_HERE) == STORED


@pytest.mark.parametrize("name", ["e", "E", "q"])
def test_what_tags_an_event_is_taken(name: str) -> None:
    assert verdict_on(note([name, ISSUE_HERE.id]), REPO_HERE, ISSUE_HERE) == STORED


@pytest.mark.parametrize("name", ["e", "E", "q"])
def test_what_tags_an_announcement_by_its_id_is_taken(name: str) -> None:
    assert verdict_on(note([name, REPO_HERE.id]), REPO_HERE) == STORED


def test_what_tags_a_state_is_taken() -> None:
    assert verdict_on(note(["a", f"30618:{ALICE}:proj"]), REPO_HERE, state()) == STORED


def test_a_chain_of_answers_is_taken() -> None:
    first = note(["e", ISSUE_HERE.id])
    second = note(["e", first.id])
    assert verdict_on(note(["e", second.id]), REPO_HERE, ISSUE_HERE, first, second) == STORED


def test_one_tag_of_many_is_enough() -> None:
    event = note(["e", "ab" * 32], ["a", repo(MALLORY)], ["p", BOB], ["a", repo()], ["t", "x"])
    assert verdict_on(event, REPO_HERE) == STORED


@pytest.mark.parametrize(
    "tags",
    [
        [],
        [["a", repo(MALLORY)]],
        [["a", repo(identifier="other")]],
        [["a", repo().upper()]],
        [["a", f"030617:{ALICE}:proj"]],
        [["A", f"30617:{ALICE}"]],
        [["e", "ab" * 32]],
        [["e", ISSUE_HERE.id.upper()]],
        [["e", ISSUE_HERE.id[:-1]]],
        [["a", ISSUE_HERE.id]],
        [["e", repo()]],
        [["p", ALICE]],
        [["r", repo()]],
        [["d", repo()]],
        [["t", "x", ISSUE_HERE.id]],
        [["e"], ["a"]],
        [["x", ISSUE_HERE.id]],
    ],
)
def test_what_tags_nothing_here_is_not_taken(tags: list[list[str]]) -> None:
    assert verdict_on(note(*tags), REPO_HERE, ISSUE_HERE) == UNRELATED


@pytest.mark.parametrize("name", ["e", "E", "q"])
def test_what_is_tagged_here_by_its_id_is_taken(name: str) -> None:
    spoken_of = note(by=MALLORY)
    speaking = made(kinds.ISSUE, BOB, 1000, [["a", repo()], [name, spoken_of.id]])
    assert verdict_on(spoken_of, REPO_HERE, speaking) == STORED


@pytest.mark.parametrize("name", ["a", "A", "q"])
def test_what_is_tagged_here_by_its_address_is_taken(name: str) -> None:
    spoken_of = note(["d", "x"], kind=30023, by=MALLORY)
    assert spoken_of.address is not None
    speaking = made(kinds.ISSUE, BOB, 1000, [["a", repo()], [name, spoken_of.address]])
    assert verdict_on(spoken_of, REPO_HERE, speaking) == STORED


def test_what_was_tagged_here_by_an_event_now_gone_is_not_taken() -> None:
    spoken_of = note(by=MALLORY)
    speaking = made(kinds.ISSUE, BOB, 1000, [["a", repo()], ["e", spoken_of.id]])
    gone = deletion(BOB, 1001, ["e", speaking.id])
    assert verdict_on(spoken_of, REPO_HERE, speaking, gone) == UNRELATED


def test_a_request_vouches_for_nothing() -> None:
    spoken_of = note(by=BOB)
    request = deletion(BOB, 999, ["e", ISSUE_HERE.id], ["q", spoken_of.id])
    farewell = made(kinds.VANISH, MALLORY, 999, [["relay", "ALL_RELAYS"], ["e", spoken_of.id]])
    theirs = made(kinds.ISSUE, MALLORY, 1000, [["a", repo()]])
    assert verdict_on(spoken_of, REPO_HERE, ISSUE_HERE, theirs, request, farewell) == UNRELATED


def test_but_what_speaks_of_a_request_is_taken() -> None:
    request = deletion(BOB, 1001, ["e", ISSUE_HERE.id])
    assert verdict_on(note(["e", request.id]), REPO_HERE, ISSUE_HERE, request) == STORED


def test_what_tags_an_event_that_was_refused_is_not_taken() -> None:
    refused = note()
    store = store_with(REPO_HERE)
    verdicts = take(store, [refused, note(["e", refused.id])], POLICY, NOW)
    assert verdicts == [UNRELATED, UNRELATED]


def test_an_answer_may_come_before_its_root_and_again_after() -> None:
    answer = note(["e", ISSUE_HERE.id])
    verdicts = take(store_with(REPO_HERE), [answer, ISSUE_HERE, answer], POLICY, NOW)
    assert verdicts == [UNRELATED, STORED, STORED]
    assert UNRELATED.reason.may_change


def test_an_ephemeral_event_is_sent_on_and_not_stored() -> None:
    store = store_with(REPO_HERE)
    event = note(["a", repo()], kind=20001)
    assert take(store, [event, event, note(kind=20001)], POLICY, NOW) == [RELAYED, RELAYED, UNRELATED]
    assert store.events() == [REPO_HERE]


def test_a_known_event_is_a_duplicate() -> None:
    verdict = verdict_on(ISSUE_HERE, REPO_HERE, ISSUE_HERE)
    assert (verdict.accepted, verdict.text) == (True, "duplicate: already have this event")


class TestGraspLists:
    def test_that_name_us_are_taken(self) -> None:
        assert verdict_on(note(["g", "wss://other.example"], ["g", f"wss://{HOST}/"], kind=kinds.GRASP_LIST)) == STORED

    @pytest.mark.parametrize(
        "tags", [[], [["g", "wss://other.example"]], [["g", f"https://{HOST}"]], [["r", f"wss://{HOST}"]], [["g"]]]
    )
    def test_that_do_not_are_not(self, tags: list[list[str]]) -> None:
        why = "the list does not name this service and its author has nothing here"
        assert verdict_on(note(*tags, kind=kinds.GRASP_LIST), REPO_HERE) == Verdict(Reason.CONCERNS_OTHERS, why)

    def test_of_those_who_take_part_here_are_taken(self) -> None:
        assert verdict_on(note(kind=kinds.GRASP_LIST, by=BOB), REPO_HERE, ISSUE_HERE) == STORED
        assert verdict_on(note(kind=kinds.GRASP_LIST, by=ALICE), REPO_HERE) == STORED

    def test_of_those_who_took_part_are_taken(self) -> None:
        gone = deletion(BOB, 1001, ["e", ISSUE_HERE.id])
        assert verdict_on(note(kind=kinds.GRASP_LIST, by=BOB), REPO_HERE, ISSUE_HERE, gone) == STORED

    def test_are_not_related_by_tags(self) -> None:
        event = note(["a", repo()], kind=kinds.GRASP_LIST)
        assert verdict_on(event, REPO_HERE).reason is Reason.CONCERNS_OTHERS

    def test_have_one_version(self) -> None:
        older, newer = (note(["g", f"wss://{HOST}"], kind=kinds.GRASP_LIST, at=at) for at in (1000, 1001))
        store = MemoryStore()
        take(store, [newer, older], POLICY, NOW)
        assert store.events() == [newer]


def test_vanishing_takes_the_repository_and_what_could_be_said_about_it() -> None:
    assert verdict_on(ISSUE_HERE, REPO_HERE, vanish(ALICE, 1001)) == UNRELATED
