"""All names of a site are in one message and in one wave, and a fault of one of them parts them as
little as can be.
"""

from __future__ import annotations

from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from flex.model.zone_plan import Change, Rrset, ZonePlan
from flex.zones import waves
from flex.zones.marker import marker_name, marker_text, site_name
from flex_dns import rfc2136
from flex_dns.make_before_break import coming_by_name
from flex_dns.update import change_messages
from flex_dns.update.change_messages import Claim, Message
from flex_dns.wire.zone_contents import Contents
from flex_dns.zone.change_states import Standing, standing

ZONE, OTHER = "hosting.example.", "other.example."

# By site how many other names it has in each of two zones.
clusters = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), max_size=12)


def change(name: str, old: str, new: str) -> Change:
    return Change(Rrset(name, "A", 60, (old,)), Rrset(name, "A", 60, (new,)))


def moving(sites: list[tuple[int, int]]) -> tuple[ZonePlan, ZonePlan]:
    """Every site moves, and of its other names those that are not new."""
    changes: dict[str, list[Change]] = {ZONE: [], OTHER: []}
    along: dict[str, list[tuple[str, str]]] = {ZONE: [], OTHER: []}
    for number, (here, there) in enumerate(sites):
        site = f"s{number}.{ZONE}"
        changes[ZONE].append(change(site, "192.0.2.1", "192.0.2.2"))
        # They are spread over the plan, as names in order are.
        for zone, count in ((ZONE, here), (OTHER, there)):
            for other in range(count):
                name = f"{other}-{number}.{zone}"
                along[zone].append((name[:-1], site[:-1]))
                if other % 2:
                    changes[zone].append(change(name, "192.0.2.1", "192.0.2.2"))
                    continue
                new = Rrset(name, "A", 60, ("192.0.2.2",))
                mark = Rrset(marker_name(name, zone), "TXT", 60, (marker_text("me"),))
                changes[zone] += [Change(None, new), Change(None, mark, ())]
    return (
        ZonePlan(ZONE, in_order(changes[ZONE]), go_along=tuple(along[ZONE])),
        ZonePlan(OTHER, in_order(changes[OTHER]), go_along=tuple(along[OTHER])),
    )


def in_order(changes: list[Change]) -> tuple[Change, ...]:
    return tuple(sorted(changes, key=lambda one: (one.name, one.type)))


def sites_in(made: ZonePlan, changes: tuple[Change, ...]) -> set[str]:
    names = (site_name(made.zone, one.name) for one in changes)
    return {made.site_of_name.get(name, name) for name in names}


@given(clusters, st.integers(1_000, 4_000))
def test_all_names_of_a_site_are_in_one_message_of_their_zone(
    sites: list[tuple[int, int]], limit: int
) -> None:
    for made in moving(sites):
        found = list(
            change_messages.messages(made.zone, made.changes, limit, sites=made.site_of_name)
        )
        assert in_order(list(chain(*(one.changes for one in found)))) == made.changes
        in_each = [sites_in(made, message.changes) for message in found]
        assert sum(map(len, in_each)) == len(set().union(*in_each))


def test_so_it_is_in_the_messages_that_a_publisher_sends() -> None:
    (made, _) = moving([(3, 0)] * 400)
    whole = {ZONE: Standing((), made.changes, ())}
    found = [row[1] for row in rfc2136._rows([made], whole, Claim("me"))]
    assert len(found) > 1
    in_each = [sites_in(made, changes) for changes in found]
    assert sum(map(len, in_each)) == len(set().union(*in_each))


@given(clusters)
def test_halves_part_no_site(sites: list[tuple[int, int]]) -> None:
    for made in moving(sites):
        whole = Message(made.zone, made.changes, sites=made.site_of_name)
        halves = change_messages.halves(whole)
        in_each = [sites_in(made, half.changes) for half in halves]
        assert len(halves) == (2 if len(sites_in(made, made.changes)) > 1 else 0)
        assert not in_each or in_each[0].isdisjoint(in_each[1])


def test_a_site_with_more_names_than_fit_one_message_has_several() -> None:
    (made, _) = moving([(60, 0)])
    found = list(change_messages.messages(made.zone, made.changes, 1000, sites=made.site_of_name))
    assert len(found) > 1
    assert all(len(one.wire()) < 1100 for one in found)


@given(clusters, st.sampled_from([(), (0.01,), (0.1, 0.5)]))
def test_all_names_of_a_site_are_in_one_wave_over_all_zones(
    sites: list[tuple[int, int]], shares: tuple[float, ...]
) -> None:
    plans = moving(sites)
    wave_of = waves.waves(plans, shares)
    in_waves: dict[str, set[int]] = {}
    for made in plans:
        for one in made.changes:
            name = site_name(made.zone, one.name)
            site = made.site_of_name.get(name, name)
            in_waves.setdefault(site, set()).add(wave_of[one.name])
    assert all(len(numbers) == 1 for numbers in in_waves.values())
    # Sites are told of, and not their names.
    assert coming_by_name(plans).keys() == {f"s{number}.{ZONE}" for number in range(len(sites))}


def test_where_a_site_is_somebody_elses_by_now_its_other_names_wait() -> None:
    (made, _) = moving([(2, 0), (2, 0)])
    sets: dict[tuple[str, str], tuple[int, tuple[str, ...]]] = {}
    for one in made.changes:
        if one.before:
            sets[one.name, one.type] = (one.before.ttl, one.before.values)
    for name in {site_name(ZONE, one.name) for one in made.changes if one.before}:
        sets[marker_name(name, ZONE), "TXT"] = (60, (marker_text("me"),))
    sets[f"s0.{ZONE}", "A"] = (60, ("203.0.113.9",))
    contents = Contents(1, sets, {})
    found = standing(ZONE, made.changes, contents, "me", made.site_of_name)
    assert [one.name for one in found.conflicts] == [f"s0.{ZONE}"]
    assert sites_in(made, found.pending) == {f"s1.{ZONE}"}
    assert sites_in(made, found.withheld) == {f"s0.{ZONE}"}
    # Without its site, another name that somebody took stops nothing else.
    sets[f"s0.{ZONE}", "A"] = (60, ("192.0.2.1",))
    sets[f"1-0.{ZONE}", "A"] = (60, ("203.0.113.9",))
    found = standing(ZONE, made.changes, contents, "me", made.site_of_name)
    assert [one.name for one in found.conflicts] == [f"1-0.{ZONE}"]
    assert f"s0.{ZONE}" in {one.name for one in found.pending}
