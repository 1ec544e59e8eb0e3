"""Repository announcements and states as NIP-34 has them, read tolerantly: real ones repeat tags and leave them out."""

from dataclasses import dataclass
from typing import Final

from graspd.nostr.event import Event
from graspd.nostr.hex64 import is_hex64
from graspd.nostr.kinds import ANNOUNCEMENT
from graspd.nostr.nip19 import encode_npub
from graspd.nostr.relay_url import Domain, is_service_clone, is_service_relay, parse_relay_url
from graspd.types import EventId, PubKey, RelayUrl, RepoAddr, UnixTime

# A file name on disk once the repository is served, with room for ".git".
IDENTIFIER_BYTES_MAX: Final = 250
_FORBIDDEN: Final = ("/", "\\", "\0")


@dataclass(frozen=True, slots=True)
class Announcement:
    """What one author says about one repository."""

    event_id: EventId
    pubkey: PubKey
    created_at: UnixTime
    identifier: str
    clone_urls: tuple[str, ...]
    relay_values: tuple[str, ...]
    maintainers: tuple[PubKey, ...]  # as listed; the author is one of them without saying so

    @property
    def address(self) -> RepoAddr:
        """The address by which other events name this repository."""
        return repo_addr(self.pubkey, self.identifier)

    @property
    def relays(self) -> tuple[RelayUrl, ...]:
        """The relays it names, each once, in one spelling; what is no relay URL is left out."""
        parsed = (parse_relay_url(value) for value in self.relay_values)
        return tuple(dict.fromkeys(url for url in parsed if url is not None))

    def lists_clone(self, domain: Domain) -> bool:
        """Whether a clone URL of it is ours."""
        npub = encode_npub(self.pubkey)
        return any(is_service_clone(url, domain, npub, self.identifier) for url in self.clone_urls)

    def lists_relay(self, domain: Domain) -> bool:
        """Whether a relay of it is ours."""
        return any(is_service_relay(value, domain) for value in self.relay_values)


def repo_addr(pubkey: str, identifier: str) -> RepoAddr:
    """The address of a repository."""
    return RepoAddr(f"{ANNOUNCEMENT}:{pubkey}:{identifier}")


def read_announcement(event: Event) -> Announcement:
    """The announcement that an event of kind 30617 makes."""
    return Announcement(
        event_id=event.id,
        pubkey=event.pubkey,
        created_at=event.created_at,
        identifier=event.identifier,
        clone_urls=_all_values(event, "clone"),
        relay_values=_all_values(event, "relays"),
        maintainers=tuple(PubKey(key) for key in _all_values(event, "maintainers") if is_hex64(key)),
    )


def identifier_fault(identifier: str) -> str | None:
    """What is wrong with a repository's identifier, or nothing. Spaces and emoji are real and fine."""
    if not identifier:
        return "the d tag (the repository's identifier) is missing or empty"
    if identifier in (".", ".."):
        return "the identifier is . or .."
    if identifier.startswith("-"):
        return "the identifier starts with -"
    if any(char in identifier for char in _FORBIDDEN):
        return "the identifier has a slash, a backslash or a NUL"
    if len(identifier.encode()) > IDENTIFIER_BYTES_MAX:
        return f"the identifier is longer than {IDENTIFIER_BYTES_MAX} bytes"
    return None


def _all_values(event: Event, name: str) -> tuple[str, ...]:
    """The values of every tag of this name: NIP-34 has one tag with many, the field also many tags with one."""
    return tuple(value for tag in event.tags if tag[0] == name for value in tag[1:])
