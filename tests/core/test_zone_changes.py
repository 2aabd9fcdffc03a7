"""Plans: what a zone has to change, in canonical order, and which limits it breaks."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex.frame_schemas import PLACEMENT, RECORDS
from flex.model.limits_and_approvals import Limits
from flex.model.plan import Move
from flex.model.zone_plan import ZonePlan
from flex.zones import zone_changes
from flex.zones.records_of_partition import ZoneState, sets_by_name, split

ZONE = "hosting.example."
names = st.sampled_from([f"{letter}.{ZONE}" for letter in "abcdef"])
addresses = st.frozensets(
    st.sampled_from([f"192.0.2.{n}" for n in range(1, 9)]), min_size=1, max_size=4
)
zones = st.dictionaries(names, addresses)


def table(sets: Mapping[str, frozenset[str]], ttl: int = 60) -> pd.DataFrame:
    rows = [(name, "A", ttl, value) for name, values in sets.items() for value in values]
    return RECORDS.make(pd.DataFrame(rows, columns=list(RECORDS.columns)))


def state(
    sets: Mapping[str, frozenset[str]], owned: frozenset[str] | None = None, **blocked: str
) -> ZoneState:
    return ZoneState(ZONE, 1, table(sets), frozenset(sets) if owned is None else owned, blocked)


def diff(wanted: pd.DataFrame, found: ZoneState, ours: frozenset[str] = frozenset()) -> ZonePlan:
    left_alone = zone_changes.foreign(found, list(wanted["name"]), ours=ours)
    return zone_changes.diff(ZONE, wanted, found, owner="me", ttl=60, left_alone=left_alone)


def text(want: Mapping[str, str], have: Mapping[str, str], owned: str | None = None) -> str:
    """Names without their zone: {"a": "192.0.2.1"}."""

    def sets(names: Mapping[str, str]) -> dict[str, frozenset[str]]:
        return {f"{name}.{ZONE}": frozenset(values.split()) for name, values in names.items()}

    marked = None if owned is None else frozenset(f"{name}.{ZONE}" for name in owned.split())
    return zone_changes.text(diff(table(sets(want)), state(sets(have), marked)))


def test_a_moved_site_changes_its_address() -> None:
    assert text({"a": "192.0.2.2"}, {"a": "192.0.2.1"}) == (
        "- a.hosting.example. 60 A 192.0.2.1\n+ a.hosting.example. 60 A 192.0.2.2\n"
    )


def test_a_new_site_gets_its_address_and_our_marker() -> None:
    assert text({"a": "192.0.2.1"}, {}) == (
        "+ a.hosting.example. 60 A 192.0.2.1\n+ a._flex.hosting.example. 60 TXT flex owner=me\n"
    )


def test_a_name_that_is_not_ours_is_left_alone_and_named() -> None:
    theirs = state({f"a.{ZONE}": frozenset({"198.51.100.7"})}, owned=frozenset())
    made = diff(table({f"a.{ZONE}": frozenset({"192.0.2.2"})}), theirs)
    assert made.changes == ()
    assert made.foreign == (f"a.{ZONE} (holds addresses without our marker)",)


def test_a_name_we_may_take_over_is_taken_with_its_marker() -> None:
    found = state({f"a.{ZONE}": frozenset({"192.0.2.1"})}, owned=frozenset())
    made = diff(
        table({f"a.{ZONE}": frozenset({"192.0.2.2"})}), found, ours=frozenset({f"a.{ZONE}"})
    )
    assert [change.type for change in made.changes] == ["A", "TXT"]


def test_a_name_that_cannot_hold_addresses_says_why() -> None:
    blocked = ZoneState(ZONE, 1, RECORDS.empty(), frozenset(), {f"a.{ZONE}": "is a CNAME"})
    made = diff(table({f"a.{ZONE}": frozenset({"192.0.2.2"})}), blocked)
    assert made.foreign == (f"a.{ZONE} (is a CNAME)",)


def test_a_name_is_never_removed() -> None:
    assert text({}, {"a": "192.0.2.1"}) == ""


def test_a_wrong_ttl_is_a_change() -> None:
    name = f"a.{ZONE}"
    wanted = table({name: frozenset({"192.0.2.1"})}, ttl=60)
    found = ZoneState(
        ZONE, 1, table({name: frozenset({"192.0.2.1"})}, ttl=300), frozenset({name}), {}
    )
    assert len(diff(wanted, found).changes) == 1


@pytest.mark.slow
@given(want=zones, have=zones)
def test_applying_a_diff_gives_what_is_wanted(
    want: dict[str, frozenset[str]], have: dict[str, frozenset[str]]
) -> None:
    made = diff(table(want), state(have))
    result = dict(sets_by_name(table(have)))
    for change in made.changes:
        if change.type == "TXT":
            continue
        assert result.get((change.name, change.type)) == (
            (change.before.ttl, change.before.values) if change.before else None
        )
        if change.after:
            result[change.name, change.type] = (change.after.ttl, change.after.values)
    assert {key: result[key] for key in sets_by_name(table(want))} == dict(
        sets_by_name(table(want))
    )


@pytest.mark.slow
@given(zone=zones)
def test_a_zone_that_says_so_already_needs_nothing(zone: dict[str, frozenset[str]]) -> None:
    assert diff(table(zone), state(zone)).changes == ()


@given(
    rows=st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from(["n1", "n2"])), unique=True),
    data=st.data(),
)
def test_the_digest_does_not_depend_on_the_order_of_rows(
    rows: list[tuple[str, str]], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(rows))
    one, other = (
        pd.DataFrame(each, columns=["site", "node"]).astype("str") for each in (rows, shuffled)
    )
    assert zone_changes.digest((), one) == zone_changes.digest((), other)


def test_another_placement_has_another_digest() -> None:
    one, other = (PLACEMENT.from_columns({"site": ["a"], "node": [node]}) for node in ("n1", "n2"))
    assert zone_changes.digest((), one) != zone_changes.digest((), other)


def move(site: str, target: str = "n2", source: str | None = "n1", cold: int = 1) -> Move:
    return Move(site, source, target, cold, "because")


def test_each_limit_is_named_with_what_it_allows_and_what_the_plan_does() -> None:
    moves = [move(f"s{n}") for n in range(3)]
    limits = Limits(moved_sites=2, moved_share=0.2, share_from=10, cold_bytes=2, inflow=2)
    assert [str(breach) for breach in zone_changes.breaches(moves, 10, limits)] == [
        "safety.max_moved_sites: 3 is over the limit of 2",
        "safety.max_moved_sites_ratio: 0.3 is over the limit of 0.2",
        "safety.max_moved_working_set: 3 is over the limit of 2",
        "safety.max_inflow_per_node: 3 is over the limit of 2",
    ]


def test_names_never_placed_before_and_names_changed_by_others_have_limits_of_their_own() -> None:
    limits = Limits(new_sites=3, drifted_names=0)
    assert [breach.rule for breach in zone_changes.breaches([], 10, limits, new=4, drifted=1)] == [
        "safety.max_new_sites",
        "safety.max_drifted_names",
    ]
    assert zone_changes.breaches([], 10, limits, new=3) == ()


def test_taking_a_replica_away_counts_as_a_move_and_flows_into_no_node() -> None:
    taken = [Move(f"s{n}", "n1", None, 0, "one node is enough") for n in range(3)]
    found = zone_changes.breaches(taken, 100, Limits(moved_sites=2, inflow=0))
    assert [breach.rule for breach in found] == ["safety.max_moved_sites"]


def test_names_whose_records_change_though_they_do_not_move_have_a_limit() -> None:
    sets = {f"{letter}.{ZONE}": frozenset({"192.0.2.1"}) for letter in "abc"}
    wanted = table(sets | {f"new.{ZONE}": frozenset({"192.0.2.1"})}, ttl=300)
    made = zone_changes.diff(ZONE, wanted, state(sets), owner="me", ttl=300, left_alone={})
    assert zone_changes.count_rewritten_names([made], {f"a.{ZONE}"}, {"A": [f"d.{ZONE}"]}) == 3
    assert [
        breach.rule
        for breach in zone_changes.breaches([], 9, Limits(rewritten_names=1), rewritten=2)
    ] == ["safety.max_rewritten_names"]


def test_what_was_nowhere_before_does_not_count_as_moved() -> None:
    first_time = [move(f"s{n}", source=None, cold=10**12) for n in range(100)]
    assert zone_changes.breaches(first_time, 100, Limits()) == ()


def test_the_share_is_not_looked_at_for_a_handful_of_sites() -> None:
    assert zone_changes.breaches([move("a")], 2, Limits(share_from=10)) == ()


def test_sites_outside_every_zone_are_told_apart_and_one_at_its_apex_is_inside() -> None:
    inside, outside = split(["a.hosting.example", "b.example.org", "hosting.example"], [ZONE])
    assert inside == {ZONE: ["a.hosting.example", "hosting.example"]}
    assert outside == ["b.example.org"]


def test_a_site_belongs_to_the_closest_zone() -> None:
    inside, _ = split(["a.b.example"], ["example.", "b.example."])
    assert inside == {"example.": [], "b.example.": ["a.b.example"]}
