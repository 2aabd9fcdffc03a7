"""A wish that begins and ends between two nights holds for all of its time: the night before it
carries it out.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from flex.model.drains_and_freezes import NodeOrder
from flex.model.period import Period
from flex.model.wish import Pin
from flex_api.facts import earlier_nights
from flex_api.night import nightly
from flex_api.wishes import explain_site, make_and_drop_wishes, previewing
from tests.api.nights import DAY, NODES, SITES, Cluster, four_nodes

EVEN = {site: 10 / (number + 5) for number, site in enumerate(SITES)}
SITE = SITES[7]
HOUR = timedelta(hours=1)


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    found = four_nodes(tmp_path)
    found.night(EVEN)
    return found


def elsewhere(cluster: Cluster) -> str:
    return next(node for node in NODES if node not in cluster.nodes_of(SITE))


def wish(cluster: Cluster, begins: timedelta, ends: timedelta) -> str:
    """Another node than the site has, from then to then."""
    node, now = elsewhere(cluster), cluster.now
    pin = Pin(SITE, (node,), since=now + begins, until=now + ends, campaign="sale")
    make_and_drop_wishes.pin(cluster.world, pin)
    return node


def reasons(cluster: Cluster) -> list[str]:
    return explain_site.explain_site(cluster.world, SITE).reasons


@pytest.mark.slow
def test_a_campaign_between_two_nights_is_in_force_for_all_of_its_time(cluster: Cluster) -> None:
    node = wish(cluster, DAY + 5 * HOUR, DAY + 20 * HOUR)
    made = cluster.night(EVEN)
    assert cluster.nodes_of(SITE) == {node}
    assert {move.reason for move in made.moves if move.site == SITE} == {
        f"pinned to {node} from 4 March 2026, 07:17 UTC until 4 March 2026, 22:17 UTC"
    }
    cluster.night(EVEN)
    assert "sale" not in {pin.campaign for pin in cluster.world.pins_of_next_plan}


@pytest.mark.parametrize("late", [timedelta(minutes=10), HOUR, HOUR + timedelta(minutes=20)])
def test_so_it_is_where_the_next_night_is_late(cluster: Cluster, late: timedelta) -> None:
    """By the delay of its timer, and by clocks that are set back."""
    node = wish(cluster, 2 * DAY + late / 2, 3 * DAY)
    cluster.night(EVEN)
    assert cluster.nodes_of(SITE) == {node}, "the next night comes behind its beginning"


@pytest.mark.parametrize("gap", [timedelta(hours=h) for h in (25, 30, 54, 100)])
@pytest.mark.parametrize("ends", [False, True])
def test_what_began_or_ended_since_a_night_long_ago_goes_before_other_wishes(
    cluster: Cluster, gap: timedelta, *, ends: bool
) -> None:
    """One hour behind the night before, whatever nights were left out since."""
    moment = cluster.now + HOUR
    mine, others = SITES[20], SITES[:6]
    begins, over = (None, moment) if ends else (moment, cluster.now + gap + 9 * DAY)
    store, long_ago = cluster.world.store, cluster.now - 2 * DAY
    store.put_pin(Pin(mine, since=begins, until=over, campaign="x"))
    store.put_pin(Pin(others[0]))
    store.put_pin(Pin(others[1], until=long_ago, campaign="x"))
    store.put_pin(Pin(others[2], since=cluster.now + gap + 3 * DAY, campaign="x"))
    cluster.clock[0] += gap
    guard = earlier_nights.guard(cluster.world, Period.days_before(cluster.now, 1))
    assert mine in guard.urgent
    assert not guard.urgent & set(others)


def test_a_wish_that_has_begun_and_waits_goes_first_in_each_night_until_it_is_kept(
    cluster: Cluster,
) -> None:
    pin = Pin(SITE, (elsewhere(cluster),), since=cluster.now + HOUR, campaign="x")
    cluster.world.store.put_pin(pin)
    for _ in range(4):
        cluster.clock[0] += DAY
        period = Period.days_before(cluster.now, 1)
        assert SITE in earlier_nights.guard(cluster.world, period).urgent


@pytest.mark.slow
def test_what_begins_after_the_next_night_is_left_to_that(cluster: Cluster) -> None:
    before = cluster.nodes_of(SITE)
    node = wish(cluster, 2 * DAY + 5 * HOUR, 2 * DAY + 20 * HOUR)
    cluster.night(EVEN)
    assert cluster.nodes_of(SITE) == before
    cluster.night(EVEN)
    assert cluster.nodes_of(SITE) == {node}


def test_explain_and_a_preview_say_what_the_next_plan_does(cluster: Cluster) -> None:
    (here,), node, now = cluster.nodes_of(SITE), elsewhere(cluster), cluster.now
    wanted = Pin(SITE, (node,), since=now + 5 * HOUR, until=now + 20 * HOUR)
    moves = previewing.preview_pin(cluster.world, wanted).items
    assert (SITE, here, node) in {(one.site, one.source, one.target) for one in moves}
    make_and_drop_wishes.pin(cluster.world, wanted)
    when = "from 3 March 2026, 07:17 UTC until 3 March 2026, 22:17 UTC"
    said = f"a new plan brings it to {node}, as the limits let it: pinned {when}"
    assert reasons(cluster) == [said]


def test_of_two_wishes_that_no_partition_keeps_the_one_gives_way_that_does_not_hold_yet(
    cluster: Cluster,
) -> None:
    """The other ends before it begins, so that both were accepted."""
    now, other = cluster.now, SITES[8]
    (at,) = cluster.nodes_of(other)
    cluster.world.store.put_pin(Pin(other, (at,), until=now + 2 * HOUR))
    first = Pin(SITE, (at,), since=now + 3 * HOUR, campaign="a", apart=(other,))
    cluster.world.store.put_pin(first)
    cluster.world.store.put_pin(Pin(other, apart=(SITE,), until=now + 2 * HOUR))
    assert [pin.site for pin in cluster.world.pins_of_next_plan] == [other, SITE]


def test_a_site_that_is_put_off_leaves_its_node_later_and_says_nothing_else(
    cluster: Cluster,
) -> None:
    (node,) = cluster.nodes_of(SITE)
    safety = cluster.world.settings.safety.model_copy(update={"max_moved_sites": 3})
    settings = cluster.world.settings.model_copy(update={"safety": safety})
    world = replace(cluster.world, settings=settings)
    world.store.order_node(NodeOrder(node, "draining", cluster.now))
    made = nightly.propose(world).plan
    left = [move.site for move in made.put_off if move.source == node]
    assert left, "the limits of a night leave some of them"
    for site in left[:2]:
        told = explain_site.explain_site(world, site)
        assert f"{node} -> " in told.reasons[0]
        assert "later" in told.reasons[0]
        assert not [why for why in told.reasons if why.startswith("stays on")]
        assert {other.node for other in told.others} == {other.target for other in told.others}, (
            "a node that takes no sites has no share to be over"
        )


def test_a_site_on_a_drained_node_says_that_the_node_is_drained(cluster: Cluster) -> None:
    (node,) = cluster.nodes_of(SITE)
    cluster.world.store.order_node(NodeOrder(node, "draining", cluster.now))
    assert reasons(cluster) == [f"stays on {node}: {node} is drained, and no plan has moved it yet"]
