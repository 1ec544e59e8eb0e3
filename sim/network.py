"""Links between us and the peers, in virtual time: latency, order, loss, and every way in which a link can end.

Speaks texts with the relays and inputs with the engine, by the same parser as the real links. What goes wrong on a
link is decided here and by its `Site`; what a peer says wrongly is its temper's doing.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Final
from urllib.parse import urlsplit

from graspd.nostr import messages as m
from graspd.nostr.event import Event
from graspd.nostr.kinds import CLIENT_AUTH
from graspd.nostr.relay_messages import RelayAuth, parse_relay_message
from graspd.nostr.relay_messages import auth as auth_text
from graspd.sync import inputs as i
from graspd.types import EventId, LinkId, RelayUrl, SubId
from sim.content import author, make
from sim.faults import Fault, Faults
from sim.hearing import heard, terms_of
from sim.peers.relay import Relay, Reply, Talk, event_text
from sim.timeline import EPOCH, Timeline

_OWN_KEY: Final = author("the service")
_DIAL_S: Final = 15.0  # how long a shell tries
_SILENCE_S: Final = 60.0  # without a pong, a link is lost
_SPONTANEOUS_S: Final = 60.0  # what a peer says this much later is no answer, and holds up none
_PRIVATE_HOSTS: Final = ("127.", "10.", "169.254.", "::1", "localhost")


@dataclass(slots=True)
class Rates:
    """How often delivery goes wrong, each a share of the messages."""

    drop: float = 0.0
    double: float = 0.0
    reorder: float = 0.0
    garble: float = 0.0
    wrong_sub: float = 0.0
    unsolicited: float = 0.0
    reset: float = 0.0
    oversized: float = 0.0


@dataclass(slots=True)
class Site:
    """Where a relay is, and how it is reached at present."""

    relay: Relay
    latency_s: tuple[float, float] = (0.01, 0.1)
    refusal: i.LinkFault | None = None
    hangs: bool = False
    half_open_share: float = 0.0
    rates: Rates = field(default_factory=Rates)


@dataclass(eq=False, slots=True)
class Line:
    """One link."""

    link: LinkId
    site: Site
    talk: Talk | None = None
    half_open: bool = False
    up_at: float = 0.0  # when the last text sent arrives there
    down_at: float = 0.0  # when the last text said arrives here
    challenge: str = ""
    auth_id: EventId | None = None
    closed_subs: set[SubId] = field(default_factory=set)


_REFUSALS: Final = {
    i.LinkFault.REFUSED: Fault.REFUSED,
    i.LinkFault.NAME: Fault.NAME,
    i.LinkFault.TLS: Fault.TLS,
    i.LinkFault.HANDSHAKE: Fault.HANDSHAKE,
    i.LinkFault.FORBIDDEN: Fault.FORBIDDEN,
}


class Network:
    """All sites and all open lines."""

    def __init__(self, timeline: Timeline, rng: Random, faults: Faults, tell: Callable[[i.Input], None]) -> None:
        self._timeline = timeline
        self._rng = rng
        self._faults = faults
        self._tell = tell
        self.sites: dict[RelayUrl, Site] = {}
        self._lines: dict[LinkId, Line] = {}
        self._line_by_talk: dict[Talk, Line] = {}
        self._life = 0

    # What the engine asks for

    def open(self, link: LinkId, url: RelayUrl) -> None:
        """Dial."""
        site = self.sites.get(url)
        if site is None:
            private = (urlsplit(url).hostname or "").startswith(_PRIVATE_HOSTS)
            self._refuse(link, i.LinkFault.FORBIDDEN if private else i.LinkFault.NAME, 0.05)
            return
        if site.hangs:
            self._faults.saw(Fault.DIAL_HANG)
            if self._rng.random() < 0.5:
                self._later(_DIAL_S, i.LinkFailed(link, i.LinkFault.TIMEOUT))
            return
        if site.refusal is not None:
            self._refuse(link, site.refusal, self._latency(site))
            return
        line = Line(link, site)
        self._lines[link] = line
        self._timeline.after(2 * self._latency(site), lambda: self._opened(line))

    def _refuse(self, link: LinkId, fault: i.LinkFault, after_s: float) -> None:
        self._faults.saw(_REFUSALS[fault])
        self._later(after_s, i.LinkFailed(link, fault))

    def _opened(self, line: Line) -> None:
        if self._lines.get(line.link) is not line:
            return
        site = line.site
        line.half_open = self._rng.random() < site.half_open_share
        line.up_at = line.down_at = self._timeline.now
        line.talk, opening = site.relay.connect(self._timeline.now)
        self._line_by_talk[line.talk] = line
        if line.half_open:
            self._faults.saw(Fault.HALF_OPEN)
            self._timeline.after(_SILENCE_S, lambda: self.lose(line, i.LinkFault.SILENT))
        document = site.relay.document()
        self._tell(i.LinkOpened(line.link, None if document is None else terms_of(document)))
        for reply in opening:
            self._say(line, reply)

    def close(self, link: LinkId) -> None:
        """Hang up."""
        line = self._lines.pop(link, None)
        if line is not None and line.talk is not None:
            line.site.relay.disconnect(line.talk)
            del self._line_by_talk[line.talk]

    def send(self, link: LinkId, text: bytes) -> None:
        """Send a text to the peer."""
        line = self._lines.get(link)
        if line is None or line.talk is None or line.half_open:
            return
        if self._rng.random() < line.site.rates.reset:
            self._faults.saw(Fault.RESET)
            self.lose(line, i.LinkFault.NETWORK)
            return
        line.up_at = max(line.up_at, self._timeline.now + self._latency(line.site))
        self._timeline.at(line.up_at, lambda: self._arrive(line, text))

    def ended(self, link: LinkId, sub: SubId) -> None:
        """A subscription has ended on our side; the same name may be used again."""
        line = self._lines.get(link)
        if line is not None:
            line.closed_subs.add(sub)

    def authenticate(self, link: LinkId) -> None:
        """Answer the newest challenge."""
        line = self._lines.get(link)
        if line is None:
            return
        tags = [["relay", line.site.relay.url], ["challenge", line.challenge]]
        event = make(CLIENT_AUTH, _OWN_KEY, int(EPOCH + self._timeline.now), tags)
        line.auth_id = event.id
        self.send(link, auth_text(event))

    # What the world does

    def publish(self, url: RelayUrl, event: Event) -> None:
        """Somebody publishes to a relay."""
        for talk, reply in self.sites[url].relay.publish(event, self._timeline.now):
            self._say(self._line_by_talk[talk], reply)

    def lines_to(self, url: RelayUrl) -> list[Line]:
        """The lines to a relay that are open or being opened."""
        return [line for line in self._lines.values() if line.site.relay.url == url]

    def lose(self, line: Line, fault: i.LinkFault) -> None:
        """The line breaks."""
        if self._lines.get(line.link) is not line:
            return
        was_open = line.talk is not None
        self.close(line.link)
        ending = i.LinkLost(line.link, fault) if was_open else i.LinkFailed(line.link, fault)
        self._later(0.0, ending)

    def drop_all(self) -> None:
        """We are gone: every line ends, and nobody is left to be told."""
        self._life += 1
        for link in [*self._lines]:
            self.close(link)

    # Delivery

    def _arrive(self, line: Line, text: bytes) -> None:
        if line.talk is None or self._lines.get(line.link) is not line:
            return
        for reply in line.talk.receive(text, self._timeline.now):
            self._say(line, reply)

    def _say(self, line: Line, reply: Reply) -> None:
        """Bring one reply on its way to us, with what becomes of it there."""
        at = max(line.down_at, self._timeline.now + reply.delay_s + self._latency(line.site))
        rates, chance = line.site.rates, self._rng.random
        if reply.text is None:
            self._timeline.at(at, lambda: self.lose(line, i.LinkFault.CLOSED))
            return
        if line.half_open:
            return
        text = reply.text
        if chance() < rates.drop:
            self._faults.saw(Fault.DROPPED)
            return
        if chance() < rates.oversized:
            self._faults.saw(Fault.OVERSIZED)
            self._timeline.at(at, lambda: self.lose(line, i.LinkFault.OVERSIZED))
            return
        if chance() < rates.reorder:
            self._faults.saw(Fault.REORDERED)
            at += self._rng.uniform(0, 3)
        elif reply.delay_s < _SPONTANEOUS_S:
            line.down_at = at
        text = self._mangled(text, rates)
        self._timeline.at(at, lambda: self._deliver(line, text))
        if chance() < rates.double:
            self._faults.saw(Fault.DOUBLED)
            self._timeline.at(at, lambda: self._deliver(line, text))
        if chance() < rates.unsolicited:
            self._faults.saw(Fault.UNSOLICITED)
            self._timeline.at(at, lambda: self._deliver(line, self._unsolicited()))

    def _mangled(self, text: str, rates: Rates) -> str:
        if self._rng.random() < rates.garble:
            self._faults.saw(Fault.GARBLED)
            return self._rng.choice((text[: len(text) // 2], "[]", '["EVENT"]', "null", '["WHAT","?"]', ""))
        if self._rng.random() < rates.wrong_sub and text.startswith(('["EVENT","', '["EOSE","')):
            self._faults.saw(Fault.WRONG_SUB)
            return text.replace(',"', ',"x', 1)
        return text

    def _unsolicited(self) -> str:
        event = make(1, author("nobody"), EPOCH, [["t", "unsolicited"]], str(self._rng.random()))
        if self._rng.random() < 0.5:
            return m.ok(event.id, True, "").decode()
        return event_text(SubId("nobody asked"), event)

    def _deliver(self, line: Line, text: str) -> None:
        if self._lines.get(line.link) is not line:
            return
        message = parse_relay_message(text)
        told = heard(line.link, message, line.auth_id)
        if isinstance(message, RelayAuth):
            line.challenge = message.challenge
        if isinstance(told, i.EventArrived | i.EoseArrived) and told.sub in line.closed_subs:
            self._faults.saw(Fault.AFTER_CLOSE)
        self._tell(told)

    def _later(self, delay_s: float, told: i.Input) -> None:
        life = self._life

        def tell() -> None:
            if self._life == life:
                self._tell(told)

        self._timeline.after(delay_s, tell)

    def _latency(self, site: Site) -> float:
        return self._rng.uniform(*site.latency_s)
