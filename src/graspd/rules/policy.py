"""What the operator decided: who we are, what we archive, whom we refuse, how large an event may be."""

from dataclasses import dataclass, field
from typing import Final

from graspd.errors import SettingError
from graspd.nostr.nip19 import decode_npub
from graspd.nostr.relay_url import Domain
from graspd.types import PubKey

EVERYTHING: Final = "*"


@dataclass(frozen=True, slots=True)
class RepoList:
    """Repositories as an operator lists them: `npub`, `npub/identifier`, `identifier`, or `*` for everything."""

    everything: bool = False
    owners: frozenset[PubKey] = frozenset()
    repositories: frozenset[tuple[PubKey, str]] = frozenset()
    identifiers: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, entries: list[str]) -> "RepoList":
        """The list of these entries; a wrong one is named."""
        owners, repositories, identifiers = set(), set(), set()
        for entry in entries:
            owner, slash, identifier = entry.partition("/")
            pubkey = decode_npub(owner)
            if pubkey is None and (slash or owner.startswith("npub1")):
                raise SettingError(f"{entry!r} does not start with a valid npub")
            if pubkey is None:
                identifiers.add(entry)
            elif identifier:
                repositories.add((pubkey, identifier))
            else:
                owners.add(pubkey)
        everything = EVERYTHING in identifiers
        return cls(everything, frozenset(owners), frozenset(repositories), frozenset(identifiers - {EVERYTHING}))

    def __contains__(self, repository: tuple[PubKey, str]) -> bool:
        pubkey, identifier = repository
        return (
            self.everything
            or pubkey in self.owners
            or identifier in self.identifiers
            or (pubkey, identifier) in self.repositories
        )

    def __bool__(self) -> bool:
        return self.everything or bool(self.owners or self.repositories or self.identifiers)


@dataclass(frozen=True, slots=True)
class Policy:
    """Everything the rules take from the settings."""

    domain: Domain
    archive: RepoList = field(default_factory=RepoList)
    blocked_authors: frozenset[PubKey] = frozenset()
    blocked_repositories: RepoList = field(default_factory=RepoList)
    event_bytes_max: int = 128 * 1024
    event_tags_max: int = 2000
    future_s_max: int = 900
