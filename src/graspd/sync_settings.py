"""One setting for each limit of the sync engine, made from `SyncLimits` itself: `sync_<limit>`.

The reason that stands beside a limit is the setting's help, so neither can be without the other.
"""

import inspect
import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, Field, create_model

from graspd.sync import SyncLimits

PREFIX: Final = "sync_"
_is_heading: Final = re.compile(r"\s+# (?P<heading>.+)").fullmatch
_is_limit: Final = re.compile(r"\s+(?P<name>\w+): \w+ = [^#]+(?:# (?P<reason>.+))?").fullmatch


def _reasons() -> dict[str, str]:
    """The comment beside each limit, after the heading that the limit stands under."""
    heading = ""
    reasons: dict[str, str] = {}
    for line in inspect.getsource(SyncLimits).splitlines():
        if found := _is_heading(line):
            heading = found["heading"]
        elif found := _is_limit(line):
            reasons[found["name"]] = f"{heading}: {found['reason']}" if found["reason"] else heading
    return reasons


def _described(reason: str, default: bool | float) -> Any:
    # A limit of nothing would stop the engine or make it spin.
    return Field(default, description=reason) if isinstance(default, bool) else Field(default, gt=0, description=reason)


if TYPE_CHECKING:

    class SyncSettings(BaseModel):
        """The limits of the engine as settings."""

else:
    SyncSettings = create_model(
        "SyncSettings",
        **{
            f"{PREFIX}{limit.name}": (limit.type, _described(_reasons()[limit.name], limit.default))
            for limit in fields(SyncLimits)
        },
    )


def limits_of(settings: SyncSettings) -> SyncLimits:
    """The limits that these settings say."""
    return SyncLimits(**{limit.name: getattr(settings, f"{PREFIX}{limit.name}") for limit in fields(SyncLimits)})
