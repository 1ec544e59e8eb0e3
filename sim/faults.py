"""Every class of thing that goes wrong in the world, by name, and the count of those that did.

A class that a large run never saw is a hole in the simulator, and fails the run. `SILENT` are those that a link may
hide from whoever listens: what they swallow is found by the next full sync and not before.
"""

from collections import Counter
from enum import Enum
from typing import Final


class Fault(Enum):
    """What can go wrong. The value is the class it belongs to and a few words."""

    # Links
    NAME = "link: the name does not resolve"
    FORBIDDEN = "link: the address may not be dialled"
    REFUSED = "link: connection refused"
    TLS = "link: no secure connection"
    HANDSHAKE = "link: no WebSocket there"
    DIAL_HANG = "link: a dial without an answer"
    HALF_OPEN = "link: half open"
    RESET = "link: reset"
    FLAP = "link: hung up by the peer after a while"
    SLOW = "link: seconds of latency"
    DRIP = "link: drips"
    OVERSIZED = "link: a message too large to take"

    # Delivery
    DROPPED = "delivery: a message dropped"
    DOUBLED = "delivery: a message twice"
    REORDERED = "delivery: out of order"
    GARBLED = "delivery: text that is no message"
    WRONG_SUB = "delivery: under the name of another subscription"
    AFTER_CLOSE = "delivery: after the subscription was closed"
    UNSOLICITED = "delivery: something nobody asked for"

    # Protocol
    EOSE_NEVER = "protocol: no EOSE"
    EOSE_TWICE = "protocol: EOSE twice"
    EOSE_EARLY = "protocol: EOSE before the events"
    CLOSED_ERROR = "protocol: CLOSED error"
    CLOSED_BLOCKED = "protocol: CLOSED blocked"
    CLOSED_INVALID = "protocol: CLOSED invalid"
    CLOSED_RESTRICTED = "protocol: CLOSED restricted"
    CLOSED_BARE = "protocol: CLOSED without a prefix"
    SLOW_DOWN_NOTICE = "protocol: NOTICE that asks to slow down"
    SLOW_DOWN_CLOSED = "protocol: CLOSED rate-limited"
    LIMIT_ZERO_REFUSED = "protocol: limit 0 refused"
    LIMIT_ZERO_IGNORED = "protocol: limit 0 answered with history"
    AUTH_ON_CONNECT = "protocol: AUTH at the start"
    AUTH_ON_REQUEST = "protocol: auth-required"
    AUTH_FLOOD = "protocol: one AUTH after another"
    AUTH_REFUSED = "protocol: our AUTH is refused"
    NEG_NOTICE = "protocol: negentropy refused by NOTICE"
    NEG_SILENT = "protocol: negentropy met with silence"
    NEG_CLOSED = "protocol: negentropy refused by CLOSED"
    NEG_ERR = "protocol: NEG-ERR"
    NEG_BLOCKED = "protocol: NEG-ERR blocked, with a maximum"
    NEG_VERSION = "protocol: another version of negentropy"
    NEG_LATE = "protocol: NEG-MSG after the session ended"

    # Lies
    PHANTOM = "lie: ids that are never served"
    CHANGING = "lie: a set that changes every round"
    HIDING = "lie: says that it is equal"
    REPEATING = "lie: the same page for ever"
    ENDLESS = "lie: pages without end"
    FLOOD = "lie: a flood of events nobody asked for"
    FORGED = "lie: a real event with a wrong signature"
    BAD_ID = "lie: an event whose id is not its hash"
    PAGE_CUT = "lie: a page cut at an odd size"
    LIMIT_IGNORED = "lie: more than the limit"

    # Content
    TIES = "content: many events of one second"
    FUTURE = "content: from the future"
    PAST = "content: from the far past"
    LATE = "content: published long after it was signed"
    DELETED = "content: a deletion"
    DELETED_FIRST = "content: a deletion before its target"
    VANISHED = "content: a request to vanish"
    EXPIRING = "content: expires"
    PROTECTED = "content: protected"
    MANY_RELAYS = "content: an announcement of a thousand relays"
    OURSELVES = "content: an announcement that names us in other spellings"
    PRIVATE = "content: an announcement of private addresses"
    SHRUNK = "content: an announcement that drops a relay"

    # The state of peers
    DOWN = "peer: down for a while"
    WIPED = "peer: wiped its database"
    RESTORED = "peer: restored an old database"
    BANNED = "peer: bans us for a while"
    SKEWED = "peer: its clock is wrong"

    # Ourselves
    CRASH = "own: crash"
    STATE_OLD = "own: restart with an old state"
    STATE_LOST = "own: restart without a state"
    COMMIT_UNTOLD = "own: crash between a commit and its answer"
    COMMIT_LOST = "own: crash before a commit"
    STORE_FAILED = "own: the store fails for a while"
    SLOW_DISK = "own: a slow disk"
    FEED_LAGGED = "own: the feed lags"
    CLOCK_STEPPED = "own: the wall clock is set"
    STOPPED = "own: an orderly stop"


SILENT: Final = frozenset(
    {
        Fault.DROPPED,
        Fault.REORDERED,
        Fault.GARBLED,
        Fault.WRONG_SUB,
        Fault.EOSE_EARLY,
        Fault.LATE,
        Fault.PAST,
        Fault.RESTORED,
        Fault.SKEWED,
        Fault.CLOCK_STEPPED,
    }
)


class Faults:
    """Which of them this world has, and how often each has happened."""

    def __init__(self, enabled: frozenset[Fault]) -> None:
        self.enabled = enabled
        self.seen: Counter[Fault] = Counter()

    def saw(self, fault: Fault) -> None:
        """One has happened."""
        self.seen[fault] += 1

    def __contains__(self, fault: Fault) -> bool:
        return fault in self.enabled
