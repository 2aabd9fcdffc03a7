"""Plans of a cluster whose nodes are asked whether they are ready: what is not ready stays, and the
plan is made without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from flex.model.drains_and_freezes import NodeOrder
from flex.model.plan import Move, Plan
from flex.model.wish import Pin
from flex_api.moving.check_sites_on_new_nodes import not_ready
from flex_api.night import nightly, route_and_publish_plan
from flex_api.settings import file as config
from flex_api.wishes import explain_site
from tests.api import nights
from tests.api.nights import DAY, NODES, SITES, Cluster, loads
from tests.api.ready_servers import Respond, WebServer, listening, page

GOOD, GONE = page("a page of the site " * 9), page("no such site", 404)


class Asked(Cluster):
    """Four nodes on loopback; each knows every site until a test takes it away."""

    servers: dict[str, WebServer]

    def answers(self, node: str, sites: Sequence[str], with_: Respond) -> None:
        self.servers[node].hosts.update(dict.fromkeys(sites, with_))

    def forget(self) -> None:
        for one in self.servers.values():
            one.asked.clear()

    @property
    def asked(self) -> set[tuple[str, str]]:
        """Which site at which node."""
        return {
            (host, node)
            for node, one in self.servers.items()
            for host, _ in one.asked
            if host in SITES
        }


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Asked]:
    plain = nights.four_nodes(tmp_path)
    path = tmp_path / "flex.toml"
    with ExitStack() as held:
        servers: dict[str, WebServer] = {}
        for number, node in enumerate(NODES, start=1):
            port = next((one.port for one in servers.values()), 0)
            one = WebServer(f"127.0.4.{number}", port, default=GOOD)
            one.hosts["flex-ready.invalid"] = GONE
            servers[node] = held.enter_context(listening(one))
        text = path.read_text().replace('"192.0.2.', '"127.0.4.')
        text += (
            '[move.ready]\ncheck = true\nscheme = "http"\nper_second = 10000\n'
            f'port = {servers["n1"].port}\nlargest = "64 KB"\n'
        )
        path.write_text(text)
        made = Asked(replace(plain.world, settings=config.load(path)), plain.clock)
        made.servers = servers
        yield made


@pytest.mark.slow
def test_what_is_ready_moves_and_each_new_node_is_asked(cluster: Asked) -> None:
    first = cluster.night(loads(0))
    assert first.not_ready == ()
    assert len(cluster.asked) == len(SITES), "no node served them before"
    cluster.forget()
    pinned(cluster, SITES[0])
    made = cluster.night(loads(0))
    coming = {(move.site, move.target) for move in made.moves if move.target}
    leaving = {(move.site, move.source) for move in made.moves if move.source}
    assert SITES[0] in {site for site, _ in coming}
    assert cluster.asked == coming | leaving


def pinned(cluster: Asked, *sites: str) -> str:
    """Each to the next node of the one it is on."""
    target = ""
    for site in sites:
        (here,) = cluster.nodes_of(site)
        target = NODES[(NODES.index(here) + 1) % len(NODES)]
        cluster.world.store.put_pin(Pin(site, nodes=(target,), author="ann"))
    return target


def carried_out(cluster: Asked) -> Plan:
    """A night of which wishes make the balance worse."""
    cluster.clock[0] += DAY
    cluster.learn(loads(0))
    made = nightly.propose(cluster.world).plan
    return route_and_publish_plan.carry_out(cluster.world, made)


@pytest.mark.slow
def test_what_is_not_ready_stays_with_its_reason_and_others_move(cluster: Asked) -> None:
    cluster.night(loads(0))
    one, other = SITES[30], SITES[31]
    before = cluster.nodes_of(one)
    pinned(cluster, one, other)
    for node in NODES:
        if node not in before:
            cluster.answers(node, [one], GONE)
    made = cluster.night(loads(0))
    (held,) = made.not_ready
    assert held.site == one
    assert "it answers 404, and the old node 200" in held.why
    assert cluster.nodes_of(one) == before
    assert other in {move.site for move in made.moves}
    assert any("held where they are, as their new node is not ready" in note for note in made.notes)
    # It moves once its node is ready.
    for node in NODES:
        cluster.answers(node, [one], GOOD)
    assert one in {move.site for move in cluster.night(loads(0)).moves}


def test_a_new_site_whose_node_is_not_ready_is_not_placed(cluster: Asked) -> None:
    new = SITES[40]
    for node in NODES:
        cluster.answers(node, [new], GONE)
    cluster.clock[0] += DAY
    cluster.learn(loads(0))
    made = nightly.propose(cluster.world)
    assert [one.site for one in made.plan.not_ready] == [new]
    assert new not in set(made.placement["site"])
    assert len(set(made.placement["site"])) == len(SITES) - 1
    assert made.plan.sites == len(SITES) - 1


def test_if_no_new_site_is_ready_nothing_is_placed(cluster: Asked) -> None:
    for node in NODES:
        cluster.answers(node, SITES, GONE)
    cluster.clock[0] += DAY
    cluster.learn(loads(0))
    made = nightly.propose(cluster.world)
    assert len(made.plan.not_ready) == len(SITES)
    assert made.placement.empty
    assert made.plan.changes == 0


@pytest.mark.slow
def test_what_is_not_ready_stays_on_a_node_that_is_drained(cluster: Asked) -> None:
    cluster.night(loads(0))
    here = sorted(site for site in SITES if cluster.nodes_of(site) == {"n1"})
    stuck = here[:2]
    for node in NODES[1:]:
        cluster.answers(node, stuck, page("broken", 500))
    order = NodeOrder("n1", "draining", cluster.now, cluster.now + DAY)
    cluster.world.store.order_node(order)
    made = cluster.night(loads(0))
    assert [one.site for one in made.not_ready] == stuck
    assert {site for site in SITES if "n1" in cluster.nodes_of(site)} == set(stuck)
    # Nor do they leave it later, until their new node is ready.
    again = cluster.night(loads(0))
    assert [one.site for one in again.not_ready] == stuck
    for node in NODES:
        cluster.answers(node, stuck, GOOD)
    cluster.night(loads(0))
    assert cluster.on("n1") == 0


def test_a_site_on_several_nodes_keeps_those_it_has(cluster: Asked) -> None:
    cluster.night(loads(0))
    site = SITES[30]
    (here,) = cluster.nodes_of(site)
    for node in NODES:
        if node != here:
            cluster.answers(node, [site], GONE)
    cluster.world.store.put_pin(Pin(site, min_replicas=2, author="ann"))
    made = cluster.night(loads(0))
    assert [one.site for one in made.not_ready] == [site]
    assert cluster.nodes_of(site) == {here}


@pytest.mark.slow
def test_sites_that_belong_together_stay_together(cluster: Asked) -> None:
    cluster.night(loads(0))
    one, other = SITES[30], SITES[31]
    cluster.world.store.put_pin(Pin(one, together=(other,), author="ann"))
    carried_out(cluster)
    (here,) = cluster.nodes_of(one)
    assert cluster.nodes_of(other) == {here}
    for node in NODES:
        if node != here:
            cluster.answers(node, [one], GONE)
    target = NODES[(NODES.index(here) + 1) % len(NODES)]
    cluster.world.store.put_pin(Pin(one, nodes=(target,), together=(other,), author="ann"))
    made = carried_out(cluster)
    assert cluster.nodes_of(one) == cluster.nodes_of(other) == {here}
    assert {held.site for held in made.not_ready} == {one, other}


def test_a_site_whose_move_failed_keeps_those_that_belong_to_it(cluster: Asked) -> None:
    """The same law as for one whose node is not ready, and it is not said to be one."""
    cluster.night(loads(0))
    one, other = SITES[30], SITES[31]
    cluster.world.store.put_pin(Pin(one, together=(other,), author="ann"))
    carried_out(cluster)
    (here,) = cluster.nodes_of(one)
    target = NODES[(NODES.index(here) + 1) % len(NODES)]
    cluster.world.store.put_pin(Pin(one, nodes=(target,), together=(other,), author="ann"))
    cluster.world.store.put_pin(Pin(other, nodes=(target,), author="ann"))
    cluster.clock[0] += DAY
    cluster.learn(loads(0))
    made = nightly.propose(cluster.world, staying={one: "its move failed"})
    rows = made.placement
    assert set(rows["node"][rows["site"].isin([one, other])]) == {here}
    assert not {move.site for move in made.plan.moves} & {one, other}
    assert f"{one} stays where it is: its move failed" in made.plan.notes
    assert f"{other} stays where it is: it stays together with {one}" in made.plan.notes
    assert made.plan.not_ready == ()


@pytest.mark.slow
def test_however_many_are_not_ready_an_end_is_found(cluster: Asked) -> None:
    """Each time other sites would move in place of those that stay: nothing unready ever moves."""
    cluster.night(loads(0))
    for node in NODES:
        there = [site for site in SITES if cluster.nodes_of(site) != {node}]
        cluster.answers(node, there, GONE)
    uneven = {
        site: load * (9 if number % 7 == 0 else 1)
        for number, (site, load) in enumerate(loads(0).items())
    }
    cluster.clock[0] += DAY
    cluster.learn(uneven)
    made = nightly.propose(cluster.world).plan
    assert made.moves == ()
    assert made.not_ready


@pytest.mark.slow
def test_a_rollback_asks_and_a_dead_node_is_left_without_asking(cluster: Asked) -> None:
    first = cluster.night(loads(0))
    site = SITES[30]
    (here,) = cluster.nodes_of(site)
    pinned(cluster, site)
    cluster.night(loads(0))
    cluster.answers(here, [site], GONE)
    cluster.clock[0] += DAY
    back = nightly.go_back(cluster.world, first.id)
    assert [one.site for one in back.plan.not_ready] == [site]
    assert site not in {move.site for move in back.plan.moves}
    cluster.forget()
    order = NodeOrder(here, "down", cluster.now)
    cluster.world.store.order_node(order)
    for node in NODES:
        cluster.answers(node, SITES, GONE)
    made = nightly.propose(cluster.world).plan
    left = {move.site for move in made.moves if move.source == here}
    assert left == {one for one in SITES if cluster.nodes_of(one) == {here}}
    assert not {one for one, _ in cluster.asked} & left


@pytest.mark.slow
def test_explain_says_why_it_stays(cluster: Asked) -> None:
    cluster.night(loads(0))
    site = SITES[30]
    before = cluster.nodes_of(site)
    pinned(cluster, site)
    for node in NODES:
        if node not in before:
            cluster.answers(node, [site], GONE)
    cluster.clock[0] += DAY
    cluster.learn(loads(0))
    made = nightly.propose(cluster.world).plan
    said = explain_site.explain_site(cluster.world, site)
    assert f"its new node is not ready: {made.not_ready[0].why}" in said.reasons
    (here,) = before
    cluster.world.store.order_node(NodeOrder(here, "draining", cluster.now))
    made = nightly.propose(cluster.world).plan
    said = explain_site.explain_site(cluster.world, site)
    assert said.nodes == [here]
    assert any("its new node is not ready" in reason for reason in said.reasons)


def test_before_a_stored_plan_is_carried_out_its_moves_are_asked_for_again(cluster: Asked) -> None:
    cluster.night(loads(0))
    site = SITES[30]
    (here,) = cluster.nodes_of(site)
    target = next(node for node in NODES if node != here)
    moves = [Move(site, here, target, 0, ""), Move(SITES[31], here, None, 0, "")]
    assert not_ready(cluster.world, moves) == {}
    cluster.answers(target, [site], GONE)
    assert "answers 404" in not_ready(cluster.world, moves)[site]


def test_with_nothing_of_it_set_nobody_is_asked_and_the_plan_is_the_same(
    cluster: Asked, tmp_path: Path
) -> None:
    made = cluster.night(loads(0))
    silent = nights.four_nodes(tmp_path)
    cluster.forget()
    ready = cluster.world.settings.move.model_copy(
        update={"ready": silent.world.settings.move.ready}
    )
    settings = cluster.world.settings.model_copy(update={"move": ready})
    cluster.world = replace(cluster.world, settings=settings)
    for node in NODES:
        cluster.answers(node, SITES, GONE)
    pinned(cluster, SITES[30])
    later = cluster.night(loads(0))
    assert cluster.asked == set()
    assert made.not_ready == later.not_ready == ()
    assert SITES[30] in {move.site for move in later.moves}
