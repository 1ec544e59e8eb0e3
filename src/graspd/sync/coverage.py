"""How far one peer is synced: for each repository, ranges of its items.

A repository's items stand in a fixed order (itself, then its roots as they arrived), so what is confirmed and what is
planned (pending or confirmed) are two numbers. Pending is what lies between. In the papers: RelaySyncIndex holds the
confirmed items, PendingSyncIndex the pending ones. Decides nothing; `plan` does.
"""

from hashlib import sha256
from typing import NamedTuple

from graspd.sync.records import Certificate, Method


class Segment(NamedTuple):
    """Items lo..hi-1 of a repository."""

    repo: int
    lo: int
    hi: int


class Coverage:
    """One repository with one peer. 0 <= confirmed <= planned <= items of the repository; live likewise."""

    __slots__ = ("_ahead", "audited", "confirmed", "live", "planned", "proof")

    def __init__(self, confirmed: int = 0) -> None:
        self.confirmed = confirmed
        self.planned = confirmed
        self.audited = 0  # items that were confirmed before everything was cleared, and are checked again
        self.live = 0  # items whose live filters were opened on this link, or shed
        self.proof: Certificate | None = None  # of everything confirmed
        self._ahead: tuple[tuple[int, int], ...] = ()  # confirmed out of turn, behind a batch that is still pending

    def confirm(self, lo: int, hi: int, certificate: Certificate) -> None:
        """A batch with these items has ended well."""
        ahead = sorted((*self._ahead, (lo, hi)))
        while ahead and ahead[0][0] <= self.confirmed:
            self.confirmed = max(self.confirmed, ahead.pop(0)[1])
        self._ahead = tuple(ahead)
        self.proof = weaker(self.proof, certificate)

    def unlink(self) -> None:
        """The link is lost: nothing is pending or live any more. What was confirmed out of turn is planned again."""
        self.audited = 0
        self.planned = self.confirmed
        self.live = 0
        self._ahead = ()

    def clear(self) -> None:
        """Nothing counts as confirmed any more; live filters stay as they are."""
        self.audited = max(self.audited, self.confirmed)
        self.confirmed = self.planned = 0
        self.proof = None
        self._ahead = ()


def together(one: Certificate, other: Certificate) -> Certificate:
    """What two transfers of one batch prove: their counts added, everything else as weak as the weaker."""
    walked = Method.WALKED in (one.method, other.method)
    both = sha256(bytes.fromhex(one.fingerprint + other.fingerprint)).hexdigest()[:32]
    return Certificate(
        method=Method.WALKED if walked else Method.RECONCILED,
        at=min(one.at, other.at),
        count=one.count + other.count,
        fingerprint="" if walked else both,
        unserved=tuple(dict.fromkeys((*one.unserved, *other.unserved))),
        holes=tuple(dict.fromkeys((*one.holes, *other.holes))),
    )


def weaker(one: Certificate | None, other: Certificate) -> Certificate:
    """What two certificates prove together: as much as the weaker, as long ago as the older."""
    if one is None:
        return other
    return min(one, other, key=lambda each: (each.proven, each.at))
