"""The composition root: makes the parts, joins them, owns their tasks, and takes them down in order."""

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from random import SystemRandom
from typing import Final

from graspd.errors import SettingError
from graspd.nostr.event import Event
from graspd.peers.dialer import Dialer
from graspd.peers.driver import Driver
from graspd.peers.embedded import EmbeddedRelay
from graspd.peers.identity import Identity
from graspd.peers.log import FindingLog
from graspd.peers.own_relay import Feed, OwnRelay
from graspd.peers.remote import RemoteRelay
from graspd.relay.rate import RateLimit
from graspd.server import descriptors
from graspd.server.clock import Clock, SystemClock
from graspd.server.hub import Hub
from graspd.server.ingest import Ingest
from graspd.server.listener import Listener
from graspd.server.negotiations import SharedSets
from graspd.server.stalled import Stalled
from graspd.server.verify import VerifyPool
from graspd.settings import Settings
from graspd.store.ports import EventStore
from graspd.store.sqlite.store import SqliteStore
from graspd.sync.engine import SyncEngine
from graspd.sync.inputs import BootstrapConfigured
from graspd.types import EventId, RelayUrl

_PURGE_EVERY_S: Final = 60.0
_SHUTDOWN_S_MAX: Final = 8.0
# Events live for milliseconds and hold no cycles. A collector that looks every 700 new objects spends a quarter of
# the time of a busy relay on finding nothing.
_OBJECTS_BETWEEN_COLLECTIONS: Final = 100_000
# The loop and the store's threads take turns; at the usual 5 ms every client would wait that long for a busy thread.
_TURN_S: Final = 0.0003

log = logging.getLogger("graspd")


@asynccontextmanager
async def ingesting(settings: Settings) -> AsyncIterator[tuple[SqliteStore, Ingest, VerifyPool]]:
    """The store with its one way in, for the server and for imports."""
    store = SqliteStore(settings.data_dir, readers=settings.reader_threads, query_s_max=settings.query_s_max)
    verify = VerifyPool(settings.verify_workers or max(1, (os.cpu_count() or 2) - 1))
    ingest = Ingest(store, verify, settings.policy(), SystemClock())
    await verify.start()
    owner = asyncio.current_task()
    assert owner is not None
    running = asyncio.create_task(ingest.run())
    # Should the way in end by a fault of ours, everything ends with it: better started again than silent for ever.
    running.add_done_callback(lambda ended: None if ended.cancelled() else owner.cancel())
    try:
        yield store, ingest, verify
        with suppress(TimeoutError):
            await asyncio.wait_for(ingest.drained(), _SHUTDOWN_S_MAX)
    finally:
        running.cancel()
        await asyncio.wait([running])
        await verify.stop()
        await store.close()
        if not running.cancelled():
            running.result()


async def serve(settings: Settings) -> None:
    """Serve until told to stop."""
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    sys.setswitchinterval(_TURN_S)
    stop = _stop_signal()
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
        dialer = Dialer(allow_private=settings.allow_private_peers, own_ports=frozenset({port}))
        own = EmbeddedRelay(store, ingest, lambda: clock.now().wall)
        sync = syncing(settings, store, ingest, own, dialer, clock, on_end=stop.set) if settings.sync else nullcontext()
        async with sync as stop_syncing:
            await stop.wait()
            log.info("stopping")
            if stop_syncing is not None:
                stop_syncing()
            purging.cancel()
            with suppress(asyncio.CancelledError):
                await purging
            with suppress(TimeoutError):
                await asyncio.wait_for(listener.stop(), _SHUTDOWN_S_MAX)


async def sidecar(settings: Settings, url: RelayUrl) -> None:
    """Proactive sync for the relay at a URL, until told to stop. A store of our own is our memory of it."""
    stop = _stop_signal()
    clock = SystemClock()
    async with ingesting(settings) as (store, ingest, _):
        dialer = Dialer(allow_private=settings.allow_private_peers, trusted=frozenset({url}))
        memory = EmbeddedRelay(store, ingest, lambda: clock.now().wall)
        identity = Identity.of(settings.data_dir)
        relay = RemoteRelay(url, memory, dialer, identity, clock.now, settings.sync_limits())
        ingest.on_new = lambda event, _: relay.stored(event)
        log.info("syncing for %s, hosting %s, data in %s", url, settings.public_domain, settings.data_dir)
        publishing = asyncio.create_task(relay.run())
        publishing.add_done_callback(lambda _: stop.set())
        purging = asyncio.create_task(_purge(store, clock))
        async with syncing(settings, store, ingest, relay, dialer, clock, on_end=stop.set, mirrors=(url,)):
            await stop.wait()
            log.info("stopping; %d events published, refused: %s", relay.published, dict(relay.refused))
        for task in (publishing, purging):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


@asynccontextmanager
async def syncing(
    settings: Settings,
    store: SqliteStore,
    ingest: Ingest,
    own: OwnRelay,
    dialer: Dialer,
    clock: Clock,
    *,
    on_end: Callable[[], None],
    mirrors: tuple[RelayUrl, ...] = (),
) -> AsyncIterator[Callable[[], None]]:
    """Proactive sync, until what this yields is called; `on_end` is, should it fail before that."""
    if settings.allow_private_peers:
        log.warning("allow_private_peers is on: announcements can make this server dial loopback and private networks")
    saved = await store.load_sync()
    driver = Driver(
        SyncEngine(settings.policy(), settings.sync_limits(), saved, SystemRandom(), mirrors=mirrors),
        own,
        store,
        dialer,
        Identity.of(settings.data_dir),
        clock.now,
        FindingLog(logging.getLogger("graspd.sync"), lambda: clock.now().mono).write,
    )
    _feed(driver.feed, store, ingest)
    driver.tell(BootstrapConfigured(settings.bootstrap_peers()))
    running = asyncio.create_task(driver.run())
    running.add_done_callback(lambda _: on_end())
    try:
        yield driver.stop
    finally:
        driver.stop()
        await running


def _feed(feed: Feed, store: SqliteStore, ingest: Ingest) -> None:
    """Let the feed hear of everything that is stored and erased, whoever else does."""
    loop = asyncio.get_running_loop()
    fan_out = ingest.on_new

    def stored(event: Event, commit: int) -> None:
        fan_out(event, commit)
        feed.stored(event)

    def erased(ids: Sequence[EventId]) -> None:
        loop.call_soon_threadsafe(feed.erased, tuple(ids))

    ingest.on_new = stored
    store.on_erased = erased


def _stop_signal() -> asyncio.Event:
    """Set once the process is told to end."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


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
        stalled=Stalled(settings.stalled_bytes_max),
    )


async def _purge(store: EventStore, clock: Clock) -> None:
    while True:
        await asyncio.sleep(_PURGE_EVERY_S)
        purged = await store.purge_expired(clock.now().wall)
        if purged:
            log.debug("%d expired events erased", purged)
