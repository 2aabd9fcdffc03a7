"""What a night says of what it does not do: rests with their end, what is left to later, what an
adoption does.
"""

from __future__ import annotations

import dataclasses
import io
from datetime import timedelta
from pathlib import Path

import pytest
from rich.console import Console

from flex.errors import Held
from flex.model.drains_and_freezes import NodeOrder
from flex.model.limits_and_approvals import Stop
from flex.model.predicted_node_loads import Forecast, NodeForecast
from flex.model.site_moves import FOREVER, SiteMove
from flex.model.wish import Pin
from flex.planning import movement_rules, plan_notes_on_sites
from flex.planning.movement_rules import COOLDOWN
from flex.planning.which_rules_stop_moves import Stops
from flex_api.facts import core_to_output_models
from flex_api.in_words import results_in_terminal
from flex_api.night import mail_of_the_night, nightly, plan_orders_by_hand, route_and_publish_plan
from flex_api.report.content import ReportData
from flex_api.report.json_and_markdown import FORMATS
from flex_api.settings.move_commands import Hook, Move
from flex_api.wiring import World
from flex_api.wishes import (
    effect_of_draining,
    explain_site,
    previewing,
    what_if_frontier_compare,
)
from tests.api.nights import DAY, NODES, SITES, ZONE, Cluster, four_nodes, loads, resting
from tests.memory_publisher import MemoryPublisher

EVEN = {site: 10 / (number + 5) for number, site in enumerate(SITES)}


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return four_nodes(tmp_path)


EVERYWHERE = [f"192.0.2.{number}" for number in range(1, 5)]


@pytest.fixture
def adopted(cluster: Cluster) -> Cluster:
    """Every site was on all nodes, as round robin has it, and is on as many as it needs since the
    first night.
    """
    adopting(cluster)
    made = nightly.propose(cluster.world).plan
    assert {move.target for move in made.moves} == {None}
    assert made.stops == ()
    plan_orders_by_hand.apply(
        cluster.world, made.id, force=[breach.rule for breach in made.breaches]
    )
    return cluster


def test_a_site_that_makes_room_for_one_that_rests_is_told_no_rest_of_its_own(
    cluster: Cluster,
) -> None:
    site, resting_one = SITES[:2]
    cluster.night(EVEN)
    made = nightly.propose(cluster.world).plan
    said = f"sites keep as many nodes as they needed lately: {resting_one} (4 nodes)"
    stop = Stop(COOLDOWN, "3 d", "1 site", said, "--force it", sites=(site,))
    cluster.world.store.update(dataclasses.replace(made, holds=(stop,)))
    told = explain_site.explain_site(cluster.world, site).reasons
    why = "other sites rest: safety.site_cooldown is 3 d (past it: --force it)"
    assert any(why in one for one in told)
    assert not any(resting_one in one for one in told)


@pytest.mark.slow
def test_a_site_that_rests_after_its_move_failed_is_told_so_and_so_is_who_stays_with_it(
    cluster: Cluster,
) -> None:
    site, companion, other = SITES[:3]
    made = cluster.night(EVEN)
    (here,) = cluster.nodes_of(site)
    cluster.world.store.put_pin(Pin(companion, together=(site,)))
    hook = Hook(stage="copy", command=("true",), undo=("true",))
    settings = cluster.world.settings.model_copy(update={"move": Move(hook=(hook,))})
    world = dataclasses.replace(cluster.world, settings=settings)
    there = next(node for node in NODES if node != here)
    begun, ended = cluster.now - 2 * DAY, cluster.now - DAY
    failed = SiteMove("m", site, here, there, made.id, begun, "stayed", ended, "no room", FOREVER)
    world.store.put_site_moves([failed])

    explained = explain_site.explain_site(world, site)

    assert explained.others == []
    told = f"its move to {there} failed 1 d 0 h ago, no room; "
    told += f"`flex moves again {site}` lets it move again"
    assert [reason for reason in explained.reasons if "move" in reason] == [told]
    beside = explain_site.explain_site(world, companion).reasons
    assert f"it stays together with {site}" in beside
    assert explain_site.explain_site(world, other).others
    # What would come of a wish is what the next plan would do.
    tried = previewing.preview_pin(world, Pin(site, (there,)))
    assert site not in {move.site for move in tried.items}
    assert f"{site} stays where it is: {told}" in tried.notes
    assert what_if_frontier_compare.frontier_of(world).items
    world.store.put_pin(Pin(site, (here,), reason="their own machine"))
    pinned = explain_site.explain_site(world, site).reasons
    assert not any("failed" in reason for reason in pinned), pinned
    world.store.drop_pin(site)
    waiting = nightly.propose(world).plan
    assert plan_notes_on_sites.held_in(waiting.notes).keys() == {site, companion}
    # The next plan moves it off a node that is drained, whatever failed.
    world.store.order_node(NodeOrder(here, "draining", cluster.now))
    drained = explain_site.explain_site(world, site).reasons
    assert drained == [f"stays on {here}: {here} is drained, and no plan has moved it yet"]
    assert (
        f"it stays together with {site}" not in explain_site.explain_site(world, companion).reasons
    )
    world.store.order_node(NodeOrder(here, "active", cluster.now))
    world.store.put_site_moves([dataclasses.replace(failed, rests_until=None)])
    assert explain_site.explain_site(world, site).others


def test_after_adoption_no_site_rests_and_what_is_needed_moves_in_the_next_night(
    adopted: Cluster,
) -> None:
    assert resting(adopted) == {}
    done = adopted.night({**EVEN, SITES[20]: 4.0})
    assert any(move.target for move in done.moves)
    assert done.stops == ()


@pytest.mark.slow
def test_what_rests_says_until_when_and_by_which_rule_and_that_rule_is_the_one_that_binds(
    cluster: Cluster,
) -> None:
    """Every site moved last night, so that nothing that is wrong tonight can be mended."""
    cluster.night(EVEN)
    shift = dict(zip(NODES, [*NODES[1:], NODES[0]], strict=True))
    for site in SITES:
        cluster.world.store.put_pin(
            Pin(site, tuple(shift[node] for node in cluster.nodes_of(site)))
        )
    moved = nightly.propose(cluster.world, movement_rules.LIFTED).plan
    moved = plan_orders_by_hand.apply(
        cluster.world, moved.id, force=[breach.rule for breach in moved.breaches]
    )
    assert moved.settled is not None
    for site in SITES:
        cluster.world.store.drop_pin(site)
    cluster.clock[0] += DAY
    cluster.learn({**EVEN, SITES[0]: 3.5})
    made = nightly.propose(cluster.world).plan
    assert (made.moves, [stop.rule for stop in made.stops]) == ((), [COOLDOWN])
    rest = made.stops[0]
    assert rest.until == moved.settled + 3 * DAY
    site = rest.sites[0]
    told = next(
        why
        for why in explain_site.explain_site(cluster.world, site).reasons
        if why.startswith("stays on")
    )
    ends = "until Friday 6 March, 02:17 UTC: safety.site_cooldown is 3 d 0 h"
    assert (
        f"moved 1 d 0 h ago, rests {ends} (past it: flex plan --force safety.site_cooldown)" in told
    )
    assert not nightly.propose(cluster.world, [movement_rules.MARGIN]).plan.moves
    assert site in {move.site for move in nightly.propose(cluster.world, [COOLDOWN]).plan.moves}


@pytest.mark.slow
def test_a_dead_node_that_is_well_again_gets_its_sites_back_the_same_night(
    cluster: Cluster,
) -> None:
    """Also what an ordinary night took off it."""
    cluster.night(loads(0))
    cluster.world.store.order_node(NodeOrder("n4", "down", given=cluster.now))
    cluster.night(loads(0))
    assert cluster.on("n4") == 0
    assert resting(cluster) == {}
    cluster.world.store.order_node(NodeOrder("n4", "active", given=cluster.now))
    said = effect_of_draining.sentences(cluster.world, "n4")
    back = cluster.night(loads(0))
    come = sum(move.target == "n4" for move in back.moves)
    # Where its search was cut short, it goes on to say so.
    (told,) = said
    assert told.startswith(f"{come} sites come to n4 with the next plan")
    assert cluster.on("n4") == come > 0
    assert back.after.worst <= 0.05


def test_of_the_rules_that_stop_moves_those_are_said_without_which_sites_come_to_the_node() -> None:
    def stop(rule: str, *together: str) -> Stop:
        past = " ".join(f"--force {one}" for one in together)
        return Stop(rule, "1", "2", "it stops moves", f"flex plan {past}")

    trigger, hold, margin = (
        movement_rules.TRIGGER,
        movement_rules.HOLD,
        movement_rules.MARGIN,
    )
    both = (stop(trigger, trigger, hold), stop(hold, trigger, hold))
    alone = stop(margin, margin)
    here = stop(COOLDOWN, COOLDOWN)
    for stops, without, said in (
        (Stops((*both, alone)), [trigger, hold], both),
        (Stops((*both, alone)), [margin], (alone,)),
        (Stops((alone,), (here,)), [COOLDOWN], (here,)),
        (Stops((alone,), (here,)), [], ()),
    ):
        found = effect_of_draining.those_without_which(without.__eq__, stops)
        assert found == said


@pytest.mark.slow
def test_who_drains_a_node_hears_how_many_sites_leave_it_tonight_and_how_to_hurry(
    cluster: Cluster,
) -> None:
    cluster.night(loads(0))
    there = cluster.on("n4")
    cluster.world = limited(cluster.world, 4)
    order = NodeOrder("n4", "draining", cluster.now)
    cluster.world.store.order_node(order)
    (said,) = effect_of_draining.sentences(cluster.world, "n4")
    leave = f"4 sites leave n4 with the next plan, {there - 4} later (safety.max_moved_sites is 4)"
    assert said == f"{leave}; `flex nodes drain n4 --deadline TIME` to hurry"
    cluster.world.store.order_node(dataclasses.replace(order, deadline=cluster.now + DAY / 2))
    assert effect_of_draining.sentences(cluster.world, "n4") == [
        f"{there} sites leave n4 with the next plan"
    ]
    cluster.world.store.order_node(order)
    gone = cluster.night(loads(0))
    assert (cluster.on("n4"), len(gone.put_off)) == (there - 4, there - 4)
    assert {move.reason for move in gone.put_off} == {
        "n4 is drained; put off to a later night: safety.max_moved_sites is 4"
    }


def test_an_order_that_is_stored_is_not_said_to_have_failed_where_no_plan_can_be_made(
    cluster: Cluster, tmp_path: Path
) -> None:
    cluster.night(loads(0))
    cluster.world.store.order_node(NodeOrder("n4", "draining", cluster.now))
    ingest = cluster.world.settings.ingest.model_copy(update={"sites_file": tmp_path / "gone.txt"})
    world = dataclasses.replace(
        cluster.world, settings=cluster.world.settings.model_copy(update={"ingest": ingest})
    )
    (said,) = effect_of_draining.sentences(world, "n4")
    assert said.startswith("how many sites that is with the next plan is not known: ")
    assert "gone.txt" in said


ENDS = ("until tomorrow noon", "since tonight")


@pytest.mark.slow
@pytest.mark.parametrize("when", ENDS)
def test_a_campaign_that_cannot_wait_a_night_goes_before_a_drain_that_takes_all_moves(
    cluster: Cluster, when: str
) -> None:
    cluster.night(loads(0))
    world, site = cluster.world, SITES[59]
    world.store.order_node(NodeOrder("n1", "draining", cluster.now))
    world = cluster.world = limited(world, 3)
    now = cluster.now + DAY
    wanted = next(node for node in ("n2", "n3", "n4") if node not in cluster.nodes_of(site))
    late = (
        Pin(site, (wanted,), since=now - timedelta(hours=1))
        if when == ENDS[1]
        else Pin(site, (wanted,))
    )
    ends = dataclasses.replace(late, until=now + timedelta(hours=10)) if when == ENDS[0] else late
    world.store.put_pin(dataclasses.replace(ends, campaign="sale"))
    done = cluster.night(loads(0))
    assert len({move.site for move in done.moves}) == 3
    assert cluster.nodes_of(site) == {wanted}


@pytest.mark.slow
def test_a_wish_that_waits_for_a_drain_is_named_with_the_reason_wherever_the_plan_is_told(
    cluster: Cluster,
) -> None:
    cluster.night(loads(0))
    site = SITES[59]
    cluster.world.store.order_node(NodeOrder("n1", "draining", cluster.now))
    world = cluster.world = limited(cluster.world, 3)
    wanted = next(node for node in ("n2", "n3", "n4") if node not in cluster.nodes_of(site))
    world.store.put_pin(Pin(site, (wanted,), reason="launch"))
    done = cluster.night(loads(0))
    put_off = next(move for move in done.put_off if move.site == site)
    limit = "put off to a later night: safety.max_moved_sites is 3"
    assert put_off.reason == f"pinned to {wanted}; {limit}"
    here = next(iter(cluster.nodes_of(site)))
    told = f"{here} -> {wanted}, later: pinned to {wanted}; {limit}"
    assert told in explain_site.explain_site(world, site).reasons
    mail = mail_of_the_night.night_bulletin("test", done, "", 0, "", "")
    assert mail is not None
    assert f"{site}  {here} -> {wanted}  pinned to {wanted}; {limit}" in mail.text
    output = core_to_output_models.plan_output(done)
    assert put_off.reason in {move.reason for move in output.put_off}
    shown = io.StringIO()
    results_in_terminal.plan(Console(file=shown, width=200), output)
    assert f"pinned to {wanted}; {limit}" in shown.getvalue()
    data = ReportData("test", cluster.now, 0.05, output, (), None, {})
    assert all(
        f"pinned to {wanted}; {limit}" in FORMATS[form](data) for form in ("json", "md", "html")
    )


def test_what_is_asked_later_moves_nothing_that_flex_cannot_move(cluster: Cluster) -> None:
    """As what would be where its node fails, and what comes of draining it."""
    world, stuck = cluster.world, SITES[0]
    assert isinstance(world.publisher, MemoryPublisher)
    world.publisher.edit(ZONE, f"{stuck}.", "A", 60, ["192.0.2.1"])
    cluster.learn(loads(0))
    route_and_publish_plan.carry_out(world, nightly.propose(world).plan)
    assert cluster.nodes_of(stuck) == {"n1"}
    others = cluster.on("n1") - 1
    node = next(one for one in world.nodes if one.name == "n1")
    fails = previewing.preview_failure(world, node).items
    assert len(fails) == others
    assert stuck not in {move.site for move in fails}
    world.store.order_node(NodeOrder("n1", "draining", cluster.now))
    turn = effect_of_draining.effect(world, "n1").turn
    assert turn
    assert turn.now + turn.later == others


def limited(world: World, most: int) -> World:
    safety = world.settings.safety.model_copy(update={"max_moved_sites": most})
    return dataclasses.replace(world, settings=world.settings.model_copy(update={"safety": safety}))


@pytest.mark.slow
def test_what_left_a_drained_node_rests_until_the_node_is_back(cluster: Cluster) -> None:
    cluster.night(loads(0))
    order = NodeOrder("n4", "draining", cluster.now, cluster.now + DAY, "new disks")
    cluster.world.store.order_node(order)
    gone = cluster.night(loads(0))
    assert set(resting(cluster)) == {move.site for move in gone.moves if move.source == "n4"}
    cluster.world.store.order_node(dataclasses.replace(order, state="active", deadline=None))
    assert resting(cluster) == {}
    cluster.night(loads(0))
    assert cluster.on("n4") > 0


@pytest.mark.slow
def test_the_plan_of_an_adoption_says_what_it_buys_which_rules_it_breaks_and_how_to_apply_it(
    cluster: Cluster,
) -> None:
    world = adopting(cluster)
    made = nightly.propose(world).plan
    assert len(made.breaches) > 1
    forecasts = tuple(
        Forecast(policy, 1.0, (NodeForecast("n1", 1000, misses, 10, 10),))
        for policy, misses in (("before", 230), ("after", 54))
    )
    output = core_to_output_models.plan_output(dataclasses.replace(made, forecasts=forecasts))
    shown = io.StringIO()
    results_in_terminal.plan(Console(file=shown, width=1000), output)
    does = "60 sites would be adopted and give up 180 replicas that they do not need"
    assert f"{does}, predicted misses 23 % to 5.4 %; worst node" in shown.getvalue()
    over = [line for line in shown.getvalue().splitlines() if "over limits" in line]
    command = f"flex apply {made.id} " + " ".join(
        f"--force {breach.rule}" for breach in made.breaches
    )
    assert len(over) == 1
    assert all(f"{breach.rule} is" in over[0] for breach in made.breaches)
    assert over[0].endswith(f"(past them: {command})")
    assert [
        line.split("  ")[0]
        for line in shown.getvalue().splitlines()
        if "one node is enough" in line
    ] == [f"60 sites, such as {SITES[0]}"]
    with pytest.raises(Held):
        plan_orders_by_hand.apply(
            world, made.id, force=[breach.rule for breach in made.breaches[1:]]
        )
    plan_orders_by_hand.apply(world, made.id, force=[breach.rule for breach in made.breaches])


def adopting(cluster: Cluster) -> World:
    """Every site is on all nodes, as round robin has it."""
    world = cluster.world
    dns = world.settings.dns.model_copy(update={"adopt": True})
    cluster.world = dataclasses.replace(
        world, settings=world.settings.model_copy(update={"dns": dns})
    )
    target = cluster.world.publisher
    assert isinstance(target, MemoryPublisher)
    for site in SITES:
        target.edit(ZONE, f"{site}.", "A", 300, EVERYWHERE)
    cluster.learn(EVEN)
    return cluster.world


def test_without_a_node_sites_stay_there_that_are_not_ours_to_move(cluster: Cluster) -> None:
    target = cluster.world.publisher
    assert isinstance(target, MemoryPublisher)
    target.edit(ZONE, f"{SITES[0]}.", "A", 300, ["192.0.2.1"])
    cluster.learn(EVEN)
    made = nightly.propose(cluster.world).plan
    plan_orders_by_hand.apply(cluster.world, made.id)
    leaving = {site for site in SITES if cluster.nodes_of(site) == {"n1"}}
    assert SITES[0] in leaving
    found = what_if_frontier_compare.suppose_node_lost(cluster.world, "n1")
    assert {move.site for move in found.moves if move.source == "n1"} == {*leaving - {SITES[0]}}


def test_whoever_asks_what_is_not_ours_to_move_counts_where_the_plan_had_it(
    cluster: Cluster,
) -> None:
    """One site leads to a stranger, another one to a node."""
    world, target = cluster.world, cluster.world.publisher
    assert isinstance(target, MemoryPublisher)
    target.edit(ZONE, f"{SITES[0]}.", "A", 300, ["203.0.113.9"])
    target.edit(ZONE, f"{SITES[1]}.", "A", 300, ["192.0.2.1"])
    cluster.learn(EVEN)
    made = plan_orders_by_hand.apply(world, nightly.propose(world).plan.id)
    worst = made.after.worst
    assert what_if_frontier_compare.frontier_of(world).in_force_worst_ratio == worst
    told = explain_site.explain_site(world, SITES[1]).reasons
    assert told[-1] == "stays on n1: FLEX cannot move it"
    wished = previewing.compare_with_pin(world, Pin(SITES[2], ("n1",)))
    assert wished.without.before == made.after
    (first,) = (node for node in world.nodes if node.name == "n1")
    failed = previewing.preview_failure(world, first)
    assert failed.worst_ratio_without == worst
    assert SITES[1] not in {move.site for move in failed.items}
