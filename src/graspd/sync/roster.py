"""All peers: who there is, who is dialled when, and what becomes of a link that failed, was lost or overspent.

The only place that opens and closes links and that moves a peer from state to state. What is said on a link is in
`link`, what is wanted of a peer in `interest`.
"""

from dataclasses import replace

from graspd.sync.alarms import Alarms
from graspd.sync.budget import rest_s
from graspd.sync.desk import Desk
from graspd.sync.effects import CloseLink, OpenLink
from graspd.sync.health import failed, health_of, succeeded
from graspd.sync.inputs import PeerTerms
from graspd.sync.lifecycle import CONNECTED, State, Trigger, moved
from graspd.sync.line import OpenLine
from graspd.sync.link import Link
from graspd.sync.peer import Peer
from graspd.sync.records import PeerRecord
from graspd.sync.reports import PeerDied, PeerMoved
from graspd.sync.view import Health
from graspd.types import LinkId, Monotonic, RelayUrl


class Roster:
    """Peers by URL, links by number."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.peers: dict[RelayUrl, Peer] = {}
        self.links: dict[RelayUrl, Link] = {}
        self.alarms: Alarms[RelayUrl] = Alarms()
        self._dials: dict[LinkId, tuple[RelayUrl, Monotonic]] = {}  # with their deadline
        self._dial_by_url: dict[RelayUrl, LinkId] = {}
        self._url_by_link: dict[LinkId, RelayUrl] = {}
        self._waiting: dict[RelayUrl, None] = {}  # due, but there are enough dials in flight
        self._admitted = 0

    @property
    def dials(self) -> int:
        """Dials in flight."""
        return len(self._dials)

    def link_of(self, link: LinkId) -> Link | None:
        """The open link of this number."""
        url = self._url_by_link.get(link)
        return None if url is None else self.links[url]

    def dialled(self, link: LinkId) -> Peer | None:
        """The peer that this link was to reach, while it is being dialled."""
        dial = self._dials.get(link)
        return None if dial is None else self.peers[dial[0]]

    # Coming and going

    def meet(self, record: PeerRecord, *, bootstrap: bool) -> Peer:
        """A relay is wanted for the first time; it is parked until it is admitted."""
        peer = Peer(record, self._desk.limits, self._desk.now)
        peer.bootstrap = bootstrap
        self.peers[peer.url] = peer
        self._desk.unsaved.changed(peer.url)
        return peer

    def admit(self, peer: Peer) -> None:
        """There is room for it."""
        self._admitted += 1
        self._move(peer, Trigger.ADMITTED)
        if peer.rest_until is not None:
            peer.dial_at = max(peer.dial_at, peer.rest_until)
        self.watch(peer)

    @property
    def has_room(self) -> bool:
        """Whether one more peer may be admitted."""
        return self._admitted < self._desk.limits.peers_max

    def crowd_out(self, peer: Peer) -> None:
        """Another peer has a better claim to its room."""
        self._hang_up(peer)
        self._admitted -= 1
        self._move(peer, Trigger.CROWDED_OUT)
        self.watch(peer)

    def drop(self, peer: Peer) -> None:
        """Nothing wants it any more."""
        self._hang_up(peer)
        self._admitted -= peer.state is not State.PARKED
        self._move(peer, Trigger.DROPPED)
        self.alarms.set(peer.url, None)
        del self.peers[peer.url]
        self._desk.unsaved.forgot(peer.url)

    def _hang_up(self, peer: Peer) -> None:
        """Close its link or give up dialling it, where there is one."""
        self._waiting.pop(peer.url, None)
        dial = self._dial_by_url.get(peer.url)
        if dial is not None:
            self._end_dial(dial)
            self._desk.emit(CloseLink(dial))
        link = self.links.get(peer.url)
        if link is not None:
            self._desk.emit(CloseLink(link.line.link))
            self._unlink(peer, link)

    # Dialling

    def retry(self, peer: Peer) -> None:
        """An operator wants it tried now."""
        if peer.state is State.WAITING:
            peer.dial_at = self._desk.now.mono
            self.watch(peer)

    def watch(self, peer: Peer) -> None:
        """Set the alarm of a peer to the next thing that time does to it."""
        self.alarms.set(peer.url, self._deadline(peer))

    def _deadline(self, peer: Peer) -> Monotonic | None:
        match peer.state:
            case State.WAITING:
                return None if peer.url in self._waiting else peer.dial_at
            case State.DIALING:
                return self._dials[self._dial_by_url[peer.url]][1]
            case State.SYNCING | State.LIVE:
                return self.links[peer.url].deadline()
            case State.RESTING:
                return peer.rest_until
            case State.PARKED | State.GONE:
                return None

    def tick(self, peer: Peer) -> None:
        """Its alarm has gone off."""
        now = self._desk.now.mono
        match peer.state:
            case State.WAITING if peer.dial_at <= now:
                self._dial(peer)
            case State.DIALING if self._dials[self._dial_by_url[peer.url]][1] <= now:
                link = self._dial_by_url[peer.url]
                self._desk.emit(CloseLink(link))
                self.failed(link, "no answer to the dial")
            case State.RESTING if peer.rest_until is not None and peer.rest_until <= now:
                self._wake(peer)
            case State.SYNCING | State.LIVE:
                self.links[peer.url].tick()
                self.pump(peer)
                return
            case _:
                pass
        self.watch(peer)

    def _dial(self, peer: Peer) -> None:
        if len(self._dials) >= self._desk.limits.dials_at_once_max:
            self._waiting[peer.url] = None
            return
        link = self._desk.link()
        self._dials[link] = (peer.url, Monotonic(self._desk.now.mono + self._desk.limits.dial_s_max))
        self._dial_by_url[peer.url] = link
        peer.tally.attempted()
        self._move(peer, Trigger.DUE)
        self._desk.emit(OpenLink(link, peer.url))
        self._desk.unsaved.changed(peer.url)

    def _end_dial(self, link: LinkId) -> Peer:
        url, _ = self._dials.pop(link)
        del self._dial_by_url[url]
        if self._waiting:
            following = next(iter(self._waiting))
            del self._waiting[following]
            self.alarms.set(following, self._desk.now.mono)
        return self.peers[url]

    def _wake(self, peer: Peer) -> None:
        peer.rest_until = None
        peer.budget.renew(self._desk.now.mono)
        peer.dial_at = self._desk.now.mono
        self._move(peer, Trigger.RESTED)

    # Links

    def opened(self, link: LinkId, terms: PeerTerms | None) -> None:
        """A dial has succeeded."""
        peer = self._end_dial(link)
        peer.tally.went(up=True, now=self._desk.now.mono)
        self._move(peer, Trigger.OPENED)
        session = Link(OpenLine(link, peer, self._desk, terms), peer, self._desk)
        self.links[peer.url] = session
        self._url_by_link[link] = peer.url
        session.begin()
        self._desk.unsaved.changed(peer.url)
        self.pump(peer)

    def failed(self, link: LinkId, why: str) -> None:
        """A dial has failed."""
        peer = self._end_dial(link)
        self._back_off(peer, why)
        self._move(peer, Trigger.FAILED, why)
        self.watch(peer)

    def lost(self, peer: Peer, why: str, delay_s_min: float = 0.0) -> None:
        """An open link is no more."""
        link = self.links[peer.url]
        self._credit(peer, link)
        self._unlink(peer, link)
        self._back_off(peer, why, delay_s_min)
        self._move(peer, Trigger.LOST, why)
        self.watch(peer)

    def _unlink(self, peer: Peer, link: Link) -> None:
        self.note_seen(peer)
        del self.links[peer.url]
        del self._url_by_link[link.line.link]
        link.end()
        peer.unlink(self._desk.interest)
        peer.tally.went(up=False, now=self._desk.now.mono)
        self._desk.unsaved.changed(peer.url)

    def note_seen(self, peer: Peer) -> None:
        """Its link is live now, and nothing that was confirmed is owed: up to here, live has brought everything."""
        link = self.links.get(peer.url)
        if link is not None and not link.owes:
            peer.seen_at = self._desk.now.wall

    def _credit(self, peer: Peer, link: Link) -> None:
        """A link that lived a while was a success. One that got us all we want and broke was none, nor is it dead."""
        if self._desk.now.mono - link.opened.mono >= self._desk.limits.stable_s:
            peer.health = succeeded()
        elif link.caught_up_once:
            peer.health = replace(peer.health, failing_since=None)

    def credit_stable(self, peer: Peer) -> None:
        """Look whether its link has become a success."""
        link = self.links.get(peer.url)
        if link is not None and peer.health.failures:
            self._credit(peer, link)
            self._desk.unsaved.changed(peer.url)

    def _back_off(self, peer: Peer, why: str, delay_s_min: float = 0.0) -> None:
        desk = self._desk
        was_dead = health_of(peer.health, desk.now.wall, desk.limits) is Health.DEAD and peer.health.failures > 1
        backoff = failed(peer.health, desk.now.wall, desk.limits, desk.entropy, delay_s_min)
        peer.health = backoff.record
        peer.dial_at = Monotonic(desk.now.mono + backoff.delay_s)
        peer.last_fault = why
        peer.tally.failed()
        self._desk.unsaved.changed(peer.url)
        dead = health_of(peer.health, desk.now.wall, desk.limits) is Health.DEAD
        if dead and not was_dead and peer.health.failing_since is not None:
            desk.report(PeerDied(peer.url, desk.now.wall - peer.health.failing_since))

    # Going on

    def pump(self, peer: Peer) -> None:
        """Let a connected peer do what it can, and draw the consequences."""
        link = self.links.get(peer.url)
        if link is None:
            return
        if self._is_over(peer, link):
            return
        link.pump()
        if self._is_over(peer, link):
            return
        if link.is_caught_up != (peer.state is State.LIVE):
            self._move(peer, Trigger.CAUGHT_UP if link.is_caught_up else Trigger.FELL_BEHIND)
        self.watch(peer)

    def _is_over(self, peer: Peer, link: Link) -> bool:
        if peer.budget.left(self._desk.now.mono) <= 0:
            self._rest(peer, link)
            return True
        if link.line.unwelcome:
            self._desk.emit(CloseLink(link.line.link))
            self.lost(peer, "authentication refused", delay_s_min=self._desk.limits.unwelcome_s)
            return True
        if link.line.is_silent:
            self._desk.emit(CloseLink(link.line.link))
            self.lost(peer, "no sign of life")
            return True
        return False

    def _rest(self, peer: Peer, link: Link) -> None:
        self._desk.emit(CloseLink(link.line.link))
        self._unlink(peer, link)
        peer.rests += 1
        peer.rest_until = Monotonic(self._desk.now.mono + rest_s(peer.rests, self._desk.limits))
        peer.last_fault = "misbehaved"
        self._move(peer, Trigger.OVERSPENT)
        self.watch(peer)

    def begin_daily(self, peer: Peer) -> None:
        """Check everything with it again."""
        self.links[peer.url].begin_daily()
        self._desk.unsaved.changed(peer.url)
        self.pump(peer)

    def catch_up_missed(self) -> None:
        """What live brought could not be stored nor kept: it is asked for again, now or when the link is back."""
        missed, self._desk.missed = self._desk.missed, {}
        for url, at in missed.items():
            peer = self.peers.get(url)
            if peer is None:
                continue
            if url in self.links:
                self.links[url].owe_everything(at)
                self._desk.touched[url] = None
            elif peer.seen_at is not None:
                peer.seen_at = min(peer.seen_at, at)

    def clock_set_back(self) -> None:
        """What was asked from some time on was asked wrongly."""
        for url, link in self.links.items():
            link.clock_set_back()
            self._desk.touched[url] = None

    def stop(self) -> None:
        """Close every link; what is worth keeping was noted before."""
        for peer in list(self.peers.values()):
            if peer.state in CONNECTED or peer.state is State.DIALING:
                self._hang_up(peer)

    def _move(self, peer: Peer, trigger: Trigger, why: str = "") -> None:
        was = peer.state
        peer.state = moved(was, trigger)
        failures, retry_s = 0, 0.0
        if trigger in (Trigger.FAILED, Trigger.LOST):
            failures, retry_s = peer.health.failures, peer.dial_at - self._desk.now.mono
        self._desk.report(PeerMoved(peer.url, was, trigger, peer.state, why, failures, retry_s))
