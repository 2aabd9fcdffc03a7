"""A request that comes to the wrong node counts there, too: in plans, problems and forecasts."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex.frame_schemas import PLACEMENT, PROFILES, SPREADS
from flex.model.led_by_doors_or_dns import Publishing
from flex.model.nodes import Node
from flex.model.plan import Plan
from flex.model.predicted_node_loads import Forecast
from flex.model.stray_requests import Arrival, Visitors
from flex.model.wish import Pin
from flex.placing import score
from flex.planning import propose_plan, what_if
from flex.planning.facts_and_rules import Facts
from flex.planning.forwarding_load import count_forwarding, forwarding
from flex.planning.what_if import Supposition
from flex.prediction.cache_replay import Sample
from flex.prediction.replay_forecast import PAPER
from flex.prediction.target_classes import each
from flex.store.plans_as_json import plan_from_text, plan_to_text
from flex_api.night.visitors_at_doors import arrivals
from flex_solver import SOLVERS
from tests.core.cluster import NOW, RULES, ZONE, Cluster
from tests.memory_publisher import MemoryPublisher

SITES = tuple(f"{letter}.{ZONE.rstrip('.')}" for letter in "abcd")
A, B, C, D = SITES
REQUESTS, SENT = 8_640_000, 86_400_000_000
NODES = tuple(Node(f"n{n}", (f"192.0.2.{n}",), ram=2**40) for n in (1, 2))
IN_FORCE = {A: "n1", B: "n1", C: "n2", D: "n2"}


def partition(nodes: dict[str, str]) -> pd.DataFrame:
    rows = [(site, node) for site, of in nodes.items() for node in of.split()]
    return PLACEMENT.make(pd.DataFrame(rows, columns=["site", "node"]))


def profiles() -> pd.DataFrame:
    rows = [(site, SENT, 1000, REQUESTS, 10, 1, SENT // 10) for site in SITES]
    return PROFILES.make(pd.DataFrame(rows, columns=PROFILES.earlier))


def sample() -> Sample:
    target = np.tile(np.arange(len(SITES), dtype=np.int64), 50)
    site = np.arange(len(SITES), dtype=np.int64)
    size = np.full(len(SITES), SENT // REQUESTS, dtype=np.int64)
    totals = each(site, np.full(len(SITES), REQUESTS, dtype=np.int64), size)
    time = np.arange(len(target), dtype=np.int64)
    return Sample(SITES, site, size, target, time, 1.0, totals)


def facts(cluster: Cluster, **more: object) -> Facts:
    return replace(
        cluster.facts,
        profiles=profiles(),
        spreads=SPREADS.empty(),
        sample=sample(),
        nodes=NODES,
        base="earlier",
        placement=partition(IN_FORCE),
        **more,  # type: ignore[arg-type]  # whatever the test is about
    )


def passed_on(forecast: Forecast) -> dict[str, tuple[int, int]]:
    return {node.node: (node.passed_on, node.passed_on_bytes) for node in forecast.nodes}


def plan_of(cluster: Cluster, known: Facts, publishing: Publishing, *, zones: bool) -> Plan:
    return propose_plan.propose(
        known,
        replace(RULES, publishing=publishing, zones=(ZONE,) if zones else ()),
        solver=SOLVERS["local"],
        scratch=SOLVERS["local"],
        publisher=cluster.target if zones else MemoryPublisher([], "me"),
        now=NOW,
    ).plan


def policy(plan: Plan, name: str) -> Forecast:
    return next(one for one in plan.forecasts if one.policy == name)


def test_visitors_who_came_to_a_wrong_door_are_work_of_its_node(cluster: Cluster) -> None:
    known = facts(cluster, arrivals=(Arrival(A, "n2", 0.25),))
    plain = facts(cluster)
    found, without = (
        policy(plan_of(cluster, one, Publishing("doors"), zones=False), "after")
        for one in (known, plain)
    )
    assert passed_on(without) == {"n1": (0, 0), "n2": (0, 0)}
    assert passed_on(found) == {"n1": (0, 0), "n2": (REQUESTS // 4, SENT // 4)}
    more = found.nodes[1].seconds - without.nodes[1].seconds
    assert more == pytest.approx(REQUESTS // 4 * PAPER.forwarding)
    assert found.nodes[0].seconds == without.nodes[0].seconds
    assert found.nodes[1].requests == without.nodes[1].requests


@pytest.mark.slow
def test_a_site_that_dns_does_not_follow_leaves_its_visitors_behind(cluster: Cluster) -> None:
    known = facts(cluster, pins=(Pin(A, nodes=("n2",)),))
    made = plan_of(cluster, known, Publishing("doors"), zones=False)
    assert {(move.site, move.target) for move in made.moves} >= {(A, "n2")}
    assert passed_on(policy(made, "before"))["n1"] == (0, 0)
    assert passed_on(policy(made, "after"))["n1"][0] >= REQUESTS
    followed = plan_of(cluster, known, Publishing("doors+dns"), zones=True)
    assert {(move.site, move.target) for move in followed.moves} >= {(A, "n2")}
    assert passed_on(policy(followed, "after"))["n1"] == (0, 0)


def test_visitors_are_shared_between_what_doors_counted_and_the_nodes_of_the_site(
    cluster: Cluster,
) -> None:
    known = facts(cluster, arrivals=(Arrival(A, "n2", 0.75),), doors_alone=frozenset({A}))
    assert forwarding(known, known.placement).requests.tolist() == [0, 3 * REQUESTS // 4]
    moved = partition(IN_FORCE | {A: "n2"})
    assert forwarding(known, moved).requests.tolist() == [REQUESTS // 4, 0]
    gone = partition({site: node for site, node in IN_FORCE.items() if site != A})
    assert forwarding(known, gone).requests.tolist() == [0, 0]


def test_a_node_that_is_down_passes_nothing_on_and_a_drained_one_does(cluster: Cluster) -> None:
    known = facts(cluster, arrivals=(Arrival(A, "n2", 0.5),))
    for state, wanted in (("drained", REQUESTS // 2), ("down", 0)):
        nodes = (NODES[0], replace(NODES[1], state=state))  # type: ignore[arg-type]  # both are states
        there = replace(known, nodes=nodes)
        assert forwarding(there, known.placement).requests.tolist() == [0, wanted]
        assert count_forwarding(there).parts == frozenset()


def test_forwarding_counts_as_load_of_its_node_and_as_no_site(cluster: Cluster) -> None:
    share = 1.0
    known = facts(cluster, arrivals=(Arrival(A, "n2", share), Arrival(B, "n2", share)))
    counted = count_forwarding(known)
    asked = propose_plan.build(counted, RULES)
    balance = score.balance_in_force(asked, counted.parts)
    assert [node.sites for node in balance.nodes] == [2, 2]
    one, two = balance.nodes
    # The paper's node answers from memory in the time of 15 kB; each of 10 kB is two thirds of it.
    answers = 4 * SENT
    passing_on = 2 * REQUESTS * PAPER.forwarding * PAPER.operations * PAPER.answer
    assert two.access == pytest.approx(200 * (2 * SENT + passing_on) / (answers + passing_on))
    assert one.access < 100 < two.access
    assert one.working_set == two.working_set


def test_no_door_is_in_the_partition_or_moves(cluster: Cluster) -> None:
    known = facts(
        cluster,
        arrivals=tuple(Arrival(site, "n2", 1.0) for site in (A, B)),
        pins=(Pin(A, nodes=("n2",)),),
    )
    made = propose_plan.propose(
        known,
        replace(RULES, publishing=Publishing("doors"), zones=()),
        solver=SOLVERS["local"],
        scratch=SOLVERS["local"],
        publisher=MemoryPublisher([], "me"),
        now=NOW,
    )
    assert set(made.placement["site"]) == set(SITES)
    assert {move.site for move in made.plan.moves} <= set(SITES)
    assert made.plan.sites == len(SITES)


def test_what_if_counts_it_also_without_the_node_whose_door_it_is(cluster: Cluster) -> None:
    third = Node("n3", ("192.0.2.3",), ram=2**40)
    known = facts(cluster, arrivals=(Arrival(A, "n2", 0.5),))
    known = replace(known, nodes=(*NODES, third))
    for wanted, door in ((Supposition(), REQUESTS // 2), (Supposition(lost=("n2",)), 0)):
        found = what_if.suppose(known, RULES, wanted, solver=SOLVERS["local"])
        said = passed_on(found.forecasts[0])
        on_n2 = any(move.site == A and move.target == "n2" for move in found.moves)
        assert said["n2"][0] == (0 if on_n2 else door)
        assert sum(node.sites for node in found.after.nodes) == len(SITES)


def test_a_plan_that_was_stored_before_passes_nothing_on(cluster: Cluster) -> None:
    known = facts(cluster, arrivals=(Arrival(A, "n2", 0.5),))
    made = plan_of(cluster, known, Publishing("doors"), zones=False)
    text = plan_to_text(made)
    assert plan_from_text(text) == made
    at, _, rest = text.partition(',"passed_on":')
    while rest:
        text = at + rest[rest.index("}") :]
        at, _, rest = text.partition(',"passed_on":')
    assert "passed_on" not in text
    read = plan_from_text(text)
    assert {node.passed_on for one in read.forecasts for node in one.nodes} == {0}


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.sampled_from(SITES), st.sampled_from(("n1", "n2")), st.floats(0.0, 1.0)),
        unique_by=lambda row: row[:2],
    ),
    st.frozensets(st.sampled_from(SITES)),
    st.lists(st.sampled_from(("n1", "n2", "n1 n2", "")), min_size=4, max_size=4),
)
def test_no_site_has_more_requests_passed_on_than_there_are(
    rows: list[tuple[str, str, float]], alone: frozenset[str], target: list[str]
) -> None:
    known = Facts(
        period=None,  # type: ignore[arg-type]  # not looked at
        profiles=profiles(),
        spreads=SPREADS.empty(),
        sample=sample(),
        nodes=NODES,
        pins=(),
        base="earlier",
        placement=partition(IN_FORCE),
        arrivals=tuple(
            Arrival(site, node, share) for site, node, share in rows if IN_FORCE[site] != node
        ),
        doors_alone=alone,
    )
    wanted = partition(dict(zip(SITES, target, strict=True)))
    found = forwarding(known, wanted)
    placed = sum(bool(nodes) for nodes in target)
    # Each node's sum is rounded.
    assert 0 <= found.requests.sum() <= placed * REQUESTS + len(NODES)
    both = {site for site, nodes in zip(SITES, target, strict=True) if nodes == "n1 n2"}
    if both == set(SITES):
        assert found.requests.sum() == 0


def test_shares_are_of_the_rate_at_which_visitors_came(cluster: Cluster) -> None:
    period = cluster.facts.period
    rate = REQUESTS / period.seconds
    now = period.end + timedelta(hours=1)

    def of(requests: float, since: timedelta, last: timedelta) -> list[float]:
        one = Visitors(A, "n2", round(requests), now - since, now - last)
        return [found.share for found in arrivals([one], profiles(), period, now)]

    hour = timedelta(hours=1)
    tenth = rate * hour.total_seconds() / 10
    assert of(tenth, hour, timedelta(0)) == [pytest.approx(0.1)]
    assert of(100 * tenth, hour, timedelta(0)) == [1.0]
    # One request that came a moment ago is not a thousand an hour.
    assert of(1, timedelta(seconds=1), timedelta(0))[0] <= 1 / (300 * rate)
    # Who came before the period came to none of what was counted in it.
    long_ago = now - period.start + hour
    assert of(tenth, long_ago + hour, long_ago) == []
