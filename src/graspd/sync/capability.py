"""What we remember of a peer and negentropy, and how its many ways of saying no are read.

About four relays in five do not speak it, and say so by NOTICE, CLOSED, NEG-ERR or silence. A no is never for ever.
"""

from typing import Final

from graspd.sync.limits import SyncLimits
from graspd.sync.records import Capability, Speech
from graspd.types import UnixTime

_NOTICE_LENGTH: Final = 512  # of a stranger's text, no more is searched
_SLOW_DOWN: Final = (
    "too many",
    "slow down",
    "throttl",
    "rate-limit",
    "rate limit",
    "ratelimit",
    "too much",
    "too fast",
)
# Seen in the field as the answer to NEG-OPEN of relays that do not know it or have it switched off.
_NO_NEGENTROPY: Final = (
    "neg-",
    "negentropy",
    "envelope",
    "bad msg",
    "bad message",
    "unknown",
    "unrecognized",
    "could not parse",
    "invalid",
    "unsupported",
    "disabled",
    "error",
)
_TOO_MANY_SUBSCRIPTIONS: Final = ("subscription", "concurrent req", "subs")


def asks_to_slow_down(text: str) -> bool:
    """Whether a text says that we ask too often."""
    text = text[:_NOTICE_LENGTH].lower()
    return any(word in text for word in _SLOW_DOWN)


def has_too_many_subscriptions(text: str) -> bool:
    """Whether a text says that we have too much open at once."""
    text = text[:_NOTICE_LENGTH].lower()
    return ("too many" in text or "max" in text) and any(word in text for word in _TOO_MANY_SUBSCRIPTIONS)


def has_too_many_filters(text: str) -> bool:
    """Whether a text says that one request holds too many filters."""
    text = text[:_NOTICE_LENGTH].lower()
    return ("too many" in text or "max" in text) and "filter" in text


def is_too_large(text: str) -> bool:
    """Whether a text says that a message was too large."""
    text = text[:_NOTICE_LENGTH].lower()
    return "too large" in text or "too big" in text or "too long" in text or "exceeds" in text


def denies_negentropy(text: str) -> bool:
    """Whether a NOTICE, while the first answer to a NEG-OPEN is awaited, means that there will be none."""
    text = text[:_NOTICE_LENGTH].lower()
    return any(word in text for word in _NO_NEGENTROPY)


def may_try(capability: Capability, now: UnixTime) -> bool:
    """Whether negentropy is worth trying with a peer."""
    return capability.speech in (Speech.UNKNOWN, Speech.WORKS) or now >= capability.until


def refused(why: str, now: UnixTime, limits: SyncLimits) -> Capability:
    """It speaks negentropy, but not now or not for this."""
    return Capability(Speech.REFUSED, why[:_NOTICE_LENGTH], UnixTime(now + limits.refused_retry_s))


def unsupported(why: str, now: UnixTime, limits: SyncLimits) -> Capability:
    """It does not speak negentropy."""
    return Capability(Speech.UNSUPPORTED, why[:_NOTICE_LENGTH], UnixTime(now + limits.unsupported_retry_s))


WORKS: Final = Capability(Speech.WORKS)
