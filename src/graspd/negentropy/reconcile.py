"""The two roles of a reconciliation, `Initiator` and `Responder`.

Decides which version is spoken and which differences are reported, each once. Does no I/O, keeps no clock and
shares nothing: a role is a function of its items and the messages it was given. Either role answers a hostile
message with `NegentropyError` or with a message, within memory and time proportional to the message, the frame
size limit and, without such a limit, its own set.
"""

from dataclasses import dataclass

import numpy as np

from graspd.negentropy.answer import Answer, opening
from graspd.negentropy.items import ItemSet
from graspd.negentropy.lists import differences, id_list
from graspd.negentropy.wire import ID_LIST, ID_SIZE, U8, VERSION, Index, NegentropyError, check_version, parse, spans

FRAME_SIZE_MIN = 4096


@dataclass(frozen=True, slots=True)
class Reply:
    """What an initiator makes of a message: the next one, None when done, and ids not reported before."""

    message: bytes | None
    have: U8  # (n, 32), ids of ours the peer lacks
    need: U8  # (n, 32), ids of the peer we lack


class Initiator:
    """The party that asks and learns the differences.

    Under frame limits the same ids can be listed in several rounds. Each is reported once: a flag for every
    item remembers what the peer lacks, a set of ids what it has.
    """

    __slots__ = ("_frame_size_limit", "_items", "_reported_have", "_reported_need")

    def __init__(self, items: ItemSet, frame_size_limit: int = 0) -> None:
        _check_limit(frame_size_limit)
        self._items = items
        self._frame_size_limit = frame_size_limit
        self._reported_have = np.zeros(len(items), np.bool_)
        self._reported_need: set[bytes] = set()

    def initiate(self) -> bytes:
        """The first message."""
        return opening(self._items)

    def reconcile(self, message: bytes) -> Reply:
        """The answer to the peer's message and the differences it shows. NegentropyError if it is malformed."""
        version = check_version(message)
        if version != VERSION:
            raise NegentropyError(f"the peer speaks another version of the protocol: 0x{version:02x}")
        ranges = parse(message)
        answer = Answer(self._items, ranges, self._frame_size_limit, lists_back=False)
        lists = np.flatnonzero(ranges.mode[: answer.ranges_done] == ID_LIST)
        ours_at = spans(answer.lower[lists], answer.upper[lists] - answer.lower[lists])
        theirs = ranges.ids(lists)
        have, need = differences(self._items.ids.take(ours_at, axis=0), theirs)
        reply = answer.message if len(answer.message) > 1 else None
        return Reply(reply, self._new_have(ours_at[have]), self._new_need(theirs[need]))

    def _new_have(self, at: Index) -> U8:
        at = at[~self._reported_have[at]]
        self._reported_have[at] = True
        return self._items.ids[at]

    def _new_need(self, ids: U8) -> U8:
        new = [id_ for id_ in dict.fromkeys(id_list(ids)) if id_ not in self._reported_need]
        self._reported_need.update(new)
        return np.frombuffer(b"".join(new), np.uint8).reshape(-1, ID_SIZE)


class Responder:
    """The party that answers. It keeps nothing between messages."""

    __slots__ = ("_frame_size_limit", "_items")

    def __init__(self, items: ItemSet, frame_size_limit: int = 0) -> None:
        _check_limit(frame_size_limit)
        self._items = items
        self._frame_size_limit = frame_size_limit

    def reconcile(self, message: bytes) -> bytes:
        """The answer to the initiator's message. NegentropyError if it is malformed."""
        if check_version(message) != VERSION:
            # The version we speak, alone: the initiator may begin again with it.
            return bytes((VERSION,))
        return Answer(self._items, parse(message), self._frame_size_limit, lists_back=True).message


def _check_limit(frame_size_limit: int) -> None:
    if frame_size_limit and frame_size_limit < FRAME_SIZE_MIN:
        raise ValueError(f"frame size limit must be 0 (none) or at least {FRAME_SIZE_MIN}")
