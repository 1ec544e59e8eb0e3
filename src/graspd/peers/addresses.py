"""Which addresses may be dialled when a stranger names the host.

Judges addresses alone, as numbers: what a name resolves to is found out in dialer.py, and how it was spelled does not
matter. IPv4 is what the registries of special addresses leave over; IPv6 is global unicast less the same.
"""

import ipaddress
from typing import Final

_IPV4_RESERVED: Final = tuple(
    (ipaddress.IPv4Network(network), why)
    for network, why in (
        ("0.0.0.0/8", "this network"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "shared"),  # and the metadata service of one cloud, 100.100.100.200
        ("127.0.0.0/8", "loopback"),
        ("168.63.129.16/32", "cloud metadata"),
        ("169.254.0.0/16", "link-local"),  # and the metadata services of most clouds, 169.254.169.254
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),  # and the metadata service of one cloud, 192.0.0.192
        ("192.0.2.0/24", "documentation"),
        ("192.31.196.0/24", "reserved"),
        ("192.52.193.0/24", "reserved"),
        ("192.88.99.0/24", "translation"),
        ("192.168.0.0/16", "private"),
        ("192.175.48.0/24", "reserved"),
        ("198.18.0.0/15", "benchmarking"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
)
_IPV6_GLOBAL: Final = ipaddress.IPv6Network("2000::/3")
_IPV6_RESERVED: Final = tuple(
    (ipaddress.IPv6Network(network), why)
    for network, why in (
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("::/96", "translation"),  # IPv4-compatible
        ("::ffff:0:0/96", "translation"),  # IPv4-mapped
        ("::ffff:0:0:0/96", "translation"),  # IPv4-translated
        ("64:ff9b::/96", "translation"),  # NAT64
        ("64:ff9b:1::/48", "translation"),  # NAT64 of a site
        ("2001::/32", "translation"),  # Teredo
        ("2001::/23", "reserved"),
        ("2001:db8::/32", "documentation"),
        ("2002::/16", "translation"),  # 6to4
        ("2620:4f:8000::/48", "reserved"),
        ("3ffe::/16", "reserved"),
        ("3fff::/20", "documentation"),
        ("fc00::/7", "private"),  # and the metadata service of one cloud, fd00:ec2::254
        ("fe80::/10", "link-local"),
        ("fec0::/10", "private"),
        ("ff00::/8", "multicast"),
    )
)


def address_fault(address: str) -> str | None:
    """Why an address, as a resolver gives it, must not be dialled for a stranger; nothing where it may be."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return "not an address"
    if isinstance(parsed, ipaddress.IPv4Address):
        return next((why for network, why in _IPV4_RESERVED if parsed in network), None)
    if parsed.scope_id is not None:
        return "bound to an interface"
    if named := next((why for network, why in _IPV6_RESERVED if parsed in network), None):
        return named
    return None if parsed in _IPV6_GLOBAL else "reserved"
