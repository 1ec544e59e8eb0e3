"""Which items of a peer are held live when not all of them fit: repositories first, then the most active roots.

Numbers in, numbers out, in columns: a popular relay is named by every repository, and half a million roots must be
sorted within one short step.
"""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspd.sync.filters import Room
from graspd.sync.interest import Interest
from graspd.sync.limits import SyncLimits

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Selection:
    """Numbers of repositories and roots to be held live, and of those to be looked at in turn."""

    repos: list[int]
    roots: list[int]
    shed_repos: list[int]
    shed_roots: Numbers


def roots_of(repos: Iterable[int], interest: Interest) -> Numbers:
    """The roots of these repositories, each once, by number."""
    joined = array("i")
    for number in repos:
        joined.extend(interest.repo(number).roots)
    is_there = np.zeros(interest.roots.ever, np.bool_)
    if joined:
        found = np.frombuffer(joined, np.int32)
        is_there[found[found >= 0]] = True
    return np.flatnonzero(is_there)


def select(repos: Iterable[int], requests: int, filters: int, room: Room, interest: Interest) -> Selection:
    """What fits into so many live requests and filters."""
    bytes_left = requests * room.filter_bytes
    kept: list[int] = []
    shed: list[int] = []
    for number in repos:
        # A value stands in three filters.
        bytes_left -= 3 * interest.repo(number).value_bytes
        (kept if bytes_left > 0 else shed).append(number)
    roots = roots_of([*kept, *shed], interest)
    most = room.roots_max(max(0, bytes_left), filters)
    if len(roots) <= most:
        return Selection(kept, roots.tolist(), shed, roots[:0])
    active_at = np.frombuffer(interest.roots.active_at, np.uint32)[roots]
    order = np.argpartition(active_at, len(roots) - most) if most else np.arange(len(roots))
    stay = np.sort(roots[order[len(roots) - most :]]) if most else roots[:0]
    go = roots[order[: len(roots) - most]]
    return Selection(kept, stay.tolist(), shed, go[np.argsort(active_at[order[: len(go)]], kind="stable")])


def main_requests(room: Room, limits: SyncLimits) -> int:
    """Live requests for the bulk of the items; one more is kept for what is added later, where there can be two."""
    return max(1, room.live_subscriptions(limits) - 1)
