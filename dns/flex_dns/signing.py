"""Signatures (TSIG, RFC 8945): ours put under a message, theirs checked.

In go bytes and a key; out come signed bytes, or a message that was verified against the request it answers.
"""

from __future__ import annotations

import struct

import dns.message
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.tsig
from dns.rdtypes.ANY.TSIG import TSIG

from flex_dns.server import Server
from flex_dns.trouble import skewed

FUDGE = 300

Context = dns.tsig.HMACTSig | dns.tsig.GSSTSig | None


def sign(wire: bytes, key: dns.tsig.Key, now: int) -> tuple[bytes, bytes]:
    """The message with its signature appended, and the signature. dnspython would take the time from the system."""
    message_id, additional = int.from_bytes(wire[:2]), int.from_bytes(wire[10:12])
    blank = TSIG(  # type: ignore[no-untyped-call]  # dnspython leaves it without types
        dns.rdataclass.ANY, dns.rdatatype.TSIG, key.algorithm, now, FUDGE, b"", message_id, dns.rcode.NOERROR, b""
    )
    tsig, _ = dns.tsig.sign(wire, key, blank, now, b"")  # type: ignore[no-untyped-call]  # as above
    rdata = tsig.to_wire()
    assert rdata is not None
    record = key.name.to_wire()
    assert record is not None
    record += struct.pack("!HHIH", dns.rdatatype.TSIG, dns.rdataclass.ANY, 0, len(rdata)) + rdata
    return wire[:10] + struct.pack("!H", additional + 1) + wire[12:] + record, tsig.mac


def verified(
    wire: bytes, mac: bytes, key: dns.tsig.Key, server: Server, now: int, asked: str, context: Context = None
) -> dns.message.Message:
    """The answer to the request with that signature. Raises a DnsError for clocks that are too far apart."""
    try:
        return dns.message.from_wire(wire, keyring={key.name: key}, request_mac=mac, tsig_ctx=context)
    except dns.tsig.PeerBadTime as error:
        raise skewed(_server_time(wire) - now, server, asked) from error


def _server_time(wire: bytes) -> int:
    """An answer of BADTIME carries the server's own time."""
    answer = dns.message.from_wire(wire, keyring=False)
    assert answer.tsig is not None
    tsig = answer.tsig[0]
    assert isinstance(tsig, TSIG)
    return int.from_bytes(tsig.other) if tsig.other else tsig.time_signed
