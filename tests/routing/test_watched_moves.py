"""A site that is worse off on its new node goes back by itself: real servers, followers, HAProxies,
and web servers that fail.
"""

from __future__ import annotations

import queue
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest

from flex.model.site_moves import SiteMove, StageRun
from flex.routing.haproxy_program import HaproxyProgram
from flex_api.night import go_on_with_moves, route_and_publish_plan, watch_moved_sites
from flex_api.night.move_watch_round import WatchOfMoves
from flex_api.wiring import World
from tests.migrated import new_database
from tests.routing.conftest import Held, Members
from tests.routing.following import end, until
from tests.routing.test_sites_with_one_writer_move import (
    HOME,
    PLAIN,
    SHOP,
    STATEFUL,
    Cluster,
    moved,
)

pytestmark = pytest.mark.real

# More than the watch lasts.
DAY = timedelta(days=1)
# Requests that say enough on one node.
MANY = 60


@dataclass(eq=False)
class WatchedCluster(Cluster):
    """Its web servers answer by themselves: 500 where a node fails for a site, else 200."""

    failing: set[tuple[str, str]] = field(default_factory=set)
    over: threading.Event = field(default_factory=threading.Event)
    mode: str = "auto"
    interval: str = "1d"

    def write_settings(self, node: str) -> None:
        super().write_settings(node)
        file = self.folder / node / "flex.toml"
        text = file.read_text()
        file.write_text(
            text.replace('name = "doors"\n', f'name = "doors"\nmode = "{self.mode}"\n')
            + '[move]\nwatch = "1h"\n'
            + f'[watch]\ninterval = "{self.interval}"\n'
        )

    def answer_all(self) -> None:
        while not self.over.is_set():
            try:
                held = self.members.asked.get(timeout=0.05)
            except queue.Empty:
                continue
            self._answer(held)

    def _answer(self, held: Held) -> None:
        host = next(
            line.partition(b":")[2].strip().decode()
            for line in held.head.split(b"\r\n")
            if line.lower().startswith(b"host:")
        )
        code = 500 if (held.node, host) in self.failing else 200
        text = f"{held.node} {host}"
        head = f"HTTP/1.1 {code} X\r\nContent-Length: {len(text)}\r\nConnection: close"
        with held.connection:
            held.connection.sendall(f"{head}\r\n\r\n{text}".encode())

    def ask(self, site: str, times: int = MANY) -> str:
        """Visitors at the first node's door; who answered the last of them."""
        said = b""
        for _ in range(times):
            said = self.send("n0", site).hears()
        return said.rpartition(b"\r\n\r\n")[2].partition(b" ")[0].decode()

    def move(self, world: World, *sites: str) -> None:
        """The plan is carried out, after an hour in which the sites were well."""
        for site in sites:
            self.ask(site)
        made = self.plan(world, *sites)
        done = route_and_publish_plan.carry_out(world, made)
        go_on_with_moves.mark_moves_made(world, done)
        self.pin(world)
        for site in HOME:
            world.store.drop_pin(site)

    def watch(self, world: World, site: str) -> tuple[SiteMove, StageRun]:
        """The first move of the site, and its watch."""
        move = world.store.site_moves(site=site)[-1]
        runs = world.store.stage_runs([move.id])
        return move, next(run for run in runs if run.stage == "watch")

    def state(self, world: World, site: str) -> str:
        return self.watch(world, site)[1].state


Make = Callable[..., WatchedCluster]


@pytest.fixture
def make(found: HaproxyProgram, members: Members, tmp_path: Path) -> Iterator[Make]:
    with ExitStack() as stack:

        def made(**how: object) -> WatchedCluster:
            url = new_database(tmp_path / "flex.db")
            cluster = WatchedCluster(tmp_path, found, members, stack, url, **how)  # type: ignore[arg-type]
            cluster.fill()
            cluster.begin(HOME)
            answering = threading.Thread(target=cluster.answer_all, daemon=True)
            answering.start()
            stack.callback(answering.join)
            stack.callback(cluster.over.set)
            cluster.until_all_go_by(1)
            cluster.until_all_say(1)
            return cluster

        yield made


@pytest.fixture
def cluster(make: Make) -> WatchedCluster:
    return make()


def agrees(cluster: WatchedCluster, world: World, wanted: dict[str, str]) -> None:
    """Doors and the partition in force say the same."""
    order = world.store.door_order()
    assert order
    cluster.until_all_go_by(order.number)
    assert cluster.in_force(world) == wanted
    assert {site: cluster.ask(site, 1) for site in HOME} == wanted


def look_until(world: World, cluster: WatchedCluster, site: str, state: str) -> None:
    """A request counts as over a moment after its visitor has the answer."""
    watch = WatchOfMoves(world)

    def is_so() -> bool:
        watch.round()
        return cluster.state(world, site) == state

    until(f"the watch of {site} is {state}", is_so, cluster.log)


@pytest.mark.torture("plain.example")
@pytest.mark.slow
@pytest.mark.parametrize("site", [SHOP, PLAIN])
def test_a_site_that_fails_on_its_new_node_goes_back_by_the_same_way_and_rests(
    cluster: WatchedCluster, site: str
) -> None:
    world = cluster.world()
    cluster.failing.add(("n1", site))
    cluster.move(world, site)
    assert cluster.ask(site) == "n1"
    look_until(world, cluster, site, "undone")
    agrees(cluster, world, HOME)
    move, run = cluster.watch(world, site)
    assert (move.state, move.source, move.target) == ("went back", "n0", "n1")
    assert "100% of 60 requests failed, and 0% of 6" in move.reason
    assert move.rests_until
    assert move.rests_until > world.time_of_day() + DAY
    back = world.store.site_moves(site=site)[0]
    assert (back.source, back.target, back.state) == ("n1", "n0", "moved")
    stages = [(run.stage, run.state) for run in world.store.stage_runs([back.id])]
    assert stages[0] == ("copy", "done")
    held = [("hold", "done"), ("switch", "done")]
    assert [stage for stage in stages if stage in held] == (held if site in STATEFUL else [])
    # What goes back is not watched, and its way back is told.
    assert world.store.watched_moves() == ()
    actions = [entry.action for entry in world.store.entries(limit=10_000)]
    assert actions.count("move.worse") == 1
    plan = world.store.plan(world.store.in_force())
    assert [(one.site, one.source, one.target) for one in plan.moves] == [(site, "n1", "n0")]
    assert plan.moves[0].reason == f"goes back: {run.said}"


@pytest.mark.slow
def test_sites_that_are_well_stay_and_are_watched_until_the_time_is_over(
    cluster: WatchedCluster,
) -> None:
    world = cluster.world()
    cluster.failing.add(("n1", SHOP))
    cluster.move(world, SHOP, PLAIN)
    assert cluster.ask(PLAIN) == "n1"
    cluster.ask(SHOP)
    look_until(world, cluster, SHOP, "undone")
    agrees(cluster, world, moved(PLAIN))
    _, run = cluster.watch(world, PLAIN)
    assert run.state == "begun"
    # Counted in quarters of an hour: a second later the first of them may count no more.
    over = run.begun + timedelta(hours=1)
    watch_moved_sites.look(replace(world, time_of_day=lambda: over))
    _, run = cluster.watch(world, PLAIN)
    assert run.state == "done"
    # The last request may not be reported yet.
    assert run.said in [f"{n} requests; 60 requests before" for n in (60, 61)]


@pytest.mark.slow
def test_flex_serve_leads_a_site_back_by_itself(make: Make) -> None:
    cluster = make(interval="1s")
    world = cluster.world()
    cluster.failing.add(("n1", SHOP))
    cluster.move(world, SHOP)
    cluster.ask(SHOP)
    until("it is back", lambda: cluster.state(world, SHOP) == "undone", cluster.log)
    agrees(cluster, world, HOME)


@pytest.mark.torture("True")
@pytest.mark.slow
@pytest.mark.parametrize("failed_before", [True, False])
def test_where_flex_serve_is_killed_meanwhile_the_next_one_leads_the_site_back(
    make: Make, failed_before: bool
) -> None:
    """As it is set at first: a round every ten seconds. `until` waits no longer than a minute."""
    cluster = make(interval="10s")
    world = cluster.world()
    cluster.failing.add(("n1", SHOP))
    cluster.move(world, SHOP)
    if failed_before:
        cluster.ask(SHOP)
    for node in cluster.nodes:
        end(cluster.servers[node], signal.SIGKILL)
    assert cluster.state(world, SHOP) == "begun"
    for node in cluster.nodes:
        cluster.start_server(node)
    if not failed_before:
        cluster.ask(SHOP)
    until("it is back", lambda: cluster.state(world, SHOP) == "undone", cluster.log)
    agrees(cluster, world, HOME)
