"""Several processes answer nodes that wait for the next order for doors, and another one orders:
every node hears of it at once, whichever process it asked.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING

import pytest

from flex.routing import host_to_node_maps
from flex.routing.host_to_node_maps import Heading
from flex.store import Store, migrate, open_store
from flex_api import manage_tokens
from flex_api.manage_tokens import Caller
from flex_api.run_nodes_on_loopback import free_ports
from flex_api.settings.file import load
from tests.api.test_doors_and_dns import with_doors
from tests.api.test_watch_kept import children
from tests.api.torn_cluster import until

if TYPE_CHECKING:
    from tests.api.conftest import Installation

pytestmark = pytest.mark.real

WORKERS = 3
# Seconds that a question may wait: longer than whoever looks at the test.
WAIT = 60


@dataclass(eq=False)
class Waiter:
    """Asks one server as one node, as `flex route follow` does, until it is told to stop."""

    node: str
    port: int
    secret: str
    number: int = 0
    files: str = ""
    over: bool = False
    # What was answered other than an order, and connections that were cut.
    in_vain: list[int] = field(default_factory=list)
    cut: int = 0

    def run(self) -> None:
        while not self.over:
            try:
                self._ask()
            except (OSError, http.client.HTTPException):
                self.cut += 1

    def _ask(self) -> None:
        # Longer than the question may wait.
        server = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2 * WAIT)
        path = f"/api/v1/routing/nodes/{self.node}/doors"
        asked = f"{path}?have={self.number}&wait={WAIT}&files={self.files}"
        server.request("GET", asked, headers={"Authorization": f"Bearer {self.secret}"})
        answer = server.getresponse()
        body = answer.read()
        server.close()
        if answer.status != HTTPStatus.OK:
            self.in_vain.append(answer.status)
            return
        said = json.loads(body)
        self.files = said["files"] or self.files
        self.number = said["order"]["number"] if said["order"] else self.number


@dataclass(eq=False)
class Servers:
    """One with several processes, and one by itself, on one store."""

    store: Store
    pids: list[int]
    waiters: list[Waiter]

    def order(self) -> int:
        """By this process, which is none of theirs."""
        last = self.store.door_order()
        assert last
        number, large = last.number + 1, self.store.large_map()
        led = host_to_node_maps.read(large)
        owner_of = {name: at.removeprefix("at_") for name, at in led.items()}
        made = host_to_node_maps.maps_of({**owner_of, f"s{number}.example": "n1"}, large)
        heading = Heading(self.store.installation(), last.large, number)
        moved = host_to_node_maps.set_heading(made, heading).moved
        digest = host_to_node_maps.digest(moved)
        ordered = replace(last, number=number, moved=digest, time=datetime.now(UTC))
        assert self.store.put_door_order(ordered, moved, last.number)
        return number

    def until_all_heard(self, number: int) -> None:
        until(
            f"everybody heard of order {number}",
            lambda: {waiter.number for waiter in self.waiters} == {number},
            lambda: str([(one.node, one.port, one.number) for one in self.waiters]),
        )


@pytest.fixture
def servers(installation: Installation, request: pytest.FixtureRequest) -> Iterator[Servers]:
    installation.extra = f"[api]\nworkers = {WORKERS}\nrequests_per_second = 0\n"
    if request.param == "postgresql":
        url = request.getfixturevalue("cluster").new_database()
        migrate.upgrade(url)
        installation.extra += f'[database]\nurl = "{url}"\n'
    with_doors(installation)
    assert installation.night().code in (0, 32)
    with ExitStack() as stack:
        ports = stack.enter_context(free_ports(["127.0.0.1"]))
        url = load(installation.settings).database.url
        store = stack.enter_context(open_store(url))
        pids = []
        for port in (ports.visitors, ports.inner):
            served = installation.process("serve", "--listen", f"127.0.0.1:{port}")
            stack.callback(served.communicate, timeout=60)
            stack.callback(served.terminate)
            until("it listens", lambda port=port: listens(port))  # type: ignore[misc]
            pids.append(served.pid)
        made = Servers(store, pids, [])
        for node in ("n1", "n2", "n3"):
            now, caller = datetime.now(UTC), Caller("root", "admin")
            name = f"node@{node}"
            _, secret = manage_tokens.create(store, caller, name, "viewer", now)
            for port in (ports.visitors, ports.inner):
                made.waiters.append(Waiter(node, port, secret))
        threads = [threading.Thread(target=one.run) for one in made.waiters]
        for thread in threads:
            thread.start()
        yield made
        for waiter in made.waiters:
            waiter.over = True
        # Whoever waits is answered, and asks no more.
        made.order()
        for thread in threads:
            thread.join()


@pytest.mark.slow
@pytest.mark.parametrize(
    "servers", ["postgresql", pytest.param("sqlite", marks=pytest.mark.torture)], indirect=True
)
def test_an_order_of_one_process_is_heard_by_whoever_waits_at_any_that_is_not_killed(
    servers: Servers,
) -> None:
    first = servers.store.door_order()
    assert first
    servers.until_all_heard(first.number)
    for _ in range(5):
        servers.until_all_heard(servers.order())
    # Nobody was sent away, and asked again.
    assert [waiter.in_vain for waiter in servers.waiters] == [[]] * len(servers.waiters)
    reported = {one.node: one.number for one in servers.store.door_reports()}
    assert reported.keys() == {"n1", "n2", "n3"}
    for killed in answering(servers.pids[0]):
        with suppress(ProcessLookupError):
            os.kill(killed, signal.SIGKILL)
        servers.until_all_heard(servers.order())
    assert sum(waiter.cut for waiter in servers.waiters) > 0


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def answering(server: int) -> list[int]:
    """The processes of a server that answer: those that know the port are none else."""
    return [child for child in children(server) if not children(child)]
