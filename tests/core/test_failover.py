"""What a dead node leaves behind goes on elsewhere, and nothing else moves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flex.model.nodes import Node
from flex.model.stranded_sites import ContentOfDeadNodes, LeftAtNode
from flex.model.zone_plan import Rrset, ZonePlan
from flex.placing.failover import rehome, survivors
from flex.placing.problem import Problem
from flex.planning import propose_plan
from tests.core.cluster import NOW, RULES, ZONE, Cluster
from tests.memory_publisher import MemoryPublisher
from tests.thorough import times

Make = Callable[..., Problem]
NODES = ("n1", "n2", "n3", "n4")

homes = st.sets(st.sampled_from(NODES), min_size=1, max_size=3)
clusters = st.dictionaries(st.sampled_from([f"s{n}" for n in range(30)]), homes, min_size=1)
loads = st.integers(0, 1000)


def asked(problem: Make, placed: Mapping[str, set[str]], size: int = 10) -> Problem:
    return problem(
        dict.fromkeys(placed, (size, size)),
        {site: " ".join(sorted(on)) for site, on in placed.items()},
        4,
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=times(60))
@given(clusters, st.sets(st.sampled_from(NODES[1:]), max_size=2))
def test_each_site_leaves_the_dead_node_and_none_is_without_a_node(
    problem: Make, placed: dict[str, set[str]], closed: set[str]
) -> None:
    is_open = np.array([node not in closed for node in NODES])
    made = replace(asked(problem, placed), open=is_open)
    first = survivors(made, 0)
    second = rehome(made, first, 0)
    assert set(first[:, 0].tolist()) == set(second[:, 0].tolist()) == set(made.old[:, 0].tolist())
    assert 0 not in second[:, 1]
    # Whoever has another open node only loses the dead one; whoever has none gets one and no more.
    alone = {n for n, site in enumerate(made.sites) if placed[site] - closed == {"n1"}}
    kept = {tuple(row) for row in made.old.tolist() if row[1] != 0}
    assert kept <= {tuple(row) for row in second.tolist()}
    new = [row for row in second.tolist() if tuple(row) not in kept]
    assert sorted(site for site, _ in new) == sorted(alone)
    assert all(is_open[node] for _, node in new)


def test_the_homeless_are_spread_over_the_nodes_that_have_room(problem: Make) -> None:
    placed = {f"s{n:02}": {"n1"} for n in range(30)} | {f"t{n:02}": {"n2"} for n in range(10)}
    made = asked(problem, placed)
    rows = rehome(made, survivors(made, 0), 0)
    assert sorted(np.bincount(rows[:, 1], minlength=4).tolist()) == [0, 13, 13, 14]


def test_a_barred_node_is_not_chosen_while_there_is_another(problem: Make) -> None:
    made = replace(asked(problem, {"s": {"n1"}, "t": {"n4"}}), barred={0: frozenset({1})})
    rows = rehome(made, survivors(made, 0), 0)
    assert rows.tolist() == [[0, 2], [1, 3]]


def test_what_somebody_changed_is_left_to_him_in_its_own_zone_alone_when_a_node_dies(
    cluster: Cluster,
) -> None:
    other = "a.hosting.example."
    cluster.target = target = MemoryPublisher([ZONE, other], owner=RULES.owner)
    cluster.rules = rules = replace(RULES, zones=(ZONE, other))
    cluster.night()
    target.edit(ZONE, "c.hosting.example.", "A", values=["203.0.113.9"])
    base, placement = cluster.store.placement()
    facts = replace(cluster.facts, base=base, placement=placement)
    made = propose_plan.fail_over(facts, rules, "n1", publisher=target, now=NOW)
    changed = {plan.zone: {change.name for change in plan.changes} for plan in made.plan.zone_plans}
    assert changed == {ZONE: set(), other: {other}}
    left = {plan.zone: [name.split()[0] for name in plan.foreign] for plan in made.plan.zone_plans}
    assert left == {ZONE: ["c.hosting.example."], other: []}


@pytest.mark.parametrize(
    ("written", "aaaa", "a", "left"),
    [
        (["198.51.100.7"], ["2001:db8::2"], ["198.51.100.7"], ["c.hosting.example."]),
        (["192.0.2.1", "198.51.100.7"], ["2001:db8::2"], ["198.51.100.7"], ["c.hosting.example."]),
        ([], ["2001:db8::2"], None, ["c.hosting.example."]),
        (["192.0.2.1"], ["2001:db8::2"], ["192.0.2.2"], []),
    ],
)
def test_of_what_somebody_wrote_beside_a_dead_nodes_address_only_that_goes(
    cluster: Cluster, written: list[str], aaaa: list[str], a: list[str] | None, left: list[str]
) -> None:
    dual = tuple(
        replace(one, addresses=(*one.addresses, f"2001:db8::{one.name[1:]}"))
        for one in cluster.facts.nodes
    )
    made = _after_a_death(cluster, dual, written)
    said = {
        change.type: change.after for change in made.changes if change.name == "c.hosting.example."
    }
    assert said["AAAA"] == Rrset("c.hosting.example.", "AAAA", 60, tuple(aaaa))
    # What is not among the changes stays.
    kept = there.values if (there := said.get("A")) else tuple(written)
    assert list(kept) == (a or [])
    assert [name.split()[0] for name in made.foreign] == left


def test_the_last_address_of_a_name_goes_only_where_another_comes(cluster: Cluster) -> None:
    """The node that its site goes to has no address of the type that is left."""
    one, *others = cluster.facts.nodes
    made = _after_a_death(
        cluster, (replace(one, addresses=(*one.addresses, "2001:db8::1")), *others), []
    )
    said = {
        change.type: change.after for change in made.changes if change.name == "c.hosting.example."
    }
    assert said == {"AAAA": None, "A": Rrset("c.hosting.example.", "A", 60, ("192.0.2.2",))}


def _after_a_death(cluster: Cluster, nodes: tuple[Node, ...], written: list[str]) -> ZonePlan:
    """What is planned when n1 dies, where somebody wrote A records of a site that is only on n1."""
    cluster.facts = replace(cluster.facts, nodes=nodes)
    cluster.night()
    assert isinstance(cluster.target, MemoryPublisher)
    cluster.target.edit(ZONE, "c.hosting.example.", "A", values=written)
    base, placement = cluster.store.placement()
    facts = replace(cluster.facts, base=base, placement=placement)
    (made,) = propose_plan.fail_over(
        facts, cluster.rules, "n1", publisher=cluster.target, now=NOW
    ).plan.zone_plans
    return made


def left_at(cluster: Cluster, *sites: str) -> Cluster:
    """The same after n1 died, which alone has the content of these sites."""
    base, placement = cluster.store.placement()
    nodes = tuple(
        replace(one, state="down") if one.name == "n1" else one for one in cluster.facts.nodes
    )
    away = {site: LeftAtNode("n1", "nobody copied it") for site in sites}
    cluster.facts = replace(
        cluster.facts, nodes=nodes, base=base, placement=placement, content=ContentOfDeadNodes(away)
    )
    return cluster


@pytest.mark.parametrize("all_stay", [True, False])
def test_what_no_other_node_has_the_content_of_stays_with_the_dead_node(
    cluster: Cluster, all_stay: bool
) -> None:
    cluster.night()
    _, placement = cluster.store.placement()
    mine = sorted(placement["site"][placement["node"] == "n1"])
    assert mine
    staying = mine if all_stay else mine[:1]
    before = cluster.addresses()
    left_at(cluster, *staying)
    made = propose_plan.fail_over(
        cluster.facts, cluster.rules, "n1", publisher=cluster.target, now=NOW
    )
    assert {move.site for move in made.plan.moves} == set(mine) - set(staying)
    after = made.placement
    assert sorted(after["site"][after["node"] == "n1"]) == staying
    assert set(after["site"]) == set(placement["site"])
    changed = {change.name.split(".")[0] for one in made.plan.zone_plans for change in one.changes}
    assert changed.isdisjoint({site.split(".")[0] for site in staying})
    assert before == cluster.addresses()
    # A plan of a later night leaves them there too, and says so.
    night = cluster.propose()
    assert {move.site for move in night.plan.moves}.isdisjoint(staying)
    kept = night.placement
    assert sorted(kept["site"][kept["node"] == "n1"]) == staying
    assert "nobody copied it" in " ".join(night.plan.notes)
    assert "--without-content" in " ".join(night.plan.notes)
