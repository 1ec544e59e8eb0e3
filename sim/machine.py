"""Our own machine in virtual time: the store behind the real rules, the disk, the feed of the own relay.

Carries out what the engine asks of the own relay. Commits are done in order, one after the other; at a crash those
under way are lost, or done without anybody being told.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random
from typing import Final

from graspd.negentropy import ItemSet
from graspd.nostr.event import Event
from graspd.nostr.filter import Filter
from graspd.nostr.kinds import ANNOUNCEMENT, ROOT_KINDS
from graspd.rules.admission import screen
from graspd.rules.policy import Policy
from graspd.rules.verdict import BAD_SIGNATURE, KNOWN, Reason, Verdict
from graspd.sync import effects as e
from graspd.sync import inputs as i
from graspd.types import EventId, PubKey, UnixTime
from sim.content import is_genuine
from sim.faults import Fault, Faults
from sim.quick_store import QuickStore
from sim.saved import Disk
from sim.store import take
from sim.timeline import Timeline

_SLICE: Final = 200  # events of the history told at once
_FAILED: Final = Verdict(Reason.STORE_FAILED, "the disk is full")

StoreEffect = e.ReadOwnHistory | e.Ingest | e.ReadItems | e.LookUpIds | e.SaveState


@dataclass(slots=True)
class Conditions:
    """How the machine does at present."""

    disk_s: tuple[float, float] = (0.001, 0.05)
    failing: bool = False
    feed_first: bool = True  # the feed tells of an event before ingest has ended
    lag_share: float = 0.0


@dataclass(eq=False, slots=True)
class _Write:
    """A commit under way, and whom to tell afterwards."""

    commit: Callable[[], None]
    tell: Callable[[], None]


class Machine:
    """Store, disk and feed."""

    def __init__(
        self,
        timeline: Timeline,
        rng: Random,
        faults: Faults,
        policy: Policy,
        wall: Callable[[], UnixTime],
        tell: Callable[[i.Input], None],
    ) -> None:
        self._timeline = timeline
        self._rng = rng
        self._faults = faults
        self._policy = policy
        self._wall = wall
        self._tell = tell
        self.store = QuickStore()
        self.disk = Disk()
        self.conditions = Conditions()
        self.trap: Callable[[], None] | None = None  # sprung by the next commit, in the middle of it
        self._writes: list[_Write] = []
        self._free_at = 0.0
        self._life = 0

    # Life and death

    def crash(self) -> None:
        """Of the commits under way, some are done and the rest are not; nobody is told of either."""
        done = self._rng.randint(0, len(self._writes))
        if done:
            self._faults.saw(Fault.COMMIT_UNTOLD)
        if done < len(self._writes):
            self._faults.saw(Fault.COMMIT_LOST)
        self._end(done)

    def stop(self) -> None:
        """Finish what is under way."""
        self._end(len(self._writes))

    def _end(self, done: int) -> None:
        for write in self._writes[:done]:
            write.commit()
        self._writes.clear()
        self._life += 1

    @property
    def behind_s(self) -> float:
        """How long the disk needs for what it was given. The real one takes all that waits in one commit."""
        return max(0.0, self._free_at - self._timeline.now)

    # What the engine asks for

    def perform(self, effect: StoreEffect) -> None:
        """Begin to do it; the answer comes later."""
        match effect:
            case e.ReadOwnHistory():
                self._read_history(effect)
            case e.Ingest(job, _, events):
                self._ingest(events, frozenset(), lambda verdicts: self._tell(i.IngestEnded(job, verdicts)))
            case e.ReadItems(job, wanted):
                self._read(effect, lambda: i.ItemsRead(job, self._items(wanted)))
            case e.LookUpIds(job, ids):
                self._read(effect, lambda: i.IdsLookedUp(job, frozenset(filter(self.store.knows, ids))))
            case e.SaveState():
                self._save(effect)

    def _read_history(self, effect: e.ReadOwnHistory) -> None:
        kinds = (ANNOUNCEMENT, *ROOT_KINDS)
        held = [event for event in self.store.served.values() if event.kind in kinds]
        if self._is_lagging():
            self._after_disk(lambda: self._tell(i.OwnFeedLagged()))
            return
        for start in range(0, len(held), _SLICE):
            self._tell_in_turn(i.OwnEventsRead(effect.job, tuple(held[start : start + _SLICE])))
        self._tell_in_turn(i.OwnHistoryEnded(effect.job))

    def _tell_in_turn(self, told: i.Input) -> None:
        self._in_turn(lambda: self._tell(told))

    def _read(self, effect: e.ReadItems | e.LookUpIds, answer: Callable[[], i.Input]) -> None:
        if self.conditions.failing:
            self._after_disk(lambda: self._tell(i.ReadFailed(effect.job, "the disk fails")))
        else:
            self._after_disk(lambda: self._tell(answer()))

    def _save(self, effect: e.SaveState) -> None:
        if self.conditions.failing:
            self._after_disk(lambda: self._tell(i.SaveFailed(effect.job, "the disk is full")))
            return
        self._write(_Write(lambda: self.disk.apply(effect), lambda: self._tell(i.StateSaved(effect.job))))

    def _items(self, wanted: Filter) -> ItemSet:
        columns = self.store.columns(wanted, self._wall())
        return ItemSet.from_columns(columns.created_at, columns.ids)

    # Events

    def publish(self, event: Event, answer: Callable[[Verdict], None]) -> None:
        """A client publishes to us; it has shown who it is."""
        self._ingest((event,), frozenset({event.pubkey}), lambda verdicts: answer(verdicts[0]))

    def put(self, event: Event) -> None:
        """Have an event from the beginning, before anybody is there to be told."""
        verdicts, _, _ = self._commit((event,), frozenset({event.pubkey}))
        assert verdicts[0].accepted, verdicts

    def expire(self) -> None:
        """Erase what has expired."""
        before = {*self.store.served}
        self.store.expire(self._wall())
        self._feed((), [event_id for event_id in before if event_id not in self.store.served])

    def _ingest(
        self, events: tuple[Event, ...], known: frozenset[PubKey], answer: Callable[[tuple[Verdict, ...]], None]
    ) -> None:
        if self.conditions.failing:
            self._faults.saw(Fault.STORE_FAILED)
            self._after_disk(lambda: answer(tuple(_FAILED for _ in events)))
            return
        done: list[tuple[tuple[Verdict, ...], list[Event], list[EventId]]] = []

        def tell() -> None:
            verdicts, stored, erased = done[0]
            if self.conditions.feed_first:
                self._feed(stored, erased)
                answer(verdicts)
            else:
                answer(verdicts)
                self._feed(stored, erased)

        self._write(_Write(lambda: done.append(self._commit(events, known)), tell))

    def _commit(
        self, events: tuple[Event, ...], known: frozenset[PubKey]
    ) -> tuple[tuple[Verdict, ...], list[Event], list[EventId]]:
        """Judge in the order of the real ingest: what needs no look-up, known ids, signatures, the rules."""
        store, now = self.store, self._wall()
        verdicts: dict[int, Verdict] = {}
        judged: list[int] = []
        for number, event in enumerate(events):
            verdict = screen(event, self._policy, now, known)
            if verdict is None and event.id in store.served:
                verdict = KNOWN
            elif verdict is None and not is_genuine(event):
                verdict = BAD_SIGNATURE
            if verdict is None:
                judged.append(number)
            else:
                verdicts[number] = verdict
        before = dict(store.served)
        answers = take(store, [events[number] for number in judged], self._policy, now)
        verdicts.update(zip(judged, answers, strict=True))
        stored = [event for event_id, event in store.served.items() if event_id not in before]
        erased = [event_id for event_id in before if event_id not in store.served]
        return tuple(verdicts[number] for number in range(len(events))), stored, erased

    def _feed(self, stored: Iterable[Event], erased: Iterable[EventId]) -> None:
        stored, erased = tuple(stored), tuple(erased)
        if not stored and not erased:
            return
        if self._is_lagging():
            self._tell(i.OwnFeedLagged())
            return
        if stored:
            self._tell(i.OwnEventsStored(stored))
        if erased:
            self._tell(i.OwnEventsErased(erased))

    def _is_lagging(self) -> bool:
        if self._rng.random() >= self.conditions.lag_share:
            return False
        self._faults.saw(Fault.FEED_LAGGED)
        return True

    # The disk

    def _disk_s(self) -> float:
        return self._rng.uniform(*self.conditions.disk_s)

    def _after_disk(self, action: Callable[[], None]) -> None:
        self._timeline.after(self._disk_s(), self.alive(action))

    def _in_turn(self, action: Callable[[], None]) -> None:
        self._free_at = max(self._free_at, self._timeline.now) + self._disk_s()
        self._timeline.at(self._free_at, self.alive(action))

    def _write(self, write: _Write) -> None:
        self._writes.append(write)
        if self.trap is not None:
            self._timeline.after(0.0, self.trap)
            self.trap = None

        def finish() -> None:
            self._writes.remove(write)
            write.commit()
            write.tell()

        self._in_turn(finish)

    def alive(self, action: Callable[[], None]) -> Callable[[], None]:
        """The action, if we still live the same life by then."""
        life = self._life

        def run() -> None:
            if self._life == life:
                action()

        return run
