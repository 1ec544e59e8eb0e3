"""Over all peers: which event is being asked for, which is in our hands, which we took lately.

An id has one claim at a time, so each missing event crosses the wire once. Whoever also needs a claimed id waits for
it here and is told how it ended: taken, or free to be asked for again. Decides nothing about peers or retries.
"""

from collections.abc import Hashable
from enum import Enum
from typing import Generic, TypeVar

from graspd.types import EventId

Owner = TypeVar("Owner", bound=Hashable)


class Standing(Enum):
    """Where an id is."""

    FREE = "free"
    CLAIMED = "claimed"
    IN_HAND = "in hand"
    RECENT = "recent"


class Ledger(Generic[Owner]):
    """Owners are transfers; they may wait for what others claim or hold in hand."""

    def __init__(self, recent_max: int) -> None:
        self._recent_max = recent_max
        self._claims: dict[EventId, Owner] = {}
        self._in_hand: dict[EventId, None] = {}
        self._recent: dict[EventId, None] = {}
        self._waiting: dict[EventId, list[Owner]] = {}

    def standing(self, event_id: EventId) -> Standing:
        """Where an id is."""
        if event_id in self._in_hand:
            return Standing.IN_HAND
        if event_id in self._claims:
            return Standing.CLAIMED
        return Standing.RECENT if event_id in self._recent else Standing.FREE

    def claim(self, event_id: EventId, owner: Owner) -> None:
        """The owner asks its peer for this id, which was free."""
        assert event_id not in self._claims
        self._claims[event_id] = owner

    def claimed_by(self, event_id: EventId) -> Owner | None:
        """Who asks for this id."""
        return self._claims.get(event_id)

    def wait(self, event_id: EventId, owner: Owner) -> None:
        """Tell the owner how it ends with an id that is claimed or in hand."""
        assert event_id in self._claims or event_id in self._in_hand
        self._waiting.setdefault(event_id, []).append(owner)

    def release(self, event_id: EventId, owner: Owner) -> list[Owner]:
        """The owner's claim has ended without delivery. Returns who may ask now; nobody, if the claim was another's."""
        if self._claims.get(event_id) != owner:
            return []
        del self._claims[event_id]
        return [] if event_id in self._in_hand else self._waiting.pop(event_id, [])

    def arrived(self, event_id: EventId) -> None:
        """The event is in our hands, whoever sent it; the claim on it is fulfilled."""
        self._claims.pop(event_id, None)
        self._in_hand[event_id] = None

    def judged(self, event_id: EventId, *, settled: bool) -> list[Owner]:
        """The own relay has decided; `settled` where it need not be fetched again. Returns who waited for that."""
        self._in_hand.pop(event_id, None)
        if settled:
            self._recent[event_id] = None
            if len(self._recent) > self._recent_max:
                del self._recent[next(iter(self._recent))]
        return self._waiting.pop(event_id, [])

    def forget(self, event_id: EventId) -> None:
        """The event is not here any more, or is to be judged anew."""
        self._recent.pop(event_id, None)

    def withdraw(self, event_id: EventId, owner: Owner) -> None:
        """The owner does not wait for this id any more."""
        waiting = self._waiting.get(event_id)
        if waiting is not None:
            waiting[:] = [other for other in waiting if other != owner]
            if not waiting:
                del self._waiting[event_id]

    @property
    def claims(self) -> int:
        """Ids that are being asked for."""
        return len(self._claims)

    @property
    def in_hand(self) -> int:
        """Events that are being ingested."""
        return len(self._in_hand)

    @property
    def recent(self) -> int:
        """Ids taken lately and still remembered."""
        return len(self._recent)
