"""Planted defects: each breaks the engine in one place, and seeds must find it, or the simulator sees nothing.

Every one is a defect that real systems have had, put into a part of the engine for as long as a test lasts.
"""
# ruff: noqa: SLF001 - a planted defect reaches into the parts

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from graspd.rules.verdict import Verdict
from graspd.sync import desk, filters, health, paging, peer
from graspd.sync.coverage import Coverage
from graspd.sync.interest import Interest, Repo
from graspd.sync.ledger import Ledger
from graspd.sync.line import OpenLine
from graspd.sync.link import Link
from graspd.sync.pace import Pace
from graspd.sync.peer import Peer
from graspd.sync.records import Method
from graspd.sync.rejected import RejectedMemory
from graspd.sync.transfer import Done, Transfer
from graspd.types import EventId, RelayUrl, UnixTime
from sim.faults import Fault


@dataclass(frozen=True, slots=True)
class Mutation:
    """A defect: what it is, which attributes of which parts it replaces, and which faults bring it to light."""

    what: str
    patches: tuple[tuple[Any, str, Any], ...]
    shown_by: frozenset[Fault] = frozenset()

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Have the defect for a while."""
        with ExitStack() as undo:
            for owner, name, replacement in self.patches:
                undo.callback(setattr, owner, name, getattr(owner, name))
                setattr(owner, name, replacement)
            yield


def _page_below_the_border(walk: paging.Walk) -> Any:
    below = walk._until
    if walk._border and below is not None:
        below = UnixTime(below - 1)
    return paging._page(replace(walk._wanted, until=below, limit=walk._page_limit), is_part=False)


def _confirm_when_closed(transfer: Transfer, _text: str) -> None:
    transfer.sub = None
    transfer.end(Done(Method.WALKED, 0))


def _confirm_when_interrupted(_line: OpenLine, transfer: Transfer, text: str) -> None:
    _confirm_when_closed(transfer, text)


def _count_pending_as_confirmed(coverage: Coverage) -> None:
    coverage.confirmed = coverage.planned
    coverage.live = 0


def _only_grow(grow: Callable[[Interest, Repo, tuple[RelayUrl, ...]], None]) -> Any:
    def set_peers(interest: Interest, repo: Repo, peers: tuple[RelayUrl, ...]) -> None:
        grow(interest, repo, tuple(dict.fromkeys((*repo.peers, *peers))))

    return set_peers


def _believe_forgeries(settlement: Callable[[Verdict], desk.Settlement]) -> Any:
    def settled(verdict: Verdict) -> desk.Settlement:
        given = settlement(verdict)
        return desk.Settlement.TAKEN if given is desk.Settlement.FORGED else given

    return settled


def _keep_claims(_ledger: Ledger[int], _event_id: EventId, _owner: int) -> list[int]:
    return []


def _nothing(*_arguments: Any) -> None:
    return None


MUTATIONS: Final = {
    "ties": Mutation(
        "the next page begins below the second in which the last one ended",
        ((paging.Walk, "_whole_page", _page_below_the_border),),
        frozenset({Fault.TIES}),
    ),
    "closed": Mutation(
        "a transfer that the peer closed counts as done",
        ((Transfer, "on_closed", _confirm_when_closed), (OpenLine, "interrupt", _confirm_when_interrupted)),
    ),
    "pending lost": Mutation(
        "what was pending on a lost link is not planned again", ((Peer, "unlink", _nothing),), frozenset({Fault.FLAP})
    ),
    "pending confirmed": Mutation(
        "what was pending on a lost link counts as confirmed",
        ((Coverage, "unlink", _count_pending_as_confirmed),),
        frozenset({Fault.RESET}),
    ),
    "shrunken interest": Mutation(
        "a relay that an announcement drops stays wanted",
        ((Interest, "_set_peers", _only_grow(Interest._set_peers)),),
        frozenset({Fault.SHRUNK}),
    ),
    "backoff": Mutation(
        "a peer is dialled again at once", ((health, "delay_s", lambda *_: 0.0),), frozenset({Fault.DOWN})
    ),
    "backoff forgotten": Mutation(
        "a restart forgets every backoff",
        ((peer, "remaining_s", lambda *_: 0.0),),
        frozenset({Fault.CRASH, Fault.DOWN}),
    ),
    "no deadline": Mutation(
        "a request without an answer is waited for for ever",
        ((Transfer, "progressed", _nothing),),
        frozenset({Fault.EOSE_NEVER}),
    ),
    "no catching up": Mutation(
        "what was missed while away is not asked for", ((Link, "owe_everything", _nothing),), frozenset({Fault.RESET})
    ),
    "claims kept": Mutation("a claim that was not served is never given up", ((Ledger, "release", _keep_claims),)),
    "rejected for good": Mutation("a rejected event is not tried again", ((RejectedMemory, "wake", lambda *_: []),)),
    "forgery believed": Mutation(
        "a forged copy keeps the real event out",
        ((desk, "_settlement", _believe_forgeries(desk._settlement)),),
    ),
    "pleas ignored": Mutation("a peer that asks to slow down is asked on", ((Pace, "slow_down", _nothing),)),
    "roots by e alone": Mutation(
        "replies that name their root by E or q are not asked for", ((filters, "ROOT_TAGS", ("e",)),)
    ),
}
