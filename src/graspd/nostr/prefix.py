"""The words that machines read at the start of an OK, CLOSED or NEG-ERR message (NIP-01, NIP-42, NIP-77)."""

from enum import StrEnum


class Prefix(StrEnum):
    """Each is followed by a colon and a sentence for people."""

    DUPLICATE = "duplicate"
    BLOCKED = "blocked"
    RATE_LIMITED = "rate-limited"
    INVALID = "invalid"
    UNSUPPORTED = "unsupported"
    RESTRICTED = "restricted"
    AUTH_REQUIRED = "auth-required"
    CLOSED = "closed"
    ERROR = "error"

    def says(self, why: str) -> str:
        """The whole message."""
        return f"{self.value}: {why}"
