"""What has changed since it was last saved, and the savings that are on their way.

A change that did not become durable is part of the next saving. Decides nothing about when; the engine does.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar

from graspd.sync.jobs import JobId
from graspd.types import EventId, RelayUrl, RepoAddr

Pair = tuple[RelayUrl, RepoAddr]
Key = TypeVar("Key", bound=Hashable)


@dataclass(slots=True)
class Changes:
    """Each as a dict without values: in order, and each once."""

    forgotten: dict[RelayUrl, None] = field(default_factory=dict)
    cleared: dict[RelayUrl, None] = field(default_factory=dict)
    unmarked: dict[Pair, None] = field(default_factory=dict)
    peers: dict[RelayUrl, None] = field(default_factory=dict)
    marked: dict[Pair, None] = field(default_factory=dict)
    unrejected: dict[EventId, None] = field(default_factory=dict)
    rejected: dict[EventId, None] = field(default_factory=dict)

    def __len__(self) -> int:
        fewer = len(self.forgotten) + len(self.cleared) + len(self.unmarked) + len(self.unrejected)
        return fewer + len(self.peers) + len(self.marked) + len(self.rejected)


class Unsaved:
    """Of all peers."""

    def __init__(self) -> None:
        self._changes = Changes()
        self._on_the_way: dict[JobId, Changes] = {}

    def __len__(self) -> int:
        return len(self._changes) + sum(map(len, self._on_the_way.values()))

    @property
    def waiting(self) -> int:
        """Changes that are not on their way."""
        return len(self._changes)

    @property
    def is_saving(self) -> bool:
        """Whether a saving is on its way."""
        return bool(self._on_the_way)

    # What has changed

    def changed(self, peer: RelayUrl) -> None:
        """The record of a peer."""
        self._changes.peers[peer] = None

    def marked(self, peer: RelayUrl, repo: RepoAddr) -> None:
        """A repository is confirmed with a peer, with all its roots."""
        self._changes.unmarked.pop((peer, repo), None)
        self._changes.marked[peer, repo] = None

    def unmarked(self, peer: RelayUrl, repo: RepoAddr) -> None:
        """A repository is not wanted of a peer any more."""
        self._changes.marked.pop((peer, repo), None)
        self._changes.unmarked[peer, repo] = None

    def cleared(self, peer: RelayUrl) -> None:
        """Nothing is confirmed with a peer."""
        self._drop_marks(peer)
        self._changes.cleared[peer] = None
        self._changes.peers[peer] = None

    def forgot(self, peer: RelayUrl) -> None:
        """The peer is gone."""
        self._drop_marks(peer)
        self._changes.cleared.pop(peer, None)
        self._changes.peers.pop(peer, None)
        self._changes.forgotten[peer] = None

    def rejected(self, event_id: EventId) -> None:
        """An event was rejected."""
        self._changes.unrejected.pop(event_id, None)
        self._changes.rejected[event_id] = None

    def unrejected(self, event_id: EventId) -> None:
        """A rejection does not count any more."""
        self._changes.rejected.pop(event_id, None)
        self._changes.unrejected[event_id] = None

    def _drop_marks(self, peer: RelayUrl) -> None:
        for marks in (self._changes.marked, self._changes.unmarked):
            for pair in [pair for pair in marks if pair[0] == peer]:
                del marks[pair]

    # Savings

    def take(self, count: int) -> Changes:
        """The next changes to be saved: what shrinks all at once, and no more than so many records and marks."""
        whole, taken = self._changes, Changes()
        taken.forgotten, taken.cleared, taken.unmarked = whole.forgotten, whole.cleared, whole.unmarked
        whole.forgotten, whole.cleared, whole.unmarked = {}, {}, {}
        taken.peers = _first(whole.peers, count)
        taken.marked = _first(whole.marked, count)
        taken.unrejected = _first(whole.unrejected, count)
        taken.rejected = _first(whole.rejected, count)
        return taken

    def sent(self, job: JobId, changes: Changes) -> None:
        """A saving is on its way."""
        self._on_the_way[job] = changes

    def saved(self, job: JobId) -> None:
        """It is durable."""
        self._on_the_way.pop(job, None)

    def failed(self, job: JobId) -> None:
        """It is not: what nothing newer overrides is to be saved again."""
        lost = self._on_the_way.pop(job, None)
        if lost is None:
            return
        newer, self._changes = self._changes, lost
        for peer in newer.forgotten:
            self.forgot(peer)
        for peer in newer.cleared:
            self.cleared(peer)
        for peer, repo in newer.unmarked:
            self.unmarked(peer, repo)
        for peer in newer.peers:
            self._changes.forgotten.pop(peer, None)
            self.changed(peer)
        for peer, repo in newer.marked:
            self.marked(peer, repo)
        for event_id in newer.unrejected:
            self.unrejected(event_id)
        for event_id in newer.rejected:
            self.rejected(event_id)


def _first(source: dict[Key, None], count: int) -> dict[Key, None]:
    """Take the first so many keys out."""
    keys = list(islice(source, count))
    for key in keys:
        del source[key]
    return dict.fromkeys(keys)
