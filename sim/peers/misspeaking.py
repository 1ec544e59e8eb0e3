"""Misspeaks: an EOSE that never comes, comes twice or too early; a CLOSED for any reason or none."""
# ruff: noqa: ARG002 - a hook is given what any temper may need

from random import Random
from typing import Final

from graspd.nostr import messages as m
from sim.faults import SILENT, Fault, Faults
from sim.peers.relay import Reply, Talk, Temper, said

_CLOSED: Final = {
    Fault.CLOSED_ERROR: "error: could not connect to the database",
    Fault.CLOSED_BLOCKED: "blocked: not you, not now",
    Fault.CLOSED_INVALID: "invalid: what is that?",
    Fault.CLOSED_RESTRICTED: "restricted: members only",
    Fault.CLOSED_BARE: "shutting down idle subscription",
}
_EOSE: Final = (Fault.EOSE_NEVER, Fault.EOSE_TWICE, Fault.EOSE_EARLY)
_NEG: Final = (Fault.NEG_VERSION, Fault.NEG_LATE)


class Misspeaking(Temper):
    """Gets the protocol wrong now and then."""

    def __init__(self, rng: Random, faults: Faults, share: float) -> None:
        self._rng = rng
        self._faults = faults
        self._share = share
        self._ways = [fault for fault in (*_CLOSED, *_EOSE, *_NEG) if fault in faults.enabled or fault not in SILENT]

    def after(self, talk: Talk, message: m.ClientMessage, replies: list[Reply], now: float) -> list[Reply]:
        """Wrong, now and then."""
        if self._rng.random() >= self._share:
            return replies
        way = self._rng.choice(self._ways)
        if isinstance(message, m.Request) and way not in _NEG:
            return self._misspoken(talk, message, replies, way)
        if isinstance(message, m.NegOpen | m.NegMsg) and way in _NEG:
            self._faults.saw(way)
            if way is Fault.NEG_VERSION:
                return [said(m.neg_msg(message.sub_id, b"\x62"))]
            return [said(m.neg_err(message.sub_id, "error: tired")), *replies]
        return replies

    def _misspoken(self, talk: Talk, message: m.Request, replies: list[Reply], way: Fault) -> list[Reply]:
        self._faults.saw(way)
        if way in _CLOSED:
            talk.subs.pop(message.sub_id, None)
            # As often as not in the middle of the answer.
            kept = self._rng.randint(0, max(0, len(replies) - 1))
            return [*replies[:kept], said(m.closed(message.sub_id, _CLOSED[way]))]
        ends = [reply for reply in replies if reply.text is not None and reply.text.startswith('["EOSE"')]
        others = [reply for reply in replies if reply not in ends]
        if way is Fault.EOSE_NEVER:
            return others
        return [*others, *ends, *ends] if way is Fault.EOSE_TWICE else [*ends, *others]
