"""A relay as it should be: NIP-01, 11, 42 (where a temper asks for it), 67 and 77. Tempers change what it says."""
# ruff: noqa: ARG002 - a hook is given what any temper may need

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from graspd.negentropy import ItemSet, NegentropyError, Responder
from graspd.nostr import messages as m
from graspd.nostr.event import Event
from graspd.nostr.filter import Filter, Matcher
from graspd.types import EventId, RelayUrl, SubId
from sim.peers.shelf import Shelf


class Reply(NamedTuple):
    """One text, so many seconds later; None hangs up."""

    delay_s: float
    text: str | None


@dataclass(frozen=True, slots=True)
class Manners:
    """What a relay of good will differs in from the next."""

    limit_max: int = 500
    subscriptions_max: int = 200
    filters_max: int = 100
    message_bytes_max: int = 128 * 1024
    tells: bool = True  # serves a NIP-11 document
    negentropy: bool = True
    frame_bytes: int = 60_000
    hints: bool = False  # NIP-67
    low_ids_first: bool = True  # of events of one second
    limits_whole_request: bool = False  # its limit counts for all filters of a request together


class Temper:
    """A way of being that departs from the relay as it should be. The base departs in nothing."""

    lasting = False  # part of an honest relay: stays when the peer is healed
    lies = False  # what a relay of this temper holds is not owed to anybody
    reconciles: bool | None = None  # whether it shows in negentropy or, where false, in pages alone

    def opening(self, talk: "Talk", now: float) -> list[Reply]:
        """What is said before anything was asked."""
        return []

    def instead(self, talk: "Talk", message: m.ClientMessage, now: float) -> list[Reply] | None:
        """The whole answer to a message, where this temper does not leave it to the relay."""
        return None

    def after(self, talk: "Talk", message: m.ClientMessage, replies: list[Reply], now: float) -> list[Reply]:
        """The answer, with what this temper does to it."""
        return replies

    def page(self, wanted: Filter, events: list[Event]) -> list[Event]:
        """The events of one answer, newest first, with what this temper does to them."""
        return events

    def claim(self, wanted: Filter, events: list[Event]) -> list[tuple[int, EventId]]:
        """What is reconciled as the set of these events."""
        return [(event.created_at, event.id) for event in events]

    def shows(self, event: Event, now: float) -> bool:
        """Whether the relay admits to having the event."""
        return True


@dataclass(eq=False, slots=True)
class Talk:
    """One connection."""

    relay: "Relay"
    subs: dict[SubId, tuple[Matcher, ...]] = field(default_factory=dict)
    sessions: dict[SubId, Responder] = field(default_factory=dict)
    filter_by_session: dict[SubId, Filter] = field(default_factory=dict)
    challenge: str = ""
    authenticated: bool = False

    def receive(self, text: str | bytes, now: float) -> list[Reply]:
        """Answer one message."""
        data = text.encode() if isinstance(text, str) else text
        message = m.parse_client_message(data)
        if isinstance(message, m.BadEvent | m.BadRequest | m.BadNegotiation | m.Unreadable):
            return [said(m.notice(message.text))]
        if len(data) > self.relay.manners.message_bytes_max:
            return [said(m.notice("error: message too large"))]
        tempers = self.relay.tempers
        for temper in tempers:
            replies = temper.instead(self, message, now)
            if replies is not None:
                break
        else:
            replies = self._answer(message, now)
        for temper in tempers:
            replies = temper.after(self, message, replies, now)
        return replies

    def _answer(self, message: m.ClientMessage, now: float) -> list[Reply]:
        match message:
            case m.Request(sub_id, filters):
                return self.request(sub_id, filters, now)
            case m.Close(sub_id):
                self.subs.pop(sub_id, None)
                return []
            case m.NegOpen(sub_id, wanted, start):
                return self._neg_open(sub_id, wanted, start, now)
            case m.NegMsg(sub_id, step):
                return self.negotiate(sub_id, step)
            case m.NegClose(sub_id):
                self.sessions.pop(sub_id, None)
                return []
            case m.Authenticate(event):
                self.authenticated = event.first("challenge") == self.challenge
                return [said(m.ok(event.id, self.authenticated, "" if self.authenticated else "invalid: challenge"))]
            case m.Count(sub_id, filters):
                return [said(m.count(sub_id, len(self.relay.found(filters, now))))]
            case m.Publish(event):
                return [said(m.ok(event.id, False, "restricted: read only"))]

    def request(self, sub_id: SubId, filters: tuple[Filter, ...], now: float) -> list[Reply]:
        """The answer to REQ."""
        manners = self.relay.manners
        if sub_id not in self.subs and len(self.subs) >= manners.subscriptions_max:
            return [said(m.closed(sub_id, "error: too many concurrent subscriptions"))]
        if len(filters) > manners.filters_max:
            return [said(m.closed(sub_id, "error: too many filters"))]
        self.subs[sub_id] = tuple(map(Matcher.of, filters))
        events, complete = self.relay.answer(filters, now)
        end = m.eose(sub_id, complete if manners.hints else None)
        return [*(Reply(0.0, event_text(sub_id, event)) for event in events), said(end)]

    def _neg_open(self, sub_id: SubId, wanted: Filter, start: bytes, now: float) -> list[Reply]:
        if not self.relay.manners.negentropy:
            return [said(m.notice("ERROR: bad msg: unknown cmd"))]
        self.sessions[sub_id] = Responder(self.relay.items(wanted, now), self.relay.manners.frame_bytes)
        self.filter_by_session[sub_id] = wanted
        return self.negotiate(sub_id, start)

    def negotiate(self, sub_id: SubId, message: bytes) -> list[Reply]:
        """One round of a session."""
        session = self.sessions.get(sub_id)
        if session is None:
            return [said(m.neg_err(sub_id, "closed: unknown subscription handle"))]
        try:
            return [said(m.neg_msg(sub_id, session.reconcile(message)))]
        except NegentropyError:
            self.sessions.pop(sub_id, None)
            return [said(m.neg_err(sub_id, "PROTOCOL-ERROR"))]


class Relay:
    """What it holds and who is connected."""

    def __init__(self, url: RelayUrl, manners: Manners, tempers: Sequence[Temper] = ()) -> None:
        self.url = url
        self.manners = manners
        self.tempers = list(tempers)
        self.shelf = Shelf(low_ids_first=manners.low_ids_first)
        self.talks: list[Talk] = []

    def connect(self, now: float) -> tuple[Talk, list[Reply]]:
        """A new connection, and what is said at its start."""
        talk = Talk(self)
        self.talks.append(talk)
        return talk, [reply for temper in self.tempers for reply in temper.opening(talk, now)]

    def disconnect(self, talk: Talk) -> None:
        """The connection is no more."""
        if talk in self.talks:
            self.talks.remove(talk)

    def publish(self, event: Event, now: float) -> list[tuple[Talk, Reply]]:
        """Take an event, and tell whoever listens."""
        if not self.shelf.put(event) or not self.shows(event, now):
            return []
        return [
            (talk, Reply(0.0, event_text(sub_id, event)))
            for talk in self.talks
            for sub_id, matchers in talk.subs.items()
            if any(matcher.matches(event) for matcher in matchers)
        ]

    def shows(self, event: Event, now: float) -> bool:
        """Whether it admits to having the event."""
        return all(temper.shows(event, now) for temper in self.tempers)

    def matching(self, wanted: Filter, now: float) -> list[Event]:
        """Everything it admits to having for a filter, newest first."""
        if not self.tempers:
            return self.shelf.matching(wanted)
        return [event for event in self.shelf.matching(wanted) if self.shows(event, now)]

    def found(self, filters: tuple[Filter, ...], now: float) -> dict[EventId, Event]:
        """Everything it has for any of these."""
        return {event.id: event for wanted in filters for event in self.matching(wanted, now)}

    def answer(self, filters: tuple[Filter, ...], now: float) -> tuple[list[Event], bool]:
        """The stored events of an answer, newest first, and whether these are all."""
        found: dict[EventId, Event] = {}
        complete = True
        for wanted in filters:
            events = self.matching(wanted, now)
            page = events[
                : self.manners.limit_max if wanted.limit is None else min(wanted.limit, self.manners.limit_max)
            ]
            for temper in self.tempers:
                page = temper.page(wanted, page)
            complete &= len(page) == len(events)
            found.update((event.id, event) for event in page)
        answer = sorted(found.values(), key=self.shelf.rank)
        if self.manners.limits_whole_request and len(answer) > self.manners.limit_max:
            return answer[: self.manners.limit_max], False
        return answer, complete

    def items(self, wanted: Filter, now: float) -> ItemSet:
        """The set that a filter selects, for reconciliation."""
        events = self.matching(wanted, now)
        claimed: list[tuple[int, EventId]] = [(event.created_at, event.id) for event in events]
        for temper in self.tempers:
            if type(temper).claim is not Temper.claim:
                claimed = temper.claim(wanted, events)
        created_at = np.array([at for at, _ in claimed], np.uint64)
        ids = np.frombuffer(bytes.fromhex("".join(event_id for _, event_id in claimed)), np.uint8).reshape(-1, 32)
        return ItemSet.from_unsorted(created_at, ids)

    def document(self) -> dict[str, Any] | None:
        """Its NIP-11 document."""
        manners = self.manners
        if not manners.tells:
            return None
        limitation = {
            "max_message_length": manners.message_bytes_max,
            "max_subscriptions": manners.subscriptions_max,
            "max_filters": manners.filters_max,
            "max_limit": manners.limit_max,
        }
        return {"supported_nips": [1, 11, *([77] if manners.negentropy else [])], "limitation": limitation}

    @property
    def lies(self) -> bool:
        """Whether it means ill."""
        return any(temper.lies for temper in self.tempers)

    def heal(self) -> None:
        """Be as it should be from now on, but for what an honest relay may be."""
        self.tempers = [temper for temper in self.tempers if temper.lasting]


def event_text(sub_id: SubId, event: Event) -> str:
    """EVENT."""
    return f"{m.event_prefix(sub_id).decode()}{event.raw.decode()}]"


def said(text: bytes, delay_s: float = 0.0) -> Reply:
    """A reply of this text."""
    return Reply(delay_s, text.decode())
