"""What happened, a line a step, and a digest of all lines by which two runs can be compared."""

import hashlib
from collections.abc import Callable, Sequence

from graspd.negentropy import ItemSet
from graspd.nostr.event import Event
from graspd.nostr.filter import Filter
from graspd.sync import effects as e
from graspd.sync import inputs as i

_SHORT = 8
_LISTED = 3


class Trace:
    """Takes lines; hands them on to whoever wants to read them."""

    def __init__(self, show: Callable[[str], None] | None = None) -> None:
        self._digest = hashlib.sha256()
        self._show = show
        self.lines = 0

    def note(self, now: float, what: str) -> None:
        """Something happened in the world."""
        line = f"{now:.3f} {what}"
        self.lines += 1
        self._digest.update(line.encode())
        if self._show is not None:
            self._show(line)

    def step(self, now: float, told: i.Input, effects: Sequence[e.Effect]) -> None:
        """The engine was told something and answered."""
        self.note(now, " -> ".join((brief(told), "; ".join(map(brief, effects)))))

    @property
    def digest(self) -> str:
        """Of all lines so far."""
        return self._digest.hexdigest()[:16]


def brief(value: object) -> str:
    """An input, effect or part of one in few words, the same in every process."""
    match value:
        case e.Report(finding):
            return f"[{brief(finding)}]"
        case e.SaveState():
            records = " ".join(f"{record.url} {record.health.failures}" for record in value.records)
            return f"SaveState({value.job} {records}; {len(value.marks)} marks, {len(value.rejected)} rejected)"
        case e.SendReq(link, sub, filters):
            return f"SendReq({link} {sub} {' '.join(map(brief_filter, filters[:_LISTED]))} of {len(filters)})"
        case i.EventArrived(link, sub, event):
            return f"EventArrived({link} {sub} {event.kind}/{event.id[:_SHORT]})"
    fields = getattr(type(value), "__dataclass_fields__", None)
    if fields is None or isinstance(value, Filter):
        return _brief_part(value)
    return f"{type(value).__name__}({' '.join(brief(getattr(value, name)) for name in fields)})"


def _brief_part(value: object) -> str:
    match value:
        case Event():
            return f"{value.kind}/{value.id[:_SHORT]}"
        case Filter():
            return brief_filter(value)
        case ItemSet():
            return f"{len(value)} items"
        case bytes():
            return f"{len(value)} bytes {hashlib.sha256(value).hexdigest()[:_SHORT]}"
        case tuple() | frozenset():
            members = sorted(value) if isinstance(value, frozenset) else value
            more = f" and {len(value) - _LISTED}" if len(value) > _LISTED else ""
            return f"({' '.join(map(brief, members[:_LISTED]))}{more})"
        case str():
            return value[:_SHORT] if len(value) == 64 else value
        case float():
            return f"{value:.3f}"
        case _:
            return str(getattr(value, "name", value))


def brief_filter(wanted: Filter) -> str:
    """A filter by its sizes."""
    parts = [f"#{letter}x{len(values)}" for letter, values in wanted.tags]
    if wanted.ids is not None:
        parts.append(f"ids x{len(wanted.ids)}")
    if wanted.kinds is not None:
        parts.append("kinds " + ",".join(map(str, wanted.kinds)))
    parts.extend(
        f"{name}={given}"
        for name, given in (("since", wanted.since), ("until", wanted.until), ("limit", wanted.limit))
        if given is not None
    )
    return "{" + " ".join(parts) + "}"
