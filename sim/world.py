"""One run: a world made of a seed, a time of troubles, then an honest core that is healed for good.

safety     people publish, peers and links misbehave, we crash; what must hold at every moment is checked
liveness   the core is healed, our own troubles end, the rest may go on as it likes; convergence is demanded within
           a bound, then that new events come at once, then that an idle hour is idle
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Final

from graspd.nostr.relay_url import Domain
from graspd.rules.policy import Policy
from graspd.sync.lifecycle import State, Trigger
from graspd.sync.view import PeerView
from graspd.types import RelayUrl
from sim.checkers.bounded import Bounded
from sim.checkers.complete import wanted_repos
from sim.checkers.isolated import BOUND_S, Isolated
from sim.checkers.moves import Moves
from sim.checkers.once import Once
from sim.checkers.polite import Polite
from sim.checkers.safe import Safe
from sim.content import HOST, Content, Publication
from sim.faults import Fault, Faults
from sim.options import Options, draw, draw_site
from sim.own import Own
from sim.pending import pending
from sim.timeline import Timeline
from sim.trace import Trace
from sim.troubles import Troubles
from sim.violation import Violation

POLICY: Final = Policy(Domain(HOST))
_INSPECT_S: Final = 600.0
_EXPIRE_S: Final = 300.0
_HOUR: Final = 3600.0
_PROMPT_S: Final = 3 * _HOUR  # one more backoff and one more retry of a batch, each an hour at most, and the transfers
_SILENT_S: Final = 51 * _HOUR  # a phantom is believed for a day; the daily sync after it comes within 25 hours
_START_S: Final = 60.0
_POLL_S: Final = 300.0
_CANARIES: Final = 2
_REQUESTS_AN_ITEM: Final = 6  # a filter for each of three tags, and what each of them names


@dataclass(frozen=True, slots=True)
class Result:
    """How a run ended."""

    seed: int
    violation: str | None
    virtual_s: float
    steps: int
    digest: str
    faults: Counter[Fault]
    moves: Counter[tuple[State, Trigger]]


class World:
    """Everything there is."""

    def __init__(self, seed: int, show: Callable[[str], None] | None = None, options: Options | None = None) -> None:
        self.seed = seed
        rng = Random(f"{seed}/world")
        self.options = options or draw(rng)
        self.timeline = Timeline()
        self.trace = Trace(show)
        self.faults = Faults(self.options.faults)
        self.own = Own(self.timeline, Random(f"{seed}/own"), self.faults, POLICY, self.options.limits, self.trace)
        self.rng = rng
        self._make_peers()
        urls = [*self.own.network.sites]
        self.content = Content(
            Random(f"{seed}/content"), self.faults, urls, self.options.direct_share, restless=self.options.restless
        )
        self.own.bootstrap = tuple(rng.sample(urls, min(self.options.bootstraps, len(urls))))
        self.troubles = Troubles(self.timeline, Random(f"{seed}/troubles"), self.faults, self.own, self.options)
        self.moves = Moves(self.own)
        self.isolated = Isolated(self.own)
        self.once = Once(self.own)
        self.checkers = [Safe(self.own), Polite(self.own), Bounded(self.own), self.isolated, self.moves]
        if self.options.calm:
            self.checkers.append(self.once)
        self.own.watchers.extend(self.checkers)
        self._publishing = True

    def _make_peers(self) -> None:
        count = self.options.peers + self.options.liars
        for number in range(count):
            url = RelayUrl(f"wss://peer-{number}.example")
            liar = number >= self.options.peers
            self.own.network.sites[url] = draw_site(self.rng, self.faults, self.options, url, liar=liar)

    # The run

    def run(self) -> Result:
        """From the beginning to the end."""
        violation = None
        try:
            self._safety()
            self._liveness()
        except Violation as broken:
            violation = str(broken)
        return Result(
            self.seed,
            violation,
            self.timeline.now,
            self.trace.lines,
            self.trace.digest,
            self.faults.seen,
            self.moves.seen,
        )

    def _safety(self) -> None:
        for publication in self.content.begin(0.0, self.options.repos, self.options.history):
            self._place(publication)
        self._every(_INSPECT_S, self.inspect)
        self._every(_EXPIRE_S, self.own.machine.expire)
        self.own.start()
        self.timeline.after(self.options.happen_s, self._happen)
        if not self.options.calm:
            self.troubles.begin()
        self.timeline.run_until(self.options.safety_s)

    def _liveness(self) -> None:
        self._publishing = False
        core = self._choose_core()
        self.trace.note(self.timeline.now, f"heal {' '.join(core)}")
        self.troubles.end(core)
        # Who has just been started again must first read its own history to know its peers.
        self.timeline.run_until(self.timeline.now + _START_S)
        self._converge(core, self._bound(core))
        if self.options.calm:
            self.once.inspect()
        self._canaries(core)
        self.inspect()

    def _place(self, publication: Publication) -> None:
        """Part of the past: on relays already, and with us if it came directly."""
        for url in publication.to:
            self.own.network.sites[url].relay.shelf.put(publication.event)
        if publication.direct:
            self.timeline.after(self.rng.uniform(0, 60), lambda: self.own.publish(publication.event))

    def _happen(self) -> None:
        if not self._publishing:
            return
        for publication in self.content.happen(self.timeline.now):
            self.publish(publication)
        self.timeline.after(self.rng.expovariate(1 / self.options.happen_s), self._happen)

    def publish(self, publication: Publication) -> None:
        """Somebody publishes, to one relay after the other."""
        for url in publication.to:
            delay = self.rng.choice((0.0, self.rng.uniform(0, 2), self.rng.uniform(0, 120)))
            self.timeline.after(delay, partial(self.own.network.publish, url, publication.event))
        if publication.direct:
            self.timeline.after(self.rng.uniform(0, 5), lambda: self.own.publish(publication.event))

    def _every(self, period_s: float, action: Callable[[], None]) -> None:
        def again() -> None:
            action()
            self.timeline.after(period_s, again)

        self.timeline.after(period_s, again)

    def inspect(self) -> None:
        """Look whether everything holds now."""
        for checker in self.checkers:
            if checker is not self.once:
                checker.inspect()

    # Healing and after

    def _choose_core(self) -> list[RelayUrl]:
        honest = [url for url, site in self.own.network.sites.items() if not site.relay.lies]
        count = max(1, round(len(honest) * self.options.core_share))
        return self.rng.sample(honest, count)

    def _bound(self, core: list[RelayUrl]) -> float:
        """When convergence is due: what each peer of the core must wait for by the rules, and then a while."""
        wait = 0.0
        if self.own.engine is not None:
            now = self.own.now().mono
            for peer in self.own.engine.snapshot().peers:
                if peer.url in core:
                    ends = (peer.dial_at, peer.rest_until, peer.rate_limited_until)
                    wait = max([wait, *(end - now for end in ends if end is not None)])
        longest = max(self.own.limits.dead_retry_s * 1.1, self.own.limits.rest_s_max)
        if wait > longest + 1:
            raise Violation(
                "polite", f"a peer of the core would have to wait {wait:.0f} s, {longest:.0f} s is the most"
            )
        return self.timeline.now + wait + (_SILENT_S if self.options.is_silent else _PROMPT_S)

    def _converge(self, core: list[RelayUrl], by: float) -> None:
        while (why := pending(self.own, POLICY, core, self.timeline.now)) is not None:
            if self.timeline.now >= by:
                raise Violation("complete", f"{why} (healed {self.timeline.now - self.options.safety_s:.0f} s ago)")
            self.timeline.run_until(min(self.timeline.now + _POLL_S, by))
        self.trace.note(self.timeline.now, "converged")

    def _canaries(self, core: list[RelayUrl]) -> None:
        """New events of the core come at once, whatever the others do."""
        for _ in range(_CANARIES):
            latest = self.timeline.now
            wanted = wanted_repos(self.own.machine.store, POLICY, self.own.limits)
            assert self.own.engine is not None
            live = {peer.url: peer for peer in self.own.engine.snapshot().peers if peer.state is State.LIVE}
            for url in core:
                repos = [repo for repo in self.content.repos if repo.addr in wanted.get(url, ())]
                if not repos or url not in live:
                    continue
                site = self.own.network.sites[url]
                event = self.content.root_of(repos[0], int(self.own.now().wall))
                wait_s = self._turn_s(live[url]) + 4 * site.latency_s[1] + self.own.machine.behind_s
                by = self.timeline.now + BOUND_S + wait_s
                self.own.network.publish(url, event)
                self.isolated.expect(event, url, by)
                latest = max(latest, by)
            self.timeline.run_until(latest)
            self.isolated.check(self.timeline.now)

    def _turn_s(self, peer: PeerView) -> float:
        """What does not fit among a peer's subscriptions is looked at in turn, as fast as the peer lets us ask."""
        if not peer.items_off_live:
            return 0.0
        pass_s = peer.items_off_live * _REQUESTS_AN_ITEM / peer.requests_per_s
        return self.own.limits.rota_s + 2 * pass_s  # the pass under way may be just past it
