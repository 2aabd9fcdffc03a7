"""HTTPS and SVCB records (RFC 9460) as text and as bytes.

Takes the data of a record, or its text as zone files have it. Returns the other one. What comes
back from a text is the same to the byte: data that no such text gives are written as RFC 3597 has
them. Does not look for hints: flex/zones/address_hints.py does.
"""

from __future__ import annotations

import dns.exception
import dns.rdata
import dns.rdataclass
from dns.rdatatype import RdataType

# What a text begins with that has the data as they are (RFC 3597).
GENERIC = "\\# "


def text_of_data(number: int, data: bytes) -> str:
    """`number` is that of the type."""
    kind = RdataType(number)
    try:
        rdata = dns.rdata.from_wire(dns.rdataclass.IN, kind, data, 0, len(data))
        text = rdata.to_text()
        if data_of_text(kind.name, text) == data:
            return text
    except (dns.exception.DNSException, ValueError):
        pass
    return f"{GENERIC}{len(data)} {data.hex()}"


def data_of_text(kind: str, text: str) -> bytes:
    """Raises a DNSException for what is no such text."""
    if text.startswith(GENERIC):
        return bytes.fromhex(text.removeprefix(GENERIC).partition(" ")[2])
    rdata = dns.rdata.from_text(dns.rdataclass.IN, RdataType.from_text(kind), text)
    return rdata.to_wire() or b""
