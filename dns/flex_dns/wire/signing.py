"""Signatures (TSIG, RFC 8945): ours put under a message, the server's checked.

Takes bytes and a key. Returns signed bytes, or a message that was verified against the request it
answers.
"""

from __future__ import annotations

import hmac
import struct
import time

import dns.message
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.tsig
from dns.rdtypes.ANY.TSIG import TSIG

from flex_dns.wire.explain_dns_errors import skewed_error
from flex_dns.wire.name_server_and_key import Server
from flex_dns.wire.read_names_in_messages import end_of_questions

# Seconds that a signature is good for, before and after its time (RFC 8945, section 10).
FUDGE = 300


def sign(wire: bytes, key: dns.tsig.Key, now: int) -> tuple[bytes, bytes]:
    """The message with its signature appended, and the signature: by hand, for every message passes
    here.
    """
    at = struct.pack("!HIH", now >> 32, now & 0xFFFFFFFF, FUDGE)
    record, mac = _signature(wire, key, at)
    additional = int.from_bytes(wire[10:12]) + 1
    return wire[:10] + struct.pack("!H", additional) + wire[12:] + record, mac


def _signature(
    wire: bytes, key: dns.tsig.Key, at: bytes, before: bytes = b""
) -> tuple[bytes, bytes]:
    """The record to be appended, and the signature in it: good `at` a time, and of what came
    `before`, too.
    """
    name, algorithm, hashed = _describe_key(key)
    # What is signed beside the message, then what stands behind it (RFC 8945, 4.3.3 and 4.2).
    variables = name + struct.pack("!HI", dns.rdataclass.ANY, 0) + algorithm + at + bytes(4)
    mac = hmac.digest(key.secret, before + wire + variables, hashed)
    rdata = algorithm + at + struct.pack("!H", len(mac)) + mac + wire[:2] + bytes(4)
    return name + struct.pack(
        "!HHIH", dns.rdatatype.TSIG, dns.rdataclass.ANY, 0, len(rdata)
    ) + rdata, mac


def _describe_key(key: dns.tsig.Key) -> tuple[bytes, bytes, str]:
    """Name and algorithm as bytes, and the hash as Python calls it."""
    return (
        key.name.to_digestable(),
        key.algorithm.to_digestable(),
        key.algorithm.labels[0].decode()[len("hmac-") :],
    )


def rcode_of(
    wire: bytes, mac: bytes, key: dns.tsig.Key, server: Server, now: int, subject: str
) -> dns.rcode.Rcode:
    """What the answer comes to, verified as below: every update has an answer, and most of them
    look alike.
    """
    if _is_plainly_signed(wire, mac, key):
        return dns.rcode.Rcode(wire[3] & 15)
    return verify_answer(wire, mac, key, server, now, subject).rcode()


def _is_plainly_signed(wire: bytes, mac: bytes, key: dns.tsig.Key) -> bool:
    """Whether it is nothing but the head of an answer, with what was asked at most, and our key's
    signature, good now.

    All else is for dnspython to look at, and to say what is wrong with it.
    """
    questions, *others = struct.unpack_from("!HHHH", wire, 4)
    if questions > 1 or others != [0, 0, 1]:
        return False
    try:
        end = end_of_questions(wire, questions)
    except IndexError:
        return False
    # From the end: id, error and length of more, six bytes, behind the signature and its length.
    at = wire[-16 - len(mac) : -8 - len(mac)]
    unsigned = wire[:10] + bytes(2) + wire[12:end]
    record, _ = _signature(unsigned, key, at, struct.pack("!H", len(mac)) + mac)
    if not hmac.compare_digest(wire[end:], record):
        return False
    return abs(int.from_bytes(at[:6]) - int(time.time())) <= int.from_bytes(at[6:])


def verify_answer(
    wire: bytes,
    mac: bytes,
    key: dns.tsig.Key,
    server: Server,
    now: int,
    subject: str,
) -> dns.message.Message:
    """The answer to the request with that signature. Raises a DnsError for clocks that are too far
    apart.
    """
    try:
        return dns.message.from_wire(wire, keyring={key.name: key}, request_mac=mac)
    except dns.tsig.PeerBadTime as error:
        raise skewed_error(_server_time(wire) - now, server, subject) from error


def _server_time(wire: bytes) -> int:
    """An answer of BADTIME carries the server's own time."""
    answer = dns.message.from_wire(wire, keyring=False)
    assert answer.tsig is not None
    tsig = answer.tsig[0]
    assert isinstance(tsig, TSIG)
    return int.from_bytes(tsig.other) if tsig.other else tsig.time_signed
