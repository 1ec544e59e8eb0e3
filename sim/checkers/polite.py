"""Polite: no peer is dialled before its backoff ends, asked more than its limits allow, or the same thing in a loop.

Keeps a model of its own of when a peer may be dialled: 5 s, 10 s, 20 s ... 1 h after failures in a row, a day once it
has failed for a day; an hour at least after it was sent to rest; 65 s without a request when it asked for that.
"""

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Final

from graspd.nostr.filter import Filter
from graspd.nostr.prefix import Prefix
from graspd.nostr.relay_messages import neg_open, req
from graspd.sync import effects as e
from graspd.sync import inputs as i
from graspd.sync.lifecycle import State, Trigger
from graspd.sync.records import PeerRecord, SavedState
from graspd.sync.reports import PeerMoved
from graspd.types import LinkId, Now, RelayUrl, SubId, UnixTime
from sim.checkers.watch import Checker, Links
from sim.own import Own
from sim.peers.rate_limiting import PLEAS

_DIALS_MAX: Final = 40  # within an hour; a link that lives five minutes at a time makes for twelve
_REPEATS_MAX: Final = 24  # eight dials within ten minutes, and what is asked on each, again when it asked who we are
_REPEATS_S: Final = 600.0
_PLEA_SLACK_S: Final = 5.0
_SLACK_S: Final = 1.0  # saved times are whole seconds


@dataclass(slots=True)
class _Peer:
    """What the model knows of one peer."""

    failures: int = 0
    failing_since: UnixTime | None = None
    dial_from: float = 0.0
    quiet_until: float = 0.0
    rest_until: float = 0.0
    dials: deque[float] = field(default_factory=deque)
    requests: deque[tuple[float, object]] = field(default_factory=deque)
    count_by_request: Counter[object] = field(default_factory=Counter)


@dataclass(slots=True)
class _Link:
    """What is open on one link."""

    opened_at: float
    terms: i.PeerTerms
    served: bool = False  # it got us everything we wanted
    subs: dict[SubId, None] = field(default_factory=dict)


class Polite(Checker):
    """Watches what goes out."""

    name = "polite"

    def __init__(self, own: Own) -> None:
        super().__init__(own)
        self._peers: dict[RelayUrl, _Peer] = {}
        self._links: dict[LinkId, _Link] = {}
        self._url_by_link = Links()
        self._ours: set[LinkId] = set()  # dialled or open, as far as the engine knows
        self._strangers: dict[RelayUrl, PeerRecord] = {}  # saved, and not met since the start
        self._strangers_until = inf
        self._failed: RelayUrl | None = None  # the peer whose failure is what the step was told

    def started(self, now: Now, saved: SavedState) -> None:  # noqa: ARG002
        """A restart resets nothing that was saved."""
        self._peers.clear()
        self._links.clear()
        self._url_by_link.clear()
        self._ours.clear()
        self._strangers = {record.url: record for record in saved.records}
        self._strangers_until = inf

    def _meet(self, now: Now, record: PeerRecord) -> None:
        """What was saved counts from when the peer is met, by the wall clock as it goes then."""
        left = min(record.health.retry_at - now.wall, int(self.own.limits.dead_retry_s))
        rest = min(record.rest_until - now.wall, int(self.own.limits.rest_s_max))
        peer = _Peer(record.health.failures, record.health.failing_since)
        peer.dial_from = now.mono + (left if record.health.failures else 0) - _SLACK_S
        peer.rest_until = now.mono + rest - _SLACK_S
        self._peers[record.url] = peer

    def stepped(self, now: Now, told: i.Input, effects: Sequence[e.Effect]) -> None:
        """Take in what happened, then judge what is asked for."""
        self._failed = None
        self._hear(now, told)
        self._url_by_link.note(effects)
        for effect in effects:
            match effect:
                case e.OpenLink(link, peer):
                    self._ours.add(link)
                    self._check_dial(now, peer)
                case e.SendReq(link, sub, filters):
                    self._check_request(now, link, sub, filters)
                case e.SendNegOpen(link, sub, wanted, message):
                    size = len(neg_open(sub, wanted, message))
                    self._check_asking(now, link, ("neg", wanted), size)
                case e.SendClose(link, sub) if link in self._links:
                    self._links[link].subs.pop(sub, None)
                case e.CloseLink(link):
                    self._end_link(now, link)
                case e.Report(PeerMoved() as moved):
                    self._note_move(now, moved)
                case _:
                    pass

    # What happened

    def _hear(self, now: Now, told: i.Input) -> None:
        match told:
            case i.LinkOpened(link, terms):
                self._links[link] = _Link(now.mono, terms or i.PeerTerms())
            case i.LinkFailed(link, _, _) | i.LinkLost(link, _, _) if link in self._ours:
                self._end_link(now, link)
                self._failed = self._url_by_link[link]
                self._note_failure(now, self._peer(self._failed))
            case i.ClosedArrived(link, sub, prefix, _):
                if link in self._links:
                    self._links[link].subs.pop(sub, None)
                if prefix is Prefix.RATE_LIMITED:
                    self._note_plea(now, link)
            case i.NoticeArrived(link, text) if text in PLEAS:
                self._note_plea(now, link)
            case i.OwnHistoryEnded():
                # Whoever was saved and is not wanted by the first sweep is forgotten.
                self._strangers_until = min(self._strangers_until, now.mono + self.own.limits.sweep_s)
            case i.PeerRetried(peer):
                self._peers.pop(peer, None)
            case _:
                pass

    def _note_failure(self, now: Now, peer: _Peer) -> None:
        limits = self.own.limits
        peer.failures += 1
        if peer.failing_since is None:
            peer.failing_since = now.wall
        delay = min(limits.backoff_s_first * 2 ** min(peer.failures - 1, 32), limits.backoff_s_max)
        if now.wall - peer.failing_since >= limits.dead_after_s:
            delay = limits.dead_retry_s
        peer.dial_from = now.mono + delay

    def _end_link(self, now: Now, link: LinkId) -> None:
        """A link that lived a while, or got us everything we wanted, ends a row of failures."""
        self._ours.discard(link)
        known = self._links.pop(link, None)
        if known is not None and (known.served or now.mono - known.opened_at >= self.own.limits.stable_s):
            peer = self._peer(self._url_by_link[link])
            peer.failures, peer.failing_since = 0, None

    def _note_plea(self, now: Now, link: LinkId) -> None:
        if link in self._links:
            peer = self._peer(self._url_by_link[link])
            # Pleas that come meanwhile answer what was asked before the first.
            if now.mono >= peer.quiet_until:
                peer.quiet_until = now.mono + self.own.limits.rate_limit_s

    def _note_move(self, now: Now, moved: PeerMoved) -> None:
        record = self._strangers.pop(moved.peer, None)
        if record is not None and now.mono < self._strangers_until:
            self._meet(now, record)
        if moved.trigger in (Trigger.FAILED, Trigger.LOST) and moved.peer != self._failed:
            # The engine gave it up by itself, which is a failure like any other.
            self._note_failure(now, self._peer(moved.peer))
        if moved.became is State.LIVE:
            for link, known in self._links.items():
                known.served |= self._url_by_link[link] == moved.peer
        if moved.became is State.RESTING:
            self._peer(moved.peer).rest_until = now.mono + self.own.limits.rest_s_first
        if moved.became is State.GONE:
            # Nobody wants it any more. Whoever wants it again begins anew; announcements cannot be made that fast.
            self._peers.pop(moved.peer, None)

    def _peer(self, url: RelayUrl) -> _Peer:
        return self._peers.setdefault(url, _Peer())

    # What is asked for

    def _check_dial(self, now: Now, url: RelayUrl) -> None:
        peer = self._peer(url)
        if now.mono < peer.dial_from - 0.01:
            self.fail(f"{url} is dialled {peer.dial_from - now.mono:.1f} s before its backoff ends")
        if now.mono < peer.rest_until - 0.01:
            self.fail(f"{url} is dialled while it rests")
        peer.dials.append(now.mono)
        while peer.dials[0] < now.mono - 3600:
            peer.dials.popleft()
        if len(peer.dials) > _DIALS_MAX:
            self.fail(f"{url} is dialled {len(peer.dials)} times within an hour")

    def _check_request(self, now: Now, link: LinkId, sub: SubId, filters: tuple[Filter, ...]) -> None:
        self._check_asking(now, link, filters, len(req(sub, filters)))
        known = self._links.get(link)
        if known is None:
            return
        known.subs[sub] = None
        url, terms = self._url_by_link[link], known.terms
        if terms.subscriptions_max is not None and len(known.subs) > max(2, terms.subscriptions_max):
            self.fail(f"{url} has {len(known.subs)} subscriptions open and allows {terms.subscriptions_max}")
        if terms.filters_max is not None and len(filters) > terms.filters_max:
            self.fail(f"{url} is sent {len(filters)} filters at once and takes {terms.filters_max}")

    def _check_asking(self, now: Now, link: LinkId, asked: object, size: int) -> None:
        url = self._url_by_link[link]
        peer, known = self._peer(url), self._links.get(link)
        # Something else it said may have been a plea to us shortly before the one counted here.
        if now.mono < peer.quiet_until - _PLEA_SLACK_S:
            self.fail(f"{url} is asked {peer.quiet_until - now.mono:.1f} s before it may be again")
        most = known.terms.message_bytes_max if known is not None else None
        if most is not None and size > max(most, self.own.limits.message_bytes_min):
            self.fail(f"{url} is sent {size} bytes and takes {most}")
        peer.requests.append((now.mono, asked))
        peer.count_by_request[asked] += 1
        while peer.requests[0][0] < now.mono - _REPEATS_S:
            _, other = peer.requests.popleft()
            peer.count_by_request[other] -= 1
            if not peer.count_by_request[other]:
                del peer.count_by_request[other]
        if peer.count_by_request[asked] > _REPEATS_MAX:
            self.fail(f"{url} is asked the same thing {_REPEATS_MAX + 1} times within {_REPEATS_S:.0f} s")
