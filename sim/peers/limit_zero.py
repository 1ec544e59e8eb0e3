"""Does not know `limit: 0`: refuses it, or answers it as if no limit had been given."""
# ruff: noqa: ARG002 - a hook is given what any temper may need

from dataclasses import replace

from graspd.nostr import messages as m
from graspd.nostr.prefix import Prefix
from sim.faults import Fault, Faults
from sim.peers.relay import Reply, Talk, Temper, event_text, said


class LimitZeroRefusing(Temper):
    """Closes such a request."""

    lasting = True

    def __init__(self, faults: Faults) -> None:
        self._faults = faults

    def instead(self, talk: Talk, message: m.ClientMessage, now: float) -> list[Reply] | None:
        """No."""
        if not isinstance(message, m.Request) or all(wanted.limit != 0 for wanted in message.filters):
            return None
        self._faults.saw(Fault.LIMIT_ZERO_REFUSED)
        return [said(m.closed(message.sub_id, Prefix.INVALID.says("limit must be at least 1")))]


class LimitZeroIgnoring(Temper):
    """Sends everything first."""

    lasting = True

    def __init__(self, faults: Faults) -> None:
        self._faults = faults

    def after(self, talk: Talk, message: m.ClientMessage, replies: list[Reply], now: float) -> list[Reply]:
        """The history too."""
        if not isinstance(message, m.Request) or all(wanted.limit != 0 for wanted in message.filters):
            return replies
        self._faults.saw(Fault.LIMIT_ZERO_IGNORED)
        unlimited = tuple(replace(wanted, limit=None) for wanted in message.filters)
        events, _ = talk.relay.answer(unlimited, now)
        return [*(Reply(0.0, event_text(message.sub_id, event)) for event in events), *replies]
