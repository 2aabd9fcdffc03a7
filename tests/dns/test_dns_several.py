"""Zones on several primaries, each with its own key: one plan, one journal, one result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from flex.errors import DnsError, PartlyApplied, Stale
from flex.model.dns_update_journal import RowState
from flex.model.zone_plan import ZonePlan
from flex_dns.private.private_named import PrivateNamed
from flex_dns.rfc2136 import Rfc2136Publisher
from flex_dns.several_primaries import SeveralPublishers
from flex_dns.wire.key import make_key
from tests.dns.given import placed
from tests.dns.journal_in_memory import MemoryJournal

pytestmark = pytest.mark.real

ZONES = ("a.example.", "b.example.")


@pytest.fixture
def primaries(folder: Path) -> Iterator[tuple[PrivateNamed, PrivateNamed]]:
    with (
        PrivateNamed(folder / "a", [ZONES[0]], make_key("key-a")) as one,
        PrivateNamed(folder / "b", [ZONES[1]], make_key("key-b")) as other,
    ):
        yield one, other


@pytest.fixture
def several(primaries: tuple[PrivateNamed, PrivateNamed]) -> SeveralPublishers:
    found = zip(ZONES, primaries, strict=True)
    return SeveralPublishers(
        {zone: Rfc2136Publisher(named.server, "flex", patience=1) for zone, named in found}
    )


def zone_plans(address: str = "192.0.2.1") -> list[ZonePlan]:
    return [ZonePlan(zone, placed(zone, f"www.{zone}", address, owner="flex")) for zone in ZONES]


def said(several: SeveralPublishers) -> list[str]:
    return [
        value for zone in ZONES for value in several.read(zone, [f"www.{zone}"]).records["value"]
    ]


def test_a_plan_reaches_each_zone_on_its_own_primary(several: SeveralPublishers) -> None:
    journal = MemoryJournal()
    several.apply(*zone_plans(), journal=journal)
    assert said(several) == ["192.0.2.1", "192.0.2.1"]
    assert Counter((row.zone, row.state) for row in journal.rows()) == {
        (zone, "done"): 1 for zone in ZONES
    }


def test_what_is_outdated_on_one_of_them_is_sent_to_none(several: SeveralPublishers) -> None:
    somebody = replace(several.of_zone[ZONES[1]], owner="")
    somebody.apply(ZonePlan(ZONES[1], zone_plans("192.0.2.9")[1].changes[:1]))
    with pytest.raises(Stale):
        several.apply(*zone_plans())
    assert said(several) == ["192.0.2.9"]


def test_one_that_is_away_stops_all_before_anything_is_sent(
    several: SeveralPublishers, free_port: int
) -> None:
    with pytest.raises(DnsError) as refused:
        without(several, free_port).apply(*zone_plans())
    assert refused.value.kept == "nothing was changed"
    assert said(several) == []


def test_one_that_goes_away_in_between_leaves_a_plan_that_can_be_finished(
    several: SeveralPublishers, primaries: tuple[PrivateNamed, PrivateNamed]
) -> None:
    journal = Ending(primaries[1])
    with pytest.raises(PartlyApplied) as partly:
        several.apply(*zone_plans(), journal=journal)
    assert "what other primaries answer for is as planned" in partly.value.kept
    primaries[1].start()
    several.apply(*zone_plans(), journal=journal)
    assert said(several) == ["192.0.2.1", "192.0.2.1"]
    assert {row.state for row in journal.rows()} == {"done"}


@pytest.mark.parametrize(
    "clause", ["allow-update { none; };", "update-policy { deny * wildcard *; };"]
)
def test_one_that_takes_no_updates_stops_all_before_anything_is_sent(
    several: SeveralPublishers, folder: Path, clause: str
) -> None:
    closed = f"type primary;\n{clause}\n"
    with PrivateNamed(folder / "closed", [ZONES[1]], make_key("key-c"), clause=closed) as other:
        second = Rfc2136Publisher(other.server, "flex", patience=1)
        with pytest.raises(DnsError, match="REFUSED") as refused:
            SeveralPublishers({ZONES[0]: several.of_zone[ZONES[0]], ZONES[1]: second}).apply(
                *zone_plans()
            )
    assert refused.value.kept == "nothing was changed"
    assert said(several) == []


class Ending(MemoryJournal):
    """Ends a server as soon as the first primary has said that all is done."""

    def __init__(self, server: PrivateNamed) -> None:
        super().__init__()
        self._server = server

    def became(self, numbers: Sequence[int], state: RowState, note: str = "") -> None:
        super().became(numbers, state, note)
        if numbers and state == "done" and len(self.rows()) == 1:
            self._server.kill()


def without(several: SeveralPublishers, free_port: int) -> SeveralPublishers:
    """The same with nothing behind the second zone."""
    second = several.of_zone[ZONES[1]]
    away = replace(second, server=replace(second.server, port=free_port, timeout=0.3))
    return SeveralPublishers({ZONES[0]: several.of_zone[ZONES[0]], ZONES[1]: away})


def test_a_zone_that_nobody_has_is_an_error(several: SeveralPublishers) -> None:
    with pytest.raises(DnsError, match=r"c\.example\."):
        several.read("c.example.", [])
