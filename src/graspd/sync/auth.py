"""NIP-42 with one link: who asked for it, and how far it is. Sends nothing itself."""

from enum import Enum

from graspd.types import Monotonic


class AuthStage(Enum):
    """How far it is."""

    UNASKED = "unasked"
    NEEDED = "needed"  # asked for, but there was no challenge yet
    SENT = "sent"
    ACCEPTED = "accepted"
    REFUSED = "refused"


class Auth:
    """One attempt a link: a peer that refuses us will do so again."""

    def __init__(self) -> None:
        self.stage = AuthStage.UNASKED
        self.deadline: Monotonic | None = None
        self._challenged = False

    @property
    def holds_requests(self) -> bool:
        """Whether requests must wait for its end."""
        return self.stage in (AuthStage.NEEDED, AuthStage.SENT)

    @property
    def is_over(self) -> bool:
        """Whether asking for it again is of no use."""
        return self.stage in (AuthStage.ACCEPTED, AuthStage.REFUSED)

    def challenged(self) -> bool:
        """A challenge came. Returns whether to answer it now."""
        self._challenged = True
        if self.stage is AuthStage.NEEDED:
            self.stage = AuthStage.SENT
            return True
        return False

    def demanded(self, until: Monotonic) -> bool:
        """The peer wants to know who we are. Returns whether to answer its challenge now."""
        if self.stage is not AuthStage.UNASKED:
            return False
        self.deadline = until
        self.stage = AuthStage.SENT if self._challenged else AuthStage.NEEDED
        return self._challenged

    def answered(self, *, accepted: bool) -> None:
        """The OK to our answer."""
        if self.stage is AuthStage.SENT:
            self.stage = AuthStage.ACCEPTED if accepted else AuthStage.REFUSED
            self.deadline = None

    def expire(self, now: Monotonic) -> bool:
        """Give up waiting once the deadline has passed. Returns whether it has."""
        if self.deadline is None or now < self.deadline:
            return False
        self.deadline = None
        self.stage = AuthStage.REFUSED
        return True
