"""Bytes that nobody should send: they end in one clear error, and nothing of them is believed."""

from __future__ import annotations

from contextlib import suppress
from struct import pack
from unittest.mock import patch

import dns.message
import dns.name
import dns.rrset
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flex import native_or_python
from flex.zones.what_leans_on_names import Pointed
from flex_dns.wire.explain_dns_errors import MEANINGS, translate
from flex_dns.wire.transferred_sets import MOST_SHARED, reference_shelve
from flex_dns.zone import transfer as transfers
from flex_dns.zone.transfer import Harvest
from tests.thorough import times

ZONE = "hosting.example."
# Of which all records that point to it are wanted.
POINTED = Pointed(frozenset([f"www.{ZONE}"]), frozenset([ZONE]))
NAMES = [f"www.{ZONE}", f"shop.{ZONE}", f"www._flex.{ZONE}"]
SOA = "ns1.example.org. hostmaster.example.org. 7 3600 600 86400 30"


LOOPS = {"python": reference_shelve} | (
    {} if native_or_python.NATIVE is None else {"native": native_or_python.NATIVE.shelve}
)


@pytest.fixture(params=LOOPS, autouse=True)
def _each_loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfers, "shelve", LOOPS[request.param])


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
        (f"mail.{ZONE}", "MX", ["10 mx.example.org.", f"20 {NAMES[0]}"]),
        (f"_sip._tcp.{ZONE}", "SRV", [f"0 5 5060 {NAMES[0]}"]),
        (f"mail.{ZONE}", "TXT", ['"v=spf1 a" " mx -all"']),
        (NAMES[0], "CAA", ['0 issue ";"']),
        (NAMES[0], "HTTPS", ["1 . ipv4hint=192.0.2.1", f"2 {NAMES[0]} alpn=h2"]),
    ]
    answer.answer = [
        soa,
        *(dns.rrset.from_text(name, 60, "IN", kind, *values) for name, kind, values in rows),
        soa,
    ]
    return answer.to_wire()


WHOLE = transfer()
places = st.integers(0, len(WHOLE) - 1)
mutations = st.lists(st.tuples(places, st.integers(0, 255)), min_size=1, max_size=6)


@pytest.mark.parametrize("hints", [False, True])
def test_the_whole_message_is_read(hints: bool) -> None:
    """Records with hints are passed over, unless somebody asks for them."""
    harvest = Harvest(ZONE, NAMES, hints=hints)
    assert harvest.take(WHOLE) == len(WHOLE)
    assert harvest.serials == [7, 7]
    assert harvest.contents().sets == {
        (NAMES[0], "A"): (60, ("192.0.2.1", "192.0.2.2")),
        (NAMES[0], "AAAA"): (60, ("2001:db8::1",)),
        (NAMES[2], "TXT"): (60, ('flex owner=a" "b',)),
    } | (
        {(NAMES[0], "HTTPS"): (60, ('1 . ipv4hint="192.0.2.1"', f'2 {NAMES[0]} alpn="h2"'))}
        if hints
        else {}
    )


def mutated(changes: list[tuple[int, int]]) -> bytes:
    wire = bytearray(WHOLE)
    for place, value in changes:
        wire[place] = value
    return bytes(wire)


@settings(max_examples=times(500))
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


@settings(max_examples=times(300))
@given(st.binary(max_size=200))
def test_noise_is_refused(noise: bytes) -> None:
    harvest = Harvest(ZONE, NAMES)
    with suppress(*MEANINGS):
        harvest.take(noise)
    assert not harvest.is_complete


SOA_RECORD = b"\xc0\x0c" + bytes.fromhex("0006 0001 0000003c 0016") + bytes(5) + b"\7" + bytes(16)


def message(*records: bytes) -> bytes:
    """The bytes of a transfer of the zone, whose name stands in the question."""
    head = bytes.fromhex("0001 8400 0001") + pack("!HI", len(records), 0)
    return head + b"\7hosting\7example\0" + bytes.fromhex("00fc 0001") + b"".join(records)


def record(name: bytes, kind: int, ttl: int, data: bytes) -> bytes:
    return name + pack("!HHIH", kind, 1, ttl, len(data)) + data


# Where the name of the second record begins.
SECOND = len(message(SOA_RECORD))


@pytest.mark.parametrize("before", [(), (SOA_RECORD,)], ids=["first", "second"])
@pytest.mark.parametrize(
    ("name", "why"),
    [
        (b"\x01a\xc0" + bytes((SECOND,)), "never ends"),
        (b"\xc0" + bytes((SECOND,)), "never ends"),
        (b"\x3f" + bytes(range(63)) + b"\xc0" + bytes((SECOND,)), "never ends"),
        (b"\x01a" * 128 + b"\0", "too long"),
        (b"\x05abc", "cut off"),
    ],
)
def test_a_name_that_is_none_is_refused(before: tuple[bytes, ...], name: bytes, why: str) -> None:
    if not before:
        name = name.replace(bytes((SECOND,)), bytes((SECOND - len(SOA_RECORD),)))
    with pytest.raises(ValueError, match=why):
        Harvest(ZONE, NAMES).take(message(*before, name + bytes(0 if why == "cut off" else 10)))


def test_what_is_no_address_is_refused() -> None:
    with pytest.raises(ValueError, match="invalid length"):
        Harvest(ZONE, NAMES).take(message(SOA_RECORD, record(b"\3www\xc0\x0c", 1, 60, bytes(3))))


def test_values_of_one_name_are_in_order_and_have_the_ttl_of_the_last() -> None:
    records = [
        record(name, 1, ttl, bytes((192, 0, 2, value)))
        for name in (b"\3www\xc0\x0c", b"\4shop\xc0\x0c")
        for ttl, value in ((60, 3), (61, 1), (61, 1), (62, 2))
    ]
    harvest = Harvest(ZONE, NAMES)
    harvest.take(message(SOA_RECORD, *records, SOA_RECORD))
    values = (62, ("192.0.2.1", "192.0.2.2", "192.0.2.3"))
    assert harvest.contents().sets == {(NAMES[0], "A"): values, (NAMES[1], "A"): values}


def test_of_a_crowd_at_one_name_no_sums_are_kept() -> None:
    records = [
        record(b"\3www\xc0\x0c", 16, 60, b"\2" + pack("!H", number)) for number in range(1000)
    ]
    harvest = Harvest(ZONE, [f"www.{ZONE}"])
    harvest.take(message(SOA_RECORD, *records, SOA_RECORD))
    assert len(harvest.contents().sets[f"www.{ZONE}", "TXT"][1]) > MOST_SHARED
    assert len(harvest._shelf.unions) < MOST_SHARED


def test_a_name_may_be_the_last_byte_of_a_message() -> None:
    alias = record(b"\3www\xc0\x0c", 5, 60, b"\0")
    harvest = Harvest(ZONE, NAMES)
    wire = message(SOA_RECORD, alias)
    assert harvest.take(wire) == len(wire)
    assert harvest.contents().closed == {NAMES[0]: "has a CNAME to ."}


def read(loop: str, wire: bytes) -> tuple[object, ...]:
    """What comes of a message, or what people are told of it."""
    harvest = Harvest(ZONE, [*NAMES, *ODD], POINTED, hints=True)
    with patch.object(transfers, "shelve", LOOPS[loop]):
        try:
            end = harvest.take(wire)
        except tuple(MEANINGS) as error:
            return (str(translate(error, "ns1", "a transfer")),)
    found = harvest.contents() if harvest.serials else None
    return (
        end,
        harvest.serials,
        found and (found.serial, dict(found.sets), dict(found.closed), found.pointing),
    )


# As names have them, and as they are spelled in a message.
LABELS = {
    "www": b"WwW",
    "t\xe9t\xd7": b"t\xc9t\xd7",
    "a\\.b": b"a.B",
    "c\\\\d": b"c\\D",
    "_flex": b"_flex",
}
ODD = [f"{one}.{rest}{ZONE}" for one in LABELS for rest in ("", *(f"{other}." for other in LABELS))]


SPELLED = st.builds(
    lambda labels, end: b"".join(bytes((len(label),)) + label for label in labels) + end,
    st.lists(st.sampled_from([*LABELS.values(), b"\0\xff"]), max_size=2),
    st.one_of(
        st.just(b"\xc0\x0c"),
        st.integers(0, 0x80).map(lambda place: bytes((0xC0, place))),
        st.just(b"\0"),
    ),
)
DATA = st.one_of(
    st.tuples(st.just(1), st.sampled_from([bytes((192, 0, 2, 1)), bytes((192, 0, 2, 2)), b"\0"])),
    st.tuples(st.just(28), st.sampled_from([bytes(15) + b"\1", bytes(15) + b"\2"])),
    st.tuples(st.just(16), st.sampled_from([b"\1x", b"\1x\2yz", b"\5x", b""])),
    st.tuples(st.just(16), st.sampled_from([b"\7V=spf1 \2mx", b"\7v=spf1 a", b"\6v=spf1"])),
    st.tuples(st.just(257), st.sampled_from([b"\0\5issue;", b"\0", b"", b"\0\xffx"])),
    st.tuples(st.sampled_from([2, 5, 39, 15]), SPELLED),
    st.tuples(st.just(15), SPELLED.map(lambda name: b"\0\x0a" + name)),
    st.tuples(
        st.sampled_from([64, 65]),
        st.tuples(SPELLED, st.sampled_from([b"", b"\0\4\0\4\xc0\0\2\1", b"\0\4"])).map(
            lambda parts: b"\0\1" + b"".join(parts)
        ),
    ),
    st.tuples(st.just(33), SPELLED.map(lambda name: b"\0\0\0\1\0\x19" + name)),
)


odd_transfers = st.lists(st.tuples(SPELLED, DATA, st.integers(60, 61)), max_size=8).map(
    lambda rows: message(
        SOA_RECORD, *(record(name, kind, ttl, data) for name, (kind, data), ttl in rows), SOA_RECORD
    )
)


@pytest.mark.slow
@pytest.mark.skipif("native" not in LOOPS, reason="the native extension is not installed")
@settings(max_examples=times(500))
@given(st.one_of(odd_transfers, mutations.map(mutated)), st.integers(0, 3))
def test_both_loops_say_the_same_of_any_message(wire: bytes, cut: int) -> None:
    for one in (wire, wire[: len(wire) - cut]):
        assert read("native", one) == read("python", one)
