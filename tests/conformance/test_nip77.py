"""NIP-77: reconciliation with the relay, and what it says to sessions that go wrong."""

import hashlib

import pytest

from graspd.negentropy.reconcile import Initiator
from tests.conformance.client import Client
from tests.conformance.people import Person, now
from tests.conformance.reconciling import Item, item_set, reconcile

EMPTY = Initiator(item_set([])).initiate().hex()


def absent(number: int) -> Item:
    """An event that the relay has never seen."""
    return now() - 1000 + number, hashlib.sha256(f"absent {number}".encode()).hexdigest()


@pytest.fixture
def held(client: Client, owner: Person, guest: Person) -> list[Item]:
    """What the relay has of one guest."""
    at = now() - 1000
    events = [guest.opens_issue(owner.repo, at=at + step % 7, content=str(step)) for step in range(60)]
    client.take(*events)
    return [(event.created_at, event.id) for event in events]


@pytest.mark.parametrize(("ours", "more"), [(0, 0), (60, 0), (57, 0), (60, 40), (30, 40), (0, 40)])
def test_both_sides_learn_what_the_other_lacks(
    client: Client, guest: Person, held: list[Item], ours: int, more: int
) -> None:
    extra = [absent(number) for number in range(more)]

    outcome = reconcile(client, {"authors": [guest.pubkey]}, held[:ours] + extra)

    assert outcome.need == {event_id for _, event_id in held[ours:]}
    assert outcome.have == {event_id for _, event_id in extra}


def test_the_filter_narrows_the_set(client: Client, guest: Person, held: list[Item]) -> None:
    since = min(at for at, _ in held) + 3

    outcome = reconcile(client, {"authors": [guest.pubkey], "since": since}, [])

    assert outcome.need == {event_id for at, event_id in held if at >= since}


def test_a_new_event_is_in_the_next_session(client: Client, owner: Person, guest: Person, held: list[Item]) -> None:
    client.send("NEG-OPEN", "stays open", {"authors": [guest.pubkey]}, EMPTY)
    client.next_of("NEG-MSG")
    event = guest.opens_issue(owner.repo, content="new")
    client.take(event)

    outcome = reconcile(client, {"authors": [guest.pubkey]}, held)

    assert outcome.need == {event.id}


def test_an_unknown_version_is_answered_with_ours(client: Client) -> None:
    client.send("NEG-OPEN", "v", {"ids": []}, "62aabbcc")

    assert client.next_of("NEG-MSG") == ["NEG-MSG", "v", "61"]


def test_a_message_for_no_session_is_answered_closed(client: Client) -> None:
    client.send("NEG-MSG", "never opened", EMPTY)

    verb, sub_id, text = client.next()
    assert (verb, sub_id) == ("NEG-ERR", "never opened")
    assert text.startswith("closed: ")


def test_a_closed_session_is_closed(client: Client) -> None:
    client.send("NEG-OPEN", "n", {"ids": []}, EMPTY)
    client.next_of("NEG-MSG")
    client.send("NEG-CLOSE", "n")
    assert client.settle() == [], "NEG-CLOSE has no answer"

    client.send("NEG-MSG", "n", EMPTY)

    assert client.next_of("NEG-ERR")[2].startswith("closed: ")


@pytest.mark.parametrize(
    ("fault", "message", "prefix"),
    [
        ("no hex", ["NEG-OPEN", "n", {}, "xyz"], "invalid: "),
        ("half a byte", ["NEG-OPEN", "n", {}, "616"], "invalid: "),
        ("no message", ["NEG-OPEN", "n", {}], "invalid: "),
        ("nothing in it", ["NEG-OPEN", "n", {}, ""], "invalid: "),
        ("not negentropy", ["NEG-OPEN", "n", {}, "ff00"], "invalid: "),
        ("cut off", ["NEG-OPEN", "n", {}, "61000002"], "invalid: "),
        ("a list longer than the message", ["NEG-OPEN", "n", {}, "610000028f7f"], "invalid: "),
        ("the older form with a size", ["NEG-OPEN", "n", {}, 16, EMPTY], "invalid: "),
        ("a number for a message", ["NEG-OPEN", "n", {}, 5], "invalid: "),
        ("no filter", ["NEG-OPEN", "n", "abc", EMPTY], "invalid: "),
        ("a bad filter", ["NEG-OPEN", "n", {"kinds": ["1"]}, EMPTY], "invalid: "),
        ("an unknown field", ["NEG-OPEN", "n", {"search": "x"}, EMPTY], "unsupported: "),
        ("a limit", ["NEG-OPEN", "n", {"limit": 5}, EMPTY], "invalid: "),
        ("no hex later", ["NEG-MSG", "n", "xyz"], "invalid: "),
    ],
)
def test_what_cannot_be_followed_is_told_so(client: Client, fault: str, message: list[object], prefix: str) -> None:
    client.send(*message)

    answered = client.next_of("NEG-ERR")
    assert answered[1] == "n", fault
    assert answered[2].startswith(prefix), fault
    client.send("NEG-MSG", "n", EMPTY)
    assert client.next_of("NEG-ERR")[2].startswith("closed: "), "no session is left behind"


def test_a_bad_message_ends_its_session_and_no_other(client: Client) -> None:
    for sub_id in ("good", "bad"):
        client.send("NEG-OPEN", sub_id, {"ids": []}, EMPTY)
        client.next_of("NEG-MSG")

    client.send("NEG-MSG", "bad", "6100")
    assert client.next_of("NEG-ERR")[1] == "bad"

    client.send("NEG-MSG", "bad", EMPTY)
    assert client.next_of("NEG-ERR")[2].startswith("closed: ")
    client.send("NEG-MSG", "good", EMPTY)
    assert client.next_of("NEG-MSG")[1] == "good"


def test_a_session_of_the_same_id_takes_the_place_of_the_first(client: Client, guest: Person, held: list[Item]) -> None:
    client.send("NEG-OPEN", "neg", {"ids": []}, EMPTY)
    client.next_of("NEG-MSG")

    outcome = reconcile(client, {"authors": [guest.pubkey]}, [])

    assert outcome.need == {event_id for _, event_id in held}


def test_a_refused_session_ends_the_one_of_its_id(client: Client) -> None:
    client.send("NEG-OPEN", "n", {"ids": []}, EMPTY)
    client.next_of("NEG-MSG")

    client.send("NEG-OPEN", "n", {"limit": 1}, EMPTY)
    assert client.next_of("NEG-ERR")[2].startswith("invalid: ")

    client.send("NEG-MSG", "n", EMPTY)
    assert client.next_of("NEG-ERR")[2].startswith("closed: ")


def test_sessions_and_subscriptions_have_names_of_their_own(
    client: Client, other: Client, owner: Person, guest: Person
) -> None:
    other.subscribe("same", {"authors": [guest.pubkey]})
    other.send("NEG-OPEN", "same", {"ids": []}, EMPTY)
    other.next_of("NEG-MSG")
    other.send("NEG-CLOSE", "same")
    event = guest.opens_issue(owner.repo)

    client.take(event)

    assert [message[2]["id"] for message in other.settle()] == [event.id]
