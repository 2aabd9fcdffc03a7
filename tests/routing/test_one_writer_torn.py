"""Visitors write to a site without a pause while it moves to and fro and parts are killed: what was
acknowledged is there once, one node answers at a time, and nobody reads what is older.

Each node has a program that counts what is written to it. The test copies that from node to node
while the site is held, as a command of a move would.
"""

from __future__ import annotations

import os
import queue
import random
import re
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from flex.model.plan import Plan
from flex.routing.haproxy_program import HaproxyProgram
from flex_api.night import hold_at_doors, store_order_for_doors
from flex_api.wiring import World
from tests.migrated import new_database
from tests.routing.conftest import Members
from tests.routing.following import end
from tests.routing.test_hold_and_switch import OTHER, SITE, Moving

pytestmark = [pytest.mark.real, pytest.mark.torture]

NODES = ("n0", "n1", "n2")
WRITERS = 6
READERS = 2


@dataclass(eq=False)
class Application:
    """By node what was written there, in order. `owner` is whom the test lets answer; an answer by
    another node is `wrong` if a visitor hears it.
    """

    members: Members
    written: dict[str, list[str]]
    owner: str
    wrong: set[str] = field(default_factory=set)
    over: threading.Event = field(default_factory=threading.Event)

    def serve(self) -> None:
        while not self.over.is_set():
            try:
                held = self.members.asked.get(timeout=0.1)
            except queue.Empty:
                continue
            method, path, *_ = held.head.decode("latin-1").split(" ")
            number = path.removeprefix("/")
            # So that there is mostly something under way.
            time.sleep(0.003)
            if self.owner != held.node:
                self.wrong.add(number)
            if method == "POST":
                self.written[held.node].append(number)
            body = str(len(self.written[held.node])).encode()
            head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nConnection: close"
            with suppress(OSError), held.connection:
                held.connection.sendall(f"{head}\r\n\r\n".encode() + body)


@dataclass(eq=False)
class Visitors:
    """What they were told: the writes that were acknowledged, and what is wrong with answers."""

    cluster: Moving
    acknowledged: list[str] = field(default_factory=list)
    heard: set[str] = field(default_factory=set)
    told: Counter[str] = field(default_factory=Counter)
    older: list[str] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def write(self, who: int) -> None:
        chance, turn = random.Random(who), 0
        while not self.over.is_set():
            turn += 1
            number = f"w{who}-{turn}"
            if self._ask(chance, "POST", number) is not None:
                self.acknowledged.append(number)

    def read(self, who: int) -> None:
        chance, turn = random.Random(-who), 0
        while not self.over.is_set():
            turn += 1
            before = len(self.acknowledged)
            found = self._ask(chance, "GET", f"r{who}-{turn}")
            if found is not None and found < before:
                self.older.append(f"{found} read, {before} acknowledged")

    def _ask(self, chance: random.Random, method: str, number: str) -> int | None:
        """What the site said that it has; None where there was another answer or none."""
        node = chance.choice(self.cluster.nodes)
        address = self.cluster.members.addresses[node], self.cluster.port
        try:
            with socket.create_connection(address, 60) as connection:
                head = f"{method} /{number} HTTP/1.1\r\nHost: {SITE}\r\n"
                connection.sendall(f"{head}Connection: close\r\n\r\n".encode())
                answer = b""
                while more := connection.recv(65_536):
                    answer += more
        except OSError:
            self.told["none"] += 1
            return None
        said = re.fullmatch(rb"HTTP/1.1 (\d{3}) .*?\r\n\r\n(.*)", answer, re.DOTALL | re.IGNORECASE)
        self.told[said[1].decode() if said else "none"] += 1
        if not said or said[1] != b"200":
            return None
        self.heard.add(number)
        return int(said[2])


@pytest.fixture
def moving(found: HaproxyProgram, members: Members, tmp_path: Path) -> Iterator[Moving]:
    with ExitStack() as stack:
        url = new_database(tmp_path / "flex.db")
        made = Moving(tmp_path, found, members, stack, url, NODES)
        made.hold_time = "3s"
        made.begin({SITE: "n0", OTHER: "n1"})
        made.until_all_go_by(1)
        made.until_all_say(1)
        yield made


def kill_haproxy(moving: Moving, node: str) -> None:
    """kill -9 of the master and all its workers, and it is started anew as systemd would."""
    said = moving.sockets(node).master.ask("show", "proc")
    for pid in re.findall(r"^(\d+)\s+(?:master|worker)", said, re.MULTILINE):
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    moving.haproxies[node].close()
    moving.start_haproxy(node)


def kill_follower(moving: Moving, node: str) -> None:
    end(moving.followers[node], signal.SIGKILL)
    moving.start_follower(node)


@dataclass(eq=False)
class Story:
    """One history: the site moves, or is let go, again and again."""

    moving: Moving
    world: World
    application: Application
    chance: random.Random
    # HAProxy ends with the thread that began it, so that is one for the whole history.
    killer: ThreadPoolExecutor
    killed: Counter[str] = field(default_factory=Counter)
    moved: Counter[str] = field(default_factory=Counter)

    def round(self) -> None:
        old = self.application.owner
        new = self.chance.choice([node for node in NODES if node != old])
        plan = self.moving.come({SITE: new, OTHER: "n1"})
        killing = self.killer.submit(self._kill_something)
        held = hold_at_doors.hold(self.world, plan, {SITE}, 5.0)
        if held.quiet:
            self.application.owner = ""
            # The last changes: nobody writes now.
            self.application.written[new] = list(self.application.written[old])
            self._end_hold(plan, old, new)
        else:
            self._let_go(plan)
            self.moved["not held"] += 1
        killing.result()

    def _end_hold(self, plan: Plan, old: str, new: str) -> None:
        if self.chance.random() < 0.3:
            self.application.owner = old
            self._let_go(plan)
            self.moved["let go"] += 1
            return
        self.application.owner = new
        # A switch that finds the old node away, or not heard of any more, is made again.
        for _ in range(20):
            led = hold_at_doors.switch(self.world, plan, {SITE}, 5.0)
            if led.sites:
                break
        assert led.sites == {SITE}, led
        self.moved["moved"] += 1
        placement = self.world.store.placement_of(plan.id)
        settled = replace(plan, state="applied", settled=datetime.now(UTC))
        self.world.store.settle(settled, placement)
        self._order()

    def _let_go(self, plan: Plan) -> None:
        hold_at_doors.release(self.world, plan, {SITE}, 0.0)
        self.world.store.update(replace(plan, state="failed"))
        self._order()

    def _order(self) -> None:
        order = store_order_for_doors.order(self.world.settings, self.world.store)
        assert order
        if self.chance.random() < 0.7:
            self.moving.until_all_go_by(order.number)

    def _kill_something(self) -> None:
        time.sleep(self.chance.random() * 0.2)
        what = self.chance.choice(("haproxy", "follower", "nothing"))
        node = self.chance.choice(NODES)
        self.killed[what] += 1
        if what == "haproxy":
            kill_haproxy(self.moving, node)
        elif what == "follower":
            kill_follower(self.moving, node)


def test_what_was_acknowledged_is_there_once_and_one_node_answers_at_a_time(moving: Moving) -> None:
    written: dict[str, list[str]] = {node: [] for node in NODES}
    application = Application(moving.members, written, "n0")
    visitors = Visitors(moving)
    threads = [threading.Thread(target=application.serve) for _ in range(16)]
    ones = [(visitors.write, who) for who in range(WRITERS)]
    ones += [(visitors.read, who) for who in range(READERS)]
    asking = [threading.Thread(target=do, args=(who,)) for do, who in ones]
    for each in (*threads, *asking):
        each.start()
    seed = int(os.environ.get("SEED", "23"))
    killer = moving.stack.enter_context(ThreadPoolExecutor(1))
    world = moving.world()
    story = Story(moving, world, application, random.Random(seed), killer)
    try:
        for _ in range(int(os.environ.get("ROUNDS", "60"))):
            story.round()
    finally:
        visitors.over.set()
        for each in asking:
            each.join()
        application.over.set()
        for each in threads:
            each.join()
    print(story.killed, story.moved, visitors.told)
    there = Counter(written[application.owner])
    assert [one for one in visitors.acknowledged if not there[one]] == []
    assert [one for one, count in there.items() if count > 1] == []
    assert application.wrong & visitors.heard == set()
    assert visitors.older == []
    assert story.moved["moved"] > 0
    assert len(visitors.acknowledged) > 100
