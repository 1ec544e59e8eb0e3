"""NIP-09: deletion requests, by id and by address, for their author's own events only, in whatever order they come."""

import pytest

from tests.conformance.client import Client
from tests.conformance.people import Person, now

ADDRESSABLE = 30_023


def test_an_event_named_by_id_goes_and_the_request_is_served(client: Client, owner: Person, guest: Person) -> None:
    event = guest.opens_issue(owner.repo)
    request = guest.deletes(["e", event.id], ["k", "1621"])

    client.take(event, request)

    assert client.query({"authors": [guest.pubkey]}) == [request.id]


def test_a_deleted_event_does_not_come_back(client: Client, owner: Person, guest: Person) -> None:
    event = guest.opens_issue(owner.repo)
    client.take(event, guest.deletes(["e", event.id]))

    accepted, text = client.publish(event)

    assert not accepted
    assert text.startswith("blocked: ")
    assert client.query({"ids": [event.id]}) == []


def test_a_deletion_that_comes_first_holds(client: Client, owner: Person, guest: Person) -> None:
    event = guest.opens_issue(owner.repo)
    request = guest.deletes(["e", event.id])
    client.take(request)

    accepted, text = client.publish(event)

    assert not accepted
    assert text.startswith("blocked: ")
    assert client.query({"authors": [guest.pubkey]}) == [request.id], "served once it concerns something"


def test_others_cannot_delete(client: Client, owner: Person, guest: Person) -> None:
    event = guest.opens_issue(owner.repo)
    client.take(event, owner.opens_issue(owner.repo))

    client.publish(owner.deletes(["e", event.id], ["a", f"1621:{guest.pubkey}:"]))

    assert client.query({"ids": [event.id]}) == [event.id]


def test_others_cannot_delete_in_advance(client: Client, owner: Person, guest: Person) -> None:
    event = guest.opens_issue(owner.repo)
    client.publish(owner.deletes(["e", event.id]))

    assert client.publish(event) == (True, "")


def test_an_address_goes_up_to_the_time_of_the_request(client: Client, owner: Person, guest: Person) -> None:
    at = now() - 1000
    address = f"{ADDRESSABLE}:{guest.pubkey}:x"
    before, newer = (guest.signs(ADDRESSABLE, ["d", "x"], ["a", owner.repo], at=at + step) for step in (0, 11))
    client.take(before, guest.deletes(["a", address], at=at + 10))
    assert client.query({"kinds": [ADDRESSABLE], "authors": [guest.pubkey]}) == []

    client.take(newer)

    assert client.query({"kinds": [ADDRESSABLE], "authors": [guest.pubkey]}) == [newer.id]


@pytest.mark.parametrize(("step", "stays"), [(-1, False), (0, False), (1, True)])
def test_an_address_deleted_first_refuses_only_what_is_not_newer(
    client: Client, owner: Person, guest: Person, step: int, stays: bool
) -> None:
    at = now() - 1000
    client.take(guest.deletes(["a", f"{ADDRESSABLE}:{guest.pubkey}:x"], at=at))

    accepted, _ = client.publish(guest.signs(ADDRESSABLE, ["d", "x"], ["a", owner.repo], at=at + step))

    assert accepted is stays


def test_a_newer_version_survives_the_deletion_of_its_address(client: Client, owner: Person, guest: Person) -> None:
    at = now() - 1000
    newest = guest.signs(ADDRESSABLE, ["d", "x"], ["a", owner.repo], at=at + 10)
    client.take(newest)

    client.take(guest.deletes(["a", f"{ADDRESSABLE}:{guest.pubkey}:x"], at=at))

    assert client.query({"kinds": [ADDRESSABLE], "authors": [guest.pubkey]}) == [newest.id]


def test_other_addresses_of_the_author_stay(client: Client, owner: Person, guest: Person) -> None:
    kept = guest.signs(ADDRESSABLE, ["d", "y"], ["a", owner.repo])
    client.take(guest.signs(ADDRESSABLE, ["d", "x"], ["a", owner.repo]), kept)

    client.take(guest.deletes(["a", f"{ADDRESSABLE}:{guest.pubkey}:x"], at=now()))

    assert client.query({"kinds": [ADDRESSABLE], "authors": [guest.pubkey]}) == [kept.id]


def test_to_delete_a_deletion_has_no_effect(client: Client, owner: Person, guest: Person) -> None:
    event = guest.opens_issue(owner.repo)
    request = guest.deletes(["e", event.id])
    client.take(event, request)

    client.publish(guest.deletes(["e", request.id]))

    assert client.query({"ids": [request.id]}) == [request.id]
    assert client.publish(event)[0] is False


def test_one_request_names_many(client: Client, owner: Person, guest: Person) -> None:
    events = [guest.opens_issue(owner.repo, content=str(number)) for number in range(5)]
    client.take(*events)

    client.take(guest.deletes(*(["e", event.id] for event in events)))

    assert client.query({"kinds": [1621], "authors": [guest.pubkey]}) == []
