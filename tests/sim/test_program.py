"""The simulator as the program it is, in the run that every change must pass."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from sim.__main__ import main
from sim.campaign import run_many
from sim.world import World

ROOT: Final = Path(__file__).parents[2]
REGRESSIONS: Final = ROOT / "sim" / "regressions.txt"


def test_two_hundred_worlds_keep_everything_that_must_hold(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is broken, and every class of fault and every move of a peer is seen."""
    code = main(["--seeds", "200"])
    printed = capsys.readouterr().out
    assert code == 0, printed
    assert printed.startswith("200 seeds, 0 failed, 0 never seen")


def test_a_run_that_breaks_something_says_so_in_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sim.campaign.run_seed", broken_seed)
    assert run_many([7, 8]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "seed 7: raised ZeroDivisionError('division by zero')"
    assert lines[-1].startswith("2 seeds, 2 failed")


def broken_seed(_seed: int) -> None:
    """Stands in a worker process for a world that cannot be run."""
    raise ZeroDivisionError("division by zero") from None


def regressions() -> list[int]:
    """The seeds that once failed, each with a word on why."""
    lines = [line.partition("#")[0].strip() for line in REGRESSIONS.read_text().splitlines()]
    return [int(line) for line in lines if line]


@pytest.mark.parametrize("seed", regressions())
def test_a_seed_that_once_failed_passes(seed: int) -> None:
    assert World(seed).run().violation is None


@pytest.mark.parametrize("seed", [3, 11, 42, 77])
def test_the_same_seed_gives_the_same_trace(seed: int) -> None:
    """Byte for byte, in processes that hash strings differently."""
    digests = {traced(seed, hash_seed) for hash_seed in ("0", "1", "4242")}
    assert len(digests) == 1


def traced(seed: int, hash_seed: str) -> str:
    """The trace of a seed in a process of its own, but for how long it took."""
    ran = subprocess.run(
        [sys.executable, "-c", f"from sim.world import World; print(World({seed}, print).run().digest)"],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout


def test_one_seed_prints_how_it_ended(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "2", "--trace"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("calm=")
    assert lines[-1].startswith("seed 2: ok; ")
    assert any("BootstrapConfigured" in line for line in lines)


def test_a_seed_or_a_number_of_seeds_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([])
    assert "--seed" in capsys.readouterr().err
