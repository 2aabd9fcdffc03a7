"""What every DNS target promises: the double in memory and a real BIND alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd
import pytest

from flex.errors import DnsError, PartlyApplied, Stale
from flex.frame_schemas import RECORDS
from flex.model.zone_plan import Change, RecordType, Rrset, ZonePlan
from flex.ports import Publisher
from flex.zones.marker import marker_name, marker_text
from flex_dns.private.private_named import PrivateNamed
from tests.dns.conftest import held
from tests.memory_publisher import MemoryPublisher

OWNER = "flex-eu1"

Edit = Callable[[str, str, Sequence[str]], None]
Serial = Callable[[], int]


def rrset(name: str, *values: str, kind: RecordType = "A", ttl: int = 60) -> Rrset | None:
    return Rrset(name, kind, ttl, values) if values else None


def placed(zone: str, name: str, *values: str, kind: RecordType = "A") -> tuple[Change, Change]:
    """A name that nobody had: its addresses and our marker."""
    marker = Rrset(marker_name(name, zone), "TXT", 60, (marker_text(OWNER),))
    return Change(None, rrset(name, *values, kind=kind)), Change(None, marker)


def moved(name: str, before: str, after: str) -> Change:
    return Change(rrset(name, before), rrset(name, after))


def said(target: Publisher, zone: str, *names: str) -> dict[str, list[str]]:
    found = target.read(zone, names).records
    return {name: found.loc[found["name"] == name, "value"].tolist() for name in names}


def records(*rows: tuple[str, str, int, str]) -> pd.DataFrame:
    return RECORDS.make(pd.DataFrame(rows, columns=list(RECORDS.columns)))


def test_what_was_applied_is_read_back(target: Publisher, zone: str) -> None:
    www = f"www.{zone}"
    addresses = placed(zone, www, "192.0.2.1", "192.0.2.2")
    target.apply(ZonePlan(zone, (*addresses, Change(None, rrset(www, "2001:db8::1", kind="AAAA")))))
    state = target.read(zone, [www])
    assert state.records.to_numpy().tolist() == [
        [www, "A", 60, "192.0.2.1"],
        [www, "A", 60, "192.0.2.2"],
        [www, "AAAA", 60, "2001:db8::1"],
    ]
    assert state.owned == {www}
    assert state.blocked == {}


def test_a_site_that_is_called_as_its_zone_is_placed_beside_what_a_zone_needs(
    target: Publisher, zone: str
) -> None:
    free = target.read(zone, [zone])
    assert (free.records.empty, free.owned, free.blocked) == (True, frozenset(), {})
    target.apply(ZonePlan(zone, placed(zone, zone, "192.0.2.1")))
    target.apply(ZonePlan(zone, (moved(zone, "192.0.2.1", "192.0.2.2"),)))
    state = target.read(zone, [zone, f"www.{zone}"])
    assert state.records.to_numpy().tolist() == [[zone, "A", 60, "192.0.2.2"]]
    assert state.owned == {zone}
    assert all(
        verdict.agrees for verdict in target.verify(zone, records((zone, "A", 60, "192.0.2.2")))
    )


def test_a_name_nobody_has_is_read_as_free(target: Publisher, zone: str) -> None:
    state = target.read(zone, [f"new.{zone}"])
    assert (len(state.records), state.owned, state.blocked) == (0, frozenset(), {})


def test_a_second_apply_sends_nothing(target: Publisher, zone: str, serial: Serial) -> None:
    zone_plan = ZonePlan(zone, placed(zone, f"www.{zone}", "192.0.2.1"))
    target.apply(zone_plan)
    once = serial()
    target.apply(zone_plan)
    assert serial() == once


def test_a_plan_without_changes_changes_nothing(
    target: Publisher, zone: str, serial: Serial
) -> None:
    before = serial()
    target.apply(ZonePlan(zone, ()))
    assert serial() == before


def test_a_set_can_move_change_its_ttl_and_go(target: Publisher, zone: str) -> None:
    www = f"www.{zone}"
    target.apply(ZonePlan(zone, placed(zone, www, "192.0.2.1")))
    target.apply(ZonePlan(zone, (moved(www, "192.0.2.1", "192.0.2.2"),)))
    assert said(target, zone, www) == {www: ["192.0.2.2"]}
    target.apply(
        ZonePlan(zone, (Change(rrset(www, "192.0.2.2"), rrset(www, "192.0.2.2", ttl=300)),))
    )
    assert target.read(zone, [www]).records["ttl"].tolist() == [300]
    target.apply(ZonePlan(zone, (Change(rrset(www, "192.0.2.2", ttl=300), None),)))
    assert said(target, zone, www) == {www: []}


def test_an_outdated_plan_is_refused_whole(
    target: Publisher, zone: str, edit: Edit, serial: Serial
) -> None:
    target.apply(
        ZonePlan(
            zone, (*placed(zone, f"a.{zone}", "192.0.2.1"), *placed(zone, f"b.{zone}", "192.0.2.1"))
        )
    )
    edit(f"b.{zone}", "A", ["192.0.2.9"])
    before = serial()
    zone_plan = ZonePlan(
        zone,
        (
            moved(f"a.{zone}", "192.0.2.1", "192.0.2.2"),
            moved(f"b.{zone}", "192.0.2.1", "192.0.2.2"),
        ),
    )
    with pytest.raises(
        Stale, match=f"b.{zone} A: expected 60 192.0.2.1, found 60 192.0.2.9"
    ) as refused:
        target.apply(zone_plan)
    assert refused.value.kept == "nothing was changed"
    assert serial() == before
    assert said(target, zone, f"a.{zone}", f"b.{zone}") == {
        f"a.{zone}": ["192.0.2.1"],
        f"b.{zone}": ["192.0.2.9"],
    }


def test_a_name_somebody_else_took_meanwhile_stays_theirs(
    target: Publisher, zone: str, edit: Edit
) -> None:
    edit(f"new.{zone}", "A", ["192.0.2.50"])
    with pytest.raises(Stale, match=r"expected nothing, found 60 192\.0\.2\.50"):
        target.apply(ZonePlan(zone, placed(zone, f"new.{zone}", "192.0.2.1")))
    state = target.read(zone, [f"new.{zone}"])
    assert state.records["value"].tolist() == ["192.0.2.50"]
    assert state.owned == frozenset()


@pytest.mark.parametrize(
    ("theirs", "said_of_it"),
    [
        ([marker_text("flex-us1")], 'another owner "flex-us1"'),
        ([], "carries no marker of ours any more"),
    ],
    ids=["another", "none"],
)
def test_a_name_of_ours_that_somebody_else_marked_or_unmarked_meanwhile_is_theirs(
    target: Publisher, zone: str, edit: Edit, theirs: Sequence[str], said_of_it: str
) -> None:
    www = f"www.{zone}"
    target.apply(ZonePlan(zone, placed(zone, www, "192.0.2.1")))
    # A real server wants the quotes of a zone file.
    edit(
        marker_name(www, zone),
        "TXT",
        theirs if isinstance(target, MemoryPublisher) else [f'"{one}"' for one in theirs],
    )
    with pytest.raises(Stale, match=said_of_it):
        target.apply(ZonePlan(zone, (moved(www, "192.0.2.1", "192.0.2.2"),)))
    assert said(target, zone, www) == {www: ["192.0.2.1"]}


def test_somebody_elses_extra_address_is_not_overwritten(
    target: Publisher, zone: str, edit: Edit
) -> None:
    www = f"www.{zone}"
    edit(www, "A", ["192.0.2.1", "192.0.2.99"])
    with pytest.raises(Stale):
        target.apply(ZonePlan(zone, (moved(www, "192.0.2.1", "192.0.2.2"),)))
    assert said(target, zone, www) == {www: ["192.0.2.1", "192.0.2.99"]}


def test_a_half_applied_plan_is_finished_by_applying_it_again(target: Publisher, zone: str) -> None:
    first, second = (placed(zone, f"a.{zone}", "192.0.2.1"), placed(zone, f"b.{zone}", "192.0.2.2"))
    target.apply(ZonePlan(zone, first))
    target.apply(ZonePlan(zone, (*first, *second)))
    assert target.read(zone, [f"a.{zone}", f"b.{zone}"]).owned == {f"a.{zone}", f"b.{zone}"}


def test_a_half_applied_plan_that_is_overtaken_says_so(
    target: Publisher, zone: str, edit: Edit
) -> None:
    first, second = (placed(zone, f"a.{zone}", "192.0.2.1"), placed(zone, f"b.{zone}", "192.0.2.2"))
    target.apply(ZonePlan(zone, first))
    edit(f"b.{zone}", "A", ["192.0.2.50"])
    with pytest.raises(PartlyApplied, match=f"1 are no longer .*b.{zone}") as partly:
        target.apply(ZonePlan(zone, (*first, *second)))
    assert "2 of the record sets are as planned" in partly.value.kept


def test_an_address_beside_an_alias_is_a_conflict(target: Publisher, zone: str) -> None:
    with pytest.raises(Stale, match=r"found that it has a CNAME to ns1\.example\.org"):
        target.apply(ZonePlan(zone, placed(zone, f"alias.{zone}", "192.0.2.1")))


def test_many_conflicts_are_named_ten_at_most(target: Publisher, zone: str) -> None:
    with pytest.raises(Stale, match=r"14 are no longer .*and 4 more$") as refused:
        target.apply(
            ZonePlan(
                zone, tuple(moved(f"s{n}.{zone}", "192.0.2.1", "192.0.2.2") for n in range(14))
            )
        )
    assert str(refused.value).count("expected") == 10


def test_names_that_cannot_be_ours_are_blocked_with_the_reason(
    target: Publisher, zone: str
) -> None:
    names = [
        f"{name}.{zone}"
        for name in ("alias", "theirs", "odd", "below.sub", "a b", "a_b", "x._flex", "x" * 64)
    ]
    blocked = target.read(zone, [*names, "www.example.org."]).blocked
    assert list(blocked) == [*names, "www.example.org."]
    for name, reason in {
        f"alias.{zone}": "has a CNAME",
        f"theirs.{zone}": 'another owner "flex-us1"',
        f"odd.{zone}": "no marker",
        f"below.sub.{zone}": f"delegated at sub.{zone}",
        f"a b.{zone}": "not a host name",
        f"a_b.{zone}": "not a host name",
        f"x._flex.{zone}": "FLEX's own markers",
        "www.example.org.": "outside",
    }.items():
        assert reason in blocked[name]


def test_names_are_the_same_in_upper_and_lower_case(target: Publisher, zone: str) -> None:
    assert said(target, zone, f"upper.{zone}") == {f"upper.{zone}": ["192.0.2.77"]}
    assert target.read(zone, [f"Upper.{zone.upper()}"]).records["name"].tolist() == [
        f"upper.{zone}"
    ]


def test_what_others_keep_beside_us_survives(
    target: Publisher, zone: str, named_or_none: PrivateNamed | None
) -> None:
    mail = f"mail.{zone}"
    target.apply(ZonePlan(zone, placed(zone, mail, "192.0.2.1")))
    target.apply(ZonePlan(zone, (moved(mail, "192.0.2.1", "192.0.2.2"),)))
    assert said(target, zone, mail, f"upper.{zone}") == {
        mail: ["192.0.2.2"],
        f"upper.{zone}": ["192.0.2.77"],
    }
    for kind, value in {"MX": "10 mx.example.org.", "TXT": "v=spf1 -all"}.items():
        assert held(target, named_or_none, zone, mail, kind) == [value]


def test_verification_agrees_with_what_was_applied(
    target: Publisher, zone: str, serial: Serial
) -> None:
    target.apply(ZonePlan(zone, placed(zone, f"www.{zone}", "192.0.2.1")))
    (verdict,) = target.verify(zone, records((f"www.{zone}", "A", 60, "192.0.2.1")))
    assert verdict.agrees
    assert (verdict.checked, verdict.serial) == (2, serial())


def test_verification_names_every_set_that_differs(
    target: Publisher, zone: str, edit: Edit
) -> None:
    www, ttl, gone = f"www.{zone}", f"ttl.{zone}", f"gone.{zone}"
    edit(www, "A", ["192.0.2.1", "192.0.2.2"])
    edit(www, "AAAA", ["2001:db8::1"])
    edit(ttl, "A", ["192.0.2.1"])
    wanted = records(
        (www, "A", 60, "192.0.2.1"), (ttl, "A", 300, "192.0.2.1"), (gone, "A", 60, "192.0.2.1")
    )
    (verdict,) = target.verify(zone, wanted)
    assert set(verdict.wrong) == {
        Change(rrset(www, "192.0.2.1", "192.0.2.2"), rrset(www, "192.0.2.1")),
        Change(rrset(www, "2001:db8::1", kind="AAAA"), None),
        Change(rrset(ttl, "192.0.2.1"), rrset(ttl, "192.0.2.1", ttl=300)),
        Change(None, rrset(gone, "192.0.2.1")),
    }
    assert not verdict.agrees


def test_a_zone_that_is_not_served_is_an_error_and_not_an_empty_zone(
    target: Publisher, zone: str
) -> None:
    with pytest.raises(DnsError) as refused:
        target.read("unknown.example.", ["www.unknown.example."])
    assert refused.value.kept == "nothing was changed"
