"""Bounded: every queue, map and retry stays under its named limit, and whoever nothing wants is let go."""

from collections.abc import Sequence
from typing import Final

from graspd.sync import effects as e
from graspd.sync import inputs as i
from graspd.sync.records import SavedState
from graspd.sync.view import EngineView
from graspd.types import Now
from sim.checkers.watch import Checker
from sim.own import Own

_STEP_EFFECTS_MAX: Final = 5000
_JOBS_BESIDE: Final = 500  # look-ups, and what live subscriptions bring


class Bounded(Checker):
    """Looks at the engine's own figures, and counts what is under way by itself."""

    name = "bounded"

    def __init__(self, own: Own) -> None:
        super().__init__(own)
        self._dialing: set[int] = set()
        self._jobs: set[int] = set()
        self._linked: set[int] = set()

    def started(self, now: Now, saved: SavedState) -> None:  # noqa: ARG002
        """A new life."""
        self._dialing.clear()
        self._jobs.clear()
        self._linked.clear()

    def stepped(self, now: Now, told: i.Input, effects: Sequence[e.Effect]) -> None:  # noqa: ARG002
        """Count dials and jobs."""
        match told:
            case i.LinkOpened(link, _) | i.LinkFailed(link, _, _):
                self._dialing.discard(link)
            case i.LinkLost(link, _, _):
                self._linked.discard(link)
            case i.IngestEnded(job, _) | i.ItemsRead(job, _) | i.IdsLookedUp(job, _) | i.ReadFailed(job, _):
                self._jobs.discard(job)
            case _:
                pass
        for effect in effects:
            match effect:
                case e.OpenLink(link, _):
                    self._dialing.add(link)
                    self._linked.add(link)
                case e.CloseLink(link):
                    self._dialing.discard(link)
                    self._linked.discard(link)
                case e.Ingest(job, _, _) | e.ReadItems(job, _) | e.LookUpIds(job, _):
                    self._jobs.add(job)
                case _:
                    pass
        if len(effects) > _STEP_EFFECTS_MAX:
            self.fail(f"one step asks for {len(effects)} things")
        if len(self._dialing) > self.own.limits.dials_at_once_max:
            self.fail(f"{len(self._dialing)} dials at once")
        # No page is asked for while too much is in hand; those asked for before then may still come.
        limits = self.own.limits
        pages = len(self._linked) * limits.transfers_at_once * limits.page_limit
        if len(self._jobs) > limits.in_hand_max + pages + _JOBS_BESIDE:
            self.fail(f"{len(self._jobs)} jobs at once")

    def inspect(self) -> None:
        """Compare the engine's figures with its limits."""
        if self.own.engine is None:
            return
        limits, view = self.own.limits, self.own.engine.snapshot()
        for what, count, most in (
            ("ids taken lately", view.recent, limits.recent_max),
            ("rejected ids", view.rejected, limits.rejected_max),
            ("bytes of rejected events", view.rejected_bytes, limits.rejected_bytes_max),
            ("repositories", view.repositories, limits.repositories_max),
            ("roots", view.roots, limits.roots_max),
            ("dials", view.dials, limits.dials_at_once_max),
        ):
            if count > most:
                self.fail(f"{count} {what}, {most} are allowed")
        self._inspect_peers(view)

    def _inspect_peers(self, view: EngineView) -> None:
        limits = self.own.limits
        connected = sum(1 for peer in view.peers if peer.link is not None and not peer.bootstrap)
        if connected > limits.peers_max:
            self.fail(f"{connected} peers are connected or dialled, {limits.peers_max} are allowed")
        for peer in view.peers:
            # While they are rebuilt, the old ones stay open until the new ones are.
            if peer.live_filters > 2 * limits.filters_max:
                self.fail(f"{peer.url} has {peer.live_filters} live filters")
            if peer.batches - peer.batches_retrying > limits.batches_at_once:
                self.fail(f"{peer.url} has {peer.batches - peer.batches_retrying} batches under way")
            if peer.batches_retrying > limits.batches_waiting_max + limits.batches_at_once:
                self.fail(f"{peer.url} has {peer.batches_retrying} batches to be tried again")
        for record in self.own.machine.disk.state().records:
            if len(record.phantoms) > limits.phantoms_max:
                self.fail(f"{record.url} has {len(record.phantoms)} phantoms saved")
