"""`graspd sidecar` as a process: it listens nowhere, so what it does is seen at the relay it works for."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from tests.peers.process import ROOT, STOP_DEADLINE_S, python_command


class Sidecar:
    """Started on construction, stopped when its `with` block ends; `restart` keeps its data."""

    def __init__(self, url: str, settings: Mapping[str, str]) -> None:
        self.data_dir = Path(tempfile.mkdtemp(prefix="sidecar-"))
        self._url = url
        self._environment = {**os.environ, **{f"GRASPD_{name.upper()}": value for name, value in settings.items()}}
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start, after `stop`."""
        command = python_command("graspd", "sidecar", self._url, "--data-dir", str(self.data_dir / "data"))
        with (self.data_dir / "log").open("ab") as log:
            self._process = subprocess.Popen(command, cwd=ROOT, env=self._environment, stdout=log, stderr=log)

    def stop(self) -> int:
        """Ask it to end; its exit code."""
        assert self._process is not None
        self._process.terminate()
        return self.ended()

    def ended(self) -> int:
        """Wait until it has ended; its exit code."""
        assert self._process is not None
        code = self._process.wait(STOP_DEADLINE_S)
        self._process = None
        return code

    def written(self) -> str:
        """What it has written, over all its lives."""
        return (self.data_dir / "log").read_text(encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self._process is not None:
                self.stop()
        finally:
            shutil.rmtree(self.data_dir)
