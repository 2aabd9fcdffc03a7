"""A NOTIFY of our own, for a secondary that has not heard of a change.

Takes a server, a zone and a key. Returns whether another NOTIFY may help. Does not believe anything
in the answer but that the message arrived.

A name server notifies its secondaries by UDP. When that packet is lost, they keep the old zone
until their refresh timer runs out, which takes hours. Our NOTIFY makes a secondary ask its primary
at once, if its `allow-notify` has our key or address.
"""

from __future__ import annotations

import socket

import dns.exception
import dns.flags
import dns.message
import dns.opcode
import dns.query
import dns.rcode

from flex_dns.wire.key import Key
from flex_dns.wire.name_server_and_key import Address


def nudged(server: Address, zone: str, key: Key | None, timeout: float) -> bool:
    """Whether another one may be heeded: not where the server refused this one. Silence may be one
    more lost packet.
    """
    notify = dns.message.make_query(zone, "SOA", flags=dns.flags.AA)
    notify.set_opcode(dns.opcode.NOTIFY)
    if key:
        notify.use_tsig(key.signer())
    try:
        address = str(socket.getaddrinfo(*server, type=socket.SOCK_DGRAM)[0][4][0])
        answer = dns.query.udp(notify, address, timeout, server[1])
    except dns.exception.Timeout:
        return True
    except (dns.exception.DNSException, OSError, ValueError):
        return False
    return answer.rcode() == dns.rcode.NOERROR
