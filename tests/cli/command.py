"""`graspd` as an operator runs it: a process, with its output and exit code."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

DEADLINE_S = 60


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


def clean_environment(settings: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment without any setting of ours but those given."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GRASPD_")}
    return {**kept, **(settings or {})}


def command_line(*arguments: object) -> list[str]:
    """How to run it in this interpreter."""
    return [sys.executable, "-m", "graspd", *map(str, arguments)]


def graspd(
    *arguments: object, settings: Mapping[str, str] | None = None, stdin: bytes = b"", cwd: Path | None = None
) -> Ended:
    """Run a command to its end."""
    done = subprocess.run(
        command_line(*arguments),
        env=clean_environment(settings),
        input=stdin,
        capture_output=True,
        timeout=DEADLINE_S,
        check=False,
        cwd=cwd,
    )
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())
