"""NIP-01: what EVENT leads to for each class of kinds."""

import pytest

from tests.conformance.client import Client
from tests.conformance.people import Person, now

REPLACEABLE, ADDRESSABLE, EPHEMERAL = 10_001, 30_023, 20_001


def test_an_event_is_acknowledged_and_served_as_it_was_signed(client: Client, owner: Person, guest: Person) -> None:
    event = guest.opens_issue(owner.repo, content='a "quoted" line\nand \u00e9 \U0001f600 \\ \x7f')

    assert client.publish(event) == (True, "")

    (served,) = client.query_events({"ids": [event.id]})
    assert served["content"] == event.content
    assert [served[field] for field in ("id", "pubkey", "sig", "kind", "created_at")] == [
        event.id,
        guest.pubkey,
        event.sig,
        event.kind,
        event.created_at,
    ]


def test_an_event_sent_again_is_a_duplicate_and_still_accepted(client: Client, owner: Person, guest: Person) -> None:
    event = guest.opens_issue(owner.repo)
    client.take(event)

    accepted, text = client.publish(event)

    assert accepted
    assert text.startswith("duplicate: ")


def test_a_wrong_signature_is_refused_and_leaves_nothing(client: Client, owner: Person, guest: Person) -> None:
    event = guest.opens_issue(owner.repo)
    flipped = event.sig[:-1] + ("0" if event.sig[-1] != "0" else "1")

    client.send_text(b'["EVENT",' + event.raw.replace(event.sig.encode(), flipped.encode()) + b"]")

    _, event_id, accepted, text = client.next_of("OK")
    assert (event_id, accepted) == (event.id, False)
    assert text.startswith("invalid: ")
    assert client.query({"ids": [event.id]}) == []
    assert client.publish(event) == (True, ""), "a refused forgery must not stand in the way of the real event"


def test_a_known_id_with_a_wrong_signature_changes_nothing(client: Client, owner: Person, guest: Person) -> None:
    event = guest.opens_issue(owner.repo)
    client.take(event)

    client.send_text(b'["EVENT",' + event.raw.replace(event.sig.encode(), b"0" * 128) + b"]")
    client.next_of("OK")

    assert [served["sig"] for served in client.query_events({"ids": [event.id]})] == [event.sig]


def test_an_event_about_nothing_here_is_restricted(client: Client, guest: Person) -> None:
    accepted, text = client.publish(guest.signs(1, content="hello"))

    assert not accepted
    assert text.startswith("restricted: ")


@pytest.mark.parametrize("kind", [REPLACEABLE, ADDRESSABLE])
def test_the_newest_version_is_served_whatever_comes_first(
    client: Client, owner: Person, guest: Person, kind: int
) -> None:
    at = now() - 1000
    oldest, middle, newest = (
        guest.signs(kind, ["d", "x"], ["a", owner.repo], at=at + step, content=str(step)) for step in range(3)
    )

    client.take(middle, newest)
    accepted, text = client.publish(oldest)

    assert accepted
    assert text.startswith("duplicate: ")
    assert client.query({"authors": [guest.pubkey], "kinds": [kind]}) == [newest.id]


@pytest.mark.parametrize("kind", [REPLACEABLE, ADDRESSABLE])
@pytest.mark.parametrize("lowest_first", [True, False])
def test_at_equal_times_the_lowest_id_stays(
    client: Client, owner: Person, guest: Person, kind: int, lowest_first: bool
) -> None:
    at = now() - 1000
    tied = [guest.signs(kind, ["d", "x"], ["a", owner.repo], at=at, content=str(number)) for number in range(2)]
    tied.sort(key=lambda event: event.id, reverse=not lowest_first)

    client.take(*tied)

    assert client.query({"authors": [guest.pubkey], "kinds": [kind]}) == [min(event.id for event in tied)]


def test_addressable_events_are_kept_apart_by_d_kind_and_author(client: Client, owner: Person, guest: Person) -> None:
    third = Person()
    events = [
        guest.signs(ADDRESSABLE, ["d", "one"], ["a", owner.repo]),
        guest.signs(ADDRESSABLE, ["d", "two"], ["a", owner.repo]),
        guest.signs(ADDRESSABLE, ["a", owner.repo]),
        guest.signs(ADDRESSABLE + 1, ["d", "one"], ["a", owner.repo]),
        third.signs(ADDRESSABLE, ["d", "one"], ["a", owner.repo]),
    ]

    client.take(*events)

    found = client.query({"authors": [guest.pubkey, third.pubkey], "kinds": [ADDRESSABLE, ADDRESSABLE + 1]})
    assert sorted(found) == sorted(event.id for event in events)


def test_a_missing_d_tag_is_an_empty_one(client: Client, owner: Person, guest: Person) -> None:
    at = now() - 1000
    client.take(guest.signs(ADDRESSABLE, ["d", ""], ["a", owner.repo], at=at))
    newer = guest.signs(ADDRESSABLE, ["a", owner.repo], at=at + 1)

    client.take(newer)

    assert client.query({"authors": [guest.pubkey], "kinds": [ADDRESSABLE]}) == [newer.id]


def test_an_ephemeral_event_reaches_listeners_and_is_not_kept(
    client: Client, other: Client, owner: Person, guest: Person
) -> None:
    other.subscribe("live", {"kinds": [EPHEMERAL], "authors": [guest.pubkey]})
    event = guest.signs(EPHEMERAL, ["a", owner.repo])

    client.take(event)

    assert other.next_of("EVENT")[2]["id"] == event.id
    assert client.query({"ids": [event.id]}) == []


def test_a_regular_event_is_never_replaced(client: Client, owner: Person, guest: Person) -> None:
    at = now() - 1000
    events = [guest.opens_issue(owner.repo, at=at + step) for step in range(3)]

    client.take(*events)

    assert client.count({"authors": [guest.pubkey]}) == 3


def test_every_event_of_a_burst_is_answered_once_in_order(client: Client, owner: Person, guest: Person) -> None:
    at = now() - 1000
    events = [guest.opens_issue(owner.repo, at=at + step) for step in range(50)]

    for event in events:
        client.send_text(b'["EVENT",' + event.raw + b"]")

    answered = [client.next_of("OK") for _ in events]
    assert [message[1] for message in answered] == [event.id for event in events]
    assert all(message[2] for message in answered)
    assert client.settle() == []


def test_an_event_may_follow_what_it_speaks_of_without_waiting(client: Client, relay_domain: str) -> None:
    owner, guest = Person(), Person()
    announcement, issue = owner.announces(relay_domain), guest.opens_issue(owner.repo)
    reply = owner.signs(1111, ["E", issue.id])

    for event in (announcement, issue, reply):
        client.send_text(b'["EVENT",' + event.raw + b"]")

    assert [client.next_of("OK")[1:3] for _ in range(3)] == [[e.id, True] for e in (announcement, issue, reply)]


def test_an_event_from_too_far_ahead_is_refused(client: Client, owner: Person, guest: Person) -> None:
    accepted, text = client.publish(guest.opens_issue(owner.repo, at=now() + 3600))

    assert not accepted
    assert text.startswith("invalid: ")
