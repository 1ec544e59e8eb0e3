"""Why a run has not converged yet, in one line; nothing where it has."""

from collections.abc import Iterable

from graspd.rules.policy import Policy
from graspd.sync.lifecycle import State
from graspd.types import RelayUrl
from sim.checkers.complete import missing_from, wanted_repos
from sim.own import Own


def pending(own: Own, policy: Policy, core: Iterable[RelayUrl], now: float) -> str | None:
    """What is missing of the honest core, or what our engine still says it is waiting for."""
    if own.engine is None:
        return "we are down"
    store, wall = own.machine.store, own.now().wall
    repos_by_peer = wanted_repos(store, policy, own.limits)
    view_by_peer = {peer.url: peer for peer in own.engine.snapshot().peers}
    wanted = [url for url in core if url in repos_by_peer or url in own.bootstrap]
    for url in wanted:
        view = view_by_peer.get(url)
        if view is None:
            return f"{url} is wanted, and the engine does not know it"
        if view.state is State.PARKED and len(view_by_peer) > own.limits.peers_max:
            continue
        relay = own.network.sites[url].relay
        for missing in missing_from(relay, repos_by_peer.get(url, []), store, policy, wall, now):
            return f"{missing} is missing; {url} is {view.state.value}: {view.waiting_for or 'it waits for nothing'}"
        if view.state is not State.LIVE:
            return f"{url} is {view.state.value}: {view.waiting_for}"
    for url in view_by_peer:
        if url not in repos_by_peer and url not in own.bootstrap:
            return f"{url} is kept, and nothing wants it"
    return None
