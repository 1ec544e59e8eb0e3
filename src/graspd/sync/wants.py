"""From interest to peers: who is met, what is wanted of each, who is let go, who gets the room there is.

Applies what a window gathered, in slices, and looks over all peers once a minute. In the papers: derive_relay_targets
(kept up to date by `interest`), check_disconnects.
"""

from itertools import islice

from graspd.sync.desk import Desk
from graspd.sync.interest import Repo
from graspd.sync.keeping import Keeping
from graspd.sync.lifecycle import State
from graspd.sync.peer import Peer
from graspd.sync.reports import CapReached
from graspd.sync.roster import Roster
from graspd.types import RelayUrl


class Wants:
    """Stands between the interest and the roster."""

    def __init__(self, desk: Desk, roster: Roster, keeping: Keeping) -> None:
        self._desk = desk
        self._roster = roster
        self._keeping = keeping
        self._begun = False
        self._bootstrap = dict.fromkeys(desk.interest.mirrors)
        self._changes: dict[RelayUrl, dict[int, None]] = {}
        self._turn = 0  # of giving rooms

    def begin(self) -> None:
        """All that the own relay held has been applied: peers are known by what they are wanted for."""
        if not self._begun:
            self._begun = True
            self._meet_bootstrap()

    def set_bootstrap(self, peers: tuple[RelayUrl, ...]) -> None:
        """These are wanted whatever the announcements say; those no longer among them only where some name them."""
        interest = self._desk.interest
        self._bootstrap = dict.fromkeys([*interest.mirrors, *(url for url in peers if not interest.is_own(url))])
        for peer in self._roster.peers.values():
            peer.bootstrap = peer.url in self._bootstrap
        if self._begun:
            self._meet_bootstrap()

    def _meet_bootstrap(self) -> None:
        for url in self._bootstrap:
            peer = self._roster.peers.get(url)
            if peer is None:
                self._meet(url)
            elif peer.state is State.PARKED:
                self._seat(peer)

    def _meet(self, url: RelayUrl) -> Peer:
        peer = self._roster.meet(self._keeping.take_record(url), bootstrap=url in self._bootstrap)
        if peer.bootstrap or self._roster.has_room:
            self._seat(peer)
        else:
            self._desk.report(CapReached(f"peers: {url} waits", None))
        return peer

    def _seat(self, peer: Peer) -> None:
        """Give it a room; a bootstrap peer takes one where there is none."""
        if not self._roster.has_room:
            self._make_room(peer)
        self._roster.admit(peer)

    # Windows

    def gather(self) -> None:
        """A window closes: what changed in it is to be applied."""
        for url, repos in self._desk.interest.take_changes().items():
            self._changes.setdefault(url, {}).update(repos)

    def apply(self, pairs_max: int) -> bool:
        """Apply up to so many changes; returns whether there are more."""
        room = pairs_max
        while room > 0 and self._changes:
            url = next(iter(self._changes))
            repos = self._changes[url]
            some = list(islice(repos, room))
            for number in some:
                del repos[number]
            if not repos:
                del self._changes[url]
            room -= len(some)
            self._apply_to(url, some)
        self._desk.work += pairs_max - room
        return bool(self._changes)

    def _apply_to(self, url: RelayUrl, numbers: list[int]) -> None:
        interest = self._desk.interest
        wanted = interest.repos_of(url)
        peer = self._roster.peers.get(url)
        if peer is None:
            if not wanted:
                return
            peer = self._meet(url)
        for number in numbers:
            repo = interest.repo(number)
            if number in wanted:
                mark = self._keeping.take_mark(url, repo.addr)
                # On an open link nothing would catch up with what a mark says is confirmed: it is transferred anew.
                peer.want(number, interest, None if url in self._roster.links else mark)
                self._remark(peer, repo)
            elif peer.unwant(number):
                self._desk.unsaved.unmarked(url, repo.addr)
                if url in self._roster.links:
                    self._roster.links[url].shrank()
        self._desk.touched[url] = None

    def _remark(self, peer: Peer, repo: Repo) -> None:
        """A repository that shrank and is still confirmed is marked by other roots than before."""
        if repo.removed and peer.coverage[repo.number].confirmed == len(repo):
            self._desk.unsaved.marked(peer.url, repo.addr)

    # Once a minute

    def sweep(self) -> None:
        """Let go whom nothing wants, give away rooms, and see whose day is over."""
        interest, now = self._desk.interest, self._desk.now.wall
        for peer in list(self._roster.peers.values()):
            if not peer.bootstrap and not interest.repos_of(peer.url):
                self._roster.drop(peer)
            elif peer.url in self._roster.links:
                self._roster.credit_stable(peer)
                self._roster.links[peer.url].tidy()
                if peer.is_daily_due(now):
                    self._roster.begin_daily(peer)
        self._give_rooms()

    def _give_rooms(self) -> None:
        """Admit those who wait, the best claim first; a better claim takes the room of the worst."""
        parked = [peer for peer in self._roster.peers.values() if peer.state is State.PARKED]
        if not parked:
            return
        self._turn += 1
        for peer in sorted(self._some(parked), key=lambda peer: self._desk.interest.rank(peer.url)):
            if self._roster.has_room or self._make_room(peer):
                self._roster.admit(peer)

    def _make_room(self, peer: Peer) -> bool:
        """Take the room of whoever has the worst claim, if that is worse than this one's. Returns whether."""
        others = (one for one in self._roster.peers.values() if one.state is not State.PARKED and not one.bootstrap)
        seated = [one for one in others if one.state is not State.RESTING]
        rank = self._desk.interest.rank
        worst = max(self._some(seated), key=lambda one: rank(one.url), default=None)
        if worst is None or not (peer.bootstrap or rank(worst.url) > rank(peer.url)):
            return False
        self._roster.crowd_out(worst)
        return True

    def _some(self, peers: list[Peer]) -> list[Peer]:
        """As many as may be compared at once; the next ones at the next turn."""
        most = self._desk.limits.rooms_given_at_once
        if len(peers) <= most:
            return peers
        first = self._turn * most % len(peers)
        return (peers + peers)[first : first + most]
