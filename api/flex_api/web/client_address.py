"""From which address a request comes: the one that connected, or the one that a proxy names.

Takes the address that connected, the value of a header, and the networks of the proxies that are
trusted. Returns an address. Anybody can write a header, so its entries are read from the right, and
only those count that trusted proxies wrote.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
# One customer has a whole IPv6 network of this size, and so has who asks too often.
CUSTOMER = 64


def parse(text: str) -> Address | None:
    """With or without a port, in brackets or not; None where it is no address."""
    bare = text.strip().strip('"')
    if bare.startswith("["):
        bare = bare[1:].partition("]")[0]
    elif bare.count(":") == 1:
        bare = bare.partition(":")[0]
    try:
        found = ipaddress.ip_address(bare)
    except ValueError:
        return None
    # A socket for both families names the older one's addresses so.
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return mapped or found


def is_trusted(text: str, proxies: Sequence[str]) -> bool:
    address = parse(text)
    return address is not None and any(address in ipaddress.ip_network(proxy) for proxy in proxies)


def of_client(peer: str, forwarded: Sequence[str], proxies: Sequence[str]) -> str:
    """The nearest address that is no trusted proxy's; `forwarded` is every such header, in
    order.
    """
    nearest = peer
    hops = [hop for header in forwarded for hop in header.split(",")]
    while hops and is_trusted(nearest, proxies):
        said = parse(hops.pop())
        if said is None:
            break
        nearest = str(said)
    return nearest


def bucket(address: str) -> str:
    """Under which name requests of it are counted."""
    found = parse(address)
    if isinstance(found, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((found.packed, CUSTOMER), strict=False))
    return str(found) if found else address
