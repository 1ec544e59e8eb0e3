"""`graspd sidecar`: somebody else's relay gets what only others have, and is treated as it asks to be."""

from collections.abc import Iterable

import pytest

from graspd.nostr import messages as m
from graspd.nostr.event import Event
from sim.peers.relay import Reply, Talk, Temper, said
from tests.conformance.people import Person, now
from tests.integration.sync.served import Served
from tests.integration.sync.world import DOMAIN, HASTE, about, address, announced, eventually, held, publish
from tests.peers.nostr_relay_py import PythonNostrRelay
from tests.peers.process import RelayProcess
from tests.peers.rust_nostr import RustNostrRelay
from tests.peers.sidecar import Sidecar

SETTINGS = {
    **HASTE,
    "domain": DOMAIN,
    "allow_private_peers": "on",
    "log_level": "debug",
    "sync_rate_limit_s": "0.3",
}


def arrive_at(url: str, events: Iterable[Event], sidecar: Sidecar) -> None:
    ids: set[str] = {event.id for event in events}
    eventually(lambda: held(url, ids) == ids, said=sidecar.written)


@pytest.mark.parametrize("make", [RustNostrRelay, PythonNostrRelay])
def test_what_only_a_third_relay_has_arrives(make: type[RelayProcess]) -> None:
    owner, other = Person(), Person()
    with make() as relay, Served() as third:
        own_issue = Person().opens_issue(address(owner, "one"), content="only the relay has this")
        publish(relay.url, [announced(owner, "one", [third.url]), own_issue])
        reply = Person().signs(1, ["e", own_issue.id], content="a reply to it that the relay does not have")
        elsewhere = [*about(owner, "one", 3), reply]
        third.publish(elsewhere)
        with Sidecar(relay.url, SETTINGS) as sidecar:
            arrive_at(relay.url, elsewhere, sidecar)

            live = Person().opens_issue(address(owner, "one"), at=now(), content="live")
            third.publish([live])
            arrive_at(relay.url, [live], sidecar)

            # What is published to the relay itself is followed, too.
            followed = about(other, "two")
            third.publish(followed)
            publish(relay.url, [announced(other, "two", [third.url], at=now())])
            arrive_at(relay.url, followed, sidecar)

            assert sidecar.stop() == 0
            assert "Traceback" not in sidecar.written()


def test_what_the_relay_lost_is_given_back_at_the_next_start() -> None:
    owner = Person()
    with RustNostrRelay() as relay, Served() as third:
        announcement, events = announced(owner, "one", [third.url]), about(owner, "one", 3)
        publish(relay.url, [announcement])
        third.publish(events)
        with Sidecar(relay.url, SETTINGS) as sidecar:
            arrive_at(relay.url, events, sidecar)
            sidecar.stop()
            third.leave()
            relay.restart()  # it keeps its events in memory only
            assert held(relay.url, [event.id for event in events]) == set()

            sidecar.start()

            arrive_at(relay.url, [announcement, *events], sidecar)


class Taking(Temper):
    """A relay that takes events, after it has said what it says first."""

    def __init__(self, *objections: str) -> None:
        self._objections = list(objections)
        self.taken: list[str] = []

    def instead(self, talk: Talk, message: m.ClientMessage, now: float) -> list[Reply] | None:
        if not isinstance(message, m.Publish):
            return None
        if self._objections:
            return [said(m.ok(message.event.id, accepted=False, text=self._objections.pop(0)))]
        self.taken.append(message.event.id)
        talk.relay.publish(message.event, now)
        return [said(m.ok(message.event.id, accepted=True, text=""))]


@pytest.mark.parametrize("objection", ["rate-limited: slow down", "error: the database is busy"])
def test_objection_that_passes_is_waited_out(objection: str) -> None:
    owner = Person()
    taking = Taking(objection, objection)
    with Served([taking]) as relay, Served() as third:
        relay.publish([announced(owner, "one", [third.url])])
        events = about(owner, "one")
        third.publish(events)
        with Sidecar(relay.url, SETTINGS) as sidecar:
            eventually(lambda: set(taking.taken) == {event.id for event in events}, said=sidecar.written)
            assert len(taking.taken) == len(events), "none is published twice"


def test_refusals_are_counted_by_reason() -> None:
    owner = Person()
    with Served() as relay, Served() as third:  # as it should be, it refuses every EVENT as restricted
        relay.publish([announced(owner, "one", [third.url])])
        events = about(owner, "one")
        third.publish(events)
        with Sidecar(relay.url, SETTINGS) as sidecar:
            eventually(lambda: relay.received["EVENT"] == len(events), said=sidecar.written)
            sidecar.stop()

            assert f"refused: {{'restricted': {len(events)}}}" in sidecar.written()
            assert sidecar.written().count("relay_refused") == 1


def test_it_must_be_said_what_is_hosted() -> None:
    with Sidecar("ws://127.0.0.1:1", {}) as sidecar:
        assert sidecar.ended() == 2
        assert "--domain" in sidecar.written()
