"""One measurement on two relays: each round starts both afresh, one after the other, in alternating order.

Decides how figures are gathered and printed: medians over the rounds, their spread, and our ratio to the peer, which is
above one where we are better, whichever way the figure counts. Must not know what is measured.
"""

import argparse
import json
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from tests.peers.graspd_relay import GraspdRelay
from tests.peers.process import RelayProcess
from tests.peers.rust_nostr import RustNostrRelay

OURS, PEER = "graspd", "rust-nostr"
# What a load from one address would otherwise meet; every other setting is as an operator finds it.
OUR_SETTINGS = {"events_per_minute": "0", "connections_per_address": "0"}

Measure = Callable[[RelayProcess], Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Figure:
    """One thing measured: its name, its unit, whether more is better, and the ratio to the peer it has to reach."""

    name: str
    unit: str
    more_is_better: bool = True
    goal: float | None = None

    def ratio(self, ours: float, peer: float) -> float:
        """How many times better we are."""
        return ours / peer if self.more_is_better else peer / ours


def options(description: str | None, *, events: int, rounds: int) -> argparse.ArgumentParser:
    """The options that every contest has."""
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    parser.add_argument("--events", type=int, default=events, help=f"events in the corpus ({events})")
    parser.add_argument("--rounds", type=int, default=rounds, help=f"rounds; medians are printed ({rounds})")
    parser.add_argument("--only", choices=(OURS, PEER), help="measure one relay alone")
    add_common_options(parser)
    return parser


def add_common_options(parser: argparse.ArgumentParser) -> None:
    """The options of every benchmark that runs our relay."""
    parser.add_argument("--seed", type=int, default=1, help="seed of the corpus (1)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of graspd")
    parser.add_argument("--cache-dir", type=Path, default=default_cache_dir(), help="where corpora are kept")


def settings_of(given: argparse.Namespace) -> dict[str, str]:
    """What graspd is set to in this run."""
    return {**OUR_SETTINGS, **dict(item.split("=", 1) for item in given.set)}


def machine() -> dict[str, object]:
    """What the figures depend on besides the code."""
    return {"cores": os.cpu_count(), "python": platform.python_version()}


def default_cache_dir() -> Path:
    """Outside the tree, shared by all runs of this user."""
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "graspd-bench"


def run(title: str, figures: Sequence[Figure], measure: Measure, given: argparse.Namespace) -> int:
    """Hold the contest and print its outcome; the exit code."""
    our_settings = settings_of(given)
    starts: dict[str, Callable[[], AbstractContextManager[RelayProcess]]] = {
        OURS: lambda: GraspdRelay(settings=our_settings),
        PEER: RustNostrRelay,
    }
    names = [name for name in (OURS, PEER) if given.only in (None, name)]
    rounds: dict[str, list[Mapping[str, float]]] = {name: [] for name in names}
    for number in range(given.rounds):
        for name in names if number % 2 == 0 else reversed(names):
            with starts[name]() as relay:
                rounds[name].append(measure(relay))
    _print_outcome(title, figures, rounds, {"graspd settings": our_settings, "rounds": given.rounds})
    return 0


def _print_outcome(
    title: str,
    figures: Sequence[Figure],
    rounds: Mapping[str, Sequence[Mapping[str, float]]],
    settings: Mapping[str, object],
) -> None:
    table = Table("figure", *rounds, "ratio", "goal", title=title)
    summary: dict[str, dict[str, float]] = {}
    for figure in figures:
        values = {name: [measured[figure.name] for measured in taken] for name, taken in rounds.items()}
        medians = {name: median(taken) for name, taken in values.items()}
        summary[figure.name] = dict(medians)
        ratio = ""
        if len(medians) > 1:
            summary[figure.name]["ratio"] = figure.ratio(medians[OURS], medians[PEER])
            ratio = f"{summary[figure.name]['ratio']:.2f} x"
        goal = "" if figure.goal is None else f"{figure.goal:.1f} x"
        table.add_row(f"{figure.name}, {figure.unit}", *map(_spread, values.values()), ratio, goal)
    Console().print(table)
    print("median (least - most) over the rounds; a ratio above 1 is in our favour")
    print(", ".join(f"{name}: {value}" for name, value in settings.items()))
    print(
        json.dumps({"bench": title, "figures": summary, "rounds": rounds, "settings": settings, "machine": machine()})
    )


def _spread(values: Sequence[float]) -> str:
    shown = [
        f"{value:,.0f}" if value >= 1000 else f"{value:,.3g}" for value in (median(values), min(values), max(values))
    ]
    return f"{shown[0]} ({shown[1]} - {shown[2]})"
