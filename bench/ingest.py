"""Events a second taken in, each acknowledged with OK true; ours is on disk by then, the peer's in memory.

40,000 signed events of about 700 bytes over 8 connections with 100 in flight on each, from one process.
"""

from bench import contest, corpus, processes
from bench.load import publish
from tests.peers.process import RelayProcess

FIGURES = (
    contest.Figure("ingest", "events/s", goal=1.0),
    contest.Figure("relay's CPU", "us/event", more_is_better=False),
)


def main(argv: list[str]) -> int:
    """Run the contest."""
    parser = contest.options(__doc__, events=40_000, rounds=5)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--in-flight", type=int, default=100, help="events sent and not yet answered, per connection")
    given = parser.parse_args(argv)
    events = corpus.events(given.seed, given.events, given.cache_dir)

    def measure(relay: RelayProcess) -> dict[str, float]:
        publish(relay.url, [corpus.announcement(given.seed, relay.domain)], connections=1, in_flight=1)
        cpu_s = processes.cpu_s(relay.pid)
        seconds = publish(relay.url, events, connections=given.connections, in_flight=given.in_flight)
        cpu_s = processes.cpu_s(relay.pid) - cpu_s
        return {"ingest": len(events) / seconds, "relay's CPU": 1e6 * cpu_s / len(events)}

    load = f"{given.events} events, {given.connections} connections, {given.in_flight} in flight each"
    return contest.run(f"ingest: {load}", FIGURES, measure, given)
