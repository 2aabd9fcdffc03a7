"""Signatures (TSIG, RFC 8945): ours put under a message, theirs checked.

In go bytes and a key; out come signed bytes, or a message that was verified against the request it answers.
"""

from __future__ import annotations

import hmac
import struct

import dns.message
import dns.rdataclass
import dns.rdatatype
import dns.tsig
from dns.rdtypes.ANY.TSIG import TSIG

from flex_dns.server import Server
from flex_dns.trouble import skewed

FUDGE = 300

Context = dns.tsig.HMACTSig | dns.tsig.GSSTSig | None


def sign(wire: bytes, key: dns.tsig.Key, now: int) -> tuple[bytes, bytes]:
    """The message with its signature appended, and the signature: by hand, for every message passes here."""
    name, algorithm, hashed = _described(key)
    at = struct.pack("!HIH", now >> 32, now & 0xFFFFFFFF, FUDGE)
    # What is signed beside the message, then what stands behind it (RFC 8945, 4.3.3 and 4.2).
    variables = name + struct.pack("!HI", dns.rdataclass.ANY, 0) + algorithm + at + bytes(4)
    mac = hmac.digest(key.secret, wire + variables, hashed)
    rdata = algorithm + at + struct.pack("!H", len(mac)) + mac + wire[:2] + bytes(4)
    record = name + struct.pack("!HHIH", dns.rdatatype.TSIG, dns.rdataclass.ANY, 0, len(rdata)) + rdata
    additional = int.from_bytes(wire[10:12]) + 1
    return wire[:10] + struct.pack("!H", additional) + wire[12:] + record, mac


def _described(key: dns.tsig.Key) -> tuple[bytes, bytes, str]:
    """Name and algorithm as bytes, and the hash as Python calls it."""
    return key.name.to_digestable(), key.algorithm.to_digestable(), key.algorithm.labels[0].decode()[len("hmac-") :]


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
