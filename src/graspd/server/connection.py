"""One client's WebSocket: reads messages, does what the session says, sends, and drops a client that will not read."""

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Final, assert_never

from aiohttp import WSMsgType, web

from graspd.errors import QueryTimeout, StoreError
from graspd.nostr import messages as m
from graspd.nostr.event import Event, raw_id
from graspd.nostr.prefix import Prefix
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
from graspd.relay.session import Session
from graspd.rules.verdict import Reason, Verdict
from graspd.server.frames import text_frame
from graspd.server.guarded import Guarded
from graspd.server.hub import Hub
from graspd.server.ingest import DIRECT
from graspd.server.negotiations import Negotiations
from graspd.types import EventId, Monotonic, SubId

_SLICE_BYTES: Final = 256 * 1024  # of an answer, before we wait for the client to keep up
_TURN_EVENTS: Final = 64  # read from one client before the others, and those already read, have their turn

log = logging.getLogger("graspd.connection")


@dataclass(slots=True, eq=False)
class LiveSubscription:
    """A subscription that hears of new events. Until its stored events are sent it keeps them back."""

    connection: "Connection"
    prefix: bytes
    kept_back: list[Event] | None = field(default_factory=list)
    kept_back_bytes: int = 0
    sent_ids: frozenset[EventId] = frozenset()  # of the stored events sent, while a commit may still report them
    sent_until_commit: int = 0

    def deliver(self, event: Event, commit: int) -> None:
        """Send a new event, once."""
        if self.kept_back is not None:
            self.kept_back.append(event)
            self.kept_back_bytes += len(event.raw)
            self.connection.drop_if_behind(self.kept_back_bytes)
            return
        if self.sent_ids:
            if commit > self.sent_until_commit:
                self.sent_ids = frozenset()
            elif event.id in self.sent_ids:
                return
        self.connection.send(b"%b%b]" % (self.prefix, event.raw))


class Connection:
    """The shell around one `Session`."""

    def __init__(
        self, hub: Hub, session: Session, socket: web.WebSocketResponse, request: web.BaseRequest, peer: str
    ) -> None:
        self._hub = hub
        self._session = session
        self._socket = socket
        assert isinstance(request.protocol, Guarded)
        self._protocol = request.protocol
        self._transport = request.transport
        self._peer = peer
        self._subscriptions: dict[SubId, LiveSubscription] = {}
        self._negotiations = Negotiations(hub.sets, hub.limits, self._negotiation_late)
        self._outbox: list[bytes] = []
        self._heard_at = hub.clock.now().mono
        self._events_read = 0

    async def serve(self) -> None:
        """Talk until the client leaves, is idle for too long, or is let go."""
        try:
            while True:
                try:
                    message = await self._socket.receive()
                except ConnectionError:
                    return  # it left while its ping was being answered
                if message.type is WSMsgType.TEXT:
                    for effect in self._heard(message.data.encode()):
                        await self._perform(effect)
                elif message.type is WSMsgType.BINARY:
                    self.send(m.notice(Prefix.INVALID.says("messages are text")))
                else:
                    return
        finally:
            self._negotiations.close_all()
            for subscription in self._subscriptions.values():
                self._hub.index.remove(subscription)

    def is_idle(self, now: Monotonic) -> bool:
        """Whether the client has said nothing for too long and waits for nothing. A pong says nothing."""
        return now - self._heard_at > self._hub.idle_s_max and not self._session.is_listening

    def send(self, payload: bytes) -> None:
        """Send a message; those of one turn of the loop leave in one write."""
        if not self._outbox:
            asyncio.get_running_loop().call_soon(self._flush)
        self._outbox.append(text_frame(payload))

    def _flush(self) -> None:
        frames, self._outbox = self._outbox, []
        self._write(b"".join(frames))

    def _write(self, data: bytes) -> None:
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        transport.write(data)
        self.drop_if_behind(transport.get_write_buffer_size())

    def _heard(self, data: bytes) -> list[Effect]:
        now = self._hub.clock.now()
        self._heard_at = now.mono
        return self._session.receive(data, now.wall)

    async def _perform(self, effect: Effect) -> None:
        match effect:
            case Submit(event):
                self._submit(event)
                self._events_read += 1
                if self._hub.ingest.is_full:
                    await self._hub.ingest.room()
                elif self._events_read % _TURN_EVENTS == 0:
                    await asyncio.sleep(0)
            case Send(payload):
                self.send(payload)
            case Subscribe():
                await self._subscribe(effect)
            case Unsubscribe(sub_id):
                self._unsubscribe(sub_id)
            case CountStored():
                await self._count(effect)
            case CheckAuth(event):
                genuine = await self._hub.verify.verify([event])
                for answer in self._session.authenticated(event, genuine[0]):
                    await self._perform(answer)
            case OpenNegotiation() | ContinueNegotiation() | CloseNegotiation():
                await self._negotiate(effect)
            case _:
                assert_never(effect)

    def _submit(self, event: Event) -> None:
        if not self._hub.rate.take(self._peer, self._heard_at):
            verdict = Verdict(Reason.RATE, f"more than {self._hub.rate.per_minute} events a minute; slow down")
            self._answer(event, verdict)
            return
        self._hub.ingest.submit(event, lambda verdict: self._answer(event, verdict), DIRECT, self._session.pubkeys)

    def _answer(self, event: Event, verdict: Verdict) -> None:
        if verdict.reason is Reason.PROTECTED:
            for effect in self._session.challenge():
                assert isinstance(effect, Send)
                self.send(effect.payload)
        self.send(m.ok(event.id, verdict.accepted, verdict.text))

    async def _subscribe(self, wanted: Subscribe) -> None:
        self._unsubscribe(wanted.sub_id)
        subscription = LiveSubscription(self, m.event_prefix(wanted.sub_id))
        # Live opens before the stored events are read, so that nothing falls between the two.
        self._subscriptions[wanted.sub_id] = subscription
        self._hub.index.add(subscription, wanted.filters)
        try:
            page = await self._hub.store.query(wanted.filters, self._hub.limits.results_max, self._hub.clock.now().wall)
        except StoreError as error:
            self._unsubscribe(wanted.sub_id)
            self._session.ended(wanted.sub_id)
            prefix = Prefix.BLOCKED if isinstance(error, QueryTimeout) else Prefix.ERROR
            self.send(m.closed(wanted.sub_id, prefix.says(str(error))))
            return
        subscription.sent_ids = frozenset(map(raw_id, page.raws))
        subscription.sent_until_commit = self._hub.ingest.commits_started
        await self._send_stored(subscription.prefix, page.raws)
        only_live = all(one.limit == 0 for one in wanted.filters)
        self.send(m.eose(wanted.sub_id, None if only_live else page.complete))
        kept_back, subscription.kept_back = subscription.kept_back or [], None
        for event in kept_back:
            if event.id not in subscription.sent_ids:
                self.send(b"%b%b]" % (subscription.prefix, event.raw))

    async def _send_stored(self, prefix: bytes, raws: list[bytes]) -> None:
        frames: list[bytes] = []
        size, whole = 0, sum(map(len, raws))
        for raw in raws:
            frame = text_frame(b"%b%b]" % (prefix, raw))
            frames.append(frame)
            size += len(frame)
            if size > _SLICE_BYTES:
                self._outbox += frames
                self._flush()
                await self._kept_up(whole)
                frames, size = [], 0
        self._outbox += frames
        self._flush()

    async def _kept_up(self, held: int) -> None:
        """Wait until the client has read most of what it was sent; the deadline of a dead one is the heartbeat's."""
        if not self._protocol.writing_paused:
            return
        with self._hub.stalled.waiting(self._drop_stalled, held):
            await self._protocol.drained()

    def drop_if_behind(self, unsent: int) -> None:
        """Let go of a client that leaves more unread than we keep for one."""
        if unsent > self._hub.unsent_bytes_max:
            self._drop(f"it left {unsent} bytes unread")

    def _drop_stalled(self) -> None:
        self._drop("it does not read its answer, and the memory is needed")

    def _drop(self, why: str) -> None:
        if self._transport is not None and not self._transport.is_closing():
            log.info("a client at %s was dropped: %s", self._peer, why)
            self._transport.abort()

    def _unsubscribe(self, sub_id: SubId) -> None:
        subscription = self._subscriptions.pop(sub_id, None)
        if subscription is not None:
            self._hub.index.remove(subscription)

    async def _count(self, wanted: CountStored) -> None:
        try:
            number = await self._hub.store.count(wanted.filters, self._hub.clock.now().wall)
        except StoreError as error:
            self.send(m.closed(wanted.sub_id, Prefix.BLOCKED.says(str(error))))
            return
        self.send(m.count(wanted.sub_id, number))

    async def _negotiate(self, effect: OpenNegotiation | ContinueNegotiation | CloseNegotiation) -> None:
        match effect:
            case OpenNegotiation(sub_id, wanted, message):
                commit = self._hub.ingest.commits_finished
                self.send(await self._negotiations.open(sub_id, wanted, message, commit))
            case ContinueNegotiation(sub_id, message):
                self.send(await self._negotiations.proceed(sub_id, message))
            case CloseNegotiation(sub_id):
                self._negotiations.close(sub_id)
        if not self._negotiations.is_open(effect.sub_id):
            self._session.ended(effect.sub_id)

    def _negotiation_late(self, sub_id: SubId, told: bytes) -> None:
        self._session.ended(sub_id)
        self.send(told)
