"""`graspd serve` again and again, each time a process of its own, without paying for its imports each time.

A start costs half a second, nearly all of it imports. Here one process has them done and forks: the child runs the
very command line that an operator runs, in its own process, and is killed like any other.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from tests.peers.process import ROOT, python_command


class Zygote:
    """The process that forks; ends with its `with` block, and its children before it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            python_command("tests.integration.zygote"),
            cwd=ROOT,
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._children: set[int] = set()

    def serve(self, port: int, data_dir: Path) -> int:
        """Start `graspd serve`; its process id."""
        pid = int(self._ask(f"serve --bind 127.0.0.1:{port} --data-dir {data_dir}"))
        self._children.add(pid)
        return pid

    def kill(self, pid: int) -> None:
        """End a child without warning, and wait until it is gone."""
        os.kill(pid, signal.SIGKILL)
        status = int(self._ask(f"wait {pid}"))
        self._children.discard(pid)
        assert os.WIFSIGNALED(status), f"it had ended before it was killed, with status {status}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for pid in list(self._children):
            self.kill(pid)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def _ask(self, line: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()


def main() -> None:
    """Fork on demand until the input ends."""
    # All that a server imports, which is the point.
    import uvloop  # noqa: F401

    import graspd.app  # noqa: F401
    from graspd import cli

    for line in sys.stdin:
        verb, *arguments = line.split()
        if verb == "wait":
            answer = os.waitpid(int(arguments[0]), 0)[1]
        else:
            answer = os.fork()
            if not answer:
                nothing = os.open(os.devnull, os.O_RDWR)
                os.dup2(nothing, 0)
                os.dup2(nothing, 1)
                sys.argv = ["graspd", verb, *arguments]
                cli.main()
                os._exit(0)
        print(answer, flush=True)


if __name__ == "__main__":
    main()
