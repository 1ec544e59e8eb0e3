"""The words every package shares. A string from outside becomes one of these in exactly one parser, and stays so."""

from typing import NamedTuple, NewType

RelayUrl = NewType("RelayUrl", str)  # normalised by nostr.relay_url
EventId = NewType("EventId", str)  # 64 lower-case hex digits
PubKey = NewType("PubKey", str)  # 64 lower-case hex digits
Address = NewType("Address", str)  # "kind:pubkey:identifier" of a replaceable or addressable event
RepoAddr = NewType("RepoAddr", str)  # the Address of a repository announcement, "30617:pubkey:identifier"
SubId = NewType("SubId", str)
LinkId = NewType("LinkId", int)
Monotonic = NewType("Monotonic", float)  # seconds of a clock that never steps back; only differences mean anything
UnixTime = NewType("UnixTime", int)  # seconds since 1970, the wall clock


class Now(NamedTuple):
    """The time at which an input happened, by both clocks."""

    mono: Monotonic
    wall: UnixTime

    def wall_at(self, then: Monotonic) -> UnixTime:
        """What the wall clock, as it goes now, showed at another time."""
        return UnixTime(self.wall - int(self.mono - then))
