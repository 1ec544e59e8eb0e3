"""One peer as it is remembered, connected or not: its health, its budget, what is wanted of it and how far that is.

What happens on an open link is in `link`; who is dialled when is in `roster`. Persisted as a PeerRecord and Marks.
"""

from graspd.sync.budget import Budget
from graspd.sync.coverage import Coverage
from graspd.sync.entropy import Entropy
from graspd.sync.filters import Room
from graspd.sync.health import remaining_s
from graspd.sync.interest import Interest
from graspd.sync.lifecycle import State
from graspd.sync.limits import SyncLimits
from graspd.sync.pace import Pace
from graspd.sync.plan import Unplanned
from graspd.sync.records import NEVER, Mark, PeerRecord
from graspd.sync.tally import Tally
from graspd.types import EventId, Monotonic, Now, RelayUrl, UnixTime


class Peer:
    """A remote relay."""

    def __init__(self, record: PeerRecord, limits: SyncLimits, now: Now) -> None:
        self.url: RelayUrl = record.url
        self.bootstrap = False
        self.state = State.PARKED
        self._limits = limits
        self.health = record.health
        self.dial_at = Monotonic(now.mono + remaining_s(record.health, now.wall, limits))
        self.rests = record.rests
        rest_left = min(record.rest_until - now.wall, limits.rest_s_max)
        self.rest_until: Monotonic | None = Monotonic(now.mono + rest_left) if rest_left > 0 else None
        self.capability = record.capability
        self.tally = Tally(record.reliability, now.mono)
        self.budget = Budget(limits, now.mono)
        self.pace = Pace(limits, now.mono)
        self.room: Room | None = None  # what it was found to take, where that is less than it says
        self.refuses_limit_zero = record.refuses_limit_zero
        self.phantoms: dict[EventId, UnixTime] = dict(record.phantoms)
        self.seen_at = record.seen_at
        self.daily_at = record.daily_at
        self.layer1_confirmed = record.layer1_confirmed
        self.layer1_audited = False  # it was confirmed before, and is being checked again
        self.coverage: dict[int, Coverage] = {}
        self.unplanned = Unplanned()
        self.refetch: dict[EventId, None] = {}  # rejected once, to be fetched again
        self.last_fault = ""

    # What is wanted of it

    def want(self, number: int, interest: Interest, mark: Mark | None) -> None:
        """A repository is wanted of it, or has grown. `mark`: as far as it was confirmed before a restart."""
        repo = interest.repo(number)
        held = self.coverage.get(number)
        if held is None:
            whole = mark is not None and (mark.roots, mark.digest) == (repo.root_count, repo.digest_hex)
            held = self.coverage[number] = Coverage(confirmed=len(repo) if whole else 0)
            held.proof = mark.certificate if mark is not None and whole else None
        if held.planned < len(repo):
            self.unplanned.add(number)

    def unwant(self, number: int) -> bool:
        """A repository is not wanted of it any more. Returns whether it was."""
        self.unplanned.discard(number)
        return self.coverage.pop(number, None) is not None

    def items_wanted(self, interest: Interest) -> int:
        """Repositories and root events."""
        return sum(1 + interest.repo(number).root_count for number in self.coverage)

    # Its syncs

    def is_quick(self, now: UnixTime) -> bool:
        """Whether it was away so briefly that what it confirmed still counts."""
        if self.seen_at is None or not self.layer1_confirmed:
            return False
        return 0 <= now - self.seen_at <= self._limits.quick_reconnect_s

    def is_daily_due(self, now: UnixTime) -> bool:
        """Whether its day is over. One that lies too far ahead comes of a clock that was set back."""
        return self.daily_at is None or not 0 < self.daily_at - now <= self._limits.daily_s_max

    def plan_daily(self, now: UnixTime, entropy: Entropy) -> None:
        """Choose the time of its next full sync."""
        self.daily_at = UnixTime(now + int(entropy.uniform(self._limits.daily_s_min, self._limits.daily_s_max)))

    def clear(self) -> None:
        """Nothing counts as confirmed any more: everything is planned again, and what was confirmed is audited."""
        self.layer1_audited, self.layer1_confirmed = self.layer1_confirmed, False
        for number, held in self.coverage.items():
            held.clear()
            self.unplanned.add(number)
        self.tally.begin_comparison()

    def unlink(self, interest: Interest) -> None:
        """Its link is lost: nothing is pending any more, and what is not confirmed is planned again."""
        for number, held in self.coverage.items():
            held.unlink()
            if held.planned < len(interest.repo(number)):
                self.unplanned.add(number)

    # Ids claimed and never served

    def is_phantom(self, event_id: EventId, now: UnixTime) -> bool:
        """Whether it claimed this id lately and did not serve it."""
        at = self.phantoms.get(event_id)
        if at is None:
            return False
        if 0 <= now - at <= self._limits.phantom_s:
            return True
        del self.phantoms[event_id]
        return False

    def add_phantom(self, event_id: EventId, now: UnixTime) -> None:
        """It claimed this id and did not serve it."""
        self.phantoms[event_id] = now
        if len(self.phantoms) > self._limits.phantoms_max:
            del self.phantoms[next(iter(self.phantoms))]

    def add_refetch(self, event_id: EventId) -> None:
        """It has an event that can be accepted now."""
        if len(self.refetch) < self._limits.refetch_max:
            self.refetch[event_id] = None

    def record(self, now: Now) -> PeerRecord:
        """As it is saved."""
        resting = self.rest_until is not None and self.rest_until > now.mono
        return PeerRecord(
            url=self.url,
            seen_at=self.seen_at,
            layer1_confirmed=self.layer1_confirmed,
            daily_at=self.daily_at,
            health=self.health,
            rest_until=UnixTime(now.wall + int(self.rest_until - now.mono)) if resting and self.rest_until else NEVER,
            rests=self.rests,
            capability=self.capability,
            reliability=self.tally.record(now.mono),
            refuses_limit_zero=self.refuses_limit_zero,
            phantoms=tuple(self.phantoms.items()),
        )
