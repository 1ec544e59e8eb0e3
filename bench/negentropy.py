"""Negentropy: building sets and reconciling them, both sides in one process, beside other implementations.

The figures of the C++ reference (vector storage, -O2) were taken on a machine of this kind and are printed as stated;
the Rust implementation is built and measured in this run where cargo can fetch it. Wire and sockets have no part in it.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
from rich.console import Console
from rich.table import Table

from graspd.negentropy import Initiator, ItemSet, Responder
from graspd.negentropy.wire import U8, U64

Columns = tuple[U64, U8]
SPAN_S = 10**8  # three years of events, a few of them in the same second
SEED = 77

PEER_MANIFEST = """
[package]
name = "negentropy-peer"
version = "0.0.0"
edition = "2021"

[dependencies]
negentropy = "=0.5.3"

[profile.release]
opt-level = 3
"""
PEER_MAIN = """
use negentropy::{Id, Negentropy, NegentropyStorageVector};
use std::time::Instant;

fn read(path: &str) -> Vec<(u64, Id)> {
    let bytes = std::fs::read(path).unwrap();
    let record = |r: &[u8]| {
        let created_at = u64::from_le_bytes(r[..8].try_into().unwrap());
        (created_at, Id::from_byte_array(r[8..].try_into().unwrap()))
    };
    bytes.chunks_exact(40).map(record).collect()
}

fn build(items: &[(u64, Id)]) -> NegentropyStorageVector {
    let mut storage = NegentropyStorageVector::new();
    for (created_at, id) in items {
        storage.insert(*created_at, *id).unwrap();
    }
    storage.seal().unwrap();
    storage
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (ours, theirs) = (read(&args[1]), read(&args[2]));
    for _ in 0..args[3].parse::<usize>().unwrap() {
        let start = Instant::now();
        let (a, b) = (build(&ours), build(&theirs));
        let built = start.elapsed();
        let start = Instant::now();
        let mut asking = Negentropy::borrowed(&a, 0).unwrap();
        let mut answering = Negentropy::borrowed(&b, 0).unwrap();
        let (mut have, mut need) = (Vec::new(), Vec::new());
        let mut message = Some(asking.initiate().unwrap());
        while let Some(query) = message {
            let answer = answering.reconcile(&query).unwrap();
            message = asking.reconcile_with_ids(&answer, &mut have, &mut need).unwrap();
        }
        let (built_ms, took_ms) = (built.as_secs_f64() * 1e3, start.elapsed().as_secs_f64() * 1e3);
        println!("{built_ms} {took_ms} {} {}", have.len(), need.len());
    }
}
"""


@dataclass(frozen=True, slots=True)
class Contest:
    """Two sets of so many items with so many of its own on each side, and what has to be reached."""

    items: int
    differences: int
    goal_ms: float
    goal_of: str


CONTESTS = (
    Contest(1_000_000, 0, 32, "C++ stated"),
    Contest(1_000_000, 10, 58, "C++ stated"),
    Contest(1_000_000, 1_000, 162, "C++ stated"),
    Contest(1_000_000, 10_000, 292, "C++ stated"),
    Contest(100_000, 1_000, 30, "our goal"),
)
BUILD_GOAL_MS = 250.0


def two_sets(contest: Contest) -> tuple[Columns, Columns]:
    """Columns in random order, as a program that collects events would have them."""
    random = np.random.default_rng(SEED)
    n, own = contest.items, contest.differences
    created_at = random.integers(1_600_000_000, 1_600_000_000 + SPAN_S, n + own, np.uint64)
    ids = random.integers(0, 256, (n + own, 32), np.uint8)
    common = n - own
    return (created_at[:n], ids[:n]), (
        np.concatenate((created_at[:common], created_at[n:])),
        np.concatenate((ids[:common], ids[n:])),
    )


def times_ms(work: Callable[[], object], runs: int) -> list[float]:
    """How long each run took; the first pays for memory never touched before."""
    taken = []
    for _ in range(runs):
        start = perf_counter()
        work()
        taken.append((perf_counter() - start) * 1e3)
    return taken


def reconcile(ours: ItemSet, theirs: ItemSet) -> tuple[int, int]:
    """A whole reconciliation; how many differences it found on each side."""
    asking, answering = Initiator(ours), Responder(theirs)
    have = need = 0
    message: bytes | None = asking.initiate()
    while message is not None:
        reply = asking.reconcile(answering.reconcile(message))
        have, need, message = have + len(reply.have), need + len(reply.need), reply.message
    return have, need


class Peer:
    """The Rust implementation, measured by a small program around it."""

    def __init__(self, binary: Path) -> None:
        self._binary = binary

    def times_ms(self, sets: tuple[Columns, Columns], runs: int, differences: int) -> tuple[list[float], list[float]]:
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder) / name for name in ("ours", "theirs")]
            for path, (created_at, ids) in zip(paths, sets, strict=True):
                path.write_bytes(np.concatenate((created_at[:, None].view(np.uint8), ids), axis=1).tobytes())
            command = [str(self._binary), *map(str, paths), str(runs)]
            printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        rows = [line.split() for line in printed.splitlines()]
        assert all(row[2:] == [str(differences)] * 2 for row in rows)
        return [float(row[0]) for row in rows], [float(row[1]) for row in rows]


def built_peer(cache_dir: Path) -> Peer | str:
    """The peer, or why there is none."""
    cargo = shutil.which("cargo")
    if not cargo:
        return "cargo is not installed"
    (cache_dir / "src").mkdir(parents=True, exist_ok=True)
    (cache_dir / "Cargo.toml").write_text(PEER_MANIFEST)
    (cache_dir / "src" / "main.rs").write_text(PEER_MAIN)
    command = [cargo, "build", "--quiet", "--release", "--manifest-path", str(cache_dir / "Cargo.toml")]
    built = subprocess.run(command, check=False, capture_output=True, text=True)
    if built.returncode:
        return f"cargo could not build it: {built.stderr.strip().splitlines()[-1]}"
    return Peer(cache_dir / "target" / "release" / "negentropy-peer")


class Report:
    """The table, one measurement a row."""

    def __init__(self) -> None:
        self._table = Table(title="milliseconds, both sides together; a ratio above 1 is ours faster")
        self._table.add_column("two sets", no_wrap=True)
        for heading in ("ours", "first run", "goal", "goal of", "ratio", "Rust", "ratio"):
            self._table.add_column(heading, justify="right")

    def add(self, name: str, ours: list[float], goal_ms: float, goal_of: str, peer: list[float]) -> None:
        took = median(ours)
        peer_cells = (f"{median(peer):.1f}", f"{median(peer) / took:.2f}x") if peer else ("-", "-")
        figures = (f"{took:.1f}", f"{ours[0]:.1f}", f"{goal_ms:.0f}", goal_of, f"{goal_ms / took:.2f}x")
        self._table.add_row(name, *figures, *peer_cells)

    def show(self, notes: list[str]) -> None:
        console = Console()
        console.print(self._table)
        for note in notes:
            console.print(note, highlight=False)


def measure(contest: Contest, peer: Peer | str, runs: int, report: Report) -> ItemSet:
    sets = two_sets(contest)
    ours, theirs = (ItemSet.from_unsorted(*columns) for columns in sets)
    assert reconcile(ours, theirs) == (contest.differences, contest.differences)
    peer_built, peer_took = peer.times_ms(sets, runs, contest.differences) if isinstance(peer, Peer) else ([], [])
    if contest == CONTESTS[0]:
        columns = [(items.created_at, items.ids) for items in (ours, theirs)]
        in_order = times_ms(lambda: [ItemSet.from_columns(*pair) for pair in columns], runs)
        report.add("build, sorted", in_order, BUILD_GOAL_MS, "C++ stated", peer_built)
        in_any = times_ms(lambda: [ItemSet.from_unsorted(*pair) for pair in sets], runs)
        report.add("build, unsorted", in_any, BUILD_GOAL_MS, "C++ stated", peer_built)
    took = times_ms(lambda: reconcile(ours, theirs), runs)
    name = f"{contest.items:,} D={contest.differences:,}"
    report.add(name, took, contest.goal_ms, contest.goal_of, peer_took)
    return ours


def main(argv: list[str]) -> int:
    """Measure and print; the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=5, help="runs of each measurement; medians are printed (5)")
    parser.add_argument("--no-peer", action="store_true", help="leave the Rust implementation out")
    default_cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "graspd-bench"
    parser.add_argument("--cache-dir", type=Path, default=default_cache, help="where the Rust program is built")
    given = parser.parse_args(argv)
    peer = "left out" if given.no_peer else built_peer(given.cache_dir / "negentropy-peer")
    report = Report()
    sets = [measure(contest, peer, given.runs, report) for contest in CONTESTS]
    notes = [f"memory: {sets[0].nbytes / len(sets[0]):.1f} bytes an item (goal: at most 100)"]
    notes += [f"Rust (negentropy 0.5.3): {peer}"] if isinstance(peer, str) else []
    notes.append("build: two sets of 1,000,000 from columns; D: random differences on each side; medians of this run")
    report.show(notes)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
