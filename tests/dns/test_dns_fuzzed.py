"""Bytes that nobody should send: they end in one clear error, and nothing of them is believed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from struct import pack
from unittest.mock import patch

import dns.message
import dns.name
import dns.rrset
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flex import engine
from flex_dns import harvest as harvests
from flex_dns.contents import Contents
from flex_dns.harvest import Harvest
from flex_dns.shelf import reference_shelve
from flex_dns.trouble import MEANINGS

ZONE = "hosting.example."
NAMES = [f"www.{ZONE}", f"shop.{ZONE}", f"www._flex.{ZONE}"]
SOA = "ns1.example.org. hostmaster.example.org. 7 3600 600 86400 30"


LOOPS = {"python": reference_shelve} | ({} if engine.NATIVE is None else {"native": engine.NATIVE.shelve})


@pytest.fixture(params=LOOPS, autouse=True)
def _loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harvests, "shelve", LOOPS[request.param])


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


def mutated(changes: list[tuple[int, int]]) -> bytes:
    wire = bytearray(WHOLE)
    for place, value in changes:
        wire[place] = value
    return bytes(wire)


@settings(max_examples=500)
@given(mutations, places)
def test_mutated_messages_are_read_or_refused(changes: list[tuple[int, int]], end: int) -> None:
    wire = mutated(changes)
    for one in (wire, wire[: end + 1]):
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


ONE_RECORD = bytes.fromhex("0001 8400 0000 0001 0000 0000")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (b"\x01a\xc0\x0c", "never ends"),
        (b"\xc0\x0c", "never ends"),
        (b"\x3f" + bytes(range(63)) + b"\xc0\x0c", "never ends"),
        (b"\x01a" * 128 + b"\0", "too long"),
        (b"\x05abc", "cut off"),
    ],
)
def test_a_name_that_is_none_is_refused(name: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Harvest(ZONE, NAMES).take(ONE_RECORD + name + bytes(10 if why != "cut off" else 0))


def test_what_is_no_address_is_refused() -> None:
    before, _, after = WHOLE.partition(bytes((192, 0, 2, 1)))
    damaged = before[:-1] + bytes((3, 192, 0, 2)) + after
    with pytest.raises(ValueError, match="invalid length"):
        Harvest(ZONE, NAMES).take(damaged)


def read(loop: str, wire: bytes) -> tuple[int, list[int], Contents | None] | None:
    """What comes of a message; None where it is refused."""
    harvest = Harvest(ZONE, [*NAMES, *ODD])
    with patch.object(harvests, "shelve", LOOPS[loop]):
        try:
            end = harvest.take(wire)
        except tuple(MEANINGS):
            return None
    return end, harvest.serials, harvest.contents() if harvest.serials else None


def told(found: tuple[int, list[int], Contents | None] | None) -> Iterator[object]:
    if found is not None:
        end, serials, contents = found
        yield from (end, serials, contents and (contents.serial, dict(contents.sets), dict(contents.closed)))


# As names have them, and as they are spelled in a message.
LABELS = {"www": b"WwW", "t\xe9t\xd7": b"t\xc9t\xd7", "a\\.b": b"a.B", "c\\\\d": b"c\\D", "_flex": b"_flex"}
ODD = [f"{one}.{rest}{ZONE}" for one in LABELS for rest in ("", *(f"{other}." for other in LABELS))]


SPELLED = st.builds(
    lambda labels, end: b"".join(bytes((len(label),)) + label for label in labels) + end,
    st.lists(st.sampled_from([*LABELS.values(), b"\0\xff"]), max_size=2),
    st.one_of(st.just(b"\xc0\x0c"), st.integers(0, 0x80).map(lambda place: bytes((0xC0, place))), st.just(b"\0")),
)
DATA = st.one_of(
    st.tuples(st.just(1), st.sampled_from([bytes((192, 0, 2, 1)), bytes((192, 0, 2, 2)), b"\0"])),
    st.tuples(st.just(28), st.sampled_from([bytes(15) + b"\1", bytes(15) + b"\2"])),
    st.tuples(st.just(16), st.sampled_from([b"\1x", b"\1x\2yz", b"\5x", b""])),
    st.tuples(st.sampled_from([2, 5, 39, 15]), SPELLED),
)


@st.composite
def odd_transfers(draw: st.DrawFn) -> bytes:
    """A zone whose records have all sorts of names, of this zone and of none."""
    records = draw(st.lists(st.tuples(SPELLED, DATA, st.integers(60, 61)), max_size=8))
    soa = b"\xc0\x0c" + bytes.fromhex("0006 0001 0000003c 0016") + b"\0\0" + bytes(3) + b"\7" + bytes(16)
    middle = b"".join(name + pack("!HHIH", kind, 1, ttl, len(data)) + data for name, (kind, data), ttl in records)
    head = bytes.fromhex("0001 8400 0001") + pack("!HI", len(records) + 2, 0)
    return head + b"\7hosting\7example\0" + bytes.fromhex("00fc 0001") + soa + middle + soa


@pytest.mark.skipif("native" not in LOOPS, reason="the native extension is not installed")
@settings(max_examples=500)
@given(st.one_of(odd_transfers(), mutations.map(mutated)), st.integers(0, 3))
def test_both_loops_say_the_same_of_any_message(wire: bytes, cut: int) -> None:
    for one in (wire, wire[: len(wire) - cut]):
        assert list(told(read("native", one))) == list(told(read("python", one)))
