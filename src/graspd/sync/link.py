"""One open link: live subscriptions first, then batch after batch until the peer is caught up.

Everything that is transferred is decided here by one order: layer 1, what was missed while away, what `plan` says,
rejected events that can be accepted now, and in turn what cannot be live. Everything here ends with the link. When a
peer is dialled or dropped is decided in `roster`.
"""

from dataclasses import dataclass

from graspd.sync.batch import Batch, Errand, Task
from graspd.sync.coverage import Segment
from graspd.sync.desk import Desk
from graspd.sync.fetching import Fetcher
from graspd.sync.filters import LAYER1_CELL, Cell, cells_of, values_per_filter
from graspd.sync.line import OpenLine
from graspd.sync.live import Live
from graspd.sync.owed import Owed
from graspd.sync.peer import Peer
from graspd.sync.reconciling import Reconciler
from graspd.sync.reports import BatchEnded, SyncKind, SyncStarted
from graspd.sync.rota import Rota
from graspd.sync.transfer import Transfer
from graspd.sync.walking import Walker
from graspd.types import Monotonic, UnixTime

_BESIDE = (SyncKind.ROTA, SyncKind.REFETCH)  # a peer is caught up without these


@dataclass(frozen=True, slots=True)
class _Reopening:
    """Live filters that the peer closed, to be opened again."""

    at: Monotonic
    closed_at: Monotonic
    cells: tuple[Cell, ...]

    @property
    def filter_count(self) -> int:
        """Filters of the request."""
        return sum(cell.filter_count for cell in self.cells)


class Link:
    """What goes on over one connection."""

    def __init__(self, line: OpenLine, owner: Peer, desk: Desk) -> None:
        self.line = line
        self.owner = owner
        self.live = Live(line, desk)
        self.opened = desk.now
        self.batches: dict[int, Batch] = {}
        self.transfers: dict[int, Transfer] = {}
        self.kind = SyncKind.FRESH
        self.caught_up_once = False
        self._desk = desk
        self._gap_until: UnixTime | None = None  # for what was confirmed before
        self._owed = Owed()
        self._reopening: list[_Reopening] = []
        self._live_refusals = 0
        self._live_stale = 0  # items that are held live and not wanted any more
        self._values = desk.limits.filter_values
        self._rota = Rota(desk.limits.rota_s, desk.now)

    # Beginnings

    def begin(self) -> None:
        """The link is open: everything wanted becomes live, then what was missed is transferred."""
        owner, now = self.owner, self._desk.now.wall
        quick = owner.is_quick(now)
        if quick and not owner.is_daily_due(now):
            assert owner.seen_at is not None
            self.kind, self._gap_until = SyncKind.QUICK, owner.seen_at
            self.owe_everything(owner.seen_at)
        else:
            self._begin_afresh(SyncKind.DAILY if quick else SyncKind.FRESH, owner.seen_at)
        self._desk.report(SyncStarted(owner.url, self.kind))
        self.rebuild_live(None)

    def begin_daily(self) -> None:
        """Its day is over: everything is checked again, while live goes on."""
        limits, now = self._desk.limits, self._desk.now.wall
        self._drop_batches()
        self._owed.clear()
        self._begin_afresh(SyncKind.DAILY, UnixTime(max(0, now - limits.gap_slack_s)))
        self._desk.report(SyncStarted(self.owner.url, self.kind))

    def owe_everything(self, at: UnixTime) -> None:
        """All that is confirmed is to be caught up with from this time on, less a margin."""
        since = self._desk.limits.asked_from(at)
        self._owed.add([LAYER1_CELL], since)
        self._owed.add_confirmed(self.owner.coverage, since)

    def _begin_afresh(self, kind: SyncKind, gap_until: UnixTime | None) -> None:
        self.kind, self._gap_until = kind, gap_until
        self.caught_up_once = False
        self.owner.clear()
        self._desk.unsaved.cleared(self.owner.url)
        self.owner.plan_daily(self._desk.now.wall, self._desk.entropy)

    def end(self) -> None:
        """The link is over: nothing stays behind."""
        self.line.ended = True
        self._drop_batches()

    def _drop_batches(self) -> None:
        for batch in self.batches.values():
            for event_id in batch.ids:
                self.owner.add_refetch(event_id)
        for transfer in list(self.transfers.values()):
            transfer.fail("given up")
        self.transfers.clear()
        self.batches.clear()
        self.line.errands.clear()

    # Live

    def rebuild_live(self, since: UnixTime | None) -> None:
        """Open everything wanted anew, in as few requests as it takes."""
        interest, coverage = self._desk.interest, self.owner.coverage
        self.live.rebuild(list(coverage), since)
        roots = 0
        for number, held in coverage.items():
            held.live = len(interest.repo(number))
            roots += interest.repo(number).root_count
        limits = self._desk.limits
        self._values = values_per_filter(len(coverage), roots, limits.filters_max, self.line.room, limits)
        self._live_stale = 0
        self._reopening.clear()
        self.line.shrunk = False

    def consolidate(self) -> None:
        """Rebuild while history goes on. `since` reaches back so far that nothing falls between old and new."""
        self.rebuild_live(self._desk.limits.asked_from(self._desk.now.wall))

    def clock_set_back(self) -> None:
        """Live filters may reach from a time that has not come: they are made anew, and what they missed is owed."""
        self.owe_everything(self._desk.now.wall_at(self.opened.mono))
        self.consolidate()

    def shrank(self) -> None:
        """Something that is held live is not wanted any more."""
        self._live_stale += 1

    def tidy(self) -> None:
        """Rebuild live filters of which much is stale."""
        if self._live_stale >= self._desk.limits.filter_values:
            self.consolidate()

    def live_closed(self, cells: tuple[Cell, ...], *, passes: bool) -> None:
        """The peer closed live filters: they are opened again, and what was missed meanwhile is caught up with.

        Where it goes on refusing them, they are looked at in turn instead.
        """
        limits, now = self._desk.limits, self._desk.now
        delay = limits.reshape_s if self.line.shrunk else 0.0
        if not passes:
            self._live_refusals += 1
            delay = min(limits.retry_s_first * 2.0 ** min(self._live_refusals - 1, 32), limits.retry_s_max)
        if self._live_refusals > limits.live_refusals_max:
            self.live.shed.take(cells)
        else:
            self._reopening.append(_Reopening(Monotonic(now.mono + delay), now.mono, cells))

    def _close_overdue(self) -> None:
        """Live requests without an EOSE are not open, whatever became of them: they are tried again, smaller."""
        for sub in self.line.live_overdue():
            passes = self.line.live_stalled()
            self.line.unsubscribe(sub)
            if self._live_refusals:
                self.line.take_less()
            self.live_closed(self.live.closed(sub), passes=passes)

    def _reopen(self) -> None:
        if self.line.shrunk:
            if self.line.is_held:
                return
            due, crowded = self._reopening, True
        else:
            due = [one for one in self._reopening if one.at <= self._desk.now.mono]
            most = self.line.room.live_subscriptions(self._desk.limits)
            crowded = bool(due) and self.live.subscription_count + len(due) > most
            # Made when the peer was thought to take more than it does.
            crowded |= any(one.filter_count > self.line.room.filters_per_request for one in due)
        if crowded:
            due = self._reopening
            self.consolidate()
        else:
            self._reopening = [one for one in self._reopening if one not in due]
            for one in due:
                self.live.reopen(one.cells, None)
        for one in due:
            self._owed.add(list(one.cells), self._desk.limits.asked_from(self._desk.now.wall_at(one.closed_at)))

    def _keep_live(self, segments: tuple[Segment, ...]) -> None:
        """Hold the items of a new batch live, before they are transferred."""
        repos: list[int] = []
        roots: dict[int, None] = {}
        for number, lo, hi in segments:
            held = self.owner.coverage[number]
            lo = max(lo, held.live)
            if lo == 0 and hi:
                repos.append(number)
            roots.update(dict.fromkeys(self._roots(number, lo, hi)))
            held.live = max(held.live, hi)
        if not repos and not roots:
            return
        if self.live.fits(len(repos), len(roots)):
            self.live.add(repos, list(roots))
        else:
            self.consolidate()

    def _roots(self, number: int, lo: int, hi: int) -> list[int]:
        # Position 0 is the repository itself.
        return [root for root in self._desk.interest.repo(number).roots[max(0, lo - 1) : max(0, hi - 1)] if root >= 0]

    # Where it stands

    @property
    def owes(self) -> bool:
        """Whether something that was confirmed has not been caught up with: the time of its loss must not move on."""
        if self._owed or self._reopening:
            return True
        return any(batch.errand.kind is SyncKind.QUICK for batch in self.batches.values())

    @property
    def is_caught_up(self) -> bool:
        """Whether everything wanted is confirmed and live."""
        if self.owes or self.line.shrunk or not self.live.settled or self.line.live_deadline is not None:
            return False
        if len(self.owner.unplanned) or not self.owner.layer1_confirmed:
            return False
        return all(batch.errand.kind in _BESIDE for batch in self.batches.values())

    def deadline(self) -> Monotonic | None:
        """When it must be looked at again at the latest."""
        now = self._desk.now.mono
        moments = [transfer.deadline for transfer in self.transfers.values()]
        if not self.line.shrunk:
            moments += [one.at for one in self._reopening]
        moments += [self.line.auth.deadline, self.line.ready_at(), self.line.live_deadline]
        # What is due already and was not begun waits for something else than time.
        waiting = [batch.retry_at for batch in self.batches.values()]
        waiting.append(self._rota.due_at(self.live.shed))
        moments += [at for at in waiting if at is not None and at > now]
        return min((at for at in moments if at is not None), default=None)

    # Going on

    def tick(self) -> None:
        """Time has passed."""
        now = self._desk.now.mono
        self.line.auth.expire(now)
        self._close_overdue()
        for transfer in list(self.transfers.values()):
            if transfer.deadline is not None and transfer.deadline <= now:
                self.line.expire(transfer)

    def pump(self) -> None:
        """Do everything that can be done now."""
        going = True
        while going:
            self._reopen()
            self.live.pump()
            self._plan()
            self.line.live_waits = not self.live.settled
            self._start_tasks()
            going = self._advance()
        self.caught_up_once |= self.is_caught_up

    def _advance(self) -> bool:
        """Pump the transfers; returns whether one has ended, which makes room for others."""
        ended = False
        for number, transfer in list(self.transfers.items()):
            transfer.pump()
            if transfer.outcome is not None:
                ended = True
                del self.transfers[number]
                batch = self.batches[transfer.batch]
                batch.ended(number, transfer.outcome, self._desk.now.wall)
                if batch.is_over:
                    self._end(batch)
        return ended

    def _start_tasks(self) -> None:
        for batch in list(self.batches.values()):
            while batch.todo and not batch.waits and len(self.transfers) < self.line.transfers_max:
                self._start(batch, batch.todo.popleft())
            if batch.is_over and not batch.waits:
                self._end(batch)

    def _start(self, batch: Batch, task: Task) -> None:
        transfer: Transfer
        wanted = batch.filter(task, self._desk.interest)
        if task.ids:
            transfer = Fetcher(self.line, self._desk, batch.number, task.ids)
        elif wanted is None:
            return
        elif task.walks or batch.errand.since is not None or not self.line.may_reconcile():
            transfer = Walker(self.line, self._desk, batch.number, wanted)
        else:
            transfer = Reconciler(self.line, self._desk, batch.number, wanted)
        batch.running[transfer.number] = task
        self.transfers[transfer.number] = transfer

    def _end(self, batch: Batch) -> None:
        well = batch.ended_well
        certificate = batch.certificate(self._desk.now.wall)
        if well:
            del self.batches[batch.number]
            del self.line.errands[batch.number]
            self._confirm(batch)
        else:
            batch.fail(self._desk.now.mono, self._desk.limits)
        self._desk.report(
            BatchEnded(
                self.owner.url,
                batch.errand.kind,
                well,
                batch.items,
                certificate.method,
                certificate.unserved,
                "" if well else batch.why,
            )
        )

    def _confirm(self, batch: Batch) -> None:
        if batch.layer1:
            self.owner.layer1_confirmed = True
            self._desk.unsaved.changed(self.owner.url)
        certificate = batch.certificate(self._desk.now.wall)
        for number, lo, hi in batch.segments:
            held = self.owner.coverage.get(number)
            # Not wanted any more, or wanted anew and not planned so far: then it is not this batch that counts.
            if held is None or held.planned < hi:
                continue
            held.confirm(lo, hi, certificate)
            repo = self._desk.interest.repo(number)
            if held.confirmed == len(repo):
                self._desk.unsaved.marked(self.owner.url, repo.addr)

    # Planning

    def _plan(self) -> None:
        limits = self._desk.limits
        while self.live.settled:
            waiting = sum(1 for batch in self.batches.values() if batch.waits)
            if len(self.batches) - waiting >= limits.batches_at_once:
                return
            if self._resume_batch():
                continue
            batch = self._next_batch() if waiting < limits.batches_waiting_max else None
            if batch is None:
                return
            self.batches[batch.number] = batch
            self.line.errands[batch.number] = batch.errand
            # What the batch needs live is asked for before any of it is transferred.
            self.live.pump()

    def _resume_batch(self) -> bool:
        """Try a batch again that ended badly, if one is due."""
        for batch in self.batches.values():
            if batch.retry_at is not None and batch.retry_at <= self._desk.now.mono:
                batch.retry_at = None
                return True
        return False

    def _next_batch(self) -> Batch | None:
        if not self.owner.layer1_confirmed and not any(batch.layer1 for batch in self.batches.values()):
            errand = self._errand(audited=self.owner.layer1_audited)
            return Batch(self._desk.number(), errand, [LAYER1_CELL], layer1=True)
        return self._owed_batch() or self._planned_batch() or self._refetch_batch() or self._rota_batch()

    def _errand(self, *, audited: bool) -> Errand:
        if audited:
            return Errand(self.kind, gap_until=self._gap_until)
        return Errand(SyncKind.ADDED if self.caught_up_once else SyncKind.FRESH)

    def _owed_batch(self) -> Batch | None:
        owed = self._owed.take_cells()
        if owed is None:
            segments, since = self._owed.take_segments(self.owner.coverage, self._desk.limits.batch_items)
            if not segments:
                return None
            owed = (self._cells(segments), since)
        cells, since = owed
        return Batch(self._desk.number(), Errand(SyncKind.QUICK, since, self._gap_until), cells)

    def _planned_batch(self) -> Batch | None:
        desk = self._desk
        planned = self.owner.unplanned.next_batch(self.owner.coverage, desk.interest, desk.limits.batch_items)
        if not planned.segments:
            return None
        self._keep_live(planned.segments)
        cells = self._cells(planned.segments)
        return Batch(desk.number(), self._errand(audited=planned.audited), cells, planned.segments)

    def _cells(self, segments: tuple[Segment, ...]) -> list[Cell]:
        repos = [number for number, lo, _ in segments if lo == 0]
        roots = dict.fromkeys(root for number, lo, hi in segments for root in self._roots(number, lo, hi))
        self._desk.work += len(repos) + len(roots)
        return cells_of(repos, roots, self._values, self.line.room, self._desk.interest)

    def _refetch_batch(self) -> Batch | None:
        if not self.owner.refetch:
            return None
        ids = tuple(self.owner.refetch)
        self.owner.refetch.clear()
        return Batch(self._desk.number(), Errand(SyncKind.REFETCH), [], ids=ids)

    def _rota_batch(self) -> Batch | None:
        desk, limits = self._desk, self._desk.limits
        if any(batch.errand.kind is SyncKind.ROTA for batch in self.batches.values()):
            return None
        turn = self._rota.next(self.live.shed, limits.batch_items, desk.now)
        if turn is None:
            return None
        cells = cells_of(turn.repos, turn.roots, self._values, self.line.room, desk.interest)
        since = None if self.line.may_reconcile() else limits.asked_from(self._rota.since)
        return Batch(desk.number(), Errand(SyncKind.ROTA, since), [LAYER1_CELL, *cells] if turn.layer1 else cells)
