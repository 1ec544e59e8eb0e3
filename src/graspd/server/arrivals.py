"""Who may come in: connections counted in all and by address, and whose word for another's address is taken.

A connection counts from its first byte, so that clients who never finish a request cannot take every place. One that
a trusted proxy makes for others counts for the client it names, once it has named one.
"""

import ipaddress
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Refusal(NamedTuple):
    """Why a connection is not taken, in HTTP's words."""

    status: int
    reason: str
    why: str


class Arrivals:
    """The connections that are open now."""

    def __init__(self, most: int, most_per_address: int, trusted: Iterable[Network]) -> None:
        self._most = most
        self._most_per_address = most_per_address
        self._trusted = tuple(trusted)
        self._total = 0
        self._by_address: Counter[str] = Counter()

    def connect(self, remote: str) -> Refusal | None:
        """Take one more connection, or say why not."""
        if self._total >= self._most:
            return Refusal(503, "Service Unavailable", "Too many connections are open here\n")
        refusal = None if self._is_trusted(remote) else self._count(remote)
        if refusal is None:
            self._total += 1
        return refusal

    def disconnect(self, remote: str) -> None:
        """A connection that was taken has ended."""
        self._total -= 1
        if not self._is_trusted(remote):
            self._discount(remote)

    def enter(self, client: str, remote: str) -> Refusal | None:
        """Take the client that a connection turned out to be for, or say why not."""
        return None if client == remote else self._count(client)

    def leave(self, client: str, remote: str) -> None:
        """A client that was taken has left."""
        if client != remote:
            self._discount(client)

    def client(self, remote: str, forwarded_for: Iterable[str]) -> str:
        """The client's address: behind trusted proxies, the last one that none of them added for another of them.

        `forwarded_for` are the X-Forwarded-For lines as they came: a proxy may extend a line or add one of its own.
        """
        hops = [hop.strip() for line in forwarded_for for hop in line.split(",") if hop.strip()]
        address = remote
        while hops and self._is_trusted(address):
            address = hops.pop()
        return address

    def _count(self, address: str) -> Refusal | None:
        if self._most_per_address and self._by_address[address] >= self._most_per_address:
            why = f"More than {self._most_per_address} connections from one address\n"
            return Refusal(429, "Too Many Requests", why)
        self._by_address[address] += 1
        return None

    def _discount(self, address: str) -> None:
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]

    def _is_trusted(self, address: str) -> bool:
        try:
            parsed = ipaddress.ip_address(address)
        except ValueError:
            return False
        if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
            parsed = parsed.ipv4_mapped  # how an IPv4 client looks to a socket that listens for both
        return any(parsed in network for network in self._trusted)
