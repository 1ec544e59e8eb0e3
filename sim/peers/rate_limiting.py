"""Rate-limiting: takes so many requests a minute and refuses more, in one of the wordings of the field."""
# ruff: noqa: ARG002 - a hook is given what any temper may need

from collections import deque
from typing import Final

from graspd.nostr import messages as m
from graspd.nostr.prefix import Prefix
from sim.faults import Fault, Faults
from sim.peers.relay import Reply, Talk, Temper, said

PLEAS: Final = (
    "ERROR: rate limit exceeded",
    "rate-limited: you are noting too much",
    "slow down please",
    "Too many requests, throttled",
)
# The last speaks of what is open at once, and so does not say that waiting helps.
NOTICES: Final = (*PLEAS, "too many concurrent REQs")
_WINDOW_S: Final = 60.0


class RateLimiting(Temper):
    """Counts REQ and NEG-OPEN."""

    lasting = True

    def __init__(self, faults: Faults, per_minute: int, wording: int) -> None:
        self._faults = faults
        self._per_minute = per_minute
        self._wording = wording  # past the notices: CLOSED
        self._asked: deque[float] = deque()

    def instead(self, talk: Talk, message: m.ClientMessage, now: float) -> list[Reply] | None:
        """Refuse what is too much."""
        if not isinstance(message, m.Request | m.NegOpen):
            return None
        while self._asked and self._asked[0] <= now - _WINDOW_S:
            self._asked.popleft()
        if len(self._asked) < self._per_minute:
            self._asked.append(now)
            return None
        if self._wording < len(NOTICES):
            self._faults.saw(Fault.SLOW_DOWN_NOTICE)
            return [said(m.notice(NOTICES[self._wording]))]
        self._faults.saw(Fault.SLOW_DOWN_CLOSED)
        return [said(m.closed(message.sub_id, Prefix.RATE_LIMITED.says("slow down there chief")))]
