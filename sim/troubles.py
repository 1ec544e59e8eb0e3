"""What befalls peers and ourselves during the time of troubles, and how it ends."""

from collections.abc import Callable, Iterable
from functools import partial
from random import Random
from typing import Final

from graspd.nostr.event import Event
from graspd.sync.inputs import LinkFault
from graspd.sync.records import SavedState
from graspd.types import RelayUrl
from sim.faults import Fault, Faults
from sim.network import Rates, Site
from sim.options import Options
from sim.own import Own
from sim.timeline import Timeline

_REFUSALS: Final = {
    Fault.REFUSED: LinkFault.REFUSED,
    Fault.NAME: LinkFault.NAME,
    Fault.TLS: LinkFault.TLS,
    Fault.HANDSHAKE: LinkFault.HANDSHAKE,
}


class Troubles:
    """Scheduled by chance, as often as the options say."""

    def __init__(self, timeline: Timeline, rng: Random, faults: Faults, own: Own, options: Options) -> None:
        self._timeline = timeline
        self._rng = rng
        self._faults = faults
        self._own = own
        self._options = options
        self._over = False
        self._ways = self._enabled_ways()
        self._own_ways = self._enabled_own_ways()

    def begin(self) -> None:
        """Let them come."""
        if self._ways:
            for site in self._own.network.sites.values():
                if self._options.restless and self._rng.random() < 0.5:
                    self._hang(site)
                self._next(self._options.trouble_s, partial(self._befall, site))
        if self._own_ways:
            self._next(self._options.own_trouble_s, self._befall_us)

    def _befall(self, site: Site) -> None:
        self._rng.choice(self._ways)(site)

    def _befall_us(self) -> None:
        self._rng.choice(self._own_ways)()

    def end(self, core: Iterable[RelayUrl]) -> None:
        """Heal the core and ourselves for good. The rest goes on as it is, or is down for good."""
        self._over = True
        self._own.machine.conditions.failing = False
        self._own.machine.conditions.lag_share = 0.0
        if self._own.engine is None:
            self._own.start()
        for url, site in self._own.network.sites.items():
            if url in core:
                self._heal(site)
            elif not self._options.others_stay:
                self._go_down(site, LinkFault.REFUSED)

    def _heal(self, site: Site) -> None:
        site.relay.heal()
        site.refusal, site.hangs, site.half_open_share, site.rates = None, False, 0.0, Rates()
        for line in self._own.network.lines_to(site.relay.url):
            if line.half_open:
                self._own.network.lose(line, LinkFault.SILENT)

    def _next(self, mean_s: float, trouble: Callable[[], None]) -> None:
        def strike() -> None:
            if not self._over:
                trouble()
                self._next(mean_s, trouble)

        self._timeline.after(self._rng.expovariate(1 / mean_s), strike)

    def _later(self, delay_s: float, action: Callable[[], None]) -> None:
        def run() -> None:
            if not self._over:
                action()

        self._timeline.after(delay_s, run)

    # Peers

    def _enabled_ways(self) -> list[Callable[[Site], None]]:
        ways: list[Callable[[Site], None]] = []
        for fault, way in (
            (Fault.DOWN, self._down),
            (Fault.DIAL_HANG, self._hang),
            (Fault.RESET, self._reset),
            (Fault.HALF_OPEN, self._fall_silent),
            (Fault.WIPED, self._wipe),
            (Fault.RESTORED, self._restore),
            (Fault.BANNED, self._ban),
        ):
            if fault in self._faults:
                ways.append(way)
        return ways

    def _down(self, site: Site) -> None:
        self._faults.saw(Fault.DOWN)
        how = [refusal for fault, refusal in _REFUSALS.items() if fault in self._faults] or [LinkFault.REFUSED]
        self._go_down(site, self._rng.choice(how))
        self._later(10 ** self._rng.uniform(1, 5.2), lambda: self._come_back(site))

    def _ban(self, site: Site) -> None:
        self._faults.saw(Fault.BANNED)
        self._go_down(site, LinkFault.HANDSHAKE)
        self._later(10 ** self._rng.uniform(3, 5), lambda: self._come_back(site))

    def _go_down(self, site: Site, how: LinkFault) -> None:
        site.refusal = how
        self._lose_lines(site, LinkFault.CLOSED)

    def _come_back(self, site: Site) -> None:
        site.refusal, site.hangs = None, False

    def _hang(self, site: Site) -> None:
        site.hangs = True
        self._lose_lines(site, LinkFault.NETWORK)
        self._later(10 ** self._rng.uniform(1, 4), lambda: self._come_back(site))

    def _reset(self, site: Site) -> None:
        self._faults.saw(Fault.RESET)
        self._lose_lines(site, LinkFault.NETWORK)

    def _fall_silent(self, site: Site) -> None:
        """The link goes half open in the middle of its life; our pings notice after a minute."""
        for line in self._own.network.lines_to(site.relay.url):
            if not line.half_open and line.talk is not None:
                self._faults.saw(Fault.HALF_OPEN)
                line.half_open = True
                self._timeline.after(60, partial(self._own.network.lose, line, LinkFault.SILENT))

    def _wipe(self, site: Site) -> None:
        self._faults.saw(Fault.WIPED)
        site.relay.shelf.clear()

    def _restore(self, site: Site) -> None:
        """Back to what it had a while ago; what it lost meanwhile is there again, and nobody is told."""
        kept: list[Event] = [*site.relay.shelf.events.values()]

        def restore() -> None:
            self._faults.saw(Fault.RESTORED)
            site.relay.shelf.clear()
            for event in kept:
                site.relay.shelf.put(event)

        self._later(self._rng.uniform(60, 7200), restore)

    def _lose_lines(self, site: Site, fault: LinkFault) -> None:
        for line in self._own.network.lines_to(site.relay.url):
            self._own.network.lose(line, fault)

    # Ourselves

    def _enabled_own_ways(self) -> list[Callable[[], None]]:
        ways: list[Callable[[], None]] = []
        for fault, way in (
            (Fault.CRASH, self._crash),
            (Fault.STOPPED, self._stop),
            (Fault.STORE_FAILED, self._fail_store),
            (Fault.SLOW_DISK, self._slow_disk),
            (Fault.FEED_LAGGED, self._lag),
            (Fault.CLOCK_STEPPED, self._step_clock),
        ):
            if fault in self._faults:
                ways.append(way)
        return ways

    def _crash(self) -> None:
        """At any time, or in the middle of the next commit."""
        if self._rng.random() < 0.5:
            self._die()
        else:
            self._own.machine.trap = self._die

    def _die(self) -> None:
        if self._own.engine is not None and not self._over:
            self._own.crash()
            self._damage_state()
            self._later(10 ** self._rng.uniform(0, 3.5), self._restart)

    def _stop(self) -> None:
        if self._own.engine is not None:
            self._own.stop()
            self._later(10 ** self._rng.uniform(0, 3.5), self._restart)

    def _restart(self) -> None:
        if self._own.engine is None:
            self._own.start()

    def _damage_state(self) -> None:
        disk = self._own.machine.disk
        if Fault.STATE_LOST in self._faults and self._rng.random() < 0.4:
            self._faults.saw(Fault.STATE_LOST)
            disk.restore(SavedState())
        elif Fault.STATE_OLD in self._faults and self._rng.random() < 0.6:
            self._faults.saw(Fault.STATE_OLD)
            disk.restore(self._rng.choice([*disk.older]))

    def _fail_store(self) -> None:
        self._own.machine.conditions.failing = True
        self._later(10 ** self._rng.uniform(1, 3.3), self._mend_store)

    def _mend_store(self) -> None:
        self._own.machine.conditions.failing = False

    def _slow_disk(self) -> None:
        self._faults.saw(Fault.SLOW_DISK)
        self._own.machine.conditions.disk_s = (0.1, self._rng.uniform(0.5, 10))
        self._later(10 ** self._rng.uniform(1, 3), self._mend_disk)

    def _mend_disk(self) -> None:
        self._own.machine.conditions.disk_s = (0.001, 0.05)

    def _lag(self) -> None:
        self._own.machine.conditions.lag_share = self._rng.uniform(0.05, 0.5)

    def _step_clock(self) -> None:
        self._faults.saw(Fault.CLOCK_STEPPED)
        self._own.clock_ahead_s = self._rng.choice((0, -3600, -60, 60, 3600, 86_400, -86_400))
