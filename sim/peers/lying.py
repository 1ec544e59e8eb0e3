"""Lies about its set: ids that it never serves, a set that changes every round, or: we are equal."""
# ruff: noqa: ARG002 - a hook is given what any temper may need

from random import Random

from graspd.negentropy import Responder
from graspd.nostr import messages as m
from graspd.nostr.event import Event
from graspd.nostr.filter import Filter
from graspd.types import EventId
from sim.faults import Fault, Faults
from sim.peers.relay import Reply, Talk, Temper, said

_START = 1_699_000_000


class Phantoms(Temper):
    """Claims ids that nobody has ever seen, the same ones every time."""

    lies = True
    reconciles = True

    def __init__(self, rng: Random, faults: Faults, count: int) -> None:
        self._faults = faults
        self._phantoms = [
            (_START + rng.randrange(1_000_000), EventId(f"{rng.getrandbits(256):064x}")) for _ in range(count)
        ]

    def claim(self, wanted: Filter, events: list[Event]) -> list[tuple[int, EventId]]:
        """The truth, and more."""
        self._faults.saw(Fault.PHANTOM)
        since, until = wanted.since or 0, wanted.until or 2**53
        more = [claimed for claimed in self._phantoms if since <= claimed[0] <= until]
        return [*super().claim(wanted, events), *more]


class Withholding(Temper):
    """Claims what it has, and does not serve it by id: it keeps others from asking elsewhere."""

    lies = True
    reconciles = True

    def __init__(self, faults: Faults) -> None:
        self._faults = faults

    def page(self, wanted: Filter, events: list[Event]) -> list[Event]:
        """Nothing."""
        if wanted.ids is None:
            return events
        self._faults.saw(Fault.PHANTOM)
        return []


class Changing(Temper):
    """Reconciles another set every round."""

    lies = True
    reconciles = True

    def __init__(self, rng: Random, faults: Faults) -> None:
        self._rng = rng
        self._faults = faults

    def instead(self, talk: Talk, message: m.ClientMessage, now: float) -> list[Reply] | None:
        """Forget the set of the round before."""
        if not isinstance(message, m.NegMsg) or message.sub_id not in talk.sessions:
            return None
        wanted = talk.filter_by_session[message.sub_id]
        talk.sessions[message.sub_id] = Responder(talk.relay.items(wanted, now), talk.relay.manners.frame_bytes)
        return talk.negotiate(message.sub_id, message.message)

    def claim(self, wanted: Filter, events: list[Event]) -> list[tuple[int, EventId]]:
        """Some of the truth, and forty ids made up on the spot."""
        self._faults.saw(Fault.CHANGING)
        some = [claimed for claimed in super().claim(wanted, events) if self._rng.random() < 0.5]
        new = [(_START + self._rng.randrange(10**6), EventId(f"{self._rng.getrandbits(256):064x}")) for _ in range(40)]
        return some + new


class Hiding(Temper):
    """Whatever is compared, it is the same."""

    lies = True
    reconciles = True

    def __init__(self, faults: Faults) -> None:
        self._faults = faults

    def instead(self, talk: Talk, message: m.ClientMessage, now: float) -> list[Reply] | None:
        """Nothing to tell."""
        if not isinstance(message, m.NegOpen | m.NegMsg):
            return None
        self._faults.saw(Fault.HIDING)
        return [said(m.neg_msg(message.sub_id, b"\x61"))]
