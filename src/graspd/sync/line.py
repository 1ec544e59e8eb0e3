"""The sending side of one open link: what may be sent now, under which id, and what refusals mean.

Keeps the peer's terms: requests open at once, their pace, silence when asked for it, authentication when demanded.
Knows transfers as the owners of requests, and nothing of batches or plans.
"""

from dataclasses import dataclass, replace

from graspd.nostr.event import Event
from graspd.nostr.filter import Filter
from graspd.nostr.prefix import Prefix
from graspd.sync.auth import Auth
from graspd.sync.batch import Errand
from graspd.sync.capability import (
    asks_to_slow_down,
    has_too_many_filters,
    has_too_many_subscriptions,
    is_too_large,
    may_try,
)
from graspd.sync.desk import Desk, Gap
from graspd.sync.effects import SendAuth, SendClose, SendNegClose, SendNegMsg, SendNegOpen, SendReq, Source, Way
from graspd.sync.filters import Room
from graspd.sync.inputs import PeerTerms
from graspd.sync.peer import Peer
from graspd.sync.records import Capability, Speech
from graspd.sync.reports import NegentropyRefused, Offence, Offended, PeerLacks, RateLimited, SyncKind
from graspd.sync.transfer import Transfer
from graspd.types import EventId, LinkId, Monotonic, SubId

_SUBSCRIPTIONS_MIN = 2  # one live, one for transfers


@dataclass(frozen=True, slots=True)
class _Asked:
    """An open request."""

    transfer: Transfer
    by_negentropy: bool
    at: Monotonic


class OpenLine:
    """Fits the protocols `transfer.Line` and `live.LiveLine`."""

    def __init__(self, link: LinkId, owner: Peer, desk: Desk, terms: PeerTerms | None) -> None:
        self.link = link
        self.peer = owner.url
        self.room = Room.of(terms, desk.limits).within(owner.room)
        self.auth = Auth()
        self.heard = False  # the peer has said something on this link
        self.heard_at = desk.now.mono
        self.ended = False
        self.unwelcome = False  # the peer wants authentication that it does not grant us
        self.is_silent = False  # a request went unanswered, and nothing else came meanwhile either: half open
        self._slowed_at: Monotonic | None = None  # when the peer last asked us to wait
        self.shrunk = False  # the peer takes fewer subscriptions than we thought
        self.errands: dict[int, Errand] = {}  # by number of the batch
        self._owner = owner
        self._desk = desk
        self._requests: dict[SubId, _Asked] = {}
        self._live: dict[SubId, Monotonic | None] = {}  # with the deadline of their EOSE, until that has come
        self._hold_until: Monotonic | None = None  # until live filters are reshaped to what the peer takes
        self.live_waits = False  # live filters are to be opened first
        if terms is not None and terms.auth_required:
            self.demand_auth()

    def hear(self) -> None:
        """The peer has said something."""
        self.heard = True
        self.heard_at = self._desk.now.mono

    # What may be sent

    @property
    def page_limit(self) -> int:
        """Events a page."""
        return self.room.page_limit

    @property
    def refuses_limit_zero(self) -> bool:
        """Whether `since` must stand in for `limit: 0`."""
        return self._owner.refuses_limit_zero

    @property
    def transfers_max(self) -> int:
        """Transfers at once."""
        return self.room.transfers(self._desk.limits)

    @property
    def request_count(self) -> int:
        """Requests open for transfers."""
        return len(self._requests)

    def can_request(self) -> bool:
        """Whether the peer may be sent one more request now."""
        if self.live_waits or len(self._requests) >= self.transfers_max:
            return False
        return self._open_count < self.room.subscriptions and self._may_ask()

    def may_reconcile(self) -> bool:
        """Whether negentropy is worth trying with the peer."""
        return self._desk.limits.negentropy and may_try(self._owner.capability, self._desk.now.wall)

    def can_reconcile(self) -> bool:
        """Whether one more reconciliation may be opened: one at a time until the first was answered."""
        works = self._owner.capability.speech is Speech.WORKS
        probing = any(asked.transfer.awaits_first_answer for asked in self._requests.values())
        return self.can_request() and (works or not probing)

    def can_subscribe(self, sub: SubId) -> bool:
        """Whether a live request may be sent now; one that takes the place of another needs no room."""
        return (sub in self._live or self._open_count < self.room.subscriptions) and self._may_ask()

    @property
    def _open_count(self) -> int:
        return len(self._requests) + len(self._live)

    @property
    def is_held(self) -> bool:
        """Whether a while is to pass before anything is asked."""
        return self._hold_until is not None and self._desk.now.mono < self._hold_until

    def _may_ask(self) -> bool:
        """Whether pace and authentication let anything be asked now."""
        now = self._desk.now.mono
        return not self.auth.holds_requests and not self.is_held and self._owner.pace.ready_at(now) <= now

    def ready_at(self) -> Monotonic | None:
        """When the next request may be sent, where that is a matter of time."""
        now = self._desk.now.mono
        if self.auth.holds_requests:
            return self.auth.deadline
        at = self._owner.pace.ready_at(now)
        if self._hold_until is not None:
            at = max(at, self._hold_until)
        return at if at > now else None

    # Sending

    def request(self, transfer: Transfer, wanted: Filter) -> SubId:
        """Send a REQ whose answers belong to this transfer."""
        sub = self._open(transfer, by_negentropy=False)
        self._desk.emit(SendReq(self.link, sub, (wanted,)))
        return sub

    def neg_open(self, transfer: Transfer, wanted: Filter, message: bytes) -> SubId:
        """Send a NEG-OPEN."""
        sub = self._open(transfer, by_negentropy=True)
        self._desk.emit(SendNegOpen(self.link, sub, wanted, message))
        return sub

    def _open(self, transfer: Transfer, *, by_negentropy: bool) -> SubId:
        taken = self._owner.pace.take(self._desk.now.mono)
        assert taken, "asked before its time"
        sub = self._desk.sub()
        self._requests[sub] = _Asked(transfer, by_negentropy, self._desk.now.mono)
        return sub

    def neg_msg(self, sub: SubId, message: bytes) -> None:
        """Send a NEG-MSG."""
        self._desk.emit(SendNegMsg(self.link, sub, message))

    def hang_up(self, sub: SubId) -> None:
        """Close a request that is still open at the peer."""
        asked = self._requests.pop(sub, None)
        if asked is not None and not self.ended:
            self._desk.emit(SendNegClose(self.link, sub) if asked.by_negentropy else SendClose(self.link, sub))

    def subscribe(self, sub: SubId, filters: tuple[Filter, ...]) -> None:
        """Send a live request."""
        taken = self._owner.pace.take(self._desk.now.mono)
        assert taken, "asked before its time"
        self._live[sub] = Monotonic(self._desk.now.mono + self._desk.limits.idle_s)
        self._desk.emit(SendReq(self.link, sub, filters))

    def unsubscribe(self, sub: SubId) -> None:
        """Close a live subscription."""
        self._live.pop(sub, None)
        self._desk.emit(SendClose(self.link, sub))

    def live_answered(self, sub: SubId) -> None:
        """The EOSE of a live request: it is open."""
        if sub in self._live:
            self._live[sub] = None

    @property
    def live_deadline(self) -> Monotonic | None:
        """By when the EOSE of some live request must have come."""
        return min((at for at in self._live.values() if at is not None), default=None)

    def live_overdue(self) -> list[SubId]:
        """Live requests that were not answered in time, and so are not open."""
        now = self._desk.now.mono
        return [sub for sub, at in self._live.items() if at is not None and at <= now]

    def live_stalled(self) -> bool:
        """A live request was not answered. Returns whether the peer had asked us to wait."""
        now, limits = self._desk.now.mono, self._desk.limits
        self.is_silent = now - self.heard_at >= limits.idle_s
        return self._slowed_at is not None and now - self._slowed_at <= limits.idle_s

    def demand_auth(self) -> None:
        """The peer wants to know who we are."""
        if self.auth.demanded(Monotonic(self._desk.now.mono + self._desk.limits.idle_s)):
            self._desk.emit(SendAuth(self.link))

    def challenged(self) -> None:
        """The peer sent a challenge, which is answered only where it insists."""
        if self.auth.challenged():
            self._desk.emit(SendAuth(self.link))

    # What refusals mean

    def was_ours(self, sub: SubId) -> bool:
        """Whether a request of this name may have been sent over this link: what it brings late is welcome."""
        number = sub[1:]
        return sub[:1] == "g" and number.isascii() and number.isdecimal() and self.link < int(number[:20])

    def owner_of(self, sub: SubId) -> Transfer | None:
        """The transfer that an answer belongs to."""
        asked = self._requests.get(sub)
        return None if asked is None else asked.transfer

    def drop(self, sub: SubId) -> None:
        """A request is not open at the peer any more."""
        self._requests.pop(sub, None)
        self._live.pop(sub, None)

    def passes(self, prefix: Prefix | None, text: str) -> bool:
        """Whether a refusal is for a reason that passes, having done what makes it pass."""
        if prefix is Prefix.AUTH_REQUIRED:
            if self.auth.is_over:
                self.unwelcome = True
                return False
            self.demand_auth()
            return True
        if prefix is not Prefix.RATE_LIMITED and self._shrink(text):
            return True
        return self.heed(prefix, text)

    def heed(self, prefix: Prefix | None, text: str) -> bool:
        """Whether a refusal asks us to wait, which we then do; also where what it refuses is over already."""
        if prefix is Prefix.RATE_LIMITED or asks_to_slow_down(text):
            self.slow_down(text)
            return True
        return False

    def _shrink(self, text: str) -> bool:
        """Ask for less at once where a text says that it is too much. Returns whether that was so, and possible."""
        room = self.room
        if has_too_many_filters(text):
            fewer = max(1, room.filters_per_request // 2)
            self._reshape(replace(room, filters_per_request=fewer))
        elif is_too_large(text):
            smaller = max(self._desk.limits.message_bytes_min, room.message_bytes // 2)
            self._reshape(replace(room, message_bytes=smaller))
        elif has_too_many_subscriptions(text):
            fewer = max(_SUBSCRIPTIONS_MIN, min(self._open_count, room.subscriptions - 1))
            self._reshape(replace(room, subscriptions=fewer))
        return self.room != room

    def take_less(self) -> None:
        """Live requests go unanswered: perhaps they are too large for the peer."""
        room = self.room
        smaller = max(self._desk.limits.message_bytes_min, room.message_bytes // 2)
        fewer = max(1, room.filters_per_request // 2)
        self._reshape(replace(room, message_bytes=smaller, filters_per_request=fewer))

    def _reshape(self, room: Room) -> None:
        """Answers to what is under way may show that it takes still less: a moment is let pass."""
        if room == self.room:
            return
        self.room = self._owner.room = room
        self.shrunk = True
        self._hold_until = Monotonic(self._desk.now.mono + self._desk.limits.reshape_s)

    def slow_down(self, text: str) -> None:
        """The peer asked us to wait."""
        self._slowed_at = self._desk.now.mono
        for_s = self._owner.pace.slow_down(self._desk.now.mono)
        if for_s is not None:
            self._desk.report(RateLimited(self.peer, for_s, text))

    def noticed(self, text: str) -> None:
        """A NOTICE, which names no request: it may be the answer to a NEG-OPEN, or ask us to slow down."""
        probing = [one.transfer for one in self._requests.values() if one.transfer.awaits_first_answer]
        if self.passes(None, text):
            # It names no request, so all that was asked lately may be meant: a while is let pass in any case.
            self._hold_until = Monotonic(self._desk.now.mono + self._desk.limits.rate_limit_s)
            for transfer in probing:
                assert transfer.sub is not None
                self.drop(transfer.sub)
                self.interrupt(transfer, text)
        else:
            for transfer in probing:
                transfer.on_notice(text)

    def expire(self, transfer: Transfer) -> None:
        """A transfer has made no progress in time. If the peer asked us to wait meanwhile, it dropped it."""
        asked = self._requests.get(transfer.sub) if transfer.sub is not None else None
        if transfer.sub is None or asked is None or self._slowed_at is None or asked.at > self._slowed_at:
            transfer.on_deadline()
            return
        self.hang_up(transfer.sub)
        self.interrupt(transfer, "asked to wait")

    def interrupt(self, transfer: Transfer, text: str) -> None:
        """A request was closed for a reason that passes: it is sent again, unless that goes on for ever."""
        transfer.interruptions += 1
        if transfer.interruptions > self._desk.limits.interruptions_max:
            transfer.on_closed(text)
        else:
            transfer.on_interrupted()

    # What transfers find out

    def offend(self, offence: Offence, text: str = "") -> None:
        """The peer did something that costs it."""
        if offence is Offence.STALLED:
            self.is_silent = self._desk.now.mono - self.heard_at >= self._desk.limits.idle_s
        left = self._owner.budget.spend(offence, self._desk.now.mono)
        self._desk.report(Offended(self.peer, offence, left, text))
        self._desk.touched[self.peer] = None

    def provenance(self, transfer: Transfer, event: Event) -> tuple[Source, Gap]:
        """How an event of this transfer came, and whether it should have come earlier."""
        errand = self.errands[transfer.batch]
        daily = errand.kind is SyncKind.DAILY
        source = Source(Way.DAILY if daily else Way.CATCH_UP, self.peer)
        if errand.gap_until is None or event.created_at > errand.gap_until:
            return source, Gap.NONE
        return source, Gap.SUSTAINED if daily else Gap.GAP

    def is_phantom(self, event_id: EventId) -> bool:
        """Whether the peer claimed this id lately and did not serve it."""
        return self._owner.is_phantom(event_id, self._desk.now.wall)

    def add_phantom(self, event_id: EventId) -> None:
        """Remember that it did not."""
        self._owner.add_phantom(event_id, self._desk.now.wall)

    def set_capability(self, capability: Capability) -> None:
        """What was learned about negentropy."""
        if capability.speech is not Speech.WORKS:
            self._desk.report(NegentropyRefused(self.peer, capability.why))
        self._owner.capability = capability

    def compared(self, ours: int, lacking: int) -> None:
        """A reconciliation showed how many of our events the peer lacks."""
        self._owner.tally.compared(ours, lacking)
        if lacking:
            self._desk.report(PeerLacks(self.peer, lacking))
