"""What outlives the process: handing out what was saved before, and saving what has changed since.

A record or mark that nobody has asked for by the first sweep belongs to a peer or repository that is wanted no more.
"""

from graspd.sync.desk import Desk
from graspd.sync.effects import SaveState
from graspd.sync.jobs import JobId
from graspd.sync.records import Mark, PeerRecord, SavedState
from graspd.sync.roster import Roster
from graspd.sync.unsaved import Changes
from graspd.types import RelayUrl, RepoAddr


class Keeping:
    """Given what was saved; asks for what is to be saved."""

    def __init__(self, saved: SavedState, desk: Desk, roster: Roster) -> None:
        self._desk = desk
        self._roster = roster
        self._records = {record.url: record for record in saved.records}
        self._marks: dict[RelayUrl, dict[RepoAddr, Mark]] = {}
        for mark in saved.marks:
            self._marks.setdefault(mark.peer, {})[mark.repo] = mark
        desk.rejected.restore(saved.rejected)

    def take_record(self, peer: RelayUrl) -> PeerRecord:
        """What is remembered of a peer that is met; a blank record where that is nothing."""
        return self._records.pop(peer, None) or PeerRecord(peer)

    def take_mark(self, peer: RelayUrl, repo: RepoAddr) -> Mark | None:
        """How far a repository was confirmed with a peer."""
        return self._marks.get(peer, {}).pop(repo, None)

    def forget_strangers(self) -> None:
        """Everybody who is wanted has been met: the rest need not be kept."""
        for url in self._records:
            self._desk.unsaved.forgot(url)
        for url, marks in self._marks.items():
            if url in self._roster.peers:
                for repo in marks:
                    self._desk.unsaved.unmarked(url, repo)
        self._records.clear()
        self._marks.clear()

    # Saving

    def begin(self) -> None:
        """It is time to save: how long each open link has been live is worth it by itself."""
        for url in self._roster.links:
            self._roster.note_seen(self._roster.peers[url])
            self._desk.unsaved.changed(url)
        if not self._desk.unsaved.is_saving:
            self._send()

    def saved(self, job: JobId) -> None:
        """A saving is durable; what did not fit into it follows."""
        self._desk.unsaved.saved(job)
        if not self._desk.unsaved.is_saving and self._desk.unsaved.waiting >= self._desk.limits.saved_at_once:
            self._send()

    def save_all(self) -> None:
        """The end: everything, at once."""
        for url in self._roster.links:
            self._roster.note_seen(self._roster.peers[url])
            self._desk.unsaved.changed(url)
        while self._desk.unsaved.waiting:
            self._send()

    def _send(self) -> None:
        unsaved = self._desk.unsaved
        if not unsaved.waiting:
            return
        changes = unsaved.take(self._desk.limits.saved_at_once)
        job = self._desk.job()
        unsaved.sent(job, changes)
        self._desk.emit(self._save_state(job, changes))

    def _save_state(self, job: JobId, changes: Changes) -> SaveState:
        rejected = (self._desk.rejected.record(event_id) for event_id in changes.rejected)
        return SaveState(
            job=job,
            forgotten=tuple(changes.forgotten),
            cleared=tuple(changes.cleared),
            unmarked=tuple(changes.unmarked),
            records=self._taken_records(changes),
            marks=self._taken_marks(changes),
            unrejected=tuple(changes.unrejected),
            rejected=tuple(record for record in rejected if record is not None),
        )

    def _taken_records(self, changes: Changes) -> tuple[PeerRecord, ...]:
        found = (self._roster.peers.get(url) for url in changes.peers)
        return tuple(peer.record(self._desk.now) for peer in found if peer is not None)

    def _taken_marks(self, changes: Changes) -> tuple[Mark, ...]:
        marks = []
        for url, addr in changes.marked:
            peer, repo = self._roster.peers.get(url), self._desk.interest.find_repo(addr)
            held = peer.coverage.get(repo.number) if peer is not None and repo is not None else None
            # Grown since: then it will be marked again when that is confirmed too.
            if repo is not None and held is not None and held.confirmed == len(repo):
                marks.append(Mark(url, addr, repo.root_count, repo.digest_hex, held.proof))
        return tuple(marks)
