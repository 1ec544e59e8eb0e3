"""What one seed makes the world of: which faults there are, how many peers and of what temper, how long it lasts.

Swarm: each seed has some classes of fault and lacks others, so that one cannot hide another in every run.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final

from graspd.sync.limits import SyncLimits
from graspd.types import RelayUrl
from sim.faults import SILENT, Fault, Faults
from sim.network import Rates, Site
from sim.peers.authenticating import Authenticating, AuthFlooding
from sim.peers.capped import Capped
from sim.peers.endless import Endless, LimitIgnoring, Repeating
from sim.peers.flapping import Flapping
from sim.peers.flooding import Flooding, Sleeping
from sim.peers.forging import Forging, Tampering
from sim.peers.limit_zero import LimitZeroIgnoring, LimitZeroRefusing
from sim.peers.lying import Changing, Hiding, Phantoms, Withholding
from sim.peers.misspeaking import Misspeaking
from sim.peers.no_negentropy import NegentropyCapped, NoNegentropy, Refusal
from sim.peers.rate_limiting import NOTICES, RateLimiting
from sim.peers.relay import Manners, Relay, Temper
from sim.peers.skewed import Skewed
from sim.peers.slow import Slow

_CAPS: Final = (5, 6, 7, 13, 33, 50, 99, 100, 101, 300)
_FAULT_SHARE: Final = 0.3
_HOUR: Final = 3600.0
_HAPPENINGS_MAX: Final = 120
_LONG: Final = ("faults", "limits")


@dataclass(frozen=True, slots=True)
class Options:
    """Drawn from the seed, and printed by --trace."""

    calm: bool  # nothing goes wrong, and every peer reconciles: each event must come once
    faults: frozenset[Fault]
    peers: int
    liars: int
    bootstraps: int
    repos: int
    history: int
    safety_s: float
    happen_s: float  # mean time between two publications
    trouble_s: float  # mean time between two troubles of a peer
    own_trouble_s: float  # mean time between two troubles of our own
    direct_share: float
    restless: bool  # owners keep changing the relays of their repositories
    core_share: float
    others_stay: bool  # after healing, the rest goes on as before; else it is down for good
    limits: SyncLimits

    @property
    def is_silent(self) -> bool:
        """Whether something may go missing that only the next full sync can find.

        So may a rejected event for which there was no room: one peer is asked for it again, and the next full sync.
        """
        usual = SyncLimits()
        forgetful = self.limits.rejected_max < usual.rejected_max
        return forgetful or self.limits.rejected_bytes_max < usual.rejected_bytes_max or bool(SILENT & self.faults)


def draw(rng: Random) -> Options:
    """The options of a seed."""
    calm = rng.random() < 0.08
    silent = rng.random() < 0.4
    enabled = frozenset(
        fault for fault in Fault if not calm and rng.random() < _FAULT_SHARE and (silent or fault not in SILENT)
    )
    if not enabled.isdisjoint({Fault.STATE_OLD, Fault.STATE_LOST}):
        enabled |= {Fault.CRASH}
    restless = not calm and rng.random() < 0.25
    if restless:
        enabled |= {Fault.SHRUNK, Fault.DIAL_HANG, rng.choice((Fault.DOWN, Fault.FLAP))}
    (hours,) = rng.choices((0.2, 0.5, 1, 2, 4, 8, 30, 60), (15, 20, 20, 20, 12, 7, 4, 2))
    safety_s = _HOUR * (min(hours, 1) if restless else hours)
    happen_s = 10 ** (rng.uniform(1, 1.8) if restless else rng.uniform(1.5, 3.3))
    return Options(
        calm=calm,
        faults=enabled,
        peers=rng.randint(3 if restless else 1, 5),
        liars=0 if calm else rng.choice((1, 1, 2) if restless else (0, 1, 1, 2, 2)),
        bootstraps=rng.randint(0, 1 if restless else 2),
        repos=rng.randint(1, 2 if restless else 6),
        history=int(10 ** rng.uniform(0.5, 2.0 if hours <= 8 else 1.3)),
        safety_s=safety_s,
        happen_s=max(happen_s, safety_s / _HAPPENINGS_MAX),
        trouble_s=10 ** (rng.uniform(1.8, 2.8) if restless else rng.uniform(2.3, 4)),
        own_trouble_s=10 ** rng.uniform(2.5, 4),
        direct_share=0.8 if restless else rng.choice((0.0, 0.1, 0.3)),
        restless=restless,
        core_share=rng.uniform(0.3, 1.0),
        others_stay=rng.random() < 0.7,
        limits=SyncLimits() if calm else _limits(rng, restless=restless),
    )


def _limits(rng: Random, *, restless: bool) -> SyncLimits:
    """The engine's own limits, now and then so small that they bite."""
    limits = SyncLimits()
    smaller: tuple[tuple[float, dict[str, Any]], ...] = (
        (0.8 if restless else 0.1, {"peers_max": rng.randint(1, 2 if restless else 4)}),
        (0.8 if restless else 0.0, {"sweep_s": rng.uniform(5, 30)}),
        (0.15, {"filter_values": rng.randint(1, 5)}),
        (0.1, {"filters_max": rng.randint(8, 20)}),
        (0.15, {"batch_items": rng.randint(1, 20)}),
        (0.1, {"recent_max": rng.randint(5, 100)}),
        (0.1, {"rejected_max": rng.randint(5, 100)}),
        (0.1, {"rejected_bytes_max": rng.randint(0, 20_000)}),
        (0.1, {"fetch_ids": rng.randint(1, 10)}),
        (0.1, {"in_hand_max": rng.randint(5, 50)}),
        (0.1, {"page_limit": rng.randint(5, 40)}),
        (0.1, {"deferred_max": rng.randint(1, 20)}),
        (0.1, {"slice_items": rng.randint(1, 20)}),
        (0.1, {"phantoms_max": rng.randint(1, 10)}),
    )
    for share, changes in smaller:
        if rng.random() < share:
            limits = replace(limits, **changes)
    return limits


def describe(options: Options) -> str:
    """The options in one line, the same in every process."""
    usual = SyncLimits()
    limits = [
        f"{name}={getattr(options.limits, name)}"
        for name in SyncLimits.__dataclass_fields__
        if getattr(options.limits, name) != getattr(usual, name)
    ]
    others = [f"{name}={getattr(options, name)}" for name in Options.__dataclass_fields__ if name not in _LONG]
    faults = [fault.name for fault in Fault if fault in options.faults]
    return f"{' '.join(others)}; limits: {' '.join(limits) or 'usual'}; faults: {' '.join(faults) or 'none'}"


# Peers


def draw_site(rng: Random, faults: Faults, options: Options, url: RelayUrl, *, liar: bool) -> Site:
    """A relay and how it is reached."""
    if options.calm:
        return Site(Relay(url, Manners()))
    tempers, manners = _honest_tempers(rng, faults), _manners(rng)
    if liar:
        tempers.append(_lie(rng, faults, loud=options.restless))
    ways = [temper.reconciles for temper in tempers if temper.reconciles is not None]
    if ways:
        # A temper that shows in one way of asking needs a relay that is asked in that way.
        manners = replace(manners, negentropy=ways[-1])
        tempers = [temper for temper in tempers if temper.reconciles in (None, ways[-1])]
    relay = Relay(url, manners, tempers)
    slow = rng.random() < 0.15
    return Site(
        relay,
        latency_s=(0.5, rng.uniform(1, 8)) if slow else (0.005, rng.uniform(0.02, 0.4)),
        half_open_share=rng.choice((0, 0.1, 0.4)) if Fault.HALF_OPEN in faults else 0.0,
        rates=_rates(rng, faults),
    )


def _manners(rng: Random) -> Manners:
    tells = rng.random() < 0.7
    return Manners(
        limit_max=rng.choice((20, 100, 500)),
        subscriptions_max=rng.choice((3, 8, 20, 200)),
        filters_max=rng.choice((1, 2, 10, 100)),
        # Relays that take less than is usual say so.
        message_bytes_max=rng.choice((8192, 65536, 131072)) if tells else 131072,
        tells=tells,
        negentropy=rng.random() < 0.6,
        frame_bytes=rng.choice((0, 4096, 60_000)),
        hints=rng.random() < 0.2,
        low_ids_first=rng.random() < 0.7,
        limits_whole_request=rng.random() < 0.3,
    )


def _honest_tempers(rng: Random, faults: Faults) -> list[Temper]:
    """What an honest relay may be: a few of these at once."""
    drawn: list[tuple[float, Callable[[], Temper]]] = [
        (0.1, lambda: Slow(rng, faults, rng.uniform(0.1, 8), rng.choice((0, 0.05, 0.5)))),
        (0.2, lambda: RateLimiting(faults, rng.randint(8, 50), rng.randint(0, 2 * len(NOTICES)))),
        (0.3, lambda: Capped(faults, rng.choice(_CAPS))),
        (0.35, lambda: NoNegentropy(faults, rng.choice([*Refusal]), rng.randrange(10))),
        (0.25, lambda: NegentropyCapped(faults, rng.randint(1, 60), tells=rng.random() < 0.7)),
        (0.15, lambda: Authenticating(rng, faults, at_start=rng.random() < 0.5)),
        (0.1, lambda: LimitZeroRefusing(faults)),
        (0.1, lambda: LimitZeroIgnoring(faults)),
        (0.25, lambda: Misspeaking(rng, faults, rng.uniform(0.02, 0.3))),
    ]
    if Fault.FLAP in faults:
        drawn.append((0.5, lambda: Flapping(rng, faults, 10 ** rng.uniform(0.5, 3.3))))
    if Fault.SKEWED in faults:
        drawn.append((0.5, lambda: Skewed(faults, rng.randint(60, 86_400))))
    return [make() for share, make in drawn if rng.random() < share]


def _lie(rng: Random, faults: Faults, *, loud: bool) -> Temper:
    """One that is `loud` is noticed within seconds."""
    if loud and rng.random() < 0.5:
        return Flooding(faults, rng.randint(100, 300))
    lies: tuple[Callable[[], Temper], ...] = (
        lambda: Phantoms(rng, faults, rng.randint(1, 300)),
        lambda: Withholding(faults),
        lambda: Changing(rng, faults),
        lambda: Hiding(faults),
        lambda: Repeating(faults),
        lambda: LimitIgnoring(faults),
        lambda: Endless(faults, rng.randint(5, 60)),
        lambda: Flooding(faults, rng.randint(1, 200)),
        lambda: Sleeping(faults, rng.uniform(120, 1200), rng.randint(120, 400)),
        lambda: Forging(rng, faults, rng.uniform(0.1, 1)),
        lambda: Tampering(rng, faults, rng.uniform(0.1, 1)),
        lambda: AuthFlooding(faults),
    )
    return rng.choice(lies)()


def _rates(rng: Random, faults: Faults) -> Rates:
    """Wrong delivery, each kind at a rate of its own where the world has it."""

    def rate(fault: Fault, most: float) -> float:
        return most * 10 ** rng.uniform(-2, 0) if fault in faults else 0.0

    return Rates(
        drop=rate(Fault.DROPPED, 0.3),
        double=rate(Fault.DOUBLED, 0.5),
        reorder=rate(Fault.REORDERED, 0.3),
        garble=rate(Fault.GARBLED, 0.1),
        wrong_sub=rate(Fault.WRONG_SUB, 0.1),
        unsolicited=rate(Fault.UNSOLICITED, 0.05),
        reset=rate(Fault.RESET, 0.02),
        oversized=rate(Fault.OVERSIZED, 0.01),
    )
