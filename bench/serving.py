"""Serving negentropy: NEG-OPEN over 200,000 matching events, and what other clients notice of it.

One client opens sessions, one after the other, each over another time range so that no set is shared; it holds every
second event, so that both sides have something to say. Another asks for one event by its id, again and again, before
that and meanwhile. There is no peer here: rust-nostr's relay keeps fewer events unless it is told otherwise.
"""

import argparse
import json
import threading
import time
from statistics import median, quantiles

import numpy as np
import orjson
from rich.console import Console
from rich.table import Table

from bench import contest, corpus, scale
from bench.wire import RelayMisbehaved, Wire, frame
from graspd.negentropy import Initiator, ItemSet
from tests.peers.graspd_relay import GraspdRelay

OPEN_MS_MAX = 250.0
OTHERS_MS_MAX = 10.0
FRAME_BYTES = 60_000


class Bystander:
    """Asks for one event by its id until told to stop; how long each answer took."""

    def __init__(self, url: str, event: bytes) -> None:
        self._wire = Wire(url)
        wanted = {"ids": [corpus.event_id(event).decode()]}
        self._question = frame(orjson.dumps(["REQ", "bystander", wanted])) + frame(orjson.dumps(["CLOSE", "bystander"]))
        self._stop = threading.Event()
        self.took_ms: list[float] = []

    def ask_until_stopped(self) -> None:
        """Ask as often as answers come, with a millisecond between."""
        while not self._stop.wait(0.001):
            started = time.perf_counter()
            self._wire.send(self._question)
            while not any(message.startswith(b'["EOSE"') for message in self._wire.receive()):
                pass
            self.took_ms.append(1e3 * (time.perf_counter() - started))

    def p99_ms(self, during: "threading.Thread | float") -> float:
        """Run beside a thread, or for some seconds; the 99th percentile."""
        self.took_ms.clear()
        self._stop.clear()
        asking = threading.Thread(target=self.ask_until_stopped)
        asking.start()
        if isinstance(during, threading.Thread):
            during.start()
            during.join()
        else:
            time.sleep(during)
        self._stop.set()
        asking.join()
        return quantiles(self.took_ms, n=100)[98]


def half_of(events: list[bytes]) -> ItemSet:
    """Every second event, as the other side of a session holds it."""
    half = [orjson.loads(event) for event in events[::2]]
    ids = np.frombuffer(bytes.fromhex("".join(event["id"] for event in half)), dtype=np.uint8).reshape(-1, 32)
    return ItemSet.from_unsorted(np.array([event["created_at"] for event in half], dtype=np.uint64), ids)


def open_sessions(url: str, message: bytes, runs: int) -> list[float]:
    """Milliseconds from each NEG-OPEN to its NEG-MSG."""
    wire, took_ms = Wire(url), []
    for run in range(runs):
        opening = frame(orjson.dumps(["NEG-OPEN", f"s{run}", {"since": run}, message.hex()]))
        started = time.perf_counter()
        wire.send(opening)
        while not (messages := wire.receive()):
            pass
        took_ms.append(1e3 * (time.perf_counter() - started))
        if not messages[0].startswith(b'["NEG-MSG"'):
            raise RelayMisbehaved(messages[0][:300].decode(errors="replace"))
        wire.send(frame(orjson.dumps(["NEG-CLOSE", f"s{run}"])))
    wire.close()
    return took_ms


def main(argv: list[str]) -> int:
    """Load, measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=20, help="sessions opened (20)")
    contest.add_common_options(parser)
    given = parser.parse_args(argv)
    settings = contest.settings_of(given)
    events = [event for repository in scale.corpora(given) for event in repository.events]
    message = Initiator(half_of(events), FRAME_BYTES).initiate()
    with GraspdRelay(settings=settings) as relay:
        scale.load(relay, given)
        bystander = Bystander(relay.url, events[0])
        alone_ms = bystander.p99_ms(3.0)
        opened_ms: list[float] = []
        opening = threading.Thread(target=lambda: opened_ms.extend(open_sessions(relay.url, message, given.runs)))
        beside_ms = bystander.p99_ms(opening)
    measured = {"NEG-OPEN": median(opened_ms), "others' p99, alone": alone_ms, "others' p99, meanwhile": beside_ms}
    goals = {"NEG-OPEN": f"< {OPEN_MS_MAX:g}", "others' p99, meanwhile": f"< {OTHERS_MS_MAX:g}"}
    title = f"serving: NEG-OPEN over {given.events} events, median of {given.runs}"
    table = Table("figure", "graspd", "goal", title=title)
    for name, value in measured.items():
        table.add_row(f"{name}, ms", f"{value:,.3g}", goals.get(name, ""))
    Console().print(table)
    print(json.dumps({"bench": title, "figures": measured, "settings": settings, "machine": contest.machine()}))
    return 0
