"""Which repositories are hosted: listing, maintainers, archive, blacklists, identifiers, and leaving again."""

from dataclasses import replace

import pytest

from graspd.nostr import kinds
from graspd.nostr.event import Event
from graspd.nostr.nip19 import encode_npub
from graspd.nostr.relay_url import Domain
from graspd.rules.policy import Policy, RepoList
from graspd.rules.verdict import STORED, Reason, Verdict
from graspd.types import PubKey
from sim.store import MemoryStore, take
from tests.nostr.made import made
from tests.rules.world import (
    ALICE,
    BOB,
    CAROL,
    DAVE,
    HOST,
    MALLORY,
    NOW,
    POLICY,
    REPO,
    announcement,
    clone_url,
    state,
    store_with,
)

ELSEWHERE = "elsewhere.example"


def verdict_on(event: Event, *before: Event, policy: Policy = POLICY) -> Verdict:
    (verdict,) = take(store_with(*before, policy=policy), [event], policy, NOW)
    return verdict


def unlisted(by: PubKey, at: int = 1000, *maintainers: PubKey, identifier: str = REPO) -> Event:
    """An announcement that lists another service."""
    return announcement(by, identifier, at, ELSEWHERE, maintainers)


def listing(clone: list[str], relays: list[str], identifier: str = REPO) -> Event:
    return made(kinds.ANNOUNCEMENT, ALICE, 1000, [["d", identifier], ["clone", *clone], ["relays", *relays]])


OUR_CLONE, OUR_RELAY = clone_url(ALICE), f"wss://{HOST}"
OTHER_CLONE, OTHER_RELAY = clone_url(ALICE, host=ELSEWHERE), f"wss://{ELSEWHERE}"


@pytest.mark.parametrize(
    ("clone", "relays"),
    [
        ([OUR_CLONE], [OUR_RELAY]),
        ([OTHER_CLONE, OUR_CLONE], [OTHER_RELAY, OUR_RELAY]),
        ([OUR_CLONE.replace("https", "http")], [OUR_RELAY.replace("wss", "ws")]),
        ([OUR_CLONE + "/"], [OUR_RELAY + "/"]),
        ([OUR_CLONE.replace(HOST, f"{HOST}:443")], [f"WSS://{HOST.upper()}:443"]),
        ([OUR_CLONE, OUR_CLONE], [OUR_RELAY, OUR_RELAY]),
    ],
)
def test_who_lists_us_is_hosted(clone: list[str], relays: list[str]) -> None:
    assert verdict_on(listing(clone, relays)) == STORED


@pytest.mark.parametrize(
    ("clone", "relays", "missing"),
    [
        ([], [], "clone and relays"),
        ([OTHER_CLONE], [OTHER_RELAY], "clone and relays"),
        ([OUR_CLONE], [OTHER_RELAY], "relays"),
        ([OTHER_CLONE], [OUR_RELAY], "clone"),
        ([OUR_RELAY], [OUR_CLONE], "clone and relays"),
        ([clone_url(BOB)], [OUR_RELAY], "clone"),
        ([clone_url(ALICE, "other")], [OUR_RELAY], "clone"),
        ([OUR_CLONE.removesuffix(".git")], [OUR_RELAY], "clone"),
        ([f"https://{HOST}/{ALICE}/{REPO}.git"], [OUR_RELAY], "clone"),
        ([OUR_CLONE.replace(HOST, f"{HOST}.evil.org")], [OUR_RELAY], "clone"),
        ([f"https://evil.org/?{OUR_CLONE}"], [OUR_RELAY], "clone"),
        ([OUR_CLONE], [f"wss://{HOST}.evil.org"], "relays"),
        ([OUR_CLONE], [f"wss://evil.org/{HOST}"], "relays"),
        ([OUR_CLONE], [f"wss://{HOST}:7334"], "relays"),
        ([OUR_CLONE], [HOST], "relays"),
    ],
)
def test_who_does_not_list_us_is_told_what_is_missing(clone: list[str], relays: list[str], missing: str) -> None:
    why = f"the announcement does not list {HOST} in its {missing} tag"
    assert verdict_on(listing(clone, relays)) == Verdict(Reason.SERVICE_NOT_LISTED, why)


def test_a_domain_with_a_port_is_listed_with_it() -> None:
    policy = replace(POLICY, domain=Domain("127.0.0.1", 7334))
    assert verdict_on(announcement(host="127.0.0.1:7334"), policy=policy) == STORED
    assert verdict_on(announcement(host="127.0.0.1"), policy=policy).reason is Reason.SERVICE_NOT_LISTED


@pytest.mark.parametrize("identifier", ["my proj", "🚀", "a:b", "日本語", "...", "a.git"])
def test_unusual_identifiers_are_hosted(identifier: str) -> None:
    assert verdict_on(announcement(identifier=identifier)) == STORED


@pytest.mark.parametrize("identifier", ["", ".", "..", "-x", "a/b", "../x", "a\\b", "a\0b", "x" * 251])
@pytest.mark.parametrize("policy", [POLICY, replace(POLICY, archive=RepoList(everything=True))])
def test_identifiers_that_are_no_file_names_are_refused_even_in_an_archive(identifier: str, policy: Policy) -> None:
    store = MemoryStore()
    made_by_alice = announcement(identifier=identifier), state(identifier=identifier)
    verdicts = take(store, made_by_alice, policy, NOW)
    assert [verdict.reason for verdict in verdicts] == [Reason.IDENTIFIER, Reason.IDENTIFIER]
    assert store.events() == []


class TestMaintainers:
    def test_a_maintainer_need_not_list_us(self) -> None:
        assert verdict_on(unlisted(BOB), announcement(maintainers=[BOB])) == STORED

    def test_but_a_stranger_must(self) -> None:
        assert verdict_on(unlisted(CAROL), announcement(maintainers=[BOB])).reason is Reason.SERVICE_NOT_LISTED

    def test_nor_does_listing_the_owner_help(self) -> None:
        assert verdict_on(unlisted(BOB, 1000, ALICE), announcement()).reason is Reason.SERVICE_NOT_LISTED

    def test_of_another_repository_count_for_nothing(self) -> None:
        theirs = unlisted(BOB, identifier="other")
        assert verdict_on(theirs, announcement(maintainers=[BOB])).reason is Reason.SERVICE_NOT_LISTED

    def test_of_maintainers_count_too(self) -> None:
        owner, second, third = announcement(maintainers=[BOB]), unlisted(BOB, 1000, CAROL), unlisted(CAROL, 1000, DAVE)
        assert verdict_on(unlisted(DAVE), owner, second, third) == STORED

    def test_count_only_where_the_chain_is_here(self) -> None:
        assert verdict_on(unlisted(CAROL), announcement(maintainers=[BOB])).reason is Reason.SERVICE_NOT_LISTED

    def test_may_list_each_other(self) -> None:
        owner = announcement(maintainers=[BOB])
        assert verdict_on(unlisted(CAROL), owner, unlisted(BOB, 1000, CAROL, ALICE, BOB)) == STORED

    def test_who_only_list_each_other_are_not_hosted(self) -> None:
        store = MemoryStore()
        verdicts = take(store, [unlisted(BOB, 1000, CAROL), unlisted(CAROL, 1000, BOB)], POLICY, NOW)
        assert {verdict.reason for verdict in verdicts} == {Reason.SERVICE_NOT_LISTED}

    def test_of_any_owner_of_the_identifier_count(self) -> None:
        owners = announcement(ALICE, maintainers=[CAROL]), announcement(BOB, maintainers=[DAVE])
        assert verdict_on(unlisted(CAROL), *owners) == STORED
        assert verdict_on(unlisted(DAVE), *owners) == STORED

    def test_of_an_archived_repository_count(self) -> None:
        policy = replace(POLICY, archive=RepoList(owners=frozenset({ALICE})))
        assert verdict_on(unlisted(BOB), unlisted(ALICE, 1000, BOB), policy=policy) == STORED

    def test_that_are_no_keys_are_passed_over(self) -> None:
        owner = announcement(extra=[["maintainers", "bob", encode_npub(CAROL), BOB]])
        assert verdict_on(unlisted(BOB), owner) == STORED
        assert verdict_on(unlisted(CAROL), owner).reason is Reason.SERVICE_NOT_LISTED

    def test_may_come_before_the_owner_and_again_after(self) -> None:
        store, theirs = MemoryStore(), unlisted(BOB)
        first, _, second = take(store, [theirs, announcement(maintainers=[BOB]), theirs], POLICY, NOW)
        assert first.reason is Reason.SERVICE_NOT_LISTED
        assert first.reason.may_change
        assert second == STORED

    def test_who_are_dropped_can_announce_nothing_new(self) -> None:
        store = store_with(announcement(maintainers=[BOB]), unlisted(BOB), announcement(at=1001))
        (verdict,) = take(store, [unlisted(BOB, 1001)], POLICY, NOW)
        assert verdict.reason is Reason.SERVICE_NOT_LISTED


class TestArchive:
    @pytest.mark.parametrize(
        "entry", [encode_npub(ALICE), f"{encode_npub(ALICE)}/{REPO}", REPO, "*"], ids=["npub", "npub/id", "id", "*"]
    )
    def test_takes_what_its_entry_names(self, entry: str) -> None:
        policy = replace(POLICY, archive=RepoList.parse([entry]))
        assert verdict_on(unlisted(ALICE), policy=policy) == STORED

    @pytest.mark.parametrize(
        "entry", [encode_npub(BOB), f"{encode_npub(BOB)}/{REPO}", f"{encode_npub(ALICE)}/other", "other"]
    )
    def test_takes_nothing_else(self, entry: str) -> None:
        policy = replace(POLICY, archive=RepoList.parse([entry]))
        assert verdict_on(unlisted(ALICE), policy=policy).reason is Reason.SERVICE_NOT_LISTED

    def test_takes_the_state_of_what_it_holds(self) -> None:
        policy = replace(POLICY, archive=RepoList(everything=True))
        assert verdict_on(state(), unlisted(ALICE), policy=policy) == STORED


class TestBlacklist:
    @pytest.mark.parametrize("entry", [encode_npub(MALLORY), f"{encode_npub(MALLORY)}/{REPO}", REPO, "*"])
    def test_of_repositories_stands_before_every_way_in(self, entry: str) -> None:
        blocked = RepoList.parse([entry])
        refused = Verdict(Reason.REPOSITORY_BLACKLISTED, "this repository is not taken here")
        listing_us = replace(POLICY, blocked_repositories=blocked)
        archived = replace(POLICY, blocked_repositories=blocked, archive=RepoList(everything=True))
        for policy in (listing_us, archived):
            assert verdict_on(announcement(MALLORY), policy=policy) == refused
            assert verdict_on(state(MALLORY), policy=policy) == refused

    def test_of_repositories_stands_before_maintainers(self) -> None:
        policy = replace(POLICY, blocked_repositories=RepoList.parse([f"{encode_npub(BOB)}/{REPO}"]))
        owner = announcement(maintainers=[BOB])
        assert verdict_on(unlisted(BOB), owner, policy=policy).reason is Reason.REPOSITORY_BLACKLISTED
        assert verdict_on(state(BOB), owner, policy=policy).reason is Reason.REPOSITORY_BLACKLISTED

    @pytest.mark.parametrize(
        "policy",
        [
            replace(POLICY, blocked_repositories=RepoList.parse([encode_npub(ALICE)])),
            replace(POLICY, blocked_authors=frozenset({ALICE})),
        ],
        ids=["repository", "author"],
    )
    def test_ends_what_was_taken_before_it(self, policy: Policy) -> None:
        """The operator adds an entry: what is stored entitles nobody any more, and vouches for nothing."""
        owner = announcement(maintainers=[BOB])
        store = store_with(owner, state(), unlisted(BOB), state(BOB))
        later = [
            unlisted(BOB, 1001),
            state(BOB, at=1001),
            made(kinds.ISSUE, CAROL, 1001, [["a", f"{kinds.ANNOUNCEMENT}:{ALICE}:{REPO}"]]),
            made(kinds.ISSUE, CAROL, 1001, [["e", owner.id]]),
            made(kinds.ISSUE, CAROL, 1001, [["a", f"{kinds.STATE}:{ALICE}:{REPO}"]]),
        ]
        verdicts = take(store, later, policy, NOW)
        assert [verdict.reason for verdict in verdicts] == [
            Reason.SERVICE_NOT_LISTED,
            Reason.NOT_ENTITLED,
            Reason.UNRELATED,
            Reason.UNRELATED,
            Reason.UNRELATED,
        ]

    def test_of_authors_holds_for_listed_maintainers_and_whom_they_list(self) -> None:
        policy = replace(POLICY, blocked_authors=frozenset({BOB}))
        store = store_with(announcement(maintainers=[BOB]), unlisted(BOB, 1000, CAROL))
        (verdict,) = take(store, [unlisted(CAROL)], policy, NOW)
        assert verdict.reason is Reason.SERVICE_NOT_LISTED


class TestLeaving:
    def test_a_newer_version_that_does_not_list_us_withdraws_the_one_that_did(self) -> None:
        store = store_with(announcement(at=1000))
        (verdict,) = take(store, [unlisted(ALICE, 1001)], POLICY, NOW)
        assert verdict.reason is Reason.SERVICE_NOT_LISTED
        assert verdict.text == (
            f"restricted: the announcement does not list {HOST} in its clone and relays tag; "
            "the earlier version that did is withdrawn"
        )
        assert store.events() == []

    def test_the_withdrawn_version_does_not_come_back(self) -> None:
        store = store_with(announcement(at=1000))
        verdicts = take(store, [unlisted(ALICE, 1001), announcement(at=1000)], POLICY, NOW)
        assert verdicts[1].reason is Reason.DELETED
        assert store.events() == []

    def test_also_when_it_comes_after_the_one_that_withdraws_it(self) -> None:
        store = MemoryStore()
        verdicts = take(store, [unlisted(ALICE, 1001), announcement(at=1000)], POLICY, NOW)
        assert verdicts[1].reason is Reason.DELETED
        assert store.events() == []

    def test_an_older_version_that_does_not_list_us_changes_nothing(self) -> None:
        current = announcement(at=1000)
        store = store_with(current)
        (verdict,) = take(store, [unlisted(ALICE, 999)], POLICY, NOW)
        assert verdict.text == f"restricted: the announcement does not list {HOST} in its clone and relays tag"
        assert store.events() == [current]

    def test_who_comes_back_is_welcome(self) -> None:
        back = announcement(at=1002)
        store = store_with(announcement(at=1000))
        verdicts = take(store, [unlisted(ALICE, 1001), back], POLICY, NOW)
        assert verdicts[1] == STORED
        assert store.events() == [back]

    def test_who_left_may_still_become_a_maintainer(self) -> None:
        left = unlisted(ALICE, 1001)
        store = store_with(announcement(at=1000))
        verdicts = take(store, [left, announcement(BOB, maintainers=[ALICE]), left], POLICY, NOW)
        assert verdicts[2] == STORED

    def test_another_owners_announcement_stays(self) -> None:
        theirs = announcement(BOB)
        store = store_with(announcement(at=1000), theirs)
        take(store, [unlisted(ALICE, 1001)], POLICY, NOW)
        assert store.events() == [theirs]


def test_a_newer_version_replaces_and_of_two_at_once_the_lowest_id_stays() -> None:
    versions = [announcement(extra=[["c", str(n)]]) for n in range(4)]
    lowest = min(versions, key=lambda event: event.id)
    store = MemoryStore()
    take(store, [announcement(at=999), *versions], POLICY, NOW)
    assert store.events() == [lowest]
    (verdict,) = take(store, [announcement(at=998)], POLICY, NOW)
    assert verdict.text == "duplicate: a newer version of this event is here"
