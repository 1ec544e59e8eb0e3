"""NIP-40, events that end by themselves, and NIP-62, authors who ask to be forgotten."""

import pytest

from tests.conformance.client import Client, wait_until
from tests.conformance.people import Person, now

VANISH = 62


def test_an_expired_event_is_refused(client: Client, owner: Person, guest: Person) -> None:
    accepted, text = client.publish(guest.opens_issue(owner.repo, ["expiration", str(now() - 1)]))

    assert not accepted
    assert text.startswith("invalid: ")


def test_an_event_is_served_until_it_expires(client: Client, owner: Person, guest: Person) -> None:
    event = guest.opens_issue(owner.repo, ["expiration", str(now() + 2)])
    lasting = guest.opens_issue(owner.repo, ["expiration", str(now() + 3600)])
    client.take(event, lasting)
    assert event.id in client.query({"authors": [guest.pubkey]})

    wait_until(lambda: client.query({"authors": [guest.pubkey]}) == [lasting.id])

    assert client.count({"authors": [guest.pubkey]}) == 1
    assert client.query({"ids": [event.id]}) == []


@pytest.mark.parametrize("value", ["", "soon", "-1", "1.5", "\u0664\u0665"])
def test_an_expiration_that_is_no_time_is_none(client: Client, owner: Person, guest: Person, value: str) -> None:
    assert client.publish(guest.opens_issue(owner.repo, ["expiration", value])) == (True, "")


@pytest.mark.parametrize("names", ["this relay", "ALL_RELAYS"])
def test_an_author_who_asks_is_forgotten(
    client: Client, owner: Person, guest: Person, relay_domain: str, names: str
) -> None:
    event = guest.opens_issue(owner.repo)
    bystander = Person().opens_issue(owner.repo)
    client.take(event, bystander)
    request = guest.signs(VANISH, ["relay", f"ws://{relay_domain}/" if names == "this relay" else names], at=now() - 50)

    client.take(request)

    assert client.query({"authors": [guest.pubkey]}) == [request.id]
    assert client.query({"ids": [bystander.id]}) == [bystander.id]
    accepted, text = client.publish(event)
    assert not accepted
    assert text.startswith("blocked: ")


def test_what_an_author_writes_afterwards_is_taken(client: Client, owner: Person, guest: Person) -> None:
    client.take(guest.opens_issue(owner.repo, at=now() - 100))
    client.take(guest.signs(VANISH, ["relay", "ALL_RELAYS"], at=now() - 50))

    assert client.publish(guest.opens_issue(owner.repo, at=now() - 49)) == (True, "")


def test_a_request_to_vanish_elsewhere_is_not_for_us(client: Client, owner: Person, guest: Person) -> None:
    event = guest.opens_issue(owner.repo)
    client.take(event)

    accepted, text = client.publish(guest.signs(VANISH, ["relay", "wss://elsewhere.example"], at=now()))

    assert not accepted
    assert text.startswith("restricted: ")
    assert client.query({"ids": [event.id]}) == [event.id]


def test_a_request_to_vanish_cannot_be_deleted(client: Client, owner: Person, guest: Person) -> None:
    event = guest.opens_issue(owner.repo)
    request = guest.signs(VANISH, ["relay", "ALL_RELAYS"], at=now() - 50)
    client.take(event, request)

    client.publish(guest.deletes(["e", request.id], at=now() - 40))

    assert client.publish(event)[0] is False
