"""Asks who we are (NIP-42): at the start, at the first request, or over and over."""
# ruff: noqa: ARG002 - a hook is given what any temper may need

from random import Random

from graspd.nostr import messages as m
from graspd.nostr.prefix import Prefix
from sim.faults import Fault, Faults
from sim.peers.relay import Reply, Talk, Temper, said

_FLOOD = 50


class Authenticating(Temper):
    """Answers nobody it does not know."""

    lasting = True

    def __init__(self, rng: Random, faults: Faults, *, at_start: bool) -> None:
        self._rng = rng
        self._faults = faults
        self._at_start = at_start

    def opening(self, talk: Talk, now: float) -> list[Reply]:
        """Ask at once, where that is its way."""
        if not self._at_start:
            return []
        self._faults.saw(Fault.AUTH_ON_CONNECT)
        return [self._challenge(talk)]

    def instead(self, talk: Talk, message: m.ClientMessage, now: float) -> list[Reply] | None:
        """Ask before answering."""
        if talk.authenticated or not isinstance(message, m.Request | m.NegOpen):
            return None
        self._faults.saw(Fault.AUTH_ON_REQUEST)
        why = Prefix.AUTH_REQUIRED.says("we serve those we know")
        refusal = m.closed if isinstance(message, m.Request) else m.neg_err
        refused = said(refusal(message.sub_id, why))
        return [refused] if talk.challenge else [self._challenge(talk), refused]

    def _challenge(self, talk: Talk) -> Reply:
        talk.challenge = f"{self._rng.getrandbits(64):016x}"
        return said(m.auth(talk.challenge))


class AuthFlooding(Temper):
    """Sends one challenge after another, and refuses every answer."""

    lies = True

    def __init__(self, faults: Faults) -> None:
        self._faults = faults

    def opening(self, talk: Talk, now: float) -> list[Reply]:
        """Many challenges."""
        self._faults.saw(Fault.AUTH_FLOOD)
        return [said(m.auth(f"challenge {number}"), number * 0.1) for number in range(_FLOOD)]

    def instead(self, talk: Talk, message: m.ClientMessage, now: float) -> list[Reply] | None:
        """Never enough."""
        match message:
            case m.Authenticate(event):
                self._faults.saw(Fault.AUTH_REFUSED)
                return [said(m.ok(event.id, False, "restricted: not you")), said(m.auth(f"again {now}"))]
            case m.Request(sub_id, _):
                return [said(m.closed(sub_id, Prefix.AUTH_REQUIRED.says("who are you?")))]
            case _:
                return None
