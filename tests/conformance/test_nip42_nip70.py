"""NIP-70, protected events, and NIP-42, by which their authors show who they are."""

from typing import Any

import pytest

from graspd.nostr.event import Event
from tests.conformance.client import Client
from tests.conformance.people import Person, now

AUTH = 22_242


def challenged(client: Client, event: Event) -> str:
    """Publish a protected event; the challenge that this leads to."""
    client.send_text(b'["EVENT",' + event.raw + b"]")
    challenge = client.next_of("AUTH")[1]
    _, event_id, accepted, text = client.next_of("OK")
    assert (event_id, accepted) == (event.id, False)
    assert text.startswith("auth-required: ")
    assert isinstance(challenge, str)
    return challenge


def authenticate(client: Client, event: Event) -> list[Any]:
    client.send_text(b'["AUTH",' + event.raw + b"]")
    message = client.next_of("OK")
    assert message[1] == event.id
    return message[2:]


@pytest.fixture
def protected(owner: Person, guest: Person) -> Event:
    return guest.opens_issue(owner.repo, ["-"])


def test_its_author_publishes_it_after_authenticating(
    client: Client, guest: Person, protected: Event, relay_domain: str
) -> None:
    challenge = challenged(client, protected)

    answer = guest.signs(AUTH, ["relay", f"ws://{relay_domain}/"], ["challenge", challenge], at=now())

    assert authenticate(client, answer) == [True, ""]
    assert client.publish(protected) == (True, "")
    assert client.query({"ids": [protected.id]}) == [protected.id]


def test_somebody_else_cannot_publish_it(client: Client, protected: Event, relay_domain: str) -> None:
    challenge = challenged(client, protected)
    stranger = Person().signs(AUTH, ["relay", f"ws://{relay_domain}"], ["challenge", challenge], at=now())
    assert authenticate(client, stranger)[0] is True

    accepted, text = client.publish(protected)

    assert not accepted
    assert text.startswith("restricted: ")


def test_several_people_may_authenticate_on_one_connection(
    client: Client, guest: Person, protected: Event, relay_domain: str
) -> None:
    challenge = challenged(client, protected)
    for person in (Person(), guest):
        answer = person.signs(AUTH, ["relay", f"ws://{relay_domain}"], ["challenge", challenge], at=now())
        assert authenticate(client, answer)[0] is True

    assert client.publish(protected) == (True, "")


def test_who_authenticates_on_one_connection_is_unknown_on_another(
    client: Client, other: Client, guest: Person, protected: Event, relay_domain: str
) -> None:
    challenge = challenged(client, protected)
    answer = guest.signs(AUTH, ["relay", f"ws://{relay_domain}"], ["challenge", challenge], at=now())
    authenticate(client, answer)

    assert challenged(other, protected) != challenge
    assert authenticate(other, answer)[0] is False, "an answer is good for the connection that asked"


@pytest.mark.parametrize(
    ("fault", "kind", "domain", "challenge", "age_s"),
    [
        ("another kind", 22_243, "", "", 0),
        ("another relay", AUTH, "elsewhere.example", "", 0),
        ("another challenge", AUTH, "", "guessed", 0),
        ("long ago", AUTH, "", "", 3600),
        ("from the future", AUTH, "", "", -3600),
    ],
)
def test_a_wrong_answer_is_refused(
    client: Client,
    guest: Person,
    protected: Event,
    relay_domain: str,
    fault: str,
    kind: int,
    domain: str,
    challenge: str,
    age_s: int,
) -> None:
    asked = challenged(client, protected)
    tags = [["relay", f"ws://{domain or relay_domain}"], ["challenge", challenge or asked]]

    accepted, text = authenticate(client, guest.signs(kind, *tags, at=now() - age_s))

    assert accepted is False, fault
    assert text.startswith("invalid: ")
    assert client.publish(protected)[0] is False


def test_an_answer_with_a_wrong_signature_is_refused(
    client: Client, guest: Person, protected: Event, relay_domain: str
) -> None:
    challenge = challenged(client, protected)
    answer = guest.signs(AUTH, ["relay", f"ws://{relay_domain}"], ["challenge", challenge], at=now())

    client.send_text(b'["AUTH",' + answer.raw.replace(answer.sig.encode(), b"0" * 128) + b"]")

    assert client.next_of("OK")[2] is False
    assert client.publish(protected)[0] is False


def test_an_answer_that_nobody_asked_for_is_refused(client: Client, guest: Person, relay_domain: str) -> None:
    answer = guest.signs(AUTH, ["relay", f"ws://{relay_domain}"], ["challenge", ""], at=now())

    assert authenticate(client, answer)[0] is False


def test_an_auth_event_is_never_published(client: Client, other: Client, guest: Person) -> None:
    other.subscribe("live", {"kinds": [AUTH]})

    accepted, text = client.publish(guest.signs(AUTH, at=now()))

    assert not accepted
    assert text.startswith("invalid: ")
    assert other.settle() == []
