"""A plan in waves is the plan: each change is in one of them, and few sites come first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from flex.model.zone_plan import Change, Rrset, ZonePlan
from flex.zones import waves as rollout
from flex.zones.marker import marker_name

ZONE = "example.org."
shares = st.lists(st.sampled_from([0.01, 0.1, 0.5, 0.9]), max_size=3)
values = st.sampled_from([(), ("192.0.2.1",), ("192.0.2.2",), ("192.0.2.1", "192.0.2.2")])
moves = st.lists(
    st.tuples(values, values, st.booleans()).filter(lambda one: one[0] != one[1]), max_size=40
)


def plan_of(made: list[tuple[tuple[str, ...], tuple[str, ...], bool]]) -> ZonePlan:
    changes: list[Change] = []
    for number, (before, after, marked) in enumerate(made):
        name = f"s{number}.{ZONE}"
        old, new = (Rrset(name, "A", 60, held) if held else None for held in (before, after))
        changes.append(Change(old, new))
        if marked:
            changes.append(
                Change(None, Rrset(marker_name(name, ZONE), "TXT", 60, ("flex owner=a",)))
            )
    return ZonePlan(ZONE, tuple(changes))


@given(moves, shares)
def test_each_change_is_in_one_wave_and_a_name_is_with_its_marker(
    made: list[tuple[tuple[str, ...], tuple[str, ...], bool]], parts: list[float]
) -> None:
    whole = plan_of(made)
    wave_of = rollout.waves([whole], parts)
    waves = [rollout.part(whole, wave_of, number) for number in range(len(parts) + 1)]
    assert sorted(map(str, (one for wave in waves for one in wave.changes))) == sorted(
        map(str, whole.changes)
    )
    for wave in waves:
        names = {change.name for change in wave.changes}
        ours = [change for change in whole.changes if change.type == "A" and change.name in names]
        assert {marker_name(change.name, ZONE) for change in ours} & {
            c.name for c in whole.changes
        } <= names


@given(moves, shares)
def test_what_does_not_leave_a_node_for_another_waits_for_nobody(
    made: list[tuple[tuple[str, ...], tuple[str, ...], bool]], parts: list[float]
) -> None:
    whole = plan_of(made)
    wave_of = rollout.waves([whole], parts)
    for change in whole.changes:
        before, after = (
            set(held.values) if held else set() for held in (change.before, change.after)
        )
        if change.type == "A" and (before <= after or after <= before):
            assert wave_of.get(change.name, 0) == 0


def test_a_hundred_moves_are_one_then_ten_then_all_others() -> None:
    whole = plan_of([(("192.0.2.1",), ("192.0.2.2",), False)] * 100)
    found = rollout.waves([whole], (0.01, 0.1))
    assert [list(found.values()).count(wave) // 2 for wave in range(3)] == [1, 10, 89]


def test_a_wave_has_one_site_at_least() -> None:
    whole = plan_of([(("192.0.2.1",), ("192.0.2.2",), False)] * 2)
    assert sorted(set(rollout.waves([whole], (0.01, 0.1)).values())) == [0, 1]
