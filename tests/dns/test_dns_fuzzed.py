"""Bytes that nobody should send: they end in one clear error, and nothing of them is believed."""

from __future__ import annotations

from contextlib import suppress

import dns.message
import dns.name
import dns.rrset
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flex_dns.harvest import Harvest
from flex_dns.trouble import MEANINGS

ZONE = "hosting.example."
NAMES = [f"www.{ZONE}", f"shop.{ZONE}", f"www._flex.{ZONE}"]
SOA = "ns1.example.org. hostmaster.example.org. 7 3600 600 86400 30"


def transfer() -> bytes:
    """A whole zone in one message, as BIND compresses it."""
    answer = dns.message.make_response(dns.message.make_query(ZONE, "AXFR", id=1))
    soa = dns.rrset.from_text(ZONE, 60, "IN", "SOA", SOA)
    rows = [
        (NAMES[0], "A", ["192.0.2.1", "192.0.2.2"]),
        (NAMES[0], "AAAA", ["2001:db8::1"]),
        (NAMES[2], "TXT", ['"flex owner=a" "b"']),
        (f"alias.{ZONE}", "CNAME", [NAMES[0]]),
        (f"sub.{ZONE}", "NS", ["ns.example.org."]),
        (f"down.{ZONE}", "DNAME", ["example.org."]),
        (f"mail.{ZONE}", "MX", ["10 mx.example.org."]),
    ]
    answer.answer = [soa, *(dns.rrset.from_text(name, 60, "IN", kind, *values) for name, kind, values in rows), soa]
    return answer.to_wire()


WHOLE = transfer()
places = st.integers(0, len(WHOLE) - 1)
mutations = st.lists(st.tuples(places, st.integers(0, 255)), min_size=1, max_size=6)


def test_the_whole_message_is_read() -> None:
    harvest = Harvest(ZONE, NAMES)
    assert harvest.take(WHOLE) == len(WHOLE)
    assert harvest.serials == [7, 7]
    assert harvest.contents().sets == {
        (NAMES[0], "A"): (60, ("192.0.2.1", "192.0.2.2")),
        (NAMES[0], "AAAA"): (60, ("2001:db8::1",)),
        (NAMES[2], "TXT"): (60, ('flex owner=a" "b',)),
    }


@settings(max_examples=500)
@given(mutations, places)
def test_mutated_messages_are_read_or_refused(changes: list[tuple[int, int]], end: int) -> None:
    wire = bytearray(WHOLE)
    for place, value in changes:
        wire[place] = value
    for one in (bytes(wire), bytes(wire[: end + 1])):
        harvest = Harvest(ZONE, NAMES)
        try:
            harvest.take(one)
        except tuple(MEANINGS):
            continue
        if harvest.serials:
            harvest.contents()


@settings(max_examples=300)
@given(st.binary(max_size=200))
def test_noise_is_refused(noise: bytes) -> None:
    harvest = Harvest(ZONE, NAMES)
    with suppress(*MEANINGS):
        harvest.take(noise)
    assert not harvest.is_complete


def test_a_name_that_points_at_itself_is_refused() -> None:
    one_record = bytes.fromhex("0001 8400 0000 0001 0000 0000")
    with pytest.raises(ValueError, match="never ends"):
        Harvest(ZONE, NAMES).take(one_record + b"\x01a\xc0\x0c" + bytes(10))
