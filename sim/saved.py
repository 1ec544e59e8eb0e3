"""The engine's state as a disk holds it, with what it held before: a restart may find an older one, or none."""

from collections import deque
from typing import Final

from graspd.sync.effects import SaveState
from graspd.sync.records import Mark, PeerRecord, RejectedRecord, SavedState
from graspd.types import EventId, RelayUrl, RepoAddr

_KEPT: Final = 20


class Disk:
    """Carries out SaveState to the letter."""

    def __init__(self) -> None:
        self._records: dict[RelayUrl, PeerRecord] = {}
        self._marks: dict[tuple[RelayUrl, RepoAddr], Mark] = {}
        self._rejected: dict[EventId, RejectedRecord] = {}
        self.older: deque[SavedState] = deque([SavedState()], _KEPT)

    def apply(self, save: SaveState) -> None:
        """One transaction."""
        self.older.append(self.state())
        for url in save.forgotten:
            self._records.pop(url, None)
        for url in (*save.forgotten, *save.cleared):
            for key in [key for key in self._marks if key[0] == url]:
                del self._marks[key]
        for pair in save.unmarked:
            self._marks.pop(pair, None)
        self._records.update((record.url, record) for record in save.records)
        self._marks.update(((mark.peer, mark.repo), mark) for mark in save.marks)
        for event_id in save.unrejected:
            self._rejected.pop(event_id, None)
        self._rejected.update((rejection.id, rejection) for rejection in save.rejected)

    def state(self) -> SavedState:
        """What a start finds."""
        return SavedState(tuple(self._records.values()), tuple(self._marks.values()), tuple(self._rejected.values()))

    def restore(self, state: SavedState) -> None:
        """What a start finds from now on."""
        self._records = {record.url: record for record in state.records}
        self._marks = {(mark.peer, mark.repo): mark for mark in state.marks}
        self._rejected = {rejection.id: rejection for rejection in state.rejected}
