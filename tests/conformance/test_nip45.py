"""NIP-45: COUNT."""

import pytest

from tests.conformance.client import Client
from tests.conformance.people import Person


def test_counts_agree_with_what_is_served(client: Client, owner: Person, guest: Person) -> None:
    events = [guest.opens_issue(owner.repo, ["t", str(number % 3)], content=str(number)) for number in range(7)]
    client.take(*events)
    mine = {"authors": [guest.pubkey]}

    assert client.count(mine) == 7
    assert client.count({**mine, "#t": ["0"]}) == 3
    assert client.count({**mine, "#t": ["0", "1"]}) == 5
    assert client.count({**mine, "kinds": [1617]}) == 0
    assert client.count({"ids": []}) == 0


def test_an_event_that_several_filters_match_counts_once(client: Client, owner: Person, guest: Person) -> None:
    event = guest.opens_issue(owner.repo, ["t", "x"])
    client.take(event)

    assert client.count({"ids": [event.id]}, {"authors": [guest.pubkey]}, {"authors": [guest.pubkey], "#t": ["x"]}) == 1


def test_a_count_opens_no_subscription(client: Client, other: Client, owner: Person, guest: Person) -> None:
    other.count({"authors": [guest.pubkey]})

    client.take(guest.opens_issue(owner.repo))

    assert other.settle() == []


@pytest.mark.parametrize(
    ("filters", "prefix"), [([], "invalid: "), ([{"search": "x"}], "unsupported: "), ([1], "invalid: ")]
)
def test_a_count_that_cannot_be_answered_is_closed(client: Client, filters: list[object], prefix: str) -> None:
    client.send("COUNT", "c", *filters)

    _, sub_id, text = client.next_of("CLOSED")
    assert sub_id == "c"
    assert text.startswith(prefix)
