"""What was decided about an event, and why, as types and not as texts."""

from dataclasses import dataclass
from enum import Enum

from graspd.nostr.prefix import Prefix


class Reason(Enum):
    """Why an event was taken or not: whether that is an acceptance, and the word a machine reads first."""

    STORED = ("stored", True, None)
    RELAYED = ("relayed", True, None)  # ephemeral: sent on, never stored
    HELD = ("held", True, None)  # in force, served once it concerns something here
    KNOWN = ("known", True, Prefix.DUPLICATE)
    SUPERSEDED = ("superseded", True, Prefix.DUPLICATE)

    MALFORMED = ("malformed", False, Prefix.INVALID)
    BAD_SIGNATURE = ("bad signature", False, Prefix.INVALID)
    TOO_LARGE = ("too large", False, Prefix.INVALID)
    FROM_THE_FUTURE = ("from the future", False, Prefix.INVALID)
    EXPIRED = ("expired", False, Prefix.INVALID)
    NOT_FOR_RELAYS = ("not for relays", False, Prefix.INVALID)
    AUTHOR_BLACKLISTED = ("author blacklisted", False, Prefix.BLOCKED)
    REPOSITORY_BLACKLISTED = ("repository blacklisted", False, Prefix.BLOCKED)
    DELETED = ("deleted", False, Prefix.BLOCKED)
    VANISHED = ("vanished", False, Prefix.BLOCKED)
    PROTECTED = ("protected", False, Prefix.AUTH_REQUIRED)
    PROTECTED_FROM_OTHERS = ("protected from others", False, Prefix.RESTRICTED)
    IDENTIFIER = ("identifier", False, Prefix.INVALID)
    SERVICE_NOT_LISTED = ("service not listed", False, Prefix.RESTRICTED)
    NO_ANNOUNCEMENT = ("no announcement", False, Prefix.RESTRICTED)
    NOT_ENTITLED = ("not entitled", False, Prefix.RESTRICTED)
    UNRELATED = ("unrelated", False, Prefix.RESTRICTED)
    CONCERNS_OTHERS = ("concerns others", False, Prefix.RESTRICTED)
    RATE = ("rate", False, Prefix.RATE_LIMITED)
    STORE_FAILED = ("store failed", False, Prefix.ERROR)

    def __init__(self, label: str, accepts: bool, prefix: Prefix | None) -> None:
        self.label = label
        self.accepts = accepts
        self.prefix = prefix

    @property
    def may_change(self) -> bool:
        """Whether the same event can be taken later, once what it waits for has arrived."""
        return self in _MAY_CHANGE


_MAY_CHANGE = frozenset(
    {Reason.SERVICE_NOT_LISTED, Reason.NO_ANNOUNCEMENT, Reason.NOT_ENTITLED, Reason.UNRELATED, Reason.CONCERNS_OTHERS}
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """One decision about one event."""

    reason: Reason
    why: str = ""

    @property
    def accepted(self) -> bool:
        """What the OK says."""
        return self.reason.accepts

    @property
    def text(self) -> str:
        """The message of the OK."""
        return self.reason.prefix.says(self.why) if self.reason.prefix else self.why


STORED = Verdict(Reason.STORED)
RELAYED = Verdict(Reason.RELAYED)
KNOWN = Verdict(Reason.KNOWN, "already have this event")
BAD_SIGNATURE = Verdict(Reason.BAD_SIGNATURE, "the signature does not fit the event")
