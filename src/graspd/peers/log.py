"""What the engine finds, as log lines: one event a line, `name key=value ...`, and never an event's content.

A warning or an error is written once for each peer and cause, and then counted: the same line comes again a day later
at the earliest, with the number of times it was not written.
"""

import json
import logging
import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import fields
from enum import Enum
from typing import Any, Final

from graspd.sync import reports as f
from graspd.sync.lifecycle import Trigger
from graspd.types import Monotonic

AGAIN_S: Final = 24 * 3600.0
CAUSES_MAX: Final = 20_000  # remembered; the oldest make room
_SHOWN_MAX: Final = 5  # of a list of ids
_LEVEL: Final = {
    f.Level.DEBUG: logging.DEBUG,
    f.Level.INFO: logging.INFO,
    f.Level.WARNING: logging.WARNING,
    f.Level.ERROR: logging.ERROR,
}
# A move is worth what caused it.
_LEVEL_BY_TRIGGER: Final = {
    Trigger.OPENED: logging.INFO,
    Trigger.DROPPED: logging.INFO,
    Trigger.RESTED: logging.INFO,
    Trigger.FAILED: logging.WARNING,
    Trigger.LOST: logging.WARNING,
    Trigger.OVERSPENT: logging.WARNING,
    Trigger.CROWDED_OUT: logging.WARNING,
}
_is_plain: Final = re.compile(r"[\w:/.@+-]+", re.ASCII).fullmatch

Cause = tuple[str, ...]


class Repeats:
    """What was written already, by cause."""

    def __init__(self, mono: Callable[[], Monotonic]) -> None:
        self._mono = mono
        self._said: OrderedDict[Cause, tuple[Monotonic, int]] = OrderedDict()  # when, and how often not since

    def __len__(self) -> int:
        return len(self._said)

    def unsaid(self, cause: Cause) -> int | None:
        """How often this was kept back since it was last written; nothing where it is kept back again."""
        now = self._mono()
        said_at, unsaid = self._said.get(cause, (None, 0))
        if said_at is not None and now - said_at < AGAIN_S:
            self._said[cause] = (said_at, unsaid + 1)
            return None
        self._said[cause] = (now, 0)
        self._said.move_to_end(cause)
        if len(self._said) > CAUSES_MAX:
            self._said.popitem(last=False)
        return unsaid


class FindingLog:
    """Writes findings to a logger."""

    def __init__(self, logger: logging.Logger, mono: Callable[[], Monotonic]) -> None:
        self._logger = logger
        self.repeats = Repeats(mono)

    def write(self, finding: f.Finding) -> None:
        """Write a finding, or count it."""
        level = _level_of(finding)
        if not self._logger.isEnabledFor(level):
            return
        unsaid = self.repeats.unsaid(_cause_of(finding)) if level >= logging.WARNING else 0
        if unsaid is None:
            return
        line = line_of(finding)
        self._logger.log(level, "%s", f"{line} unsaid={unsaid}" if unsaid else line)


def line_of(finding: f.Finding) -> str:
    """A finding in one line; what has nothing to say, its default, is left out."""
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", type(finding).__name__).lower()
    values = ((field, getattr(finding, field.name)) for field in fields(finding))
    return " ".join([name, *(f"{field.name}={_shown(value)}" for field, value in values if value != field.default)])


def _level_of(finding: f.Finding) -> int:
    if isinstance(finding, f.PeerMoved):
        return _LEVEL_BY_TRIGGER.get(finding.trigger, logging.DEBUG)
    return _LEVEL[finding.level]


def _cause_of(finding: f.Finding) -> Cause:
    """What makes two findings the same warning. Texts of a peer's own making do not: they could differ for ever.

    Of a move it is the fault that counts; what stands behind its colon is such a text.
    """
    peer = getattr(finding, "peer", "")
    match finding:
        case f.PeerMoved():
            return ("moved", peer, finding.trigger.value, finding.why.partition(":")[0])
        case f.CapReached():
            return ("cap", finding.what)
        case _:
            return (type(finding).__name__, peer)


def _shown(value: Any) -> str:
    if isinstance(value, Enum):
        return _shown(value.value)
    if isinstance(value, tuple):
        more = f",+{len(value) - _SHOWN_MAX}" if len(value) > _SHOWN_MAX else ""
        return ",".join(map(_shown, value[:_SHOWN_MAX])) + more
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    text = str(value)
    # What a stranger wrote stays on its line and in its quotes.
    return text if _is_plain(text) else json.dumps(text)
