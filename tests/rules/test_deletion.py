"""Deletions (NIP-09), requests to vanish (NIP-62) and expirations (NIP-40), rule by rule."""

import pytest

from graspd.nostr import kinds
from graspd.nostr.event import Event
from graspd.rules.verdict import Reason
from graspd.types import UnixTime
from sim.store import MemoryStore, take
from tests.nostr.made import made
from tests.rules.world import (
    ALICE,
    BOB,
    HOST,
    MALLORY,
    NOW,
    POLICY,
    announcement,
    deletion,
    issue,
    repo,
    store_with,
    vanish,
)

REPO_HERE = announcement()
ISSUE = issue(BOB)
ARTICLE = f"30023:{BOB}:x"


def article(at: int, content: str = "") -> Event:
    return made(30023, BOB, at, [["d", "x"], ["a", repo()]], content)


def reasons(store: MemoryStore, *events: Event, now: UnixTime = NOW) -> list[Reason]:
    return [take(store, [event], POLICY, now)[0].reason for event in events]


class TestDeletionById:
    def test_removes_the_event_and_is_served(self) -> None:
        request = deletion(BOB, 1001, ["e", ISSUE.id])
        assert store_with(REPO_HERE, ISSUE, request).events() == [request, REPO_HERE]

    def test_refuses_the_event_from_then_on(self) -> None:
        store = store_with(REPO_HERE, ISSUE, deletion(BOB, 1001, ["e", ISSUE.id]))
        (verdict,) = take(store, [ISSUE], POLICY, NOW)
        assert (verdict.accepted, verdict.text) == (False, "blocked: its author deleted it")

    def test_may_be_older_than_the_event(self) -> None:
        request = deletion(BOB, 1, ["e", ISSUE.id])
        assert store_with(REPO_HERE, ISSUE, request).events() == [REPO_HERE, request]

    def test_may_come_first(self) -> None:
        request, store = deletion(BOB, 1001, ["e", ISSUE.id]), store_with(REPO_HERE)
        (held,) = take(store, [request], POLICY, NOW)
        assert (held.accepted, held.reason) == (True, Reason.HELD)
        assert held.text == "the deletion is kept until an event arrives that it names"
        assert store.events() == [REPO_HERE]
        assert reasons(store, ISSUE) == [Reason.DELETED]
        assert store.events() == [request, REPO_HERE]

    def test_counts_for_its_authors_events_only(self) -> None:
        store = store_with(REPO_HERE, ISSUE)
        assert reasons(store, deletion(MALLORY, 1001, ["e", ISSUE.id])) == [Reason.CONCERNS_OTHERS]
        assert set(store.events()) == {REPO_HERE, ISSUE}

    def test_counts_for_its_authors_events_only_also_when_it_comes_first(self) -> None:
        store = store_with(REPO_HERE, deletion(MALLORY, 1001, ["e", ISSUE.id]))
        assert reasons(store, ISSUE) == [Reason.STORED]

    def test_removes_its_authors_events_among_others(self) -> None:
        theirs, request = issue(MALLORY), deletion(BOB, 1001, ["e", REPO_HERE.id], ["e", ISSUE.id], ["e", "x"])
        store = store_with(REPO_HERE, ISSUE, theirs, request)
        assert set(store.events()) == {REPO_HERE, theirs, request}

    def test_of_an_announcement_leaves_the_repository_unknown(self) -> None:
        store = store_with(REPO_HERE, deletion(ALICE, 1001, ["e", REPO_HERE.id]))
        assert reasons(store, ISSUE, announcement(at=999)) == [Reason.UNRELATED, Reason.DELETED]

    def test_of_a_version_lets_newer_ones_in(self) -> None:
        store = store_with(REPO_HERE, article(1000), deletion(BOB, 2000, ["e", article(1000).id]))
        assert reasons(store, article(999), article(1000), article(1001)) == [
            Reason.DELETED,
            Reason.DELETED,
            Reason.STORED,
        ]

    @pytest.mark.parametrize(
        "tags", [[], [["e"]], [["e", "x"]], [["p", ISSUE.id]], [["E", ISSUE.id]], [["q", ISSUE.id]]]
    )
    def test_that_names_nothing_is_refused(self, tags: list[list[str]]) -> None:
        store = store_with(REPO_HERE, ISSUE)
        (verdict,) = take(store, [deletion(BOB, 1001, *tags)], POLICY, NOW)
        assert verdict.text == "restricted: the deletion names nothing of its author that can be deleted"
        assert ISSUE in store.events()


class TestDeletionByAddress:
    def test_removes_versions_up_to_its_second(self) -> None:
        for at, left in ((999, True), (1000, False), (1001, False)):
            store = store_with(REPO_HERE, article(1000), deletion(BOB, at, ["a", ARTICLE]))
            assert (article(1000) in store.events()) is left

    def test_refuses_versions_up_to_its_second(self) -> None:
        store = store_with(REPO_HERE, article(1), deletion(BOB, 1000, ["a", ARTICLE]))
        assert reasons(store, article(999), article(1000), article(1000, "x"), article(1001)) == [
            Reason.DELETED,
            Reason.DELETED,
            Reason.DELETED,
            Reason.STORED,
        ]

    def test_may_come_first(self) -> None:
        request = deletion(BOB, 1000, ["a", ARTICLE])
        store = store_with(REPO_HERE, request)
        assert store.events() == [REPO_HERE]
        assert reasons(store, article(999)) == [Reason.DELETED]
        assert set(store.events()) == {REPO_HERE, request}

    def test_is_served_once_a_newer_version_is_here(self) -> None:
        request, newer = deletion(BOB, 1000, ["a", ARTICLE]), article(1001)
        assert set(store_with(REPO_HERE, newer, request).events()) == {REPO_HERE, newer, request}
        assert set(store_with(REPO_HERE, request, newer).events()) == {REPO_HERE, newer, request}

    @pytest.mark.parametrize(
        "address", [repo(), f"30023:{ALICE}:x", "30023::x", "30023", "", f"5:{BOB}:", f"62:{BOB}:"]
    )
    def test_of_others_or_of_nothing_is_refused(self, address: str) -> None:
        store = store_with(REPO_HERE, article(1000))
        assert reasons(store, deletion(BOB, 2000, ["a", address])) == [Reason.CONCERNS_OTHERS]
        assert set(store.events()) == {REPO_HERE, article(1000)}

    def test_of_a_replaceable_kind(self) -> None:
        servers = made(kinds.GRASP_LIST, BOB, 1000, [["g", f"wss://{HOST}"]])
        request = deletion(BOB, 1000, ["a", f"{kinds.GRASP_LIST}:{BOB}:"])
        assert store_with(servers, request).events() == [request]


class TestDeletionOfRequests:
    def test_has_no_effect(self) -> None:
        first = deletion(BOB, 1001, ["e", ISSUE.id])
        store = store_with(REPO_HERE, ISSUE, first)
        assert reasons(store, deletion(BOB, 1002, ["e", first.id]), ISSUE) == [Reason.CONCERNS_OTHERS, Reason.DELETED]
        assert store.events() == [first, REPO_HERE]

    def test_has_no_effect_on_a_request_to_vanish(self) -> None:
        farewell = vanish(BOB, 1001)
        store = store_with(REPO_HERE, ISSUE, farewell)
        assert reasons(store, deletion(BOB, 1002, ["e", farewell.id], ["a", f"62:{BOB}:"])) == [Reason.CONCERNS_OTHERS]
        assert store.events() == [farewell, REPO_HERE]
        assert reasons(store, ISSUE) == [Reason.VANISHED]


class TestVanishing:
    @pytest.mark.parametrize("relay", ["ALL_RELAYS", f"wss://{HOST}", f"wss://{HOST}/", f"ws://{HOST.upper()}"])
    def test_removes_everything_up_to_its_second(self, relay: str) -> None:
        request = vanish(BOB, 1001, relay)
        deleted, later = issue(BOB, 900), issue(BOB, 1002)
        erasure = deletion(BOB, 950, ["e", deleted.id])
        store = store_with(REPO_HERE, ISSUE, deleted, erasure, article(1001), later, request)
        assert store.events() == [later, request, REPO_HERE]

    @pytest.mark.parametrize("relay", ["", "all_relays", "wss://other.example", f"https://{HOST}", HOST])
    def test_from_other_relays_is_refused(self, relay: str) -> None:
        store = store_with(REPO_HERE, ISSUE)
        (verdict,) = take(store, [vanish(BOB, 1001, relay)], POLICY, NOW)
        assert verdict.text == f"restricted: the request names neither {HOST} nor ALL_RELAYS"
        assert set(store.events()) == {REPO_HERE, ISSUE}

    def test_from_no_relay_at_all_is_refused(self) -> None:
        store = store_with(REPO_HERE, ISSUE)
        assert reasons(store, made(kinds.VANISH, BOB, 1001)) == [Reason.CONCERNS_OTHERS]

    def test_refuses_what_is_not_newer_from_then_on(self) -> None:
        store = store_with(REPO_HERE, ISSUE, vanish(BOB, 1001))
        old = [ISSUE, issue(BOB, 1001), article(1001), deletion(BOB, 1001, ["e", "ab" * 32])]
        assert reasons(store, *old) == [Reason.VANISHED] * 4
        (verdict,) = take(store, [ISSUE], POLICY, NOW)
        assert verdict.text == "blocked: its author asked this relay to forget everything up to then"
        assert reasons(store, issue(BOB, 1002)) == [Reason.STORED]

    def test_concerns_its_author_alone(self) -> None:
        theirs = issue(MALLORY)
        assert theirs in store_with(REPO_HERE, ISSUE, theirs, vanish(BOB, 1001)).events()

    def test_of_somebody_unknown_is_kept_and_served_when_it_concerns_something(self) -> None:
        request, store = vanish(BOB, 1001), store_with(REPO_HERE)
        (held,) = take(store, [request], POLICY, NOW)
        assert (held.accepted, held.text) == (True, "nothing of this author is here; the request is kept")
        assert store.events() == [REPO_HERE]
        assert reasons(store, ISSUE) == [Reason.VANISHED]
        assert store.events() == [request, REPO_HERE]

    def test_again_leaves_the_newest_request(self) -> None:
        older, newer = vanish(BOB, 1001), vanish(BOB, 1002)
        assert store_with(REPO_HERE, ISSUE, older, newer).events() == [newer, REPO_HERE]
        store = store_with(REPO_HERE, ISSUE, newer)
        (verdict,) = take(store, [older], POLICY, NOW)
        assert verdict.text == "duplicate: a newer request to vanish is here"

    def test_does_not_expire(self) -> None:
        request = made(kinds.VANISH, BOB, 1001, [["relay", "ALL_RELAYS"], ["expiration", "1002"]])
        store = store_with(REPO_HERE, ISSUE, request)
        store.expire(NOW)
        assert store.events() == [request, REPO_HERE]
        assert reasons(store, ISSUE) == [Reason.VANISHED]

    def test_of_an_owner_ends_the_repository(self) -> None:
        store = store_with(REPO_HERE, vanish(ALICE, 1001))
        assert reasons(store, REPO_HERE, ISSUE) == [Reason.VANISHED, Reason.UNRELATED]
        assert reasons(store, announcement(at=1002), ISSUE) == [Reason.STORED, Reason.STORED]


class TestExpiration:
    def ending(self, at: int, end: int, kind: int = kinds.ISSUE) -> Event:
        return made(kind, BOB, at, [["d", "x"], ["a", repo()], ["expiration", str(end)]])

    def test_an_expired_event_is_refused(self) -> None:
        store = store_with(REPO_HERE)
        (verdict,) = take(store, [self.ending(1000, NOW)], POLICY, NOW)
        assert (verdict.reason, verdict.text) == (Reason.EXPIRED, "invalid: the event has expired")
        assert reasons(store, self.ending(1000, NOW + 1)) == [Reason.STORED]

    def test_an_event_that_expires_is_served_no_longer_and_does_not_come_back(self) -> None:
        event = self.ending(1000, 2000)
        store = store_with(REPO_HERE, event, now=UnixTime(1999))
        store.expire(UnixTime(2000))
        assert store.events() == [REPO_HERE]
        assert reasons(store, event) == [Reason.EXPIRED]
        assert store.events() == [REPO_HERE]

    @pytest.mark.parametrize("first", [True, False])
    def test_an_expired_version_lets_no_older_one_in(self, first: bool) -> None:
        older, ending = article(999), self.ending(1000, 2000, 30023)
        store = store_with(REPO_HERE, now=UnixTime(1500))
        for event in (ending, older) if first else (older, ending):
            take(store, [event], POLICY, UnixTime(1500))
        store.expire(UnixTime(2000))
        assert store.events() == [REPO_HERE]
        assert reasons(store, older, ending, now=UnixTime(2000)) == [Reason.DELETED, Reason.EXPIRED]
        assert reasons(store, article(1001), now=UnixTime(2000)) == [Reason.STORED]

    def test_an_ephemeral_event_that_expired_is_not_sent_on(self) -> None:
        assert reasons(store_with(REPO_HERE), self.ending(1000, 2000, 20001)) == [Reason.EXPIRED]

    def test_a_deletion_that_expired_still_deletes(self) -> None:
        request = deletion(BOB, 1001, ["e", ISSUE.id], ["expiration", "2000"])
        store = store_with(REPO_HERE, ISSUE)
        assert reasons(store, request, ISSUE) == [Reason.EXPIRED, Reason.DELETED]
        assert store.events() == [REPO_HERE]

    def test_a_deletion_that_is_held_may_expire_and_still_deletes(self) -> None:
        store = store_with(REPO_HERE, deletion(BOB, 1001, ["e", ISSUE.id], ["expiration", "2000"]), now=UnixTime(1500))
        store.expire(UnixTime(2000))
        assert reasons(store, ISSUE) == [Reason.DELETED]
        assert store.events() == [REPO_HERE]
