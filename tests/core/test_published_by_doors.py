"""A site that doors lead visitors to is placed like all others, whatever DNS lets FLEX change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex.model.led_by_doors_or_dns import Publishing, Way
from flex.model.nodes import Node
from flex.model.wish import Pin
from flex.planning import carry_out_plan, propose_plan
from flex_solver import SOLVERS
from tests.core.cluster import NOW, ZONE, Cluster
from tests.memory_publisher import MemoryPublisher

Profiles = Callable[[Mapping[str, tuple[int, int]]], pd.DataFrame]
BOTH = Publishing("doors+dns")
STRANGE = "shop.panel.test"
WAYS: tuple[Way, ...] = ("doors+dns", "doors", "dns")


def with_a_site_of_no_zone(cluster: Cluster, profiles: Profiles) -> None:
    known = dict.fromkeys(cluster.facts.profiles["site"], (100, 100))
    cluster.facts = replace(cluster.facts, profiles=profiles(known | {STRANGE: (100, 100)}))


def publish(cluster: Cluster, publishing: Publishing) -> None:
    cluster.rules = replace(cluster.rules, publishing=publishing)


def owners(cluster: Cluster) -> dict[str, list[str]]:
    _, placement = cluster.store.placement()
    return {str(site): sorted(rows["node"]) for site, rows in placement.groupby("site")}


def test_without_doors_a_site_of_no_zone_is_left_out(cluster: Cluster, profiles: Profiles) -> None:
    with_a_site_of_no_zone(cluster, profiles)
    made = cluster.night()
    assert STRANGE not in owners(cluster)
    assert any(STRANGE in note and "left out" in note for note in made.notes)


def test_with_doors_it_is_in_the_partition_and_the_plan_says_that_dns_does_not_follow(
    cluster: Cluster, profiles: Profiles
) -> None:
    with_a_site_of_no_zone(cluster, profiles)
    publish(cluster, BOTH)
    made = cluster.night()
    assert len(owners(cluster)[STRANGE]) == 1
    (note,) = [note for note in made.notes if STRANGE in note]
    assert note.startswith("led by the doors alone")
    assert "in no zone of the settings" in note
    assert made.changes == 8


def test_a_cluster_of_which_no_zone_is_ours_has_a_partition_and_no_records(
    cluster: Cluster,
) -> None:
    cluster.rules = replace(cluster.rules, zones=())
    cluster.target = MemoryPublisher([], "me")
    publish(cluster, Publishing("doors"))
    made = cluster.night()
    assert (len(owners(cluster)), made.zone_plans, made.state) == (4, (), "applied")


def test_a_name_of_somebody_else_moves_by_doors_and_keeps_its_records(cluster: Cluster) -> None:
    theirs = f"a.{ZONE}"
    assert isinstance(cluster.target, MemoryPublisher)
    cluster.target.edit(ZONE, theirs, "A", 60, ["192.0.2.1"])
    publish(cluster, BOTH)
    cluster.solver = SOLVERS["local"]
    cluster.night()
    site = theirs.rstrip(".")
    assert owners(cluster)[site] == ["n1"]
    cluster.facts = replace(cluster.facts, pins=(Pin(site, nodes=("n2",)),))
    made = cluster.night()
    assert owners(cluster)[site] == ["n2"]
    assert cluster.addresses()["a"] == ["192.0.2.1"]
    assert [(move.source, move.target) for move in made.moves if move.site == site] == [
        ("n1", "n2")
    ]


@pytest.mark.slow
def test_a_site_published_by_doors_alone_keeps_the_records_that_flex_wrote_before(
    cluster: Cluster,
) -> None:
    publish(cluster, BOTH)
    cluster.solver = SOLVERS["local"]
    site = f"a.{ZONE.rstrip('.')}"
    cluster.facts = replace(cluster.facts, pins=(Pin(site, nodes=("n1",)),))
    cluster.night()
    publish(cluster, Publishing("doors+dns", sites={site: "doors"}))
    cluster.facts = replace(cluster.facts, pins=(Pin(site, nodes=("n2",)),))
    made = cluster.night()
    assert owners(cluster)[site] == ["n2"]
    assert cluster.addresses()["a"] == ["192.0.2.1"]
    assert f"a.{ZONE} (published by doors alone)" in made.zone_plans[0].foreign


def test_a_dead_node_loses_by_doors_also_what_dns_cannot_take_off_it(
    cluster: Cluster, profiles: Profiles
) -> None:
    with_a_site_of_no_zone(cluster, profiles)
    publish(cluster, BOTH)
    cluster.night()
    dead = owners(cluster)[STRANGE][0]
    base, placement = cluster.store.placement()
    nodes = tuple(
        replace(node, state="down") if node.name == dead else node for node in cluster.facts.nodes
    )
    facts = replace(
        cluster.facts,
        base=base,
        placement=placement,
        nodes=nodes,
        said=cluster.store.plan(base).said,
    )
    made = propose_plan.fail_over(facts, cluster.rules, dead, publisher=cluster.target, now=NOW)
    assert dead not in set(made.placement["node"])
    assert STRANGE in set(made.placement["site"])


def test_what_was_half_done_and_is_given_up_goes_back_where_dns_never_followed(
    cluster: Cluster,
) -> None:
    theirs = f"a.{ZONE}"
    assert isinstance(cluster.target, MemoryPublisher)
    cluster.target.edit(ZONE, theirs, "A", 60, ["192.0.2.1"])
    publish(cluster, BOTH)
    site = theirs.rstrip(".")
    cluster.solver = SOLVERS["local"]
    cluster.facts = replace(cluster.facts, pins=(Pin(site, nodes=("n2",)),))
    cluster.night()
    assert owners(cluster)[site] == ["n2"]
    cluster.facts = replace(cluster.facts, pins=())
    made = cluster.propose()
    carry_out_plan.abandon(
        made.plan,
        made.placement,
        nodes=cluster.facts.nodes,
        zones=[ZONE],
        publisher=cluster.target,
        store=cluster.store,
        publishing=BOTH,
    )
    # DNS has said n1 all along: it does not say where a site is that doors alone lead to.
    assert owners(cluster)[site] == ["n2"]


@given(
    st.sampled_from(WAYS),
    st.dictionaries(st.sampled_from(["x.", "b.x.", "c.b.x."]), st.sampled_from(WAYS)),
    st.dictionaries(st.sampled_from(["b.x", "a.b.x"]), st.sampled_from(WAYS)),
)
def test_the_closest_that_is_said_of_a_site_counts(
    everywhere: Way, zones: dict[str, Way], sites: dict[str, Way]
) -> None:
    publishing = Publishing(everywhere, zones, sites)
    every = ["b.x", "a.b.x", "d.c.b.x", "y"]
    for site in every:
        chain = [f"{site}."[at:] for at in range(len(site)) if at == 0 or site[at - 1] == "."]
        said = [sites[site]] if site in sites else []
        said += [zones[zone] for zone in chain if zone in zones]
        assert publishing.answer_for_site(site) == [*said, everywhere][0]
    assert publishing.sites_led_by_doors(every) | publishing.sites_led_by_dns(every) == set(every)
    assert publishing.sites_led_by_doors(every) == {
        site for site in every if publishing.answer_for_site(site) != "dns"
    }


@pytest.mark.parametrize("zones", [{}, {"nowhere.": "dns"}])
def test_nothing_is_led_by_doors_where_nobody_said_so(zones: dict[str, Way]) -> None:
    assert Publishing(zones=zones).sites_led_by_doors(["a.x"]) == frozenset()


def test_a_node_added_with_doors_takes_sites_of_no_zone(
    cluster: Cluster, profiles: Profiles
) -> None:
    known = {f"{letter}.panel.test": (100, 100) for letter in "abcdef"}
    cluster.facts = replace(cluster.facts, profiles=profiles(known))
    publish(cluster, BOTH)
    cluster.night()
    more = (*cluster.facts.nodes, Node("n3", ("192.0.2.3",), ram=2**20))
    cluster.facts = replace(cluster.facts, nodes=more)
    cluster.night()
    assert "n3" in {node for nodes in owners(cluster).values() for node in nodes}
