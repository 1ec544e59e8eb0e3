"""Between what is stored and what is new there is neither a gap nor a doubling, whenever a client begins to listen."""

from collections import Counter

import pytest

from tests.conformance.client import Client, frame
from tests.conformance.people import Person, now

EVENTS, EVERY = 400, 10


@pytest.mark.parametrize("burst", [1, 7, 50])
def test_every_event_comes_once_to_every_subscription(
    client: Client, other: Client, owner: Person, guest: Person, burst: int
) -> None:
    events = [guest.opens_issue(owner.repo, at=now() - 1000 + number) for number in range(EVENTS)]
    heard: dict[str, Counter[str]] = {}
    for first in range(0, EVENTS, burst):
        sent = b"".join(frame(b'["EVENT",' + event.raw + b"]") for event in events[first : first + burst])
        client.send_raw(sent)
        if first % EVERY < burst:
            # Asked while those are on their way: before, within or after their commit.
            other.send("REQ", str(len(heard)), {"authors": [guest.pubkey]})
            heard[str(len(heard))] = Counter()
    assert all(client.next_of("OK")[2] for _ in events)

    for verb, sub_id, *rest in other.settle():
        if verb == "EVENT":
            heard[sub_id][rest[0]["id"]] += 1

    once = Counter(event.id for event in events)
    assert len(heard) > 5
    assert [sub_id for sub_id, got in heard.items() if got != once] == []
