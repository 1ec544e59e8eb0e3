"""Our side of the world: the engine, and the shell that joins it to the network and to our own machine.

The one place where the engine is stepped. It crashes when told to and starts again from what the disk holds.
"""

from collections.abc import Sequence
from random import Random
from typing import Final, Protocol

from graspd.nostr import messages as m
from graspd.nostr import relay_messages as r
from graspd.nostr.event import Event
from graspd.rules.policy import Policy
from graspd.rules.verdict import Verdict
from graspd.sync import effects as e
from graspd.sync import inputs as i
from graspd.sync.engine import SyncEngine
from graspd.sync.limits import SyncLimits
from graspd.sync.records import SavedState
from graspd.types import Monotonic, Now, RelayUrl, UnixTime
from sim.faults import Fault, Faults
from sim.machine import Machine
from sim.network import Network
from sim.timeline import EPOCH, Timeline
from sim.trace import Trace
from sim.violation import Violation

_SPINS_MAX: Final = 5000  # steps without the clock moving
# In a whole run: a world more restless than this is one that somebody keeps busy for nothing.
_STEPS_MAX: Final = 150_000
_STEPS_AN_HOUR: Final = 8000  # and these: where a peer takes few filters, what they leave out is looked at in turn


class Watcher(Protocol):
    """Sees everything that our side does."""

    def started(self, now: Now, saved: SavedState) -> None:
        """The engine begins, with this state."""

    def stepped(self, now: Now, told: i.Input, effects: Sequence[e.Effect]) -> None:
        """The engine was told something and answered."""

    def answered(self, event: Event, verdict: Verdict) -> None:
        """A client was told what became of its event."""


class Own:
    """Us."""

    def __init__(
        self, timeline: Timeline, rng: Random, faults: Faults, policy: Policy, limits: SyncLimits, trace: Trace
    ) -> None:
        self._timeline = timeline
        self._rng = rng
        self._faults = faults
        self._policy = policy
        self.limits = limits
        self._trace = trace
        self.network = Network(timeline, Random(rng.random()), faults, self.step)
        self.machine = Machine(timeline, Random(rng.random()), faults, policy, lambda: self.now().wall, self.step)
        self.bootstrap: tuple[RelayUrl, ...] = ()
        self.watchers: list[Watcher] = []
        self.engine: SyncEngine | None = None
        self.clock_ahead_s = 0
        self._mono_offset = 0.0
        self._tick_at: float | None = None
        self._spun_at = -1.0
        self._spins = 0
        self._steps = 0

    # Life and death

    def start(self) -> None:
        """Begin with what the disk holds."""
        assert self.engine is None
        # A monotonic clock says nothing across a restart.
        self._mono_offset = self._rng.uniform(0, 1e6)
        saved = self.machine.disk.state()
        self.engine = SyncEngine(self._policy, self.limits, saved, Random(self._rng.random()))
        self._trace.note(self._timeline.now, f"start {len(saved.records)} records {len(saved.marks)} marks")
        for watcher in self.watchers:
            watcher.started(self.now(), saved)
        self.step(i.BootstrapConfigured(self.bootstrap))

    def crash(self) -> None:
        """Die at once."""
        self._trace.note(self._timeline.now, "crash")
        self._faults.saw(Fault.CRASH)
        self.machine.crash()
        self._die()

    def stop(self) -> None:
        """End in good order."""
        self._trace.note(self._timeline.now, "stop")
        self._faults.saw(Fault.STOPPED)
        self.step(i.Stopping())
        self.machine.stop()
        self._die()

    def _die(self) -> None:
        self.engine = None
        self._tick_at = None
        self.network.drop_all()

    # Steps

    def now(self) -> Now:
        """The time by our own two clocks."""
        at = self._timeline.now
        return Now(Monotonic(at + self._mono_offset), UnixTime(int(EPOCH + at) + self.clock_ahead_s))

    def step(self, told: i.Input) -> None:
        """Tell the engine something and do what it asks."""
        if self.engine is None:
            return
        now = self.now()
        effects = self.engine.step(told, now)
        self._trace.step(self._timeline.now, told, effects)
        for watcher in self.watchers:
            watcher.stepped(now, told, effects)
        self._count_spins()
        for effect in effects:
            self._perform(effect)
        self._set_tick()

    def _count_spins(self) -> None:
        if self._timeline.now != self._spun_at:
            self._spun_at, self._spins = self._timeline.now, 0
        self._spins += 1
        self._steps += 1
        if self._spins > _SPINS_MAX:
            raise Violation("bounded", f"{_SPINS_MAX} steps at one instant")
        if self._steps > _STEPS_MAX + _STEPS_AN_HOUR * self._timeline.now / 3600:
            raise Violation("bounded", f"{self._steps} steps and no end")

    def _set_tick(self) -> None:
        assert self.engine is not None
        deadline = self.engine.next_deadline()
        if deadline is None:
            return
        # A hair late: adding and subtracting the offset of our clock rounds.
        at = max(self._timeline.now, deadline - self._mono_offset + 1e-6)
        if self._tick_at is None or at < self._tick_at:
            self._tick_at = at
            self._timeline.at(at, self.machine.alive(lambda: self._tick(at)))

    def _tick(self, at: float) -> None:
        """The deadline may have moved since this was scheduled."""
        if at != self._tick_at:
            return
        self._tick_at = None
        assert self.engine is not None
        deadline = self.engine.next_deadline()
        if deadline is not None and deadline <= self.now().mono:
            self.step(i.Ticked())
        else:
            self._set_tick()

    def _perform(self, effect: e.Effect) -> None:
        network = self.network
        match effect:
            case e.OpenLink(link, peer):
                network.open(link, peer)
            case e.CloseLink(link):
                network.close(link)
            case e.SendAuth(link):
                network.authenticate(link)
            case e.SendReq(link, sub, filters):
                network.send(link, r.req(sub, filters))
            case e.SendClose(link, sub):
                network.ended(link, sub)
                network.send(link, r.close(sub))
            case e.SendNegOpen(link, sub, wanted, message):
                network.send(link, r.neg_open(sub, wanted, message))
            case e.SendNegMsg(link, sub, message):
                network.send(link, m.neg_msg(sub, message))
            case e.SendNegClose(link, sub):
                network.ended(link, sub)
                network.send(link, r.neg_close(sub))
            case e.Report():
                pass
            case _:
                self.machine.perform(effect)

    # Clients of ours

    def publish(self, event: Event) -> None:
        """A client publishes to us; nobody is there to take it while we are down."""
        if self.engine is None:
            return

        def answer(verdict: Verdict) -> None:
            for watcher in self.watchers:
                watcher.answered(event, verdict)

        self.machine.publish(event, answer)
