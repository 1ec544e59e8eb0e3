"""rust-nostr's relay (PyPI nostr-sdk): in memory, speaks NIP-77. Run as a module it serves the port it is given."""

import asyncio
import signal
import sys

from nostr_sdk import LocalRelayBuilder, RateLimit  # type: ignore[import-untyped]

from tests.peers.process import HOST, RelayProcess, python_command

# High enough never to be what a test or a benchmark meets.
NO_LIMIT = 1_000_000_000
MAX_CONNECTIONS = 20_000


class RustNostrRelay(RelayProcess):
    """rust-nostr's LocalRelay with its rate limits lifted; holds events in memory only."""

    name = "rust-nostr"

    def command(self) -> list[str]:
        """Serve from this very module."""
        return python_command("tests.peers.rust_nostr", str(self.port))


async def serve(port: int) -> None:
    """Serve until told to end."""
    builder = (
        LocalRelayBuilder()
        .addr(HOST)
        .port(port)
        .rate_limit(RateLimit(max_reqs=NO_LIMIT, notes_per_minute=NO_LIMIT))
        .max_filter_limit(NO_LIMIT)
        .max_connections(MAX_CONNECTIONS)
    )
    relay = builder.build()
    told_to_end = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told_to_end.set)
    await relay.run()
    await told_to_end.wait()
    relay.shutdown()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
