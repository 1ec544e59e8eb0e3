"""Ranges of time, halved when a peer has too much in one of them."""

from graspd.negentropy import ItemSet
from graspd.types import UnixTime

Span = tuple[UnixTime | None, UnixTime | None]  # since, until; both included, None open

_NOSTR_BEGAN = UnixTime(1_577_836_800)  # 2020; nearly nothing is older


def halved(span: Span, items: ItemSet, now: UnixTime) -> list[Span] | None:
    """Two spans that make up this one; None where it is a single second.

    Parted at the middle of our own items there, because the peer's are likely to lie the same way; else at the middle
    of the time.
    """
    since, until = span
    low = since if since is not None else _NOSTR_BEGAN
    high = until if until is not None else max(now, UnixTime(low + 1))
    if low >= high:
        return None
    within = items.between(low, high - 1)
    middle = int(within.created_at[len(within) // 2]) if len(within) else (low + high) // 2
    middle = max(low, min(middle, high - 1))
    # The newer half is last: it is taken first.
    return [(since, UnixTime(middle)), (UnixTime(middle + 1), until)]
