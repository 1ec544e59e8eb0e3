"""When a peer may be dialled: 5 s, 10 s, 20 s ... 1 h after failures, once a day when it has failed for a day.

A success ends it all, but a link must have lived a while for its loss to count as the first failure: a peer that
accepts and drops at once is failing. Being asked to slow down is not a failure; that is in `pace`.
"""

from dataclasses import dataclass, replace

from graspd.sync.entropy import Entropy
from graspd.sync.limits import SyncLimits
from graspd.sync.records import NEVER, HealthRecord
from graspd.sync.view import Health
from graspd.types import UnixTime


def delay_s(failures: int, limits: SyncLimits) -> float:
    """How long to wait after so many failures in a row."""
    assert failures > 0
    doublings = min(failures - 1, 32)
    return min(limits.backoff_s_first * 2.0**doublings, limits.backoff_s_max)


def health_of(record: HealthRecord, now: UnixTime, limits: SyncLimits) -> Health:
    """Healthy, degraded or dead."""
    if record.failures == 0:
        return Health.HEALTHY
    if record.failing_since is not None and now - record.failing_since >= limits.dead_after_s:
        return Health.DEAD
    return Health.DEGRADED


@dataclass(frozen=True, slots=True)
class Backoff:
    """A health record with the delay that its last failure earned."""

    record: HealthRecord
    delay_s: float


def failed(
    record: HealthRecord, now: UnixTime, limits: SyncLimits, entropy: Entropy, delay_s_min: float = 0.0
) -> Backoff:
    """One failure more."""
    since = record.failing_since if record.failing_since is not None else now
    worse = replace(record, failures=record.failures + 1, failing_since=since)
    dead = health_of(worse, now, limits) is Health.DEAD
    wait = limits.dead_retry_s if dead else delay_s(worse.failures, limits)
    wait = max(wait, delay_s_min) * (1 + entropy.uniform(0.0, limits.backoff_jitter))
    return Backoff(replace(worse, retry_at=UnixTime(now + int(wait) + 1)), wait)


def succeeded() -> HealthRecord:
    """A link has lived long enough."""
    return HealthRecord(failures=0, failing_since=None, retry_at=NEVER)


def remaining_s(record: HealthRecord, now: UnixTime, limits: SyncLimits) -> float:
    """Of a saved delay, what is left at a restart. A clock that was set back must not make it longer than it was."""
    if record.failures == 0:
        return 0.0
    return float(max(0, min(record.retry_at - now, int(limits.dead_retry_s))))
