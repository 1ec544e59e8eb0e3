"""Without negentropy, and the ways in which relays say so; or with it, but not for sets this large."""
# ruff: noqa: ARG002 - a hook is given what any temper may need

from enum import Enum
from typing import Final

from graspd.nostr import messages as m
from graspd.nostr.prefix import Prefix
from sim.faults import Fault, Faults
from sim.peers.relay import Reply, Talk, Temper, said

NOTICES: Final = (
    "ERROR: bad msg: unknown cmd",
    "ERROR: bad msg: negentropy disabled",
    "failed to parse envelope: unknown envelope label",
    "could not parse command",
    "Command unrecognized",
    "invalid client message",
    "Invalid enum value NEG-OPEN",
)


class Refusal(Enum):
    """How it is said."""

    NOTICE = Fault.NEG_NOTICE
    SILENCE = Fault.NEG_SILENT
    CLOSED = Fault.NEG_CLOSED
    ERROR = Fault.NEG_ERR


class NoNegentropy(Temper):
    """Refuses every NEG-OPEN."""

    lasting = True
    reconciles = False

    def __init__(self, faults: Faults, refusal: Refusal, wording: int) -> None:
        self._faults = faults
        self._refusal = refusal
        self._wording = wording

    def instead(self, talk: Talk, message: m.ClientMessage, now: float) -> list[Reply] | None:
        """No."""
        if not isinstance(message, m.NegOpen | m.NegMsg | m.NegClose):
            return None
        if not isinstance(message, m.NegOpen):
            return []
        self._faults.saw(self._refusal.value)
        match self._refusal:
            case Refusal.NOTICE:
                return [said(m.notice(NOTICES[self._wording % len(NOTICES)]))]
            case Refusal.SILENCE:
                return []
            case Refusal.CLOSED:
                return [said(m.closed(message.sub_id, Prefix.UNSUPPORTED.says("no negentropy here")))]
            case Refusal.ERROR:
                return [said(m.neg_err(message.sub_id, "closed: nip77 disabled"))]


class NegentropyCapped(Temper):
    """Reconciles no more records than so many."""

    lasting = True
    reconciles = True

    def __init__(self, faults: Faults, records_max: int, *, tells: bool) -> None:
        self._faults = faults
        self._records_max = records_max
        self._tells = tells

    def instead(self, talk: Talk, message: m.ClientMessage, now: float) -> list[Reply] | None:
        """Too many."""
        if not isinstance(message, m.NegOpen):
            return None
        if len(talk.relay.matching(message.filter, now)) <= self._records_max:
            return None
        self._faults.saw(Fault.NEG_BLOCKED)
        text = Prefix.BLOCKED.says("too many query results")
        return [said(m.neg_err(message.sub_id, text, self._records_max if self._tells else None))]
