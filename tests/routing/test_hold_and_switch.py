"""A site with one writer is held at the doors, led on, or let go: real servers, followers and
HAProxies.
"""

from __future__ import annotations

import re
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from select import select

import pytest

from bench.forked_flex import Forked
from flex.frame_schemas import PLACEMENT
from flex.model.plan import Plan
from flex.routing import apply_to_haproxy
from flex.routing.haproxy_program import HaproxyProgram
from flex.routing.haproxy_writer_sites import UNDER_WAY, WAITING
from flex_api import wiring
from flex_api.night import haproxy_pools_and_files, hold_at_doors, store_order_for_doors
from flex_api.night.hold_at_doors import SitesHeld
from flex_api.wiring import World
from tests.migrated import new_database
from tests.rest.conftest import plan
from tests.routing.conftest import Held, Members, let_others_be_reached, until_closed
from tests.routing.following import PATIENCE, Following, end, until
from tests.routing.test_one_writer import is_asked_to_come_again

pytestmark = pytest.mark.real

SITE = "shop.example"
OTHER = "blog.example"
HOME = {SITE: "n0", OTHER: "n1"}
AWAY = {SITE: "n1", OTHER: "n1"}
THIS = frozenset({SITE})
NONE = frozenset[str]()
ANSWERING = "n0 is still answering 1 request"
OR_AN_OLDER = "each HAProxy from before a reload counted as one"


@dataclass(eq=False)
class Moving(Following):
    """Followed nodes on which SITE has one writer."""

    hold_time: str = "20s"

    def write_settings(self, node: str) -> None:
        super().write_settings(node)
        file = self.folder / node / "flex.toml"
        more = f'[[routing.site]]\nname = "{SITE}"\nstateful = true\n'
        text = file.read_text() + f'hold_time = "{self.hold_time}"\n{more}'
        file.write_text(text)

    def come(self, owner_of: dict[str, str]) -> Plan:
        """A plan of this partition that is on its way."""
        store, self.plans = self.store(), self.plans + 1
        sites = sorted(owner_of)
        placement = PLACEMENT.from_columns(
            {"site": sites, "node": [owner_of[site] for site in sites]}
        )
        made = plan(self.plans, "proposed", base=store.in_force())
        store.propose(made, placement)
        coming = replace(made, state="applying")
        store.update(coming)
        return coming

    def world(self) -> World:
        made = wiring.world(self.settings_of("n0"), lambda: datetime.now(UTC))
        return self.stack.enter_context(closing(made))

    def send(self, node: str, host: str = SITE) -> Visitor:
        return Visitor(self, node, host)

    def asked(self, *visitors: Visitor) -> Held:
        """Return the next request that a web server has. Fail once all these visitors have their
        answers instead.
        """

        def is_asked() -> bool:
            if not self.members.asked.empty():
                return True
            if visitors and all(each.is_over() for each in visitors):
                answers = [each.hears() for each in visitors]
                pytest.fail(f"no web server is asked; {answers}; {self.describe_doors()}")
            return False

        until("a web server is asked", is_asked, self.describe_doors)
        held = self.members.asked.get()
        self.stack.enter_context(held.connection)
        return held

    def count(self, node: str, table: str) -> int:
        """Return how many requests for SITE this node's HAProxy counts in the table now."""
        rows = self.sockets(node).stats.ask("show", "table", table)
        counts = re.findall(rf"key={re.escape(SITE)} .*conn_cur=(\d+)", rows)
        return sum(map(int, counts))

    def describe_doors(self) -> str:
        doors = [
            f"{node} goes by order {self.goes_by(node)}, {self.count(node, WAITING)} wait and "
            f"{self.count(node, UNDER_WAY)} are under way there"
            for node in self.nodes
        ]
        return "; ".join([*doors, self.log()[-3000:]])

    def until_all_have_heard(self) -> None:
        """Wait until every node goes by the newest order. A hold is quiet as soon as the old node
        goes by it: until another node does, requests that come to it wait at the old one.
        """
        order = self.store().door_order()
        assert order
        self.until_all_go_by(order.number)

    def until_waits(self, visitor: Visitor, node: str) -> None:
        """Wait until this node counts the request as waiting. Fail once it is answered instead."""
        what = f"the request that came to {visitor.node} waits at {node}"
        most = dict.fromkeys(self.nodes, 0)

        def describe() -> str:
            return f"at most so many waited: {most}; {self.describe_doors()}"

        def waits() -> bool:
            waiting = {each: self.count(each, WAITING) for each in self.nodes}
            most.update({each: max(most[each], waiting[each]) for each in self.nodes})
            if not waiting[node] and visitor.is_over():
                pytest.fail(f"not so: {what}; {visitor.hears()!r}; {describe()}")
            return waiting[node] > 0

        until(what, waits, describe)


class Visitor:
    """A request for a site that came to a node's door. The cluster closes its connection."""

    def __init__(self, cluster: Moving, node: str, host: str) -> None:
        self.node = node
        address = cluster.members.addresses[node], cluster.port
        self.connection = socket.create_connection(address, PATIENCE)
        cluster.stack.enter_context(self.connection)
        head = f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        self.connection.sendall(head.encode())

    def is_over(self) -> bool:
        """Whether there is an answer, or the door closed the connection."""
        return bool(select([self.connection], [], [], 0)[0])

    def hears(self) -> bytes:
        return until_closed(self.connection)


@pytest.fixture
def moving(found: HaproxyProgram, members: Members, tmp_path: Path) -> Iterator[Moving]:
    with ExitStack() as stack:
        url = new_database(tmp_path / "flex.db")
        made = Moving(tmp_path, found, members, stack, url)
        made.begin(HOME)
        made.until_all_go_by(1)
        made.until_all_say(1)
        yield made


def answer(moving: Moving, *visitors: Visitor) -> Held:
    held = moving.asked(*visitors)
    held.answer()
    return held


@pytest.mark.slow
def test_requests_under_way_end_before_a_site_is_held_and_others_wait_for_the_new_node(
    moving: Moving,
) -> None:
    world, coming = moving.world(), moving.come(AWAY)
    visitor = moving.send("n1")
    under_way = moving.asked(visitor)
    assert under_way.node == "n0"
    said = hold_at_doors.hold(world, coming, {SITE}, 0.5)
    assert said.quiet == set()
    assert "n0" in said.others[SITE]
    until(
        "it is said that one is under way",
        lambda: (
            hold_at_doors.still_held(world, coming, {SITE}).others
            == {SITE: f"{ANSWERING}, {OR_AN_OLDER}"}
        ),
    )
    moving.until_all_have_heard()
    waits = [moving.send(node) for node in moving.nodes]
    for each in waits:
        moving.until_waits(each, each.node)
    under_way.answer()
    assert visitor.hears().endswith(b"ok")
    quiet = SitesHeld(frozenset({SITE}), {})
    assert hold_at_doors.hold(world, coming, {SITE}, PATIENCE) == quiet
    order = world.store.door_order()
    assert order
    assert (order.held, order.waiting) == (THIS, THIS)
    assert moving.members.asked.empty()
    # Whoever does it again orders nothing again.
    assert hold_at_doors.hold(world, coming, {SITE}, PATIENCE) == quiet
    assert world.store.door_order() == order
    led = hold_at_doors.switch(world, coming, {SITE}, PATIENCE)
    assert (led.sites, led.others, led.behind) == (THIS, {}, {})
    assert [answer(moving, *waits).node for _ in waits] == ["n1", "n1"]
    assert all(one.hears().endswith(b"ok") for one in waits)
    last = world.store.door_order()
    assert last
    assert (last.number, last.held, last.held_since) == (order.number + 1, NONE, None)
    assert hold_at_doors.switch(world, coming, {SITE}, PATIENCE).sites == {SITE}
    assert world.store.door_order() == last
    assert "reload" not in moving.log()


@pytest.mark.slow
def test_a_site_that_is_let_go_is_answered_where_it_was(moving: Moving) -> None:
    world, coming = moving.world(), moving.come(AWAY)
    assert hold_at_doors.hold(world, coming, {SITE}, PATIENCE).quiet == {SITE}
    moving.until_all_have_heard()
    waits = moving.send("n1")
    moving.until_waits(waits, "n1")
    said = hold_at_doors.release(world, coming, {SITE}, PATIENCE)
    assert (said.sites, said.behind) == (THIS, {})
    assert answer(moving, waits).node == "n0"
    assert waits.hears().endswith(b"ok")
    order = world.store.door_order()
    assert hold_at_doors.release(world, coming, {SITE}, PATIENCE).behind == {}
    assert world.store.door_order() == order
    # What is not held is not led on.
    said = hold_at_doors.switch(world, coming, {SITE}, PATIENCE)
    assert (said.sites, said.others) == (NONE, {SITE: hold_at_doors.NOT_HELD})
    assert world.store.door_order() == order
    assert moving.answers("n1", SITE) == "n0"


@pytest.mark.slow
def test_a_site_that_is_not_stateful_or_that_nobody_has_is_not_held(moving: Moving) -> None:
    world, coming = moving.world(), moving.come(AWAY)
    before = world.store.door_order()
    said = hold_at_doors.hold(world, coming, {OTHER}, PATIENCE)
    assert said == SitesHeld(frozenset(), {OTHER: hold_at_doors.NOT_STATEFUL})
    assert world.store.door_order() == before


@pytest.mark.slow
def test_an_old_node_that_has_not_heard_is_named_and_held_once_it_has(moving: Moving) -> None:
    world, coming = moving.world(), moving.come(AWAY)
    end(moving.followers["n0"], signal.SIGKILL)
    said = hold_at_doors.hold(world, coming, {SITE}, 0.2)
    assert said.quiet == set()
    assert "n0 owned it last, and has not heard: it goes by order 1" in said.others[SITE]
    # It may still answer, so nobody is led on.
    led = hold_at_doors.switch(world, coming, {SITE}, 0.2)
    assert (led.sites, set(led.others)) == (NONE, {SITE})
    moving.start_follower("n0")
    assert hold_at_doors.hold(world, coming, {SITE}, PATIENCE).quiet == {SITE}


@pytest.mark.slow
def test_another_node_that_has_not_heard_stops_no_hold_and_answers_nothing(moving: Moving) -> None:
    world, coming = moving.world(), moving.come(AWAY)
    end(moving.followers["n1"], signal.SIGKILL)
    assert hold_at_doors.hold(world, coming, {SITE}, PATIENCE).quiet == {SITE}
    waits = moving.send("n1")
    moving.until_waits(waits, "n0")
    said = hold_at_doors.switch(world, coming, {SITE}, 0.2)
    assert (said.sites, set(said.behind)) == (THIS, {"n1"})
    # The new node does not know yet that it is: it and the old one send each other nothing.
    assert is_asked_to_come_again(waits.connection)
    assert moving.members.asked.empty()
    moving.start_follower("n1")
    assert hold_at_doors.switch(world, coming, {SITE}, PATIENCE).behind == {}
    assert [moving.answers(node, SITE) for node in moving.nodes] == ["n1", "n1"]


@pytest.mark.slow
def test_a_hold_outlasts_haproxies_and_followers_that_are_killed(moving: Moving) -> None:
    world, coming = moving.world(), moving.come(AWAY)
    assert hold_at_doors.hold(world, coming, {SITE}, PATIENCE).quiet == {SITE}
    order = world.store.door_order()
    assert order
    moving.until_all_have_heard()
    for node in moving.nodes:
        end(moving.followers[node], signal.SIGKILL)
        moving.haproxies[node].close()
    for node in moving.nodes:
        moving.start_haproxy(node)
        assert moving.goes_by(node) == order.number
    # The first one was there for a while without the second, and may count it as down.
    for node in moving.nodes:
        let_others_be_reached(moving.sockets(node).stats)
    waits = moving.send("n0")
    moving.until_waits(waits, "n0")
    for node in moving.nodes:
        moving.start_follower(node)
    assert hold_at_doors.still_held(world, coming, {SITE}).quiet == {SITE}
    assert hold_at_doors.switch(world, coming, {SITE}, PATIENCE).behind == {}
    assert answer(moving, waits).node == "n1"
    assert waits.hears().endswith(b"ok")
    last = world.store.door_order()
    assert last
    assert not last.held


def test_while_a_process_of_before_a_reload_is_there_a_site_counts_as_busy(moving: Moving) -> None:
    world, coming = moving.world(), moving.come(AWAY)
    visitor = moving.send("n0")
    under_way = moving.asked(visitor)
    apply_to_haproxy.reload(moving.sockets("n0").master)
    assert moving.count("n0", UNDER_WAY) == 0
    said = hold_at_doors.hold(world, coming, {SITE}, 0.5)
    assert said.quiet == set()
    under_way.answer()
    assert visitor.hears().endswith(b"ok")
    assert hold_at_doors.hold(world, coming, {SITE}, PATIENCE).quiet == {SITE}


@pytest.mark.slow
def test_a_plan_that_does_not_come_lets_go_what_was_held_for_it(moving: Moving) -> None:
    world, coming = moving.world(), moving.come(AWAY)
    assert hold_at_doors.hold(world, coming, {SITE}, PATIENCE).quiet == {SITE}
    since = world.store.door_order()
    assert since
    assert since.held_since
    world.store.update(replace(coming, state="failed"))
    order = store_order_for_doors.order(world.settings, world.store)
    assert order
    assert (order.held, order.held_since) == (NONE, None)
    moving.until_all_go_by(order.number)
    assert [moving.answers(node, SITE) for node in moving.nodes] == ["n0", "n0"]


@pytest.mark.slow
def test_while_a_site_is_held_all_others_may_be_led_on(moving: Moving) -> None:
    world, coming = moving.world(), moving.come({SITE: "n1", OTHER: "n0"})
    assert hold_at_doors.hold(world, coming, {SITE}, PATIENCE).quiet == {SITE}
    order = store_order_for_doors.order(world.settings, world.store, coming.id, ())
    assert order
    assert (order.held, order.waiting) == (THIS, THIS)
    moving.until_all_go_by(order.number)
    assert moving.answers("n1", OTHER) == "n0"
    until("it is quiet", lambda: hold_at_doors.still_held(world, coming, {SITE}).quiet == {SITE})
    assert hold_at_doors.switch(world, coming, {SITE}, PATIENCE).behind == {}
    assert moving.answers("n0", SITE) == "n1"


@dataclass(eq=False)
class Carried(Moving):
    """Nodes that do not follow: FLEX has their sockets, and somebody carries their files."""

    hard_stop_after: str = "5m"

    def write_settings(self, node: str) -> None:
        super().write_settings(node)
        file = self.folder / node / "flex.toml"
        sockets = f"sockets = '{self.folder}/{{node}}/haproxy/s'"
        more = f'{sockets}\nhard_stop_after = "{self.hard_stop_after}"\nmaster ='
        file.write_text(file.read_text().replace("master =", more, 1))

    def start_follower(self, node: str, *_: str) -> Forked:
        return self.servers[node]

    def carry(self) -> None:
        store = self.store()
        for node in self.nodes:
            made = haproxy_pools_and_files.files(self.settings_of(node), store, node)
            sockets = self.sockets(node)
            apply_to_haproxy.enforce(made, self.here(node), self.found, sockets)


@pytest.mark.slow
@pytest.mark.parametrize("hard_stop_after", ["5m", "1s"])
def test_by_sockets_alone_a_node_is_busy_while_a_process_of_before_may_be_there(
    found: HaproxyProgram, members: Members, tmp_path: Path, hard_stop_after: str
) -> None:
    with ExitStack() as stack:
        url = new_database(tmp_path / "flex.db")
        made = Carried(tmp_path, found, members, stack, url)
        made.hard_stop_after = hard_stop_after
        made.begin(HOME)
        made.until_all_go_by(1)
        world, coming = made.world(), made.come(AWAY)
        visitor = made.send("n1")
        under_way = made.asked(visitor)
        said = hold_at_doors.hold(world, coming, {SITE}, 0)
        assert said.others == {SITE: "n0 owned it last, and has not heard: it goes by order 1"}
        order = world.store.door_order()
        assert order
        unheard = hold_at_doors.why_unheard(world, coming, "n0", order.number)
        assert unheard == "it goes by order 1"
        made.carry()
        assert not hold_at_doors.why_unheard(world, coming, "n0", order.number)
        if hard_stop_after == "5m":
            said = hold_at_doors.hold(world, coming, {SITE}, 0)
            assert "one of before may still answer" in said.others[SITE]
            under_way.answer()
            assert visitor.hears().endswith(b"ok")
            return
        until(
            "no process of before can be there any more",
            lambda: hold_at_doors.still_held(world, coming, {SITE}).others == {SITE: ANSWERING},
        )
        under_way.answer()
        assert visitor.hears().endswith(b"ok")
        assert hold_at_doors.hold(world, coming, {SITE}, PATIENCE).quiet == {SITE}
        led = hold_at_doors.switch(world, coming, {SITE}, 0)
        assert (led.sites, set(led.behind)) == (THIS, {"n0", "n1"})
        made.carry()
        # FLEX takes all nodes to have the folder of n0; on one machine n1 has another.
        assert hold_at_doors.switch(world, coming, {SITE}, 0).behind.keys() == {"n1"}
        assert made.answers("n0", SITE) == "n1"
