"""Nights on a simulated clock, one after the other: what a cluster goes through in a week, and a
load that swings.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from flex.frame_schemas import PLACEMENT
from flex.model.drains_and_freezes import NodeOrder
from flex.model.wish import Pin
from flex.planning.movement_rules import COOLDOWN
from flex_api.night import failover, nightly
from flex_api.wishes import explain_site, make_and_drop_wishes
from tests.api.nights import DAY, SITES, Cluster, four_nodes, loads, resting
from tests.rest.conftest import plan


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return four_nodes(tmp_path)


@pytest.mark.slow
def test_a_week_with_drift_a_surge_a_campaign_a_drained_and_a_dead_node(cluster: Cluster) -> None:
    world, campaign = cluster.world, SITES[7]
    first = cluster.night(loads(0))
    assert {move.source for move in first.moves} == {None}
    begins, ends = cluster.now + timedelta(hours=12), cluster.now + timedelta(hours=60)
    make_and_drop_wishes.pin(
        world, Pin(campaign, min_replicas=3, since=begins, until=ends, reason="sale", author="anna")
    )

    campaigning = cluster.night(loads(1))
    assert len(cluster.nodes_of(campaign)) == 3
    assert {move.reason for move in campaigning.moves if move.site == campaign} == {
        "one more replica; on 3 nodes, as wished until 5 March 2026, 14:17 UTC"
    }
    assert campaigning.measured is not None
    assert campaigning.measured.plan == first.id
    assert campaigning.measured.error < 0.1

    cluster.silent_night()
    surged = cluster.night({**loads(2), SITES[20]: 4.0})
    assert any(SITES[20] in note for note in surged.notes), "it is named"

    cluster.night(loads(3))
    assert len(cluster.nodes_of(campaign)) == 1, "the campaign has ended by itself"

    world.store.order_node(
        NodeOrder("n3", "draining", cluster.now, cluster.now + 4 * DAY, "new disks")
    )
    for seed in (4, 5, 6):
        before = cluster.on("n3")
        drained = cluster.night(loads(seed))
        assert {move.reason for move in drained.moves if move.source == "n3"} <= {"n3 is drained"}
        assert cluster.on("n3") < before or not before
    assert cluster.on("n3") == 0

    cluster.clock[0] += timedelta(hours=5)
    others = {site: cluster.nodes_of(site) for site in SITES if "n4" not in cluster.nodes_of(site)}
    assert failover.take_down(world, NodeOrder("n4", "down", given=world.clock())) is not None
    assert cluster.on("n4") == 0
    assert all(cluster.nodes_of(site) == nodes for site, nodes in others.items())

    last = cluster.night(loads(7))
    assert last.state == "applied"
    assert max(cluster.moved.values()) <= 2
    errors = [one.measured.error for one in world.store.plans(100) if one.measured]
    # All but the first night, and the plan that took the dead node out.
    assert (len(errors), max(errors) < 0.5) == (len(world.store.plans(100)) - 2, True)


def test_a_night_without_new_profiles_moves_nothing(cluster: Cluster) -> None:
    cluster.night(loads(0))
    _, before = cluster.world.store.placement()
    cluster.clock[0] += DAY
    made = nightly.propose(cluster.world).plan
    assert (made.moves, made.changes) == ((), 0)
    assert cluster.world.store.placement()[1].equals(before)


EVEN = {site: 10 / (number + 5) for number, site in enumerate(SITES)}
SWINGS: dict[str, tuple[dict[str, float], dict[str, float]]] = {
    "one half and the other": (
        {site: 6.0 if number % 2 else 1.0 for number, site in enumerate(SITES)},
        {site: 1.0 if number % 2 else 6.0 for number, site in enumerate(SITES)},
    ),
    # Without rules against it, this one moves sites fourteen times; without the limit of moves in a
    # month, four times.
    "one site": ({**EVEN, SITES[30]: 6.0}, EVEN),
}


def test_a_site_that_moved_twice_rests_until_the_first_time_is_a_month_ago(
    cluster: Cluster,
) -> None:
    store, rests, settled = cluster.world.store, list[set[str]](), list[datetime]()
    for number in range(3):
        made = plan(number, base=store.in_force())
        assert made.settled
        store.propose(replace(made, state="proposed", settled=None), PLACEMENT.empty())
        store.settle(made, PLACEMENT.empty())
        settled.append(made.settled)
        # Past the rest that each move brings.
        cluster.clock[0] = made.settled + 4 * DAY
        rests.append(set(resting(cluster)))
    # Nothing moved when the cluster was adopted.
    assert rests == [set(), set(), {move.site for move in made.moves}]
    cluster.clock[0] = settled[1] + 30 * DAY
    assert resting(cluster) == {}


@pytest.mark.parametrize(
    ("swing", "length", "nights"),
    [
        # Without the limit of moves in a month, its third move is that of the eighth night.
        ("one site", 1, 10),
        pytest.param("one site", 1, 30, marks=pytest.mark.torture),
        pytest.param("one half and the other", 1, 30, marks=pytest.mark.torture),
        pytest.param("one half and the other", 5, 30, marks=pytest.mark.torture),
    ],
)
def test_a_load_that_swings_for_thirty_nights_moves_no_site_more_than_twice(
    cluster: Cluster, swing: str, length: int, nights: int
) -> None:
    for night in range(nights):
        cluster.night(SWINGS[swing][(night // length) % 2])
    assert max(cluster.moved.values(), default=0) <= 2


# One site that asks for 0.9 of a node, and for a quarter of one.
LARGE, SMALL = ({**dict.fromkeys(SITES, 1.0), SITES[0]: load} for load in (17.0, 4.0))
RHYTHMS = {
    "every other night": "HL",
    "every third night": "HLL",
    "at weekends": "LLLLLHH",
    "on workdays": "HHHHHLL",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "rhythm",
    [
        pytest.param(
            rhythm, id=name, marks=[] if name == "every third night" else pytest.mark.torture
        )
        for name, rhythm in RHYTHMS.items()
    ],
)
def test_a_large_site_that_swings_for_thirty_nights_gets_and_loses_no_replica_more_than_twice(
    cluster: Cluster, rhythm: str
) -> None:
    for night in range(31):
        cluster.night(LARGE if rhythm[night % len(rhythm)] == "H" else SMALL)
    assert max(cluster.moved.values(), default=0) <= 2


@pytest.mark.slow
def test_a_growth_that_lasts_gets_its_replica_in_the_first_night_and_keeps_it(
    cluster: Cluster,
) -> None:
    for _ in range(2):
        cluster.night(SMALL)
    first = cluster.nodes_of(SITES[0])
    cluster.night(LARGE)
    grown = cluster.nodes_of(SITES[0])
    assert (len(first), len(grown), first < grown) == (1, 2, True)
    for _ in range(5):
        cluster.night(LARGE)
        assert cluster.nodes_of(SITES[0]) == grown


@pytest.mark.slow
def test_a_site_that_stays_small_for_the_cooldown_goes_back_to_the_node_it_had(
    cluster: Cluster,
) -> None:
    cluster.night(SMALL)
    first = cluster.nodes_of(SITES[0])
    cluster.night(LARGE)
    assert resting(cluster)[SITES[0]].startswith("moved ")
    kept = [cluster.night(SMALL) for _ in range(2)]
    assert len(cluster.nodes_of(SITES[0])) == 2
    said = "sites keep as many nodes as they needed lately: s00.hosting.example (2 nodes)"
    assert all(
        any(said in stop.said for stop in one.stops if stop.rule == COOLDOWN) for one in kept
    )
    why = "keeps 2 nodes: it needed as many lately; safety.site_cooldown is 3 d 0 h"
    assert why in explain_site.explain_site(cluster.world, SITES[0]).reasons
    cluster.night(SMALL)
    assert cluster.nodes_of(SITES[0]) == first
    assert resting(cluster)[SITES[0]].startswith("gave a node up ")


@pytest.mark.slow
def test_a_drained_node_loses_the_replica_that_rests_there_and_no_other_one_moves(
    cluster: Cluster,
) -> None:
    cluster.night(SMALL)
    cluster.night(LARGE)
    gone, stays = sorted(cluster.nodes_of(SITES[0]))
    cluster.world.store.order_node(
        NodeOrder(gone, "draining", cluster.now, cluster.now + DAY, "new disks")
    )
    cluster.night(SMALL)
    now = cluster.nodes_of(SITES[0])
    assert (gone in now, stays in now, len(now)) == (False, True, 2)


def test_a_rule_that_holds_sites_is_said_of_them_and_of_no_plan_that_is_as_good(
    cluster: Cluster,
) -> None:
    cluster.night(loads(0))
    first = cluster.night({**loads(1), SITES[0]: 3.5})
    assert first.moves
    second = cluster.night({**loads(2), SITES[1]: 3.5})
    moved = {move.site for move in second.moves}
    assert moved, "others move in place of those that rest"
    assert not {move.site for move in first.moves} & moved
    assert COOLDOWN not in {stop.rule for stop in second.stops}
    (held,) = [stop for stop in second.holds if stop.rule == COOLDOWN]
    resting_here = [site for site in held.sites if site in resting(cluster)]
    assert resting_here
    for site in resting_here:
        told = explain_site.explain_site(cluster.world, site).reasons
        assert any(COOLDOWN in reason for reason in told), told
