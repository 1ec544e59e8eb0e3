"""Root events by number: half a million of them in as little memory as Python allows.

A number is never used twice. Knows which repositories (by number) a root belongs to, and when it was last active;
nothing of peers.
"""

from array import array

from graspd.types import EventId, UnixTime

_ACTIVE_MAX = 2**32 - 1


class Roots:
    """Ids as 32 bytes, everything else in columns by number."""

    def __init__(self) -> None:
        self._number_by_id: dict[bytes, int] = {}
        self._ids: list[bytes | None] = []
        self._repo = array("i")  # the first repository of each
        self._further: dict[int, tuple[int, ...]] = {}  # the others, of the few that have several
        self.active_at = array("I")

    def __len__(self) -> int:
        return len(self._number_by_id)

    @property
    def ever(self) -> int:
        """How many numbers have been given out."""
        return len(self._ids)

    def find(self, event_id: EventId) -> int | None:
        """The number of a root event, if it is one."""
        return self._number_by_id.get(bytes.fromhex(event_id))

    def add(self, event_id: EventId, repos: tuple[int, ...], created_at: UnixTime) -> int:
        """Give a number to a new root of these repositories, one at least."""
        key = bytes.fromhex(event_id)
        assert key not in self._number_by_id
        number = len(self._ids)
        self._number_by_id[key] = number
        self._ids.append(key)
        self._repo.append(repos[0])
        if len(repos) > 1:
            self._further[number] = repos[1:]
        self.active_at.append(min(created_at, _ACTIVE_MAX))
        return number

    def remove(self, number: int) -> tuple[int, ...]:
        """Forget a root; returns the repositories it belonged to."""
        key = self._ids[number]
        assert key is not None
        repos = self.repos(number)
        del self._number_by_id[key]
        self._ids[number] = None
        self._further.pop(number, None)
        return repos

    def repos(self, number: int) -> tuple[int, ...]:
        """The repositories a root belongs to."""
        return (self._repo[number], *self._further.get(number, ()))

    def id(self, number: int) -> bytes | None:
        """The id of a root; None once it was removed."""
        return self._ids[number]

    def touch(self, number: int, created_at: UnixTime) -> None:
        """Somebody spoke in this conversation."""
        if created_at > self.active_at[number]:
            self.active_at[number] = min(created_at, _ACTIVE_MAX)
