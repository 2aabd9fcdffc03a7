"""How long an order for doors takes until nodes that follow go by it.

Each node has an HAProxy and `flex route follow`. On hosts of their own they all follow one FLEX
server. On loopback each has a FLEX server of its own, since the layout of machines is one for all
nodes; all servers share one SQLite database, or the empty one that DATABASE names. The order is
this process's own. Everything is on this machine: eight nodes on two cores are slower than eight
machines. Timed from the moment before the order is
put into the database until the HAProxy of the last node says that it goes by it.
"""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from bench.figures import Figures
from bench.routing.network_namespaces import VISITORS, Hosts
from bench.routing.web_servers import until_listens
from flex.errors import Away
from flex.frame_schemas import PLACEMENT
from flex.model.balance import Balance
from flex.model.orders_to_doors import DoorOrder
from flex.model.period import Period
from flex.model.plan import Plan, Proven
from flex.routing import haproxy, haproxy_program, haproxy_socket, host_to_node_maps
from flex.routing.haproxy_frontends import Doors
from flex.routing.haproxy_socket import Socket
from flex.routing.host_to_node_maps import Heading, maps_of, set_heading
from flex.store import Store, migrate, open_store
from flex_api import manage_tokens
from flex_api.manage_tokens import Caller
from flex_api.settings.file import load

# How many nodes follow.
FOLLOWERS = int(os.environ.get("FOLLOWERS", "4"))
FLEX = Path(sys.executable).parent / "flex"
# What a loopback connection to 127.0.0.3 comes from.
HERE = "127.0.0.1"
PATIENCE = 120.0
# Seconds between two looks at all nodes. To look takes the same two cores.
_BETWEEN_LOOKS = 0.004


def measure(names: int, flipped: int, rounds: int) -> Figures:
    with following_cluster(names, FOLLOWERS) as cluster:
        one = [cluster.flip(1 + each % 2) for each in range(rounds)]
        many = [cluster.flip(flipped + each % 2) for each in range(rounds)]
    return {
        "followers": FOLLOWERS,
        "follow_load_average": os.getloadavg()[0],
        "follow_one_ms": median(one) * 1e3,
        "follow_one_ms_max": max(one) * 1e3,
        "follow_many_s": median(many),
        "follow_many_s_max": max(many),
    }


@dataclass(eq=False)
class Cluster:
    folder: Path
    store: Store
    owner_of: dict[str, str]
    large: str
    ports: dict[str, int]
    addresses: dict[str, str] = field(default_factory=dict)
    number: int = 0
    # None where all nodes are on loopback.
    hosts: Hosts | None = None
    # One layout of machines fits all hosts, so one server is enough.
    has_one_server: bool = False

    def on(self, node: str) -> list[str]:
        """What a command begins with that is to run on the node."""
        if not self.hosts:
            return []
        own = (self.here(node), self.there(node)) if self.has_one_server else None
        return self.hosts.on(node, own)

    @property
    def neighbours(self) -> set[str]:
        return {*self.addresses.values(), *([] if self.hosts else [HERE])}

    def program(self, node: str) -> haproxy_program.HaproxyProgram:
        found = haproxy_program.program()
        if not self.hosts:
            return found
        there = self.folder / node / "run_haproxy"
        on = shlex.join(self.on(node))
        there.write_text(f'#!/bin/sh\nexec {on} {found.path} "$@"\n')
        there.chmod(0o700)
        return haproxy_program.HaproxyProgram(str(there), found.version)

    def here(self, node: str) -> Path:
        """Where the node's files are."""
        return self.folder / node / "haproxy"

    def there(self, node: str) -> Path:
        """Where the node itself finds them."""
        return self.folder / "haproxy" if self.has_one_server else self.here(node)

    def settings(self, node: str) -> Path:
        its = self.folder if self.has_one_server else self.folder / node
        return its / "flex.toml"

    def owners(self, flipped: int, number: int, owner: str = "n2") -> host_to_node_maps.Owners:
        """So many of the names are another node's."""
        names = list(self.owner_of)[:flipped]
        owner_of = {**self.owner_of, **dict.fromkeys(names, owner)}
        large = host_to_node_maps.digest(self.large)
        heading = Heading(self.store.installation(), large, number)
        return set_heading(maps_of(owner_of, self.large), heading)

    def order(self, count: int, owner: str) -> host_to_node_maps.Owners:
        """What `put` puts into the database: so many names are this node's."""
        return self.owners(count, self.number + 1, owner)

    def put(self, made: host_to_node_maps.Owners) -> None:
        number = self.number + 1
        assert self.store.put_door_order(_order(number, made), made.moved, self.number)
        self.number = number

    def flip(self, count: int) -> float:
        """Seconds until all go by an order by which so many names are elsewhere."""
        made = self.order(count, "n2")
        begun = time.perf_counter()
        self.put(made)
        self.until_all_go_by(self.number)
        took = time.perf_counter() - begun
        # Until everybody waits again.
        time.sleep(1)
        return took

    def until_all_go_by(self, number: int) -> dict[str, float]:
        """When each was seen to."""
        seen: dict[str, float] = {}
        end = time.monotonic() + PATIENCE
        waiting = {node: Socket(str(self.here(node) / "s")) for node in self.addresses}
        while waiting:
            assert time.monotonic() < end, f"{min(waiting)} does not follow"
            for node, stats in [*waiting.items()]:
                if self._goes_by(node, stats) == number:
                    seen[node] = time.perf_counter()
                    del waiting[node]
            time.sleep(_BETWEEN_LOOKS)
        return seen

    def _goes_by(self, node: str, stats: Socket) -> int | None:
        """None while its HAProxy does not answer, as one that was killed and begins again."""
        small = f"{self.there(node)}/{host_to_node_maps.MOVED}"
        try:
            answer = stats.ask("get", "map", small, host_to_node_maps.ORDER)
        except Away:
            return None
        return int(haproxy_socket.parse_map_value(answer) or 0)

    def until_all_say(self, number: int) -> None:
        end = time.monotonic() + PATIENCE
        while [one.number for one in self.store.door_reports()] != [number] * len(self.addresses):
            assert time.monotonic() < end, self.store.door_reports()
            time.sleep(0.1)


def _order(number: int, made: host_to_node_maps.Owners) -> DoorOrder:
    large, moved = map(host_to_node_maps.digest, (made.large, made.moved))
    return DoorOrder(number, "bench", large, moved, datetime.now(UTC))


@contextmanager
def following_cluster(
    names: int,
    followers: int,
    begin: Callable[[Cluster], None] | None = None,
    routing: str = "",
    hosts: Hosts | None = None,
) -> Iterator[Cluster]:
    """`begin` puts a plan in force, orders the doors to go by it and writes the files of all nodes;
    `routing` are further lines of these settings. Nodes are on these `hosts`, or on loopback.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="flex-bench-")))
        url = os.environ.get("DATABASE") or f"sqlite:///{folder}/flex.db"
        migrate.upgrade(url)
        owner_of = {f"site{number:07}.example": "n1" for number in range(names)}
        cluster = Cluster(
            folder,
            stack.enter_context(open_store(url)),
            owner_of,
            host_to_node_maps.map_of(owner_of),
            {name: free_port() for name in ("visit", "inner", "origin", "peers")},
            dict(hosts.addresses) if hosts else on_loopback(followers),
            hosts=hosts,
            has_one_server=hosts is not None,
        )
        for node in cluster.addresses:
            cluster.here(node).mkdir(parents=True)
            write_settings(cluster, node, url, routing)
        (begin or _begin)(cluster)
        servers: dict[Path, tuple[str, int]] = {}
        for node in cluster.addresses:
            settings = cluster.settings(node)
            if settings not in servers:
                servers[settings] = _start_server(cluster, settings, stack)
            _start(cluster, node, servers[settings], stack)
        cluster.until_all_say(cluster.number)
        yield cluster


def on_loopback(nodes: int) -> dict[str, str]:
    return {f"n{each + 1}": f"127.0.0.{each + 2}" for each in range(nodes)}


def write_settings(cluster: Cluster, node: str, url: str, routing: str) -> None:
    here, ports = cluster.there(node), cluster.ports
    here.mkdir(parents=True, exist_ok=True)
    own = cluster.addresses[node]
    address, origin = ("0.0.0.0", HERE) if cluster.has_one_server else (own, own)
    every = "".join(
        f'[[node]]\nname = "{one}"\nram = "1 GiB"\n'
        f"addresses = {[at, *([HERE] if one == 'n1' and not cluster.hosts else [])]}\n"
        for one, at in cluster.addresses.items()
    )
    cluster.settings(node).write_text(
        f'schema = 1\n[cluster]\nname = "bench"\nmode = "auto"\n{every}[database]\nurl = "{url}"\n'
        f'[routing]\non = true\ndoors = "all"\ndirectory = "{here}"\n'
        f'listen = ["{address}:{ports["visit"]}"]\norigin = "{origin}"\n'
        f"origin_port = {ports['origin']}\ninner_port = {ports['inner']}\n"
        f'inner_listen = ["{address}:{ports["inner"]}"]\npeers_port = {ports["peers"]}\n'
        f'socket = "{here}/s"\nmaster = "{here}/m"\nmetrics = ""\nthreads = 1\n'
        f"connections = 1_000\n{routing}"
    )


def put_in_force(store: Store, rows: Mapping[str, Sequence[str]], name: str = "bench") -> None:
    """By a plan of that name."""
    now, base = datetime.now(UTC), store.in_force()
    placement = PLACEMENT.from_columns(rows)
    balance = Balance((), 0.0, "", "access rate")
    quality, period = Proven("bench", 0, proven=True), Period.days_before(now, 1)
    plan = Plan(name, now, period, base, "0" * 64, quality, (), 0, 1, None, balance, (), ())
    store.propose(plan, placement)
    store.settle(plan, placement)


def _begin(cluster: Cluster) -> None:
    """A plan is in force, and every node has the files of the first order."""
    store = cluster.store
    put_in_force(store, {"site": ["site0000000.example"], "node": ["n1"]})
    made, cluster.number = cluster.owners(0, 1), 1
    order = _order(1, made)
    assert store.put_large_map(made.large, order.large, "")
    assert store.put_door_order(order, made.moved, 0)
    doors = Doors(made, cluster.neighbours)
    for node in cluster.addresses:
        layout = load(cluster.settings(node)).routing.layout()
        files = haproxy.files(node, cluster.addresses, [], layout, doors)
        haproxy_program.write(files, cluster.here(node))


def _start_server(cluster: Cluster, settings: Path, stack: ExitStack) -> tuple[str, int]:
    """FLEX's own, where visitors are. Returns where it listens."""
    server = VISITORS if cluster.hosts else HERE, free_port()
    listen = f"{server[0]}:{server[1]}"
    words = "--config", str(settings), "serve", "--listen", listen
    _run(stack, settings.parent / "log", [], *words)
    until_listens(iter([server]))
    return server


def _start(cluster: Cluster, node: str, server: tuple[str, int], stack: ExitStack) -> None:
    """Everything that is on the node."""
    here, there = cluster.here(node), cluster.there(node)
    address, visit = cluster.addresses[node], cluster.ports["visit"]
    running = haproxy_program.start_with_master(
        cluster.program(node), here, visit, here / "m", address
    )
    stack.enter_context(running)
    token = here.parent / "token"
    token.write_text(new_token(cluster.store, node), encoding="ascii")
    url = f"http://{server[0]}:{server[1]}/api/v1/routing/nodes/{node}"
    where = ["--to", str(there), "--master", f"{there}/m", "--token-file", str(token)]
    log, on = here.parent / "log", cluster.on(node)
    _run(stack, log, on, "route", "follow", "--from", url, *where)


def new_token(store: Store, node: str) -> str:
    caller, now = Caller("bench", "admin"), datetime.now(UTC)
    return manage_tokens.create(store, caller, f"node@{node}", "viewer", now)[1]


def _run(stack: ExitStack, log: Path, before: Sequence[str], *words: str) -> None:
    said = stack.enter_context(log.open("ab"))
    process = subprocess.Popen([*before, str(FLEX), *words], stdout=said, stderr=said)
    stack.callback(process.wait, PATIENCE)
    stack.callback(process.kill)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HERE, 0))
        port: int = probe.getsockname()[1]
    return port
