"""NIP-01: what REQ and CLOSE lead to."""

from typing import Any

import pytest

from graspd.nostr.event import Event
from tests.conformance.client import Client
from tests.conformance.people import Person, now


@pytest.fixture
def issues(client: Client, owner: Person, guest: Person) -> list[Event]:
    """Five issues of one guest, a second apart, oldest first."""
    at = now() - 1000
    made = [guest.opens_issue(owner.repo, ["t", f"label-{step % 2}"], at=at + step) for step in range(5)]
    client.take(*made)
    return made


def ids(events: list[Event]) -> list[str]:
    return [event.id for event in events]


def test_answers_are_newest_first(client: Client, guest: Person, issues: list[Event]) -> None:
    assert client.query({"authors": [guest.pubkey]}) == ids(issues)[::-1]


def test_equal_times_are_ordered_by_id(client: Client, owner: Person, guest: Person) -> None:
    at = now() - 1000
    tied = [guest.opens_issue(owner.repo, at=at, content=str(number)) for number in range(8)]
    client.take(*tied)

    assert client.query({"authors": [guest.pubkey]}) == sorted(ids(tied))
    assert client.query({"authors": [guest.pubkey], "limit": 3}) == sorted(ids(tied))[:3]


@pytest.mark.parametrize(("limit", "count"), [(0, 0), (1, 1), (4, 4), (5, 5), (6, 5), (2**60, 5)])
def test_limit_takes_the_newest(client: Client, guest: Person, issues: list[Event], limit: int, count: int) -> None:
    assert client.query({"authors": [guest.pubkey], "limit": limit}) == ids(issues)[::-1][:count]


def test_since_and_until_are_inclusive(client: Client, guest: Person, issues: list[Event]) -> None:
    since, until = issues[1].created_at, issues[3].created_at

    found = client.query({"authors": [guest.pubkey], "since": since, "until": until})

    assert found == ids(issues)[1:4][::-1]


def test_several_filters_are_joined_without_repeating_an_event(
    client: Client, guest: Person, issues: list[Event]
) -> None:
    found = client.query({"ids": [issues[0].id]}, {"authors": [guest.pubkey], "limit": 2}, {"ids": [issues[4].id]})

    assert found == [issues[4].id, issues[3].id, issues[0].id]


@pytest.mark.parametrize("empty", ["ids", "authors", "kinds", "#t", "#e"])
def test_an_empty_list_matches_nothing(client: Client, issues: list[Event], empty: str) -> None:
    assert issues
    assert client.query({empty: []}) == []


def test_conditions_of_one_filter_must_all_hold(client: Client, guest: Person, issues: list[Event]) -> None:
    both: dict[str, Any] = {"authors": [guest.pubkey], "#t": ["label-1"]}

    assert client.query(both) == [issues[3].id, issues[1].id]
    assert client.query({**both, "kinds": [1617]}) == []


@pytest.mark.parametrize("letter", ["t", "T", "x", "X", "e", "E", "p", "P", "k", "K"])
def test_tags_are_found_by_letter_in_their_own_case(client: Client, owner: Person, guest: Person, letter: str) -> None:
    value = guest.pubkey
    event = guest.opens_issue(owner.repo, [letter, value, "and more"])
    client.take(event)

    assert client.query({f"#{letter}": [value]}) == [event.id]
    assert client.query({f"#{letter.swapcase()}": [value]}) == []


def test_only_the_first_value_of_a_tag_is_found(client: Client, owner: Person, guest: Person) -> None:
    client.take(guest.opens_issue(owner.repo, ["t", "first", "second"]))

    assert client.query({"authors": [guest.pubkey], "#t": ["second"]}) == []


def test_values_are_compared_exactly(client: Client, owner: Person, guest: Person) -> None:
    odd = " Spaced\u0000 \u00e9\U0001f600'\"%_*"
    event = guest.opens_issue(owner.repo, ["t", odd])
    client.take(event)

    assert client.query({"#t": [odd]}) == [event.id]
    assert client.query({"#t": [odd.lower()]}) == []
    assert client.query({"#t": [odd.strip()]}) == []


def test_new_events_follow_the_stored_ones(
    client: Client, other: Client, owner: Person, guest: Person, issues: list[Event]
) -> None:
    assert other.subscribe("live", {"authors": [guest.pubkey]}) == ids(issues)[::-1]
    event = guest.opens_issue(owner.repo)

    client.take(event)

    message = other.next_of("EVENT")
    assert message[1:2] == ["live"]
    assert message[2]["id"] == event.id


def test_limit_zero_asks_for_new_events_only(
    client: Client, other: Client, owner: Person, guest: Person, issues: list[Event]
) -> None:
    assert issues
    assert other.subscribe("live", {"authors": [guest.pubkey], "limit": 0}) == []
    event = guest.opens_issue(owner.repo)

    client.take(event)

    assert other.next_of("EVENT")[2]["id"] == event.id


def test_an_event_that_several_filters_match_comes_once_a_subscription(
    client: Client, other: Client, owner: Person, guest: Person
) -> None:
    other.subscribe("one", {"authors": [guest.pubkey]}, {"kinds": [1621], "#a": [owner.repo]}, {"#a": [owner.repo]})
    other.subscribe("two", {"authors": [guest.pubkey]})
    event = guest.opens_issue(owner.repo)

    client.take(event)

    heard = other.settle()
    assert sorted((message[1], message[2]["id"]) for message in heard) == [("one", event.id), ("two", event.id)]


def test_a_closed_subscription_hears_nothing_more(client: Client, other: Client, owner: Person, guest: Person) -> None:
    other.subscribe("live", {"authors": [guest.pubkey]})
    other.send("CLOSE", "live")
    assert other.settle() == []

    client.take(guest.opens_issue(owner.repo))

    assert other.settle() == []


def test_a_request_of_the_same_id_takes_the_place_of_the_first(
    client: Client, other: Client, owner: Person, guest: Person
) -> None:
    other.subscribe("live", {"authors": [guest.pubkey]})
    other.subscribe("live", {"authors": [owner.pubkey], "kinds": [1621]})

    client.take(guest.opens_issue(owner.repo))
    wanted = owner.opens_issue(owner.repo)
    client.take(wanted)

    assert [message[2]["id"] for message in other.settle()] == [wanted.id]


def test_to_close_what_is_not_open_is_no_error(client: Client) -> None:
    client.send("CLOSE", "never opened")

    assert client.settle() == []


def test_subscriptions_are_of_one_connection(client: Client, other: Client, owner: Person, guest: Person) -> None:
    other.subscribe("same", {"authors": [guest.pubkey]})
    client.subscribe("same", {"authors": [guest.pubkey], "kinds": [1617]})
    client.send("CLOSE", "same")
    event = guest.opens_issue(owner.repo)

    client.take(event)

    assert other.next_of("EVENT")[2]["id"] == event.id


def test_eose_tells_whether_that_was_all(client: Client, guest: Person, issues: list[Event]) -> None:
    # NIP-67: a hint where we know.
    assert issues
    hints = {}
    for limit in (2, 5, 6):
        client.send("REQ", "x", {"authors": [guest.pubkey], "limit": limit})
        while (message := client.next_of("EVENT", "EOSE"))[0] == "EVENT":
            pass
        hints[limit] = message[2:]

    assert hints == {2: [["more"]], 5: [["finish"]], 6: [["finish"]]}


def test_a_subscription_id_of_64_characters_is_taken_and_returned(client: Client) -> None:
    odd = '\u00e9\U0001f600"\\\n' + "x" * 59
    client.send("REQ", odd, {"ids": []})

    assert client.next_of("EOSE")[1] == odd
