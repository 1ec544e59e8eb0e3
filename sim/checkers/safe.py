"""Safe: an event that was acknowledged is never lost, whatever crashes when; and nothing enters that must not.

What was deleted, replaced, expired or vanished does not come back. No forgery is stored, and nothing protected that
its author did not bring.
"""

from graspd.nostr.event import Event
from graspd.nostr.kinds import REQUEST_KINDS
from graspd.rules.verdict import Reason, Verdict
from graspd.sync.records import SavedState
from graspd.types import EventId, Now
from sim.checkers.watch import Checker
from sim.content import is_genuine
from sim.own import Own


class Safe(Checker):
    """Remembers every OK."""

    name = "safe"

    def __init__(self, own: Own) -> None:
        super().__init__(own)
        self._acknowledged: dict[EventId, Event] = {}

    def answered(self, event: Event, verdict: Verdict) -> None:
        """An OK after the commit."""
        if verdict.reason in (Reason.STORED, Reason.HELD):
            self._acknowledged[event.id] = event

    def started(self, now: Now, saved: SavedState) -> None:  # noqa: ARG002
        """After a crash above all."""
        self.inspect()

    def inspect(self) -> None:
        """Everything acknowledged is here or has gone for a reason; nothing else has come in."""
        store = self.own.machine.store
        for event_id, event in self._acknowledged.items():
            if event_id in store.served or event_id in store.waiting or event_id in store.gone:
                continue
            if event.kind in REQUEST_KINDS and event.pubkey in store.vanished:
                continue
            self.fail(f"{event.kind}/{event_id[:8]} was acknowledged and is lost")
        for event_id, event in store.served.items():
            if event_id in store.gone:
                self.fail(f"{event.kind}/{event_id[:8]} was gone and has come back")
            if not is_genuine(event):
                self.fail(f"{event.kind}/{event_id[:8]} is forged and was stored")
            if event.is_protected and event_id not in self._acknowledged:
                self.fail(f"{event.kind}/{event_id[:8]} is protected and was synced")
