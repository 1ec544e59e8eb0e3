"""One client's conversation: what each of its messages leads to, within the limits."""

from typing import assert_never

from graspd.nostr import messages as m
from graspd.nostr.event import Event
from graspd.nostr.filter import Filter
from graspd.nostr.kinds import CLIENT_AUTH
from graspd.nostr.prefix import Prefix
from graspd.nostr.relay_url import Domain, is_service_relay
from graspd.relay.effects import (
    CheckAuth,
    CloseNegotiation,
    ContinueNegotiation,
    CountStored,
    Effect,
    OpenNegotiation,
    Send,
    Submit,
    Subscribe,
    Unsubscribe,
)
from graspd.relay.limits import RelayLimits
from graspd.types import PubKey, SubId, UnixTime


class Session:
    """The state of a conversation: open subscriptions and sessions, and who has authenticated."""

    def __init__(self, limits: RelayLimits, domain: Domain, challenge: str) -> None:
        self._limits = limits
        self._domain = domain
        self._challenge = challenge
        self._challenged = False
        self._auth_attempts = 0
        self._subscriptions: set[SubId] = set()
        self._negotiations: set[SubId] = set()
        self.pubkeys: frozenset[PubKey] = frozenset()

    def receive(self, data: bytes, now: UnixTime) -> list[Effect]:  # noqa: C901 -- one case for each message
        """What one message leads to."""
        message = m.parse_client_message(data)
        match message:
            case m.Publish(event):
                return [Submit(event)]
            case m.Request(sub_id, filters):
                return self._request(sub_id, filters)
            case m.Close(sub_id):
                self._subscriptions.discard(sub_id)
                return [Unsubscribe(sub_id)]
            case m.Count(sub_id, filters):
                fault = self._filters_fault(filters)
                return [Send(m.closed(sub_id, fault))] if fault else [CountStored(sub_id, filters)]
            case m.Authenticate(event):
                return self._authenticate(event, now)
            case m.NegOpen(sub_id, wanted, opening):
                return self._negotiate(sub_id, wanted, opening)
            case m.NegMsg(sub_id, answer):
                if sub_id not in self._negotiations:
                    return [Send(m.neg_err(sub_id, Prefix.CLOSED.says("no session of this id is open")))]
                return [ContinueNegotiation(sub_id, answer)]
            case m.NegClose(sub_id):
                self._negotiations.discard(sub_id)
                return [CloseNegotiation(sub_id)]
            case m.BadEvent(event_id, text):
                return [Send(m.ok(event_id, accepted=False, text=text))]
            case m.BadRequest(sub_id, text):
                self._subscriptions.discard(sub_id)
                return [Unsubscribe(sub_id), Send(m.closed(sub_id, text))]
            case m.BadNegotiation(sub_id, text):
                self._negotiations.discard(sub_id)
                return [CloseNegotiation(sub_id), Send(m.neg_err(sub_id, text))]
            case m.Unreadable(text):
                return [Send(m.notice(text))]
            case _:
                assert_never(message)

    def challenge(self) -> list[Effect]:
        """Ask the client to authenticate: one challenge a connection, sent when it first matters."""
        if self._challenged:
            return []
        self._challenged = True
        return [Send(m.auth(self._challenge))]

    def authenticated(self, event: Event, genuine: bool) -> list[Effect]:
        """The outcome of CheckAuth."""
        if not genuine:
            text = Prefix.INVALID.says("the signature does not fit the event")
            return [Send(m.ok(event.id, accepted=False, text=text))]
        self.pubkeys |= {event.pubkey}
        return [Send(m.ok(event.id, accepted=True, text=""))]

    def ended(self, sub_id: SubId) -> None:
        """We closed this subscription or session."""
        self._subscriptions.discard(sub_id)
        self._negotiations.discard(sub_id)

    @property
    def is_listening(self) -> bool:
        """Whether the client waits for something; a connection that does not may be closed when idle."""
        return bool(self._subscriptions or self._negotiations)

    def _request(self, sub_id: SubId, filters: tuple[Filter, ...]) -> list[Effect]:
        fault = self._filters_fault(filters)
        most = self._limits.subscriptions_max
        if fault is None and sub_id not in self._subscriptions and len(self._subscriptions) >= most:
            fault = Prefix.RATE_LIMITED.says(f"{most} subscriptions are open, which is as many as may be")
        if fault is not None:
            self._subscriptions.discard(sub_id)
            return [Unsubscribe(sub_id), Send(m.closed(sub_id, fault))]
        self._subscriptions.add(sub_id)
        return [Subscribe(sub_id, filters)]

    def _filters_fault(self, filters: tuple[Filter, ...]) -> str | None:
        if len(filters) > self._limits.filters_max:
            return Prefix.INVALID.says(f"more than {self._limits.filters_max} filters in one request")
        if sum(one.value_count for one in filters) > self._limits.filter_values_max:
            return Prefix.INVALID.says(f"more than {self._limits.filter_values_max} values in one request")
        return None

    def _negotiate(self, sub_id: SubId, wanted: Filter, opening: bytes) -> list[Effect]:
        fault = self._negotiation_fault(sub_id, wanted)
        if fault is not None:
            # NIP-77: to open a session ends the one of the same id that was open, also where the new one is refused.
            self._negotiations.discard(sub_id)
            return [CloseNegotiation(sub_id), Send(m.neg_err(sub_id, fault))]
        self._negotiations.add(sub_id)
        return [OpenNegotiation(sub_id, wanted, opening)]

    def _negotiation_fault(self, sub_id: SubId, wanted: Filter) -> str | None:
        if not self._limits.negentropy:
            return Prefix.BLOCKED.says("negentropy is turned off here")
        if wanted.limit is not None:
            return Prefix.INVALID.says("a filter to reconcile has no limit")
        most = self._limits.neg_sessions_max
        if sub_id not in self._negotiations and len(self._negotiations) >= most:
            return Prefix.RATE_LIMITED.says(f"{most} sessions are open, which is as many as may be")
        return self._filters_fault((wanted,))

    def _authenticate(self, event: Event, now: UnixTime) -> list[Effect]:
        self._auth_attempts += 1
        fault = self._auth_fault(event, now)
        if fault is not None:
            return [Send(m.ok(event.id, accepted=False, text=fault))]
        return [CheckAuth(event)]

    def _auth_fault(self, event: Event, now: UnixTime) -> str | None:
        # NIP-42: the kind, a recent time, our challenge and our URL.
        if self._auth_attempts > self._limits.auth_attempts_max:
            return Prefix.RATE_LIMITED.says("too many attempts to authenticate on this connection")
        if event.kind != CLIENT_AUTH:
            return Prefix.INVALID.says(f"an AUTH event is of kind {CLIENT_AUTH}")
        if abs(event.created_at - now) > self._limits.auth_age_s_max:
            return Prefix.INVALID.says("the AUTH event is not of now")
        if not self._challenged or event.first("challenge") != self._challenge:
            return Prefix.INVALID.says("the AUTH event does not answer the challenge of this connection")
        if not is_service_relay(event.first("relay") or "", self._domain):
            return Prefix.INVALID.says(f"the AUTH event is not for {self._domain}")
        return None
