"""The whole public surface of the core: `step`, `next_deadline`, `snapshot`.

Tells its parts what happened and when, and collects what they want done. Decides when windows close, when things are
swept and saved, and cuts large work into steps; everything else is decided by the parts.
"""

from enum import Enum
from typing import assert_never

from graspd.nostr.event import Event
from graspd.rules.policy import Policy
from graspd.rules.verdict import Reason, Verdict
from graspd.sync import inputs
from graspd.sync.alarms import Alarms
from graspd.sync.answers import hear
from graspd.sync.desk import Desk, Gap, Judging, Settlement
from graspd.sync.effects import Effect, ReadOwnHistory, Way
from graspd.sync.entropy import Entropy
from graspd.sync.inputs import Input
from graspd.sync.interest import Interest
from graspd.sync.jobs import JobId
from graspd.sync.keeping import Keeping
from graspd.sync.ledger import Standing
from graspd.sync.limits import SyncLimits
from graspd.sync.records import SavedState
from graspd.sync.reports import GapFound, Offence, StoreTroubled, SustainedGapFound
from graspd.sync.roster import Roster
from graspd.sync.snapshot import peer_view, repo_view, repo_views
from graspd.sync.view import EngineView, RepoView
from graspd.sync.wants import Wants
from graspd.types import Monotonic, Now, RelayUrl, RepoAddr

_NEW = (Reason.STORED, Reason.RELAYED, Reason.HELD)


class Chore(Enum):
    """What the engine does by time, besides what peers do."""

    READ = "read the own relay's history"
    WINDOW = "close the window"
    CHANGES = "apply changes of interest"
    RETRY = "try woken events again"
    UNSTORED = "try again to store"
    SWEEP = "sweep"
    SAVE = "save"


class SyncEngine:
    """Proactive sync. One caller at a time; it never awaits, and raises on nothing that a peer can send."""

    def __init__(
        self,
        policy: Policy,
        limits: SyncLimits,
        saved: SavedState,
        entropy: Entropy,
        own_urls: tuple[RelayUrl, ...] = (),
        mirrors: tuple[RelayUrl, ...] = (),
    ) -> None:
        """`own_urls` are never dialled; `mirrors` are bootstrap peers from which every repository is wanted."""
        self._desk = Desk(policy, limits, entropy, Interest(policy, limits, own_urls, mirrors))
        self._roster = Roster(self._desk)
        self._keeping = Keeping(saved, self._desk, self._roster)
        self._wants = Wants(self._desk, self._roster, self._keeping)
        self._chores: Alarms[Chore] = Alarms()
        self._reading: JobId | None = None
        self._history_read = False
        self._window_open = False
        self._stopped = False
        self._wall_ahead = float("-inf")  # of the monotonic clock; the most since the wall clock was last set back
        self._count_by_way = dict.fromkeys(Way, 0)
        self._gaps = 0
        self._sustained_gaps = 0
        self._chores.set(Chore.READ, Monotonic(0.0))

    # The surface

    def step(self, event: Input, now: Now) -> list[Effect]:
        """Take in what happened; returns what is to be done, in this order."""
        self._desk.begin(now)
        if self._stopped:
            self._answer_after_stop(event)
        else:
            self._mind_clock(now)
            self._take(event)
            self._settle()
        return self._desk.out

    def next_deadline(self) -> Monotonic | None:
        """When it wants to be stepped with Ticked at the latest."""
        if self._stopped:
            return None
        moments = [at for at in (self._chores.next(), self._roster.alarms.next()) if at is not None]
        return min(moments, default=None)

    def snapshot(self) -> EngineView:
        """As others may see it."""
        desk, roster = self._desk, self._roster
        return EngineView(
            peers=tuple(peer_view(peer, roster, desk) for peer in roster.peers.values()),
            repositories=desk.interest.repo_count,
            roots=len(desk.interest.roots),
            history_read=self._history_read,
            window_open=self._window_open,
            claims=desk.ledger.claims,
            in_hand=desk.ledger.in_hand,
            recent=desk.ledger.recent,
            rejected=len(desk.rejected),
            rejected_kept=desk.rejected.kept,
            rejected_bytes=desk.rejected.kept_bytes,
            jobs=len(desk.judging) + len(desk.reading),
            dials=roster.dials,
            events_by_way=tuple((way.value, count) for way, count in self._count_by_way.items()),
            gaps=self._gaps,
            sustained_gaps=self._sustained_gaps,
            unsaved=len(desk.unsaved),
        )

    def repository(self, addr: RepoAddr) -> RepoView | None:
        """How far one repository is synced, and with whom we are proven equal."""
        repo = self._desk.interest.find_repo(addr)
        return repo_view(repo, self._roster) if repo is not None and repo.wanted else None

    def repositories(self, offset: int, count: int) -> tuple[RepoView, ...]:
        """A page of all repositories that are synced."""
        return repo_views(self._desk.interest, self._roster, offset, count)

    def _mind_clock(self, now: Now) -> None:
        """Notice a wall clock that was set back by so much that filters may reach from a time that has not come."""
        ahead = now.wall - now.mono
        if ahead < self._wall_ahead - self._desk.limits.since_margin_s:
            self._roster.clock_set_back()
            self._wall_ahead = ahead
        self._wall_ahead = max(ahead, self._wall_ahead)

    # Inputs

    def _take(self, event: Input) -> None:  # noqa: C901 - one flat table of all inputs
        match event:
            case inputs.Ticked():
                self._tick()
            case inputs.OwnEventsRead() | inputs.OwnHistoryEnded() | inputs.OwnFeedLagged():
                self._take_history(event)
            case inputs.OwnEventsStored(events):
                self._take_stored(events)
            case inputs.OwnEventsErased(ids):
                for event_id in ids:
                    self._desk.erased(event_id)
                self._open_window()
            case inputs.BootstrapConfigured(peers):
                self._wants.set_bootstrap(peers)
            case inputs.PeerRetried(url):
                peer = self._roster.peers.get(url)
                if peer is not None:
                    self._roster.retry(peer)
            case inputs.LinkOpened() | inputs.LinkFailed() | inputs.LinkLost():
                self._take_link(event)
            case inputs.IngestEnded(job, verdicts):
                self._take_verdicts(job, verdicts)
            case inputs.ItemsRead() | inputs.IdsLookedUp() | inputs.ReadFailed():
                self._take_reading(event)
            case inputs.StateSaved() | inputs.SaveFailed():
                self._take_saving(event)
            case inputs.Stopping():
                self._stop()
            case _:
                self._take_answer(event)

    def _take_answer(self, event: inputs.Heard) -> None:
        link = self._roster.link_of(event.link)
        if link is not None:
            hear(event, link, self._desk)
            # An event by itself opens no new way; everything else may.
            if not isinstance(event, inputs.EventArrived):
                self._desk.touched[link.owner.url] = None

    def _take_history(self, event: inputs.OwnEventsRead | inputs.OwnHistoryEnded | inputs.OwnFeedLagged) -> None:
        if isinstance(event, inputs.OwnFeedLagged):
            # Whatever is being read is not the whole any more.
            self._reading = None
            self._chores.set(Chore.READ, self._after(self._desk.limits.own_reread_delay_s))
        elif event.job == self._reading:
            if isinstance(event, inputs.OwnHistoryEnded):
                self._end_history()
            else:
                for one in event.events:
                    self._desk.interest.put(one)
                self._open_window()

    def _read_history(self) -> None:
        self._reading = self._desk.job()
        self._desk.interest.begin_reading()
        self._desk.emit(ReadOwnHistory(self._reading))

    def _end_history(self) -> None:
        self._reading = None
        self._desk.interest.end_reading()
        self._open_window()
        if self._history_read:
            self._desk.wake_waiting()
        else:
            self._history_read = True
            self._desk.wake_kept()
            if not self._window_open:
                self._wants.begin()
            self._chores.set(Chore.SWEEP, self._after(self._desk.limits.sweep_s))
            self._chores.set(Chore.SAVE, self._after(self._desk.limits.save_s))

    def _take_stored(self, events: tuple[Event, ...]) -> None:
        for event in events:
            if self._desk.ledger.standing(event.id) in (Standing.FREE, Standing.CLAIMED):
                self._count_by_way[Way.DIRECT] += 1
            self._desk.interest.put(event)
            self._desk.stored(event)
        self._open_window()

    def _take_link(self, event: inputs.LinkOpened | inputs.LinkFailed | inputs.LinkLost) -> None:
        match event:
            case inputs.LinkOpened(link, terms):
                if self._roster.dialled(link) is not None:
                    self._roster.opened(link, terms)
            case inputs.LinkFailed(link, fault, text):
                if self._roster.dialled(link) is not None:
                    self._roster.failed(link, _why(fault, text))
            case inputs.LinkLost(link, fault, text):
                open_link = self._roster.link_of(link)
                if open_link is not None:
                    self._roster.lost(open_link.owner, _why(fault, text))
            case _:
                assert_never(event)

    def _take_verdicts(self, job: JobId, verdicts: tuple[Verdict, ...]) -> None:
        judging = self._desk.judging.pop(job, None)
        if judging is None:
            return
        for verdict in verdicts:
            settlement = self._desk.judged(job, judging, verdict)
            link = self._roster.links.get(judging.source.peer) if judging.source.peer is not None else None
            if settlement is Settlement.FORGED and link is not None:
                link.line.offend(Offence.FORGED, judging.event.id)
            elif verdict.reason in _NEW:
                self._count_new(judging)
        self._desk.relieve()

    def _count_new(self, judging: Judging) -> None:
        self._count_by_way[judging.source.way] += 1
        peer = self._roster.peers.get(judging.source.peer) if judging.source.peer is not None else None
        if peer is None:
            return
        peer.tally.received()
        match judging.gap:
            case Gap.NONE:
                return
            case Gap.GAP:
                self._gaps += 1
                self._desk.report(GapFound(peer.url, judging.event.id))
            case Gap.SUSTAINED:
                self._sustained_gaps += 1
                self._desk.report(SustainedGapFound(peer.url, judging.event.id))
        peer.tally.found_gap(sustained=judging.gap is Gap.SUSTAINED)

    def _take_reading(self, event: inputs.ItemsRead | inputs.IdsLookedUp | inputs.ReadFailed) -> None:
        transfer = self._desk.take_reader(event.job)
        if transfer is None:
            return
        match event:
            case inputs.ItemsRead(_, items):
                transfer.on_items(items)
            case inputs.IdsLookedUp(_, known):
                transfer.on_known(known)
            case inputs.ReadFailed(_, text):
                self._desk.report(StoreTroubled(text))
                transfer.on_read_failed(text)
            case _:
                assert_never(event)

    def _take_saving(self, event: inputs.StateSaved | inputs.SaveFailed) -> None:
        if isinstance(event, inputs.StateSaved):
            self._keeping.saved(event.job)
        else:
            self._desk.report(StoreTroubled(event.text))
            self._desk.unsaved.failed(event.job)

    # Time

    def _after(self, seconds: float) -> Monotonic:
        return Monotonic(self._desk.now.mono + seconds)

    def _open_window(self) -> None:
        if not self._window_open and self._desk.interest.has_changes:
            self._window_open = True
            self._chores.set(Chore.WINDOW, self._after(self._desk.limits.window_s))

    def _tick(self) -> None:
        now, slice_items = self._desk.now.mono, self._desk.limits.slice_items
        # Each chore and each peer once: what sets its own alarm to now goes on in the next step.
        chores = []
        while (chore := self._chores.pop_due(now)) is not None:
            chores.append(chore)
        for chore in chores:
            self._do(chore)
        for _ in range(self._desk.limits.peers_at_once):
            url = self._roster.alarms.pop_due(now) if self._desk.work < slice_items else None
            if url is None:
                return
            self._roster.tick(self._roster.peers[url])

    def _do(self, chore: Chore) -> None:
        match chore:
            case Chore.READ:
                self._read_history()
            case Chore.WINDOW:
                self._close_window()
            case Chore.CHANGES:
                self._apply_changes()
            case Chore.RETRY:
                self._desk.retry_some()
            case Chore.UNSTORED:
                self._desk.retry_unstored()
                self._roster.catch_up_missed()
            case Chore.SWEEP:
                self._sweep()
            case Chore.SAVE:
                self._keeping.begin()
                self._chores.set(Chore.SAVE, self._after(self._desk.limits.save_s))
            case _:
                assert_never(chore)

    def _close_window(self) -> None:
        if not self._history_read:
            # Nothing is decided on a part of the truth; the end of the history opens it again.
            self._chores.set(Chore.WINDOW, self._after(self._desk.limits.window_s))
            return
        self._window_open = False
        self._wants.gather()
        self._apply_changes()

    def _apply_changes(self) -> None:
        if self._wants.apply(self._desk.limits.slice_items):
            self._chores.set(Chore.CHANGES, self._desk.now.mono)
        else:
            self._wants.begin()

    def _sweep(self) -> None:
        self._desk.give_up_judging()
        self._desk.wake_early()
        self._wants.sweep()
        self._keeping.forget_strangers()
        self._chores.set(Chore.SWEEP, self._after(self._desk.limits.sweep_s))

    # The end of a step

    def _settle(self) -> None:
        """Pump the peers that have something to do now; what they stir up in turn is for the next step."""
        desk, now = self._desk, self._desk.now.mono
        self._refetch()
        touched, desk.touched = desk.touched, {}
        for url in touched:
            peer = self._roster.peers.get(url)
            if peer is None:
                continue
            if desk.work < desk.limits.slice_items:
                self._roster.pump(peer)
            elif url in self._roster.links:
                self._roster.alarms.set(url, now)
        self._refetch()
        for url in desk.touched:
            if url in self._roster.links:
                self._roster.alarms.set(url, now)
        desk.touched = {}
        if desk.may_retry:
            self._chores.set(Chore.RETRY, now)
        if desk.unstored and not self._chores.is_set(Chore.UNSTORED):
            self._chores.set(Chore.UNSTORED, self._after(desk.limits.retry_s_first))
        for finding in desk.interest.take_findings():
            desk.report(finding)

    def _refetch(self) -> None:
        to_refetch, self._desk.to_refetch = self._desk.to_refetch, []
        for event_id, url in to_refetch:
            peer = self._roster.peers.get(url)
            if peer is not None:
                peer.add_refetch(event_id)
                self._desk.touched[url] = None

    # The end of it all

    def _stop(self) -> None:
        self._keeping.save_all()
        self._roster.stop()
        self._stopped = True

    def _answer_after_stop(self, event: Input) -> None:
        if isinstance(event, inputs.StateSaved | inputs.SaveFailed):
            self._desk.unsaved.saved(event.job)


def _why(fault: inputs.LinkFault, text: str) -> str:
    return f"{fault.value}: {text}" if text else fault.value
