"""The store with indexes answers as the plainest model does."""

from random import Random
from typing import Final

import pytest

from graspd.nostr.filter import Filter
from graspd.nostr.kinds import ANNOUNCEMENT, ROOT_KINDS
from graspd.rules.facts import inquiry_of
from graspd.types import EventId, RelayUrl, UnixTime
from sim.content import Content
from sim.faults import Fault, Faults
from sim.quick_store import QuickStore
from sim.store import MemoryStore, take
from sim.timeline import EPOCH
from sim.world import POLICY

NOW: Final = UnixTime(EPOCH + 100)
PEERS: Final = [RelayUrl("wss://one.example"), RelayUrl("wss://two.example")]


@pytest.mark.parametrize("seed", range(20))
def test_the_two_stores_agree(seed: int) -> None:
    content = Content(Random(seed), Faults(frozenset(Fault)), PEERS, 0.5)
    events = [publication.event for publication in content.begin(0.0, 3, 120)]
    plain, quick = MemoryStore(), QuickStore()
    for start in range(0, len(events), 7):
        batch = events[start : start + 7]
        assert quick.facts(inquiry_of(batch)) == plain.facts(inquiry_of(batch))
        assert take(quick, batch, POLICY, NOW) == take(plain, batch, POLICY, NOW)
    for wanted in (Filter(), Filter(kinds=(ANNOUNCEMENT, *ROOT_KINDS)), Filter(until=UnixTime(EPOCH - 86400))):
        ours, theirs = quick.columns(wanted, NOW), plain.columns(wanted, NOW)
        assert ours.ids.tobytes() == theirs.ids.tobytes()
        assert ours.created_at.tolist() == theirs.created_at.tolist()
    for event_id in (*plain.served, *plain.gone, *(buried for buried, _ in plain.buried)):
        assert quick.knows(event_id)
    assert not quick.knows(EventId("0" * 64))
