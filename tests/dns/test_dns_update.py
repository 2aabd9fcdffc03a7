"""How a plan becomes messages: by bytes, and never one name in two."""

from __future__ import annotations

import dns.rdataclass
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex.domain import Change, RecordType, Rrset
from flex.marker import marker_name, marker_text
from flex_dns import update
from flex_dns.marker import site_name

ZONE = "hosting.example."


def placed(name: str, count: int = 1) -> list[Change]:
    values = tuple(sorted(f"192.0.2.{number + 1}" for number in range(count)))
    marker = Rrset(marker_name(name, ZONE), "TXT", 60, (marker_text("flex-eu1"),))
    return [Change(None, Rrset(name, "A", 60, values)), Change(None, marker)]


def plan(names: int, values: int = 1) -> list[Change]:
    changes = [placed(f"site{number}.{ZONE}", values) for number in range(names)]
    # As the core orders them the markers may stand far from their names.
    return [change for change, _ in changes] + [marker for _, marker in changes]


def test_three_thousand_names_go_in_messages_of_twelve_kilobytes() -> None:
    changes = plan(3000)
    batches = list(update.batches(ZONE, changes))
    sizes = [len(update.message(ZONE, batch).to_wire(max_size=65535)) for batch in batches]
    assert max(sizes) <= update.MESSAGE_BYTES
    # An estimate that is far too careful would cost messages.
    assert len(batches) < 120
    assert sorted(change.name for batch in batches for change in batch) == sorted(change.name for change in changes)


@given(st.integers(0, 40), st.integers(1, 20), st.integers(100, 3000))
def test_a_name_and_its_marker_are_in_one_message(names: int, values: int, limit: int) -> None:
    batches = list(update.batches(ZONE, plan(names, values), limit))
    in_batch = [{site_name(ZONE, change.name) for change in batch} for batch in batches]
    assert sum(len(found) for found in in_batch) == names
    assert sum(len(batch) for batch in batches) == 2 * names


@given(st.integers(0, 100), st.integers(0, 100), st.sampled_from(["A", "AAAA", "TXT"]))
def test_no_change_takes_more_bytes_than_it_is_counted_for(before: int, after: int, kind: RecordType) -> None:
    def rrset(count: int) -> Rrset | None:
        form = {"A": "192.0.2.{}", "AAAA": "2001:db8::{}", "TXT": "flex owner={}"}[kind]
        return Rrset(f"www.{ZONE}", kind, 60, tuple(form.format(n + 1) for n in range(count))) if count else None

    if not before and not after:
        return
    change = Change(rrset(before), rrset(after))
    empty = len(update.message(ZONE, []).to_wire())
    assert len(update.message(ZONE, [change]).to_wire(max_size=65535)) - empty <= update.wire_bytes(change)


@pytest.mark.parametrize("before", [(), ("192.0.2.1", "192.0.2.2")])
def test_prerequisites_carry_no_ttl(before: tuple[str, ...]) -> None:
    change = Change(
        Rrset(f"a.{ZONE}", "A", 300, before) if before else None, Rrset(f"a.{ZONE}", "A", 300, ("192.0.2.3",))
    )
    required = update.message(ZONE, [change]).prerequisite
    assert [rrset.ttl for rrset in required] == [0] * len(required)


def test_an_address_asks_for_the_absence_of_an_alias() -> None:
    required = update.message(ZONE, placed(f"a.{ZONE}")[:1]).prerequisite
    assert [(rrset.rdtype.name, rrset.rdclass) for rrset in required] == [
        ("A", dns.rdataclass.NONE),
        ("CNAME", dns.rdataclass.NONE),
    ]
