"""A relay in a process of its own, on a loopback port of its own.

Decides how any relay is started, found ready, stopped, killed and started again; the modules beside this one only say
which command runs and what it keeps on disk. Must not know what the relay speaks beyond WebSocket.
"""

import base64
import http.client
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

HOST = "127.0.0.1"
READY_DEADLINE_S = 30.0
STOP_DEADLINE_S = 15.0
POLL_S = 0.02
START_ATTEMPTS = 3
ROOT = Path(__file__).parents[2]
HANDSHAKE = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Key": base64.b64encode(bytes(16)).decode(),
    "Sec-WebSocket-Version": "13",
}


class RelayFailed(Exception):
    """The relay's process did not come up, or did not end when told to; carries what it wrote."""


class RelayEnded(RelayFailed):
    """The relay's process ended before it was ready."""


class RelayProcess(ABC):
    """One relay: started on construction, stopped when its `with` block ends.

    `restart` keeps the port and the data directory; a relay that holds its events in memory comes back empty.
    """

    name: str

    def __init__(self, *, environment: Mapping[str, str] | None = None) -> None:
        self.data_dir = Path(tempfile.mkdtemp(prefix=f"{type(self).__name__.lower()}-"))
        self._environment = {**os.environ, **(environment or {})}
        self._log = self.data_dir / "relay.log"
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0
        self._start_on_free_port()

    @abstractmethod
    def command(self) -> list[str]:
        """The command line that serves `self.port` with data in `self.data_dir`, without forking away."""

    @property
    def url(self) -> str:
        """Where the relay listens, without a trailing slash."""
        return f"ws://{self.domain}"

    @property
    def domain(self) -> str:
        """The host and port by which an announcement names the relay."""
        return f"{HOST}:{self.port}"

    @property
    def pid(self) -> int:
        """The process that was started; it may have children."""
        return self._running().pid

    def written(self) -> str:
        """What the relay has written to its output, over all its lives."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    def stop(self) -> None:
        """Ask the relay to end and wait until it has; fails where it does not end in time."""
        self._end(self._running().terminate)

    def kill(self) -> None:
        """End the relay without warning."""
        self._end(self._running().kill)

    def restart(self) -> None:
        """Start the relay again, after `stop` or `kill` or instead of them, on the same port and data."""
        if self._process is not None:
            self.stop()
        self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self._process is not None:
                self.stop()
        finally:
            shutil.rmtree(self.data_dir)

    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, f"{self.name} is not running"
        return self._process

    def _start_on_free_port(self) -> None:
        # Between our letting go of a free port and the relay's binding it another process may take it.
        for attempt in range(1, START_ATTEMPTS + 1):
            self.port = _free_port()
            try:
                self._start()
            except RelayEnded:
                if attempt == START_ATTEMPTS:
                    shutil.rmtree(self.data_dir)
                    raise
            else:
                return

    def _start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self.command(), cwd=ROOT, env=self._environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        try:
            self._wait_until_ready()
        except RelayFailed:
            if self._process.poll() is None:
                self._process.kill()
            self._process.wait()
            self._process = None
            raise

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + READY_DEADLINE_S
        while not _upgrades(self.port):
            if self._running().poll() is not None:
                raise RelayEnded(f"{self.name} ended before it was ready:\n{self.written()}")
            if time.monotonic() > deadline:
                raise RelayFailed(f"{self.name} was not ready after {READY_DEADLINE_S} s:\n{self.written()}")
            time.sleep(POLL_S)

    def _end(self, send_signal: Callable[[], None]) -> None:
        process = self._running()
        send_signal()
        try:
            process.wait(STOP_DEADLINE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise RelayFailed(f"{self.name} did not end in {STOP_DEADLINE_S} s:\n{self.written()}") from None
        finally:
            self._process = None


def python_command(module: str, *arguments: str) -> list[str]:
    """The command line that runs a module in this interpreter."""
    return [sys.executable, "-m", module, *arguments]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _upgrades(port: int) -> bool:
    # A completed handshake shows that the relay's own code runs; a bare connect shows only a listening socket.
    connection = http.client.HTTPConnection(HOST, port, timeout=READY_DEADLINE_S)
    try:
        connection.request("GET", "/", headers=HANDSHAKE)
        return connection.getresponse().status == http.HTTPStatus.SWITCHING_PROTOCOLS
    except (ConnectionError, http.client.BadStatusLine):
        return False
    finally:
        connection.close()
