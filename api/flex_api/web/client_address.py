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
        address = ipaddress.ip_address(bare)
    except ValueError:
        return None
    # A socket for both families names the older one's addresses so.
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def is_trusted(text: str, proxies: Sequence[str]) -> bool:
    address = parse(text)
    return address is not None and any(address in ipaddress.ip_network(proxy) for proxy in proxies)


def find_client_address(peer: str, forwarded: Sequence[str], proxies: Sequence[str]) -> str:
    """The nearest address that is no trusted proxy's; `forwarded` is every such header, in
    order.
    """
    nearest = peer
    hops = [hop for header in forwarded for hop in header.split(",")]
    while hops and is_trusted(nearest, proxies):
        address = parse(hops.pop())
        if address is None:
            break
        nearest = str(address)
    return nearest


def bucket(address: str) -> str:
    """Under which name requests of it are counted."""
    client_ip = parse(address)
    if isinstance(client_ip, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((client_ip.packed, CUSTOMER), strict=False))
    return str(client_ip) if client_ip else address
