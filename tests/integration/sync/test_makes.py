"""Three makes of peer: repositories are discovered from one, through two more, with all about them; live follows."""

import pytest

from tests.conformance.people import Person, now
from tests.integration.sync.world import about, address, announced, arrive, everything, publish, syncing
from tests.peers.graspd_relay import GraspdRelay
from tests.peers.nostr_relay_py import PythonNostrRelay
from tests.peers.process import RelayProcess
from tests.peers.rust_nostr import RustNostrRelay

MAKES = (RustNostrRelay, PythonNostrRelay, GraspdRelay)


def started(make: type[RelayProcess]) -> RelayProcess:
    return GraspdRelay(settings={"events_per_minute": "0"}) if make is GraspdRelay else make()


@pytest.mark.parametrize("first", range(3))
def test_blank_start(first: int) -> None:
    order = [MAKES[(first + step) % 3] for step in range(3)]
    with started(order[0]) as bootstrap, started(order[1]) as second, started(order[2]) as third:
        anna, bob, carl = Person(), Person(), Person()
        # The first names the second, what is on the second names the third: two levels of discovery.
        chain = [
            (bootstrap, anna, "one", [bootstrap.url, second.url]),
            (second, bob, "two", [second.url, third.url]),
            (third, carl, "three", [third.url]),
        ]
        expected = []
        for relay, owner, identifier, relays in chain:
            events = [announced(owner, identifier, relays), *about(owner, identifier, 2)]
            publish(relay.url, events)
            expected += events
        # What only the second has about a repository that the first announced.
        late = about(anna, "one")[1:]
        publish(second.url, [expected[0], *late])
        expected += late

        with syncing([bootstrap.url]) as ours:
            arrive(ours, expected)
            for relay, owner, identifier, _ in chain:
                fresh = Person().opens_issue(address(owner, identifier), at=now(), content="live")
                publish(relay.url, [fresh])
                assert arrive(ours, [fresh]) < 1.0
                reply = Person().signs(1, ["e", fresh.id], at=now(), content="to a live issue")
                publish(relay.url, [reply])
                arrive(ours, [reply])
                expected += [fresh, reply]
            assert everything(ours.url) == {event.id for event in expected}
            assert not [line for line in ours.written().splitlines() if "ERROR" in line or "Traceback" in line]
