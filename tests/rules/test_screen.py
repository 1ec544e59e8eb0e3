"""What is refused before a signature is checked and before anything is looked up."""

from dataclasses import replace

import pytest

from graspd.nostr import kinds
from graspd.nostr.event import Event
from graspd.rules.admission import screen
from graspd.rules.policy import Policy
from graspd.rules.verdict import Reason, Verdict
from graspd.types import PubKey
from tests.nostr.made import made
from tests.rules.world import ALICE, BOB, MALLORY, NOW, POLICY, announcement, deletion, issue, state, vanish

NOBODY: frozenset[PubKey] = frozenset()


def screened(event: Event, policy: Policy = POLICY, authenticated: frozenset[PubKey] = NOBODY) -> Verdict | None:
    return screen(event, policy, NOW, authenticated)


@pytest.mark.parametrize(
    "event",
    [
        announcement(MALLORY),
        state(MALLORY),
        issue(MALLORY),
        deletion(MALLORY, 1000, ["e", "ab" * 32]),
        vanish(MALLORY, 1000),
        made(kinds.GRASP_LIST, MALLORY, 1000),
        made(20001, MALLORY, 1000),
    ],
    ids=lambda event: str(event.kind),
)
def test_a_blacklisted_author_is_refused_whatever_the_kind(event: Event) -> None:
    policy = replace(POLICY, blocked_authors=frozenset({MALLORY}))
    verdict = screened(event, policy, frozenset({MALLORY}))
    assert verdict == Verdict(Reason.AUTHOR_BLACKLISTED, "events of this author are not taken here")
    assert screened(event) is None


def test_the_blacklist_comes_first() -> None:
    policy = replace(POLICY, blocked_authors=frozenset({MALLORY}), event_bytes_max=1)
    verdict = screened(made(kinds.CLIENT_AUTH, MALLORY, NOW * 2, [["-"]]), policy)
    assert verdict is not None
    assert verdict.reason is Reason.AUTHOR_BLACKLISTED


def test_size() -> None:
    event = made(content="x" * 1000)
    assert screened(event, replace(POLICY, event_bytes_max=len(event.raw))) is None
    verdict = screened(event, replace(POLICY, event_bytes_max=len(event.raw) - 1))
    assert verdict == Verdict(Reason.TOO_LARGE, f"the event is larger than {len(event.raw) - 1} bytes")


def test_number_of_tags() -> None:
    event = made(tags=[["t", str(n)] for n in range(11)])
    assert screened(event, replace(POLICY, event_tags_max=11)) is None
    verdict = screened(event, replace(POLICY, event_tags_max=10))
    assert verdict == Verdict(Reason.TOO_LARGE, "the event has more than 10 tags")


def test_future() -> None:
    assert screened(made(at=NOW + POLICY.future_s_max)) is None
    verdict = screened(made(at=NOW + POLICY.future_s_max + 1))
    assert verdict == Verdict(Reason.FROM_THE_FUTURE, "created_at is more than 900 seconds from now")
    assert verdict.text == "invalid: created_at is more than 900 seconds from now"


def test_the_past_has_no_end() -> None:
    assert screened(made(at=0)) is None


def test_an_authentication_is_not_published() -> None:
    verdict = screened(made(kinds.CLIENT_AUTH))
    assert verdict is not None
    assert verdict.text == "invalid: kind 22242 is sent with AUTH and never published"


def test_a_protected_event_comes_from_its_author_alone() -> None:
    event = made(by=ALICE, tags=[["-"]])
    anybody, somebody_else = screened(event), screened(event, authenticated=frozenset({BOB}))
    assert anybody is not None
    assert somebody_else is not None
    assert (anybody.reason, somebody_else.reason) == (Reason.PROTECTED, Reason.PROTECTED_FROM_OTHERS)
    assert anybody.text.startswith("auth-required: ")
    assert somebody_else.text.startswith("restricted: ")
    assert screened(event, authenticated=frozenset({BOB, ALICE})) is None
