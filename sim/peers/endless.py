"""Pages without end: the same page for ever, or always older events that nobody signed."""

from dataclasses import replace

from graspd.nostr import messages as m
from graspd.nostr.event import Event
from graspd.nostr.filter import Filter
from graspd.types import PubKey
from sim.content import forged, make
from sim.faults import Fault, Faults
from sim.peers.relay import Reply, Talk, Temper

_NOBODY = PubKey("0" * 63 + "1")


class Repeating(Temper):
    """Does not look at `until`, `since` or the limit."""

    lies = True
    reconciles = False

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self._pages: dict[Filter, list[Event]] = {}

    def page(self, wanted: Filter, events: list[Event]) -> list[Event]:
        """What it gave when it was asked without an end."""
        timeless = Filter(ids=wanted.ids, kinds=wanted.kinds, tags=wanted.tags)
        if wanted.limit == 0 or wanted.ids is not None:
            return events
        if timeless in self._pages:
            self._faults.saw(Fault.REPEATING)
            return self._pages[timeless]
        self._pages[timeless] = events
        return events


class LimitIgnoring(Temper):
    """Does not look at the limit alone, and so sends its history to whoever wants to hear news."""

    lies = True
    reconciles = False

    def __init__(self, faults: Faults) -> None:
        self._faults = faults

    def instead(self, talk: Talk, message: m.ClientMessage, now: float) -> list[Reply] | None:
        """As if no limit had been given."""
        if not isinstance(message, m.Request):
            return None
        self._faults.saw(Fault.LIMIT_IGNORED)
        return talk.request(message.sub_id, tuple(replace(wanted, limit=None) for wanted in message.filters), now)


class Endless(Temper):
    """Makes up a page of events whenever a page is asked for."""

    lies = True
    reconciles = False

    def __init__(self, faults: Faults, size: int) -> None:
        self._faults = faults
        self._size = size

    def page(self, wanted: Filter, events: list[Event]) -> list[Event]:
        """Always a full one."""
        if not wanted.tags or wanted.limit == 0:
            return events
        self._faults.saw(Fault.ENDLESS)
        until = wanted.until if wanted.until is not None else (events[0].created_at if events else 1_699_000_000)
        letter, values = wanted.tags[0]
        made = [
            forged(make(1111, _NOBODY, max(0, until - number), [[letter, values[0]]], str(number)))
            for number in range(self._size)
        ]
        return [*events, *made]
