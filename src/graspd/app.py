"""The composition root: makes the parts, joins them, owns their tasks, and takes them down in order."""

import asyncio
import gc
import logging
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from graspd.errors import SettingError
from graspd.relay.rate import RateLimit
from graspd.server import descriptors
from graspd.server.clock import Clock, SystemClock
from graspd.server.hub import Hub
from graspd.server.ingest import Ingest
from graspd.server.listener import Listener
from graspd.server.negotiations import SharedSets
from graspd.server.verify import VerifyPool
from graspd.settings import Settings
from graspd.store.ports import EventStore
from graspd.store.sqlite.store import SqliteStore

_PURGE_EVERY_S: Final = 60.0
_SHUTDOWN_S_MAX: Final = 8.0
# Events live for milliseconds and hold no cycles. A collector that looks after every 700 new objects spends a quarter of
# the time of a busy relay on finding nothing.
_OBJECTS_BETWEEN_COLLECTIONS: Final = 100_000

log = logging.getLogger("graspd")


@asynccontextmanager
async def ingesting(settings: Settings) -> AsyncIterator[tuple[SqliteStore, Ingest, VerifyPool]]:
    """The store with its one way in, for the server and for imports."""
    store = SqliteStore(settings.data_dir, readers=settings.reader_threads, query_s_max=settings.query_s_max)
    verify = VerifyPool(settings.verify_workers or max(1, (os.cpu_count() or 2) - 1))
    ingest = Ingest(store, verify, settings.policy(), SystemClock())
    await verify.start()
    running = asyncio.create_task(ingest.run())
    try:
        yield store, ingest, verify
        with suppress(TimeoutError):
            await asyncio.wait_for(ingest.drained(), _SHUTDOWN_S_MAX)
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        await verify.stop()
        await store.close()


async def serve(settings: Settings) -> None:
    """Serve until told to stop."""
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    clock = SystemClock()
    fitting = descriptors.allow(settings.connections_max)
    if fitting is not None:
        log.warning(
            "the system allows %d connections, fewer than connections_max = %d; raise its limit on open files "
            "(LimitNOFILE in systemd, ulimit -n in a shell)",
            fitting,
            settings.connections_max,
        )
    async with ingesting(settings) as (store, ingest, verify):
        hub = _hub(settings, store, ingest, verify, clock)
        ingest.on_new = hub.fan_out
        listener = Listener(settings.door(), hub)
        try:
            port = await listener.start()
        except OSError as error:
            raise SettingError(f"bind = {settings.bind!r}: cannot listen there: {error.strerror}") from error
        log.info("serving %s on %s:%d, data in %s", hub.domain, settings.bind_host, port, settings.data_dir)
        purging = asyncio.create_task(_purge(store, clock))
        await stop.wait()
        log.info("stopping")
        purging.cancel()
        with suppress(asyncio.CancelledError):
            await purging
        with suppress(TimeoutError):
            await asyncio.wait_for(listener.stop(), _SHUTDOWN_S_MAX)


def _hub(settings: Settings, store: EventStore, ingest: Ingest, verify: VerifyPool, clock: Clock) -> Hub:
    return Hub(
        store=store,
        ingest=ingest,
        verify=verify,
        limits=settings.relay_limits(),
        rate=RateLimit(settings.events_per_minute),
        clock=clock,
        domain=settings.public_domain,
        idle_s_max=settings.idle_s_max,
        unsent_bytes_max=settings.unsent_bytes_max,
        sets=SharedSets(store, clock),
    )


async def _purge(store: EventStore, clock: Clock) -> None:
    while True:
        await asyncio.sleep(_PURGE_EVERY_S)
        purged = await store.purge_expired(clock.now().wall)
        if purged:
            log.debug("%d expired events erased", purged)
