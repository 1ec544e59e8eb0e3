"""Event kinds by number, and the four classes that NIP-01 sorts them into."""

from enum import Enum, auto
from typing import Final

DELETION: Final = 5  # NIP-09
VANISH: Final = 62  # NIP-62
PATCH: Final = 1617  # NIP-34
PULL_REQUEST: Final = 1618
PULL_REQUEST_UPDATE: Final = 1619
ISSUE: Final = 1621
GRASP_LIST: Final = 10317  # a user's preferred GRASP servers
CLIENT_AUTH: Final = 22242  # NIP-42
ANNOUNCEMENT: Final = 30617  # NIP-34, repository announcement
STATE: Final = 30618  # NIP-34, repository state

KIND_MAX: Final = 65535

# The events that open a conversation about a repository; replies to them are fetched by their ids.
ROOT_KINDS: Final = (PATCH, PULL_REQUEST, PULL_REQUEST_UPDATE, ISSUE)

# NIP-09 and NIP-62: what asks a relay to remove events. To delete such a request does not undo it.
REQUEST_KINDS: Final = (DELETION, VANISH)


class KindClass(Enum):
    """How a relay keeps events of a kind."""

    REGULAR = auto()
    REPLACEABLE = auto()
    EPHEMERAL = auto()
    ADDRESSABLE = auto()


def kind_class(kind: int) -> KindClass:
    """The class of a kind.

    NIP-01: 10000-19999, 0 and 3 are replaceable, 20000-29999 ephemeral, 30000-39999 addressable, the rest regular.
    """
    if 30000 <= kind < 40000:
        return KindClass.ADDRESSABLE
    if 10000 <= kind < 20000 or kind in (0, 3):
        return KindClass.REPLACEABLE
    if 20000 <= kind < 30000:
        return KindClass.EPHEMERAL
    return KindClass.REGULAR
