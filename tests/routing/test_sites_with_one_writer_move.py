"""A plan moves sites with one writer one by one: held, copied for the last time, checked, led on.
What fails stays, and what is led on is never led back: real servers, followers and HAProxies.

Folders stand for the nodes' disks; who answers a request writes there.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from flex.errors import Held, Unreachable, Unverified
from flex.frame_schemas import SPREADS
from flex.model.drains_and_freezes import NodeOrder
from flex.model.period import Period
from flex.model.plan import Plan
from flex.model.site_moves import PRINTED, SiteMove
from flex.model.wish import Pin
from flex.planning import carry_out_plan
from flex.planning.movement_rules import REST
from flex.routing import haproxy, host_to_node_maps
from flex.routing.haproxy_program import HaproxyProgram
from flex_api.facts import sites_of_failed_moves
from flex_api.night import (
    failover,
    go_on_with_moves,
    haproxy_pools_and_files,
    hold_at_doors,
    narrow_plan,
    nightly,
    one_writer_moves,
    plan_of_movable_sites,
    recovery,
    route_and_publish_plan,
    store_order_for_doors,
)
from flex_api.night.hold_at_doors import SitesHeld
from flex_api.wiring import World
from tests.api.nights import profiles
from tests.migrated import new_database
from tests.routing.conftest import Members
from tests.routing.following import end, until
from tests.routing.test_hold_and_switch import Moving
from tests.routing.test_one_writer import is_asked_to_come_again

pytestmark = pytest.mark.real

SHOP, FORUM, BLOG = "shop.example", "forum.example", "blog.example"
PLAIN = "plain.example"
STATEFUL = (SHOP, FORUM, BLOG)
HOME = dict.fromkeys((*STATEFUL, PLAIN), "n0")

# Stands for rsync: what was there before is gone afterwards.
COPY = """#!/bin/sh
set -e
disks=$1 stage=$2 site=$3 from=$4 to=$5
echo "$stage $site $from $to" >> "$disks/log"
mkdir -p "$disks/$to"
cp "$disks/$from/$site" "$disks/$to/$site"
if [ -e "$disks/trouble-$stage-$site" ]; then
    echo "no room" >&2
    exit "$(cat "$disks/trouble-$stage-$site")"
fi
# A pipe that somebody reads when it is time to go on.
if [ -p "$disks/wait-$stage-$site" ]; then echo x > "$disks/wait-$stage-$site"; fi
"""


@dataclass(eq=False)
class Cluster(Moving):
    """Every site but PLAIN has one writer, and content that has to go with it."""

    @property
    def disks(self) -> Path:
        return self.folder / "disks"

    def write_settings(self, node: str) -> None:
        super(Moving, self).write_settings(node)
        file = self.folder / node / "flex.toml"
        more = f'hold_time = "{self.hold_time}"\n' + "".join(
            f'[[routing.site]]\nname = "{site}"\nstateful = true\n' for site in STATEFUL
        )
        hooks = "".join(
            f'[[move.hook]]\nstage = "{stage}"\nretries = 0\n'
            f'command = ["{self.disks}/copy", "{self.disks}", "{stage}", "{{site}}", '
            '"{from}", "{to}"]\n'
            f'undo = ["rm", "-f", "{self.disks}/{{to}}/{{site}}"]\n'
            for stage in ("copy", "final copy")
        )
        file.write_text(file.read_text() + more + hooks)

    def fill(self) -> None:
        (self.disks / "n0").mkdir(parents=True)
        copy = self.disks / "copy"
        copy.write_text(COPY)
        copy.chmod(0o755)
        for site in HOME:
            (self.disks / "n0" / site).write_text("")

    def pin(self, world: World, *sites: str, node: str = "n1") -> None:
        period = Period.days_before(world.clock(), 1)
        world.store.put_profiles(period, profiles(dict.fromkeys(HOME, 1.0)), SPREADS.empty())
        for site in HOME:
            wanted = node if site in sites else HOME[site]
            world.store.put_pin(Pin(site, nodes=(wanted,), author="ann"))

    def plan(self, world: World, *sites: str) -> Plan:
        """One that moves these sites to n1, with what they need."""
        self.pin(world, *sites)
        made = nightly.propose(world).plan
        assert {(one.site, one.target) for one in made.moves} == {(site, "n1") for site in sites}
        return self.brought(world, made)

    def brought(self, world: World, made: Plan) -> Plan:
        return plan_of_movable_sites.bring_and_narrow(world, made)

    def owners(self) -> dict[str, str]:
        """Who answers, whichever door is asked."""
        found = {}
        for site in HOME:
            (found[site],) = {self.answers(node, site) for node in self.nodes}
        return found

    def in_force(self, world: World) -> dict[str, str]:
        _, partition = world.store.placement()
        return dict(zip(partition["site"], partition["node"], strict=True))

    def agrees(self, world: World) -> dict[str, str]:
        """Doors and the partition in force say the same, and nothing is half done."""
        order = world.store.door_order()
        assert order
        self.until_all_go_by(order.number)
        assert world.store.plans(state="applying") == ()
        assert (order.held, order.waiting) == (frozenset(), frozenset())
        owners = self.owners()
        assert self.in_force(world) == owners
        return owners

    def trouble(self, stage: str, site: str, code: int = 1) -> None:
        (self.disks / f"trouble-{stage}-{site}").write_text(f"{code}")

    def write(self, site: str, text: str) -> None:
        """What a visitor wrote, at the node that answers."""
        node = self.answers("n1", site)
        with (self.disks / node / site).open("a") as file:
            file.write(text)

    def written(self, node: str, site: str) -> str:
        return (self.disks / node / site).read_text()

    def stages(self, world: World, site: str) -> list[tuple[str, str]]:
        [move] = world.store.site_moves(site=site)
        return [(run.stage, run.state) for run in world.store.stage_runs([move.id])]

    def said_of(self, node: str, *sites: str) -> dict[str, str]:
        """What the maps say that this node's HAProxy goes by."""
        maps = {
            name: host_to_node_maps.read((self.here(node) / name).read_text())
            for name in (host_to_node_maps.OWNERS, host_to_node_maps.MOVED)
        }
        both = maps[host_to_node_maps.OWNERS] | maps[host_to_node_maps.MOVED]
        return {site: both[site] for site in sites}

    def held(self, world: World) -> frozenset[str]:
        order = world.store.door_order()
        return order.held if order else frozenset()

    def move_of(self, world: World, site: str) -> SiteMove:
        [move] = world.store.site_moves(site=site)
        return move


@pytest.fixture
def cluster(found: HaproxyProgram, members: Members, tmp_path: Path) -> Iterator[Cluster]:
    with ExitStack() as stack:
        url = new_database(tmp_path / "flex.db")
        made = Cluster(tmp_path, found, members, stack, url)
        made.fill()
        made.begin(HOME)
        made.until_all_go_by(1)
        made.until_all_say(1)
        yield made


def moved(*sites: str) -> dict[str, str]:
    return HOME | dict.fromkeys(sites, "n1")


def wait_less(world: World, seconds: float) -> None:
    """Have requests, and checks of name servers and doors, wait for so long at most."""
    time, settings = timedelta(seconds=seconds), world.settings
    less = {
        "routing": settings.routing.model_copy(update={"hold_time": time}),
        "dns": settings.dns.model_copy(update={"settle": time}),
    }
    object.__setattr__(world, "settings", settings.model_copy(update=less))


@pytest.mark.slow
def test_what_was_written_after_the_first_copy_goes_along_and_nobody_answers_meanwhile(
    cluster: Cluster,
) -> None:
    world = cluster.world()
    wanted = cluster.plan(world, SHOP, PLAIN)
    cluster.write(SHOP, "order 1")
    assert cluster.written("n1", SHOP) == ""
    pipe = cluster.disks / f"wait-final copy-{SHOP}"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as threads:
        done = threads.submit(lambda: route_and_publish_plan.carry_out(cluster.world(), wanted))
        # It is being copied for the last time.
        visitor = None
        with pipe.open() as said:
            visitor = cluster.send("n0", SHOP)
            cluster.until_waits(visitor, "n0")
            # The other site is led on only once this one is.
            assert cluster.answers("n0", PLAIN) == "n0"
            assert said.read(1) == "x"
        held = cluster.members.asked.get(timeout=60)
        assert held.node == "n1"
        held.answer()
        assert visitor.hears().endswith(b"ok")
        ended = done.result(60)
    go_on_with_moves.mark_moves_made(world, ended)
    assert cluster.written("n1", SHOP) == "order 1"
    assert cluster.agrees(world) == moved(SHOP, PLAIN)
    assert cluster.stages(world, SHOP) == [
        ("copy", "done"),
        ("hold", "done"),
        ("final copy", "done"),
        ("switch", "done"),
    ]
    # Nobody waited for this one, so all of it was brought before.
    assert cluster.stages(world, PLAIN) == [("copy", "done"), ("final copy", "done")]
    assert cluster.move_of(world, SHOP).state == "moved"


@pytest.mark.slow
def test_haproxies_reload_only_once_the_sites_with_one_writer_have_moved(cluster: Cluster) -> None:
    """While a process of before a reload is there, its node is never quiet."""
    world = cluster.world()

    def configured(node: str) -> str:
        settings = cluster.settings_of(node)
        made = haproxy_pools_and_files.files(settings, world.store, node)
        return made[haproxy.CONFIGURATION]

    before = {node: configured(node) for node in cluster.nodes}
    cluster.pin(world, SHOP)
    world.store.put_pin(Pin(PLAIN, nodes=("n0", "n1"), author="ann"))
    wanted = cluster.brought(world, nightly.propose(world).plan)
    pipe = cluster.disks / f"wait-final copy-{SHOP}"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as threads:
        done = threads.submit(lambda: route_and_publish_plan.carry_out(cluster.world(), wanted))
        # It is being copied for the last time until somebody reads the pipe.
        until("it is held", lambda: cluster.held(world) == {SHOP}, cluster.describe_doors)
        now = {node: configured(node) for node in cluster.nodes}
        assert pipe.read_text() == "x\n"
        ended = done.result(60)
    assert now == before
    go_on_with_moves.mark_moves_made(world, ended)
    assert all("backend site_" in configured(node) for node in cluster.nodes)


@pytest.mark.slow
def test_a_site_whose_last_copy_fails_goes_on_where_it_was_and_the_others_move(
    cluster: Cluster,
) -> None:
    world = cluster.world()
    wanted = cluster.plan(world, SHOP, FORUM, PLAIN)
    cluster.trouble("final copy", SHOP)
    ended = route_and_publish_plan.carry_out(world, wanted)
    go_on_with_moves.mark_moves_made(world, ended)
    assert cluster.agrees(world) == moved(FORUM, PLAIN)
    assert world.store.plan(wanted.id).state == "discarded"
    assert f"without {SHOP}" in world.store.plan(wanted.id).message
    stayed = cluster.move_of(world, SHOP)
    assert (stayed.state, stayed.reason) == (
        "stayed",
        f"final copy (final copy): it ended with 1; {PRINTED}",
    )
    assert stayed.rests_until
    assert not (cluster.disks / "n1" / SHOP).exists()


@pytest.mark.slow
def test_where_nothing_of_the_plan_is_left_all_is_as_before(cluster: Cluster) -> None:
    world = cluster.world()
    wanted = cluster.plan(world, SHOP)
    cluster.trouble("final copy", SHOP, 75)
    with pytest.raises(Held, match="nothing of it is left"):
        route_and_publish_plan.carry_out(world, wanted)
    assert cluster.agrees(world) == HOME
    assert cluster.move_of(world, SHOP).state == "stayed"
    # It rests until the next night. Who does not want to wait goes past that, and it moves.
    assert not nightly.propose(world).plan.moves
    (cluster.disks / f"trouble-final copy-{SHOP}").unlink()
    # Plans of one second and one content have one id.
    later = world.clock() + timedelta(seconds=1)
    object.__setattr__(world, "clock", lambda: later)
    again = cluster.brought(world, nightly.propose(world, (REST,)).plan)
    route_and_publish_plan.carry_out(world, again)
    assert cluster.agrees(world) == moved(SHOP)


@pytest.mark.slow
def test_a_site_that_is_not_quiet_in_time_stays_and_nobody_gets_an_error(cluster: Cluster) -> None:
    world = cluster.world()
    wanted = cluster.plan(world, SHOP, FORUM)
    slow = cluster.send("n1", SHOP)
    under_way = cluster.members.asked.get(timeout=60)
    at_once = world.settings.routing.model_copy(update={"hold_time": timedelta(seconds=5)})
    settings = world.settings.model_copy(update={"routing": at_once})
    object.__setattr__(world, "settings", settings)
    ended = route_and_publish_plan.carry_out(world, wanted)
    under_way.answer()
    assert slow.hears().endswith(b"ok")
    go_on_with_moves.mark_moves_made(world, ended)
    assert cluster.agrees(world) == moved(FORUM)
    assert "was not quiet within" in cluster.move_of(world, SHOP).reason


def test_a_site_whose_new_node_hears_no_orders_stays_and_is_answered_all_the_time(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No request waits for a node that does not hear.
    monkeypatch.setattr(hold_at_doors, "hold", lambda *_: pytest.fail("it was held"))
    world = cluster.world()
    wanted = cluster.plan(world, SHOP, PLAIN)
    wait_less(world, 1)
    end(cluster.followers["n1"], signal.SIGKILL)
    with pytest.raises(Unverified, match="n1: it goes by order 1 since"):
        route_and_publish_plan.carry_out(world, wanted)
    stayed = cluster.move_of(world, SHOP)
    assert stayed.state == "taking back"
    assert stayed.reason.startswith("its new node n1 has not heard: it goes by order 1")
    # The next plan goes around it, also where a move takes no command.
    bare = world.settings.move.model_copy(update={"hook": ()})
    settings = world.settings.model_copy(update={"move": bare})
    assert SHOP in sites_of_failed_moves.resting_sites(replace(world, settings=settings))
    assert cluster.in_force(world) == moved(PLAIN)
    assert {cluster.answers(node, SHOP) for node in cluster.nodes} == {"n0"}
    cluster.start_follower("n1")
    go_on_with_moves.go_on(world)
    assert cluster.agrees(world) == moved(PLAIN)


def test_a_site_whose_new_node_ends_before_it_hears_of_the_hold_goes_on_where_it_was(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold = hold_at_doors.hold

    def end_and_hold(*given: Any) -> SitesHeld:
        end(cluster.followers["n1"], signal.SIGKILL)
        return hold(*given)

    monkeypatch.setattr(hold_at_doors, "hold", end_and_hold)
    world = cluster.world()
    wanted = cluster.plan(world, SHOP, PLAIN)
    wait_less(world, 5)
    with pytest.raises(Unverified):
        route_and_publish_plan.carry_out(world, wanted)
    reason = cluster.move_of(world, SHOP).reason
    assert reason.startswith("its new node n1 has not heard: it goes by order 2")
    assert ("hold", "undone") in cluster.stages(world, SHOP)
    assert cluster.in_force(world) == moved(PLAIN)
    assert {cluster.answers(node, SHOP) for node in cluster.nodes} == {"n0"}


@pytest.mark.slow
def test_where_dns_cannot_follow_it_is_said_where_doors_lead_by_now(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise Unreachable("the update", "no answer", kept="nothing", advice="look")

    world = cluster.world()
    wanted = cluster.plan(world, SHOP, PLAIN)
    with monkeypatch.context() as patch:
        patch.setattr(carry_out_plan, "carry_out", refuse)
        with pytest.raises(Unreachable) as caught:
            route_and_publish_plan.carry_out(world, wanted)
    assert f"doors lead {SHOP} to" in caught.value.kept
    assert "--resume" in caught.value.advice
    assert {cluster.answers(node, SHOP) for node in cluster.nodes} == {"n1"}
    recovery.end(world, "resume")
    assert cluster.agrees(world) == moved(SHOP, PLAIN)


class Killed(BaseException):
    """Stands for a run that is killed: nothing after it is done."""


WAYS = ["resume", "undo", "abandon"]


@pytest.mark.torture("0-resume", "1-undo", "2-abandon", "4-undo")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "way"),
    [
        pytest.param(step, way, marks=[] if way == WAYS[step % 3] else pytest.mark.torture)
        for step, way in product(range(8), WAYS)
    ],
)
def test_a_run_that_was_killed_at_any_stage_is_ended_with_one_writer_for_each_site(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, step: int, way: str
) -> None:
    world = cluster.world()
    wanted = cluster.plan(world, SHOP, FORUM)
    put, count = world.store.put_stage_run, iter(range(100))

    def put_or_die(run: object) -> None:
        if next(count) == step:
            raise Killed
        put(run)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(world.store, "put_stage_run", put_or_die)
        # A killed run lets nothing go.
        patch.setattr(hold_at_doors, "release", lambda *_: None)
        with pytest.raises(Killed):
            route_and_publish_plan.carry_out(world, wanted)
    led = {
        site
        for site in (SHOP, FORUM)
        for run in [dict(cluster.stages(world, site))]
        if run.get("switch") == "done"
    }
    before = {site: cluster.written("n1", site) for site in led}
    for site in led:
        cluster.write(site, "kept")
    again = cluster.world()
    recovery.end(again, way)  # type: ignore[arg-type]
    go_on_with_moves.go_on(again)
    owners = cluster.agrees(again)
    if way == "resume":
        assert owners == moved(SHOP, FORUM)
    else:
        assert {site for site, node in owners.items() if node == "n1"} >= led
        assert owners[PLAIN] == owners[BLOG] == "n0"
    for site in led:
        assert cluster.written("n1", site) == before[site] + "kept"
    # Of a plan that was taken back the next one takes what was brought.
    ends = {"moved", "stayed"} | ({"ready"} if way == "undo" else set())
    assert {move.state for move in again.store.site_moves()} <= ends


@pytest.mark.slow
def test_no_order_leads_a_stateful_site_on_without_a_hold(cluster: Cluster) -> None:
    world = cluster.world()
    coming = cluster.come(moved(SHOP, PLAIN))
    for is_settled in (False, True):
        if is_settled:
            partition = world.store.placement_of(coming.id)
            world.store.settle(replace(coming, state="applied"), partition)
        order = store_order_for_doors.order(world.settings, world.store, coming.id)
        assert order
        cluster.until_all_go_by(order.number)
        assert cluster.owners() == moved(PLAIN)


@pytest.mark.slow
def test_a_site_whose_writer_is_taken_for_dead_is_led_to_nobody_else(cluster: Cluster) -> None:
    """Also where a plan on its way has it elsewhere: what was written since is not there."""
    world = cluster.world()
    coming = cluster.come(moved(SHOP, PLAIN))
    world.store.order_node(NodeOrder("n0", "down", world.clock()))
    order = store_order_for_doors.order(world.settings, world.store, coming.id)
    assert order
    cluster.until_all_go_by(order.number, "n1")
    assert cluster.answers("n1", PLAIN) == "n1"
    assert cluster.said_of("n1", *STATEFUL) == dict.fromkeys(STATEFUL, "st_n0")


@pytest.mark.slow
def test_a_site_on_several_nodes_stays_with_its_dead_writer_and_no_plan_waits_for_that(
    cluster: Cluster,
) -> None:
    """Nobody can hold it there, and the others have not what it wrote."""
    world = cluster.world()
    cluster.pin(world)
    world.store.put_pin(Pin(SHOP, nodes=("n0", "n1"), author="ann"))
    wanted = cluster.brought(world, nightly.propose(world).plan)
    go_on_with_moves.mark_moves_made(world, route_and_publish_plan.carry_out(world, wanted))
    _, partition = world.store.placement()
    assert set(partition[partition["site"] == SHOP]["node"]) == {"n0", "n1"}
    assert cluster.said_of("n0", SHOP) == {SHOP: "st_n1"}
    world.store.order_node(NodeOrder("n1", "down", world.clock()))
    in_force = world.store.plan(world.store.in_force())
    assert one_writer_moves.to_be_led_on(world, in_force) == {}
    assert narrow_plan.led_on_already(world, in_force) == frozenset()
    order = store_order_for_doors.order(world.settings, world.store, in_force.id)
    if order:
        cluster.until_all_go_by(order.number, "n0")
    assert cluster.said_of("n0", SHOP) == {SHOP: "st_n1"}


@pytest.mark.slow
def test_who_gives_up_what_a_dead_writer_wrote_has_its_sites_led_to_their_heirs_at_once(
    cluster: Cluster,
) -> None:
    world = cluster.world()
    coming = cluster.come(moved(SHOP))
    given_up = NodeOrder("n0", "down", world.clock(), without_content=True)
    world.store.order_node(given_up)
    order = store_order_for_doors.order(world.settings, world.store, coming.id)
    assert order
    cluster.until_all_go_by(order.number, "n1")
    assert cluster.answers("n1", SHOP) == "n1"


def test_nobody_answers_for_a_stateful_site_whose_node_is_dead_and_dns_stays(
    cluster: Cluster,
) -> None:
    """Real HAProxies, told by `flex nodes down` and nothing else."""
    world = cluster.world()
    cluster.pin(world)
    cluster.haproxies["n0"].close()
    taken = failover.take_down(world, NodeOrder("n0", "down", world.time_of_day()))
    assert set(taken.staying) == set(HOME)
    order = world.store.door_order()
    assert order
    cluster.until_all_go_by(order.number, "n1")
    for site in STATEFUL:
        assert is_asked_to_come_again(cluster.send("n1", site).connection)
    assert cluster.in_force(world) == HOME
    # Somebody who has a backup gives up what the node had.
    given_up = NodeOrder("n0", "down", world.time_of_day(), without_content=True)
    taken = failover.take_down(world, given_up)
    assert taken.staying == {}
    assert taken.plan
    order = world.store.door_order()
    assert order
    cluster.until_all_go_by(order.number, "n1")
    assert {cluster.answers("n1", site) for site in HOME} == {"n1"}
    assert set(cluster.in_force(world).values()) == {"n1"}
