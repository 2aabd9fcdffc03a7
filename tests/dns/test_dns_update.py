"""How a plan becomes messages: by bytes, never one name in two, and just as dnspython would write
them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence

import dns.exception
import dns.message
import dns.rdataclass
import dns.rdatatype
import dns.update
import pytest
from dns.rdtypes.ANY.TXT import TXT
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flex import native_or_python
from flex.model.zone_plan import Change, RecordType, Rrset
from flex.zones.marker import marker_name, marker_text, site_name
from flex_dns.update import change_messages
from flex_dns.update.change_messages import Message
from flex_dns.wire import messages as wire
from flex_dns.wire.messages import MessagePart, Unfit
from tests.thorough import times

ZONE = "hosting.example."
FORMS: dict[RecordType, str] = {
    "A": "192.0.2.{}",
    "AAAA": "2001:db8::{}",
    "TXT": "flex owner={}",
    "HTTPS": '1 . alpn="h2" ipv4hint="192.0.2.{}"',
    "SVCB": '{} . ipv6hint="2001:db8::1"',
}

labels = st.text("abcdefghijklmnopqrstuvwxyz0123456789-_", min_size=1, max_size=63)
hosts = st.lists(labels, max_size=3).map(lambda above: ".".join([*above, ZONE]))
kinds: st.SearchStrategy[RecordType] = st.sampled_from(list(FORMS))


def rrset(name: str, kind: RecordType, count: int, ttl: int = 60) -> Rrset | None:
    values = tuple(FORMS[kind].format(number + 1) for number in range(count))
    return Rrset(name, kind, ttl, values) if values else None


changes = (
    st.tuples(hosts, kinds, st.integers(0, 5), st.integers(0, 5), st.integers(0, 2**31 - 1))
    .filter(lambda given: bool(given[2] or given[3]))
    .map(
        lambda given: Change(
            rrset(given[0], given[1], given[2]), rrset(given[0], given[1], given[3], given[4])
        )
    )
)


def placed(name: str, count: int = 1) -> list[Change]:
    marker = Rrset(marker_name(name, ZONE), "TXT", 60, (marker_text("flex-eu1"),))
    return [Change(None, rrset(name, "A", count)), Change(None, marker)]


def zone_plan(names: int, values: int = 1) -> list[Change]:
    made = [placed(f"site{number}.{ZONE}", values) for number in range(names)]
    # As the core orders them the markers may stand far from their names.
    return [change for change, _ in made] + [marker for _, marker in made]


def read_back(wire: bytes) -> dns.update.UpdateMessage:
    found = dns.message.from_wire(wire)
    assert isinstance(found, dns.update.UpdateMessage)
    return found


def as_dnspython_has_it(wanted: Iterable[Change]) -> dns.update.UpdateMessage:
    """The same by dnspython's own hands."""
    made = dns.update.UpdateMessage(ZONE, id=0)
    for change in wanted:
        if change.before:
            # As rdata and not as a set: a set would bring its TTL, and a prerequisite with a TTL is
            # malformed.
            made.present(change.name, *rdata(change.before))
        else:
            made.absent(change.name, change.type)
        if change.type != "TXT" and change.after and not change.before:
            made.absent(change.name, "CNAME")
    for change in wanted:
        if change.before or not change.after:
            made.delete(change.name, change.type)
        if change.after:
            made.add(change.name, change.after.ttl, *rdata(change.after))
    return made


def rdata(found: Rrset) -> list[dns.rdata.Rdata]:
    if found.type == "TXT":
        return [
            TXT(dns.rdataclass.IN, dns.rdatatype.TXT, [value.encode()]) for value in found.values
        ]
    return [dns.rdata.from_text(dns.rdataclass.IN, found.type, value) for value in found.values]


@pytest.mark.slow
@settings(max_examples=times(60))
@example([Change(rrset(f"www.{ZONE}", "AAAA", 100), rrset(f"www.{ZONE}", "AAAA", 99))])
@given(st.lists(changes, max_size=5, unique_by=lambda change: (change.name, change.type)))
def test_a_message_is_what_dnspython_would_send(wanted: list[Change]) -> None:
    message = Message(ZONE, tuple(wanted))
    assert read_back(message.wire()) == read_back(
        as_dnspython_has_it(wanted).to_wire(max_size=65535)
    )
    ours, theirs = (
        one.to_text() for one in (read_back(message.wire()), as_dnspython_has_it(wanted))
    )
    assert ours == theirs


# Names and values that not everybody can spell, and some that nobody can.
ODD_NAMES = [
    ZONE,
    "www.elsewhere.example.",
    f"a\\.b.{ZONE}",
    f"{'a' * 64}.{ZONE}",
    f"..{ZONE}",
    f"b\xfccher.{ZONE}",
    f"x{ZONE}",
]
ODD_NAMES += [f"{'a.' * 119}{ZONE}", f"{'a.' * 120}{ZONE}", "www", ""]
ODD_VALUES = ["192.0.2.1", "192.0.2.01", "2001:db8::1", "::ffff:192.0.2.1", "x" * 256, "", "\xe9"]
odd_sets = st.lists(st.sampled_from(ODD_VALUES), min_size=1, max_size=2).map(tuple)
odd_changes = st.builds(
    lambda name, kind, before, after, ttl: Change(
        before and Rrset(name, kind, 60, before),
        Rrset(name, kind, ttl, after or ()) if after or not before else None,
    ),
    st.one_of(st.sampled_from(ODD_NAMES), hosts),
    kinds,
    st.none() | odd_sets,
    st.none() | odd_sets,
    st.sampled_from([0, 60, 2**32 - 1, 2**32, -1]),
)


def spelled(
    loop: Callable[[str, Sequence[Change]], MessagePart], wanted: Sequence[Change]
) -> object:
    try:
        return tuple(loop(ZONE, wanted))
    except (Unfit, ValueError, struct.error, dns.exception.DNSException) as error:
        return type(error), str(error)


@pytest.mark.slow
@pytest.mark.skipif(native_or_python.NATIVE is None, reason=native_or_python.WHY_NOT)
@settings(max_examples=times(300))
@given(st.lists(st.one_of(changes, odd_changes), max_size=5))
def test_both_loops_spell_the_same(wanted: list[Change]) -> None:
    assert native_or_python.NATIVE is not None
    assert spelled(native_or_python.NATIVE.parts, wanted) == spelled(wire.reference_parts, wanted)


@given(changes)
def test_a_change_takes_as_many_bytes_as_it_is_counted_for(change: Change) -> None:
    empty = len(Message(ZONE, ()).wire())
    assert len(Message(ZONE, (change,)).wire()) - empty == wire.part_size(ZONE, change)


def test_three_thousand_names_go_in_messages_of_thirty_two_kilobytes() -> None:
    wanted = zone_plan(3000)
    messages = list(change_messages.messages(ZONE, wanted))
    assert max(len(message.wire()) for message in messages) <= change_messages.MESSAGE_BYTES + 100
    # Half-empty messages would cost round trips.
    assert len(messages) < 30
    sent = [change.name for message in messages for change in message.changes]
    assert sorted(sent) == sorted(change.name for change in wanted)


@given(st.integers(0, 40), st.integers(1, 20), st.integers(100, 3000))
def test_a_name_and_its_marker_are_in_one_message(names: int, values: int, limit: int) -> None:
    messages = list(change_messages.messages(ZONE, zone_plan(names, values), limit))
    in_each = [{site_name(ZONE, change.name) for change in message.changes} for message in messages]
    assert sum(len(found) for found in in_each) == names
    assert sum(len(message.changes) for message in messages) == 2 * names


@given(st.integers(1, 40))
def test_halves_hold_what_the_whole_held_and_no_name_is_halved(names: int) -> None:
    whole = Message(ZONE, tuple(zone_plan(names)), row=7)
    halves = change_messages.halves(whole)
    assert len(halves) == (2 if names > 1 else 0)
    assert sorted(map(str, (change for half in halves for change in half.changes))) == (
        sorted(map(str, whole.changes)) if halves else []
    )
    assert {half.row for half in halves} <= {7}


@pytest.mark.parametrize("before", [0, 2])
def test_prerequisites_carry_no_ttl(before: int) -> None:
    change = Change(rrset(f"a.{ZONE}", "A", before, 300), rrset(f"a.{ZONE}", "A", 3, 300))
    required = read_back(Message(ZONE, (change,)).wire()).prerequisite
    assert [rrset.ttl for rrset in required] == [0] * len(required)


def test_a_new_address_asks_for_the_absence_of_an_alias() -> None:
    required = read_back(Message(ZONE, tuple(placed(f"a.{ZONE}")[:1])).wire()).prerequisite
    assert [(rrset.rdtype.name, rrset.deleting) for rrset in required] == [
        ("A", dns.rdataclass.NONE),
        ("CNAME", dns.rdataclass.NONE),
    ]


@pytest.mark.parametrize("value", ["192.0.2", "2001:db8::1", "", "localhost"])
def test_what_is_no_address_is_not_sent(value: str) -> None:
    with pytest.raises(Unfit, match="no address"):
        Message(ZONE, (Change(None, Rrset(f"a.{ZONE}", "A", 60, (value,))),)).wire()


@pytest.mark.parametrize("name", [f"a..{ZONE}", f"{'x' * 64}.{ZONE}", "a" * 300 + "."])
def test_what_is_no_name_is_not_sent(name: str) -> None:
    with pytest.raises(dns.exception.DNSException):
        Message(ZONE, (Change(None, rrset(name, "A", 1)),)).wire()
