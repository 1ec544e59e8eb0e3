"""What all connections share: the store, ingest, the index of subscriptions, limits and clock."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graspd.nostr.event import Event
from graspd.nostr.relay_url import Domain
from graspd.relay.limits import RelayLimits
from graspd.relay.rate import RateLimit
from graspd.relay.subscriptions import SubscriptionIndex
from graspd.server.clock import Clock
from graspd.server.ingest import Ingest
from graspd.server.negotiations import SharedSets
from graspd.server.stalled import Stalled
from graspd.server.verify import VerifyPool
from graspd.store.ports import EventStore

if TYPE_CHECKING:
    from graspd.server.connection import LiveSubscription


@dataclass(slots=True)
class Hub:
    """Made once, by app."""

    store: EventStore
    ingest: Ingest
    verify: VerifyPool
    limits: RelayLimits
    rate: RateLimit
    clock: Clock
    domain: Domain
    idle_s_max: float
    unsent_bytes_max: int
    sets: SharedSets
    stalled: Stalled
    index: "SubscriptionIndex[LiveSubscription]" = field(default_factory=SubscriptionIndex)

    def fan_out(self, event: Event, commit: int) -> None:
        """Tell everybody who wants to hear of a new event."""
        for subscription in self.index.wanting(event):
            subscription.deliver(event, commit)
