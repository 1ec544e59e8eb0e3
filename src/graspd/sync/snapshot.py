"""The engine's view of itself, made from its parts. Reads, and changes nothing but caches."""

from graspd.sync.batch import Batch
from graspd.sync.coverage import Coverage
from graspd.sync.desk import Desk
from graspd.sync.health import health_of
from graspd.sync.interest import Interest, Repo
from graspd.sync.lifecycle import State
from graspd.sync.link import Link
from graspd.sync.peer import Peer
from graspd.sync.roster import Roster
from graspd.sync.view import PeerView, RepoPeerView, RepoView


def peer_view(peer: Peer, roster: Roster, desk: Desk) -> PeerView:
    """One peer."""
    now, interest = desk.now, desk.interest
    link = roster.links.get(peer.url)
    batches = list(link.batches.values()) if link is not None else []
    wanted = peer.items_wanted(interest)
    confirmed = sum(_confirmed(interest.repo(number), held) for number, held in peer.coverage.items())
    return PeerView(
        url=peer.url,
        bootstrap=peer.bootstrap,
        state=peer.state,
        health=health_of(peer.health, now.wall, desk.limits),
        failures=peer.health.failures,
        dial_at=peer.dial_at if peer.state is State.WAITING else None,
        rate_limited_until=peer.pace.quiet_until if peer.pace.is_quiet(now.mono) else None,
        rest_until=peer.rest_until,
        link=link.line.link if link is not None else None,
        seen_at=peer.seen_at,
        daily_at=peer.daily_at,
        capability=peer.capability,
        reliability=peer.tally.record(now.mono),
        repositories_wanted=len(peer.coverage),
        layer1_confirmed=peer.layer1_confirmed,
        items_wanted=wanted,
        items_confirmed=confirmed,
        items_pending=sum(batch.items for batch in batches),
        batches=len(batches),
        batches_retrying=sum(1 for batch in batches if batch.waits),
        live_subscriptions=len(link.live.open) if link is not None else 0,
        live_filters=link.live.filter_count if link is not None else 0,
        items_off_live=len(link.live.shed) if link is not None else 0,
        requests_open=link.line.request_count if link is not None else 0,
        requests_per_s=peer.pace.requests_per_s(now.mono),
        budget_left=peer.budget.left(now.mono),
        last_fault=peer.last_fault,
        waiting_for=_waiting_for(peer, link, batches, desk),
    )


def _waiting_for(peer: Peer, link: Link | None, batches: list[Batch], desk: Desk) -> str:
    match peer.state:
        case State.LIVE:
            return ""
        case State.SYNCING:
            return _syncing_for(peer, link, batches, desk)
        case State.WAITING:
            return f"its time to be dialled: {peer.last_fault}" if peer.last_fault else "its time to be dialled"
        case State.PARKED:
            return "room among the peers"
        case State.DIALING:
            return "an answer to the dial"
        case State.RESTING:
            return "the end of its rest"
        case State.GONE:
            return ""


def _syncing_for(peer: Peer, link: Link | None, batches: list[Batch], desk: Desk) -> str:
    if peer.pace.is_quiet(desk.now.mono):
        return "the end of its rate limit"
    if link is not None and link.line.auth.holds_requests:
        return "authentication"
    for batch in batches:
        if batch.waits:
            return f"a batch to be tried again: {batch.why}"
    if batches:
        return f"{len(batches)} batches"
    return "live subscriptions" if link is not None and not link.live.settled else "planning"


def _confirmed(repo: Repo, held: Coverage) -> int:
    """Items confirmed; roots removed since count with those that are not there."""
    return max(0, held.confirmed - repo.removed) if held.confirmed else 0


def repo_view(repo: Repo, roster: Roster) -> RepoView:
    """One repository with all its peers."""
    peers = []
    for url in repo.peers:
        peer = roster.peers.get(url)
        held = None if peer is None else peer.coverage.get(repo.number)
        if held is None:
            peers.append(RepoPeerView(url, False, 0, None))
            continue
        whole = held.confirmed == len(repo)
        roots = max(0, _confirmed(repo, held) - 1)
        peers.append(RepoPeerView(url, whole, roots, held.proof if whole else None))
    return RepoView(repo.addr, repo.root_count, tuple(peers))


def repo_views(interest: Interest, roster: Roster, offset: int, count: int) -> tuple[RepoView, ...]:
    """A page of the repositories that are synced, in the order in which they came."""
    wanted = interest.wanted_repos()
    return tuple(repo_view(repo, roster) for repo in wanted[offset : offset + count])
