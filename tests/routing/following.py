"""A cluster whose nodes follow orders for doors, on loopback: for each node a FLEX server that has
the node's layout, an HAProxy, and `flex route follow`. All servers share one database.
"""

from __future__ import annotations

import queue
import signal
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bench import forked_flex
from bench.forked_flex import Forked
from flex.frame_schemas import PLACEMENT
from flex.model.orders_to_doors import DoorOrder
from flex.routing import install_files, owners_map
from flex.routing.apply_to_haproxy import Sockets
from flex.routing.haproxy_program import HaproxyProgram, start_with_master
from flex.routing.haproxy_socket import Socket
from flex.store import Store, open_store
from flex_api import manage_tokens
from flex_api.manage_tokens import Caller
from flex_api.night import haproxy_pools_and_files, store_order_for_doors
from flex_api.settings.file import Settings, load
from tests.ports import any_port
from tests.rest.conftest import plan
from tests.routing.conftest import Members, let_others_be_reached, until_closed

ADMIN = Caller("root", "admin")
PATIENCE = 60.0
# What connects from this machine to 127.0.0.3 comes from there.
HERE = "127.0.0.1"


@dataclass(eq=False)
class Following:
    """`url` is the database; each node has a folder below `folder`."""

    folder: Path
    found: HaproxyProgram
    members: Members
    stack: ExitStack
    url: str
    nodes: tuple[str, ...] = ("n0", "n1")
    port: int = field(default_factory=any_port)
    inner: int = field(default_factory=any_port)
    peers: int = field(default_factory=any_port)
    ports: dict[str, int] = field(default_factory=dict)
    servers: dict[str, Forked] = field(default_factory=dict)
    followers: dict[str, Forked] = field(default_factory=dict)
    haproxies: dict[str, ExitStack] = field(default_factory=dict)
    plans: int = 0

    def settings_of(self, node: str) -> Settings:
        return load(self.folder / node / "flex.toml")

    def store(self) -> Store:
        return self.stack.enter_context(open_store(self.url))

    def write_settings(self, node: str) -> None:
        here, address = self.folder / node / "haproxy", self.members.addresses[node]
        here.mkdir(parents=True, exist_ok=True)
        every = "".join(
            f'[[node]]\nname = "{one}"\nram = "1 GiB"\n'
            f"addresses = {[self.members.addresses[one], *more]}\n"
            for one, more in zip(self.nodes, ([HERE], *[[]] * 9), strict=False)
        )
        (here.parent / "flex.toml").write_text(
            f'schema = 1\n[cluster]\nname = "doors"\n{every}'
            f'[database]\nurl = "{self.url}"\n[api]\nrequests_per_second = 0\n'
            f'[routing]\non = true\ndoors = "all"\ndirectory = "{here}"\n'
            f'listen = ["{address}:{self.port}"]\norigin = "{address}"\n'
            f"origin_port = {self.members.port}\ninner_port = {self.inner}\n"
            f'inner_listen = ["{address}:{self.inner}"]\npeers_port = {self.peers}\n'
            f'socket = "{here}/s"\nmaster = "{here}/m"\nmetrics = ""\nthreads = 1\n'
            "connections = 1_000\n"
        )

    def begin(self, owner_of: Mapping[str, str]) -> None:
        """Every node has the first order, a server and a follower."""
        store = self.store()
        for node in self.nodes:
            self.write_settings(node)
            _, secret = manage_tokens.create(
                store, ADMIN, f"node@{node}", "viewer", datetime.now(UTC)
            )
            (self.folder / node / "token").write_text(secret)
        self.flip(owner_of)
        for node in self.nodes:
            files = haproxy_pools_and_files.files(self.settings_of(node), store, node)
            install_files.put(files, self.here(node), self.found)
            self.start_haproxy(node)
            self.start_server(node, waits=False)
        for node in self.nodes:
            let_others_be_reached(self.sockets(node).stats)
            self.until_server_listens(node)
            self.start_follower(node)

    def here(self, node: str) -> Path:
        return self.folder / node / "haproxy"

    def flip(self, owner_of: Mapping[str, str]) -> DoorOrder:
        """A plan of this partition is in force, and ordered."""
        store, base = self.store(), ""
        self.plans += 1
        base = store.in_force()
        sites = sorted(owner_of)
        placement = PLACEMENT.from_columns(
            {"site": sites, "node": [owner_of[site] for site in sites]}
        )
        made = plan(self.plans, base=base)
        store.propose(replace(made, state="proposed", settled=None), placement)
        store.settle(made, placement)
        ordered = store_order_for_doors.order(self.settings_of(self.nodes[0]), store)
        assert ordered
        return ordered

    def start_haproxy(self, node: str) -> None:
        opened = self.haproxies[node] = self.stack.enter_context(ExitStack())
        here, address = self.here(node), self.members.addresses[node]
        opened.enter_context(start_with_master(self.found, here, self.port, here / "m", address))

    def start_server(self, node: str, *, waits: bool = True) -> None:
        self.ports.setdefault(node, any_port())
        self.servers[node] = self._start(
            "--config",
            str(self.folder / node / "flex.toml"),
            "serve",
            "--listen",
            f"127.0.0.1:{self.ports[node]}",
        )
        if waits:
            self.until_server_listens(node)

    def until_server_listens(self, node: str) -> None:
        until(f"the server of {node} listens", lambda: self._listens(node))

    def _listens(self, node: str) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.ports[node])) == 0

    def address(self, node: str) -> str:
        return f"http://127.0.0.1:{self.ports[node]}/api/v1/routing/nodes/{node}"

    def start_follower(self, node: str, *more: str) -> Forked:
        here = self.here(node)
        started = self.followers[node] = self._start(
            "route",
            "follow",
            "--from",
            self.address(node),
            "--token-file",
            str(self.folder / node / "token"),
            "--to",
            str(here),
            "--master",
            str(here / "m"),
            *more,
        )
        return started

    def _start(self, *words: str) -> Forked:
        log = self.stack.enter_context((self.folder / "log").open("ab"))
        started = forked_flex.start(*words, said=log, folder=self.folder)
        self.stack.callback(started.wait, PATIENCE)
        self.stack.callback(started.kill)
        return started

    def log(self) -> str:
        return (self.folder / "log").read_text()

    def sockets(self, node: str) -> Sockets:
        here = self.here(node)
        return Sockets(Socket(str(here / "s")), Socket(str(here / "m")), 0)

    def goes_by(self, node: str) -> int:
        """As HAProxy itself says; 0 where it does not answer."""
        with suppress(Exception):
            return owners_map.order_in_force(self.sockets(node).stats, self.here(node))[0]
        return 0

    def until_all_go_by(self, number: int, *nodes: str) -> None:
        for node in nodes or self.nodes:
            until(
                f"{node} goes by order {number}",
                lambda node=node: self.goes_by(node) == number,  # type: ignore[misc]
                lambda node=node: f"{self.goes_by(node)}\n{self.log()[-3000:]}",  # type: ignore[misc]
            )

    def until_all_say(self, number: int) -> None:
        """The store knows that each node goes by this order."""
        store = self.store()
        until(
            f"all nodes say that they go by {number}",
            lambda: [each.number for each in store.door_reports()] == [number] * len(self.nodes),
            lambda: f"{store.door_reports()}\n{self.log()[-3000:]}",
        )

    def answers(self, node: str, host: str) -> str:
        """Who answers a request that comes to this node."""
        with socket.create_connection(
            (self.members.addresses[node], self.port), PATIENCE
        ) as connection:
            connection.sendall(
                f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
            )
            try:
                held = self.members.asked.get(timeout=PATIENCE)
            except queue.Empty:
                answer = until_closed(connection)
                pytest.fail(f"{host} at {node}: no web server was asked; {answer!r}")
            held.answer()
            assert until_closed(connection).endswith(b"ok")
        return held.node


def until(what: str, is_so: Callable[[], bool], why: Callable[[], str] = str) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > end:
            pytest.fail(f"not within {PATIENCE:.0f} s: {what}; {why()}")
        time.sleep(0.01)


def end(process: Forked, how: int = signal.SIGTERM) -> int:
    process.send_signal(how)
    return process.wait(PATIENCE)
