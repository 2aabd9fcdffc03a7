"""What is sent is in the journal before it is sent, and who goes on with a killed run goes by the
journal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

import pytest

from flex.errors import PartlyApplied, Refused, Stale
from flex.model.dns_update_journal import JournalRow, RowState
from flex.model.zone_plan import Change, ZonePlan
from flex_dns.rfc2136 import Rfc2136Publisher
from flex_dns.wire.key import Key
from tests.dns.given import adopted, many, owned
from tests.dns.journal_in_memory import MemoryJournal

pytestmark = pytest.mark.real

Edit = Callable[[str, str, Sequence[str]], None]


def states(journal: MemoryJournal) -> Counter[str]:
    return Counter(row.state for row in journal.rows())


class Watched(MemoryJournal):
    """Remembers in which order it was told, and how many names the zone had then."""

    def __init__(self, look: Callable[[], int]) -> None:
        super().__init__()
        self._look = look
        self.told: list[tuple[RowState, int]] = []

    def intend(self, rows: Sequence[JournalRow]) -> None:
        super().intend(rows)
        self.told.append(("planned", self._look()))

    def became(self, numbers: Sequence[int], state: RowState, note: str = "") -> None:
        super().became(numbers, state, note)
        self.told.append((state, self._look()))


def test_everything_is_written_down_before_anything_is_sent(
    real: Rfc2136Publisher, zone: str
) -> None:
    journal = Watched(lambda: owned(real, zone, 700))
    real.apply(many(zone, 700), journal=journal)
    assert journal.told[:2] == [("planned", 0), ("sent", 0)]
    assert journal.told[-1] == ("done", 700)
    assert set(states(journal)) == {"done"}
    assert sorted(place for row in journal.rows() for place in row.changes) == list(range(1400))


def test_a_run_that_was_killed_is_gone_on_with_by_the_journal(
    real: Rfc2136Publisher, zone: str
) -> None:
    zone_plan, first = many(zone, 700), MemoryJournal()
    real.apply(zone_plan, journal=first)
    # As a killed run may leave it: some is made and known, some is made and not known, the rest is
    # as it was.
    half = MemoryJournal()
    rows = first.rows()
    half.intend(
        [replace(row, state=("done", "sent", "planned")[min(at, 2)]) for at, row in enumerate(rows)]
    )
    undone = [zone_plan.changes[place] for row in rows[2:] for place in row.changes]
    real.apply(ZonePlan(zone, tuple(Change(change.after, None) for change in undone)))
    real.apply(zone_plan, journal=half)
    assert set(states(half)) == {"done"}
    assert owned(real, zone, 700) == 700


def test_what_is_known_to_be_done_is_not_looked_at_again(
    real: Rfc2136Publisher, zone: str, edit_real: Edit
) -> None:
    """Somebody may have changed it since, and that is no business of this plan's."""
    journal = MemoryJournal()
    real.apply(many(zone, 3), journal=journal)
    edit_real(f"s1.{zone}", "A", ["192.0.2.99"])
    real.apply(many(zone, 3), journal=journal)
    assert real.read(zone, [f"s1.{zone}"]).records["value"].tolist() == ["192.0.2.99"]


def test_a_plan_that_is_refused_whole_leaves_no_row_open(
    real: Rfc2136Publisher, zone: str, reader: Key
) -> None:
    journal = MemoryJournal()
    stranger = replace(real, server=replace(real.server, key=reader))
    with pytest.raises(Refused):
        stranger.apply(many(zone, 700), journal=journal)
    assert set(states(journal)) == {"refused"}
    assert owned(real, zone, 700) == 0


def test_an_outdated_plan_is_not_even_written_down(
    real: Rfc2136Publisher, zone: str, edit_real: Edit
) -> None:
    journal = MemoryJournal()
    edit_real(f"s1.{zone}", "A", ["192.0.2.99"])
    with pytest.raises(Stale):
        real.apply(many(zone, 3), journal=journal)
    assert journal.rows() == ()


def test_a_name_that_is_refused_is_found_and_the_others_are_applied(
    real: Rfc2136Publisher, zone: str
) -> None:
    """The zone's own name server is out of bounds; in a message of a hundred names only that one
    stays as it was.
    """
    own = adopted(zone, f"ns1.{zone}", "127.0.0.1", "192.0.2.1")
    journal = MemoryJournal()
    with pytest.raises(
        PartlyApplied, match=rf"2 of 1402 \(ns1\.{zone}, ns1\._flex\.{zone}\): REFUSED"
    ) as partly:
        real.apply(ZonePlan(zone, (*many(zone, 700).changes, *own)), journal=journal)
    assert (
        partly.value.kept
        == f"1400 of the record sets in {zone} are as planned, the others as they were"
    )
    assert owned(real, zone, 700) == 700
    assert states(journal)["refused"] == 1
    assert states(journal)["planned"] == states(journal)["sent"] == 0
    assert [row.note.partition(":")[0] for row in journal.rows() if row.note] == [f"ns1.{zone}"]


def test_many_zones_change_together_and_one_that_fails_is_named(
    real: Rfc2136Publisher, unused: Iterator[str]
) -> None:
    zones = list(islice(unused, 12))
    own = adopted(zones[5], f"ns1.{zones[5]}", "127.0.0.1", "192.0.2.1")
    zone_plans = [many(zone, 2) if zone != zones[5] else ZonePlan(zone, own) for zone in zones]
    journal = MemoryJournal()
    with pytest.raises(
        PartlyApplied, match=f"1 zone is not as planned: {zones[5]}: REFUSED"
    ) as partly:
        real.apply(*zone_plans, journal=journal)
    assert partly.value.kept == "11 zones are as planned, 0 in part, 1 as they were"
    assert sum(owned(real, zone, 2) for zone in zones) == 22
    assert states(journal) == {"done": 11, "refused": 1}


def test_a_zone_that_nobody_serves_stops_all_before_anything_is_sent(
    real: Rfc2136Publisher, zone: str
) -> None:
    with pytest.raises(Refused, match="NOTAUTH"):
        real.apply(many(zone, 2), many("unknown.example.", 2))
    assert owned(real, zone, 2) == 0
