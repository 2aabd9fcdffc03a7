"""Two nodes on loopback, each with a HAProxy of one thread as FLEX configures it with doors for all
sites, and a web server that answers at once.
"""

from __future__ import annotations

import socket
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.routing.web_servers import web_servers
from flex.routing import apply_to_haproxy, haproxy, haproxy_program, host_to_node_maps
from flex.routing.haproxy_frontends import Doors
from flex.routing.haproxy_socket import Socket
from flex.routing.host_to_node_maps import Writers
from flex.routing.ports_and_paths import Layout

NODES = {"n1": "127.0.0.2", "n2": "127.0.0.3"}
# What a loopback connection to one of these comes from.
HERE = "127.0.0.1"


@dataclass(eq=False)
class Rig:
    """The HAProxies of both nodes."""

    folder: Path
    found: haproxy_program.HaproxyProgram
    ports: dict[str, int]
    # Without doors for all sites HAProxy has no map of them.
    doors: bool = True
    # The names of sites with one writer; None where there can be none.
    one_writer: frozenset[str] | None = None
    large: str = ""
    running: dict[str, int] = field(default_factory=dict)

    def files(self, node: str, owner_of: Mapping[str, str]) -> dict[str, str]:
        here, address = self.folder / node, NODES[node]
        layout = Layout(
            directory=str(here),
            listen=(f"{address}:{self.ports['visit']}",),
            origin=address,
            origin_port=self.ports["origin"],
            inner_port=self.ports["inner"],
            inner_listen=(f"{address}:{self.ports['inner']}",),
            peers_port=self.ports["peers"],
            socket=str(here / "s"),
            metrics="",
            threads=1,
            connections=1_000,
        )
        if not self.doors:
            return haproxy.files(node, NODES, [], layout)
        writers = Writers(self.one_writer or frozenset())
        owners = host_to_node_maps.maps_of(owner_of, self.large, writers)
        self.large = owners.large
        allowed = {*NODES.values(), HERE}
        made = Doors(owners, allowed, one_writer=self.one_writer is not None)
        return haproxy.files(node, NODES, [], layout, made)

    def flip(self, node: str, made: Mapping[str, str]) -> float:
        """Seconds until the node goes by these files."""
        here = self.folder / node
        sockets = apply_to_haproxy.Sockets(Socket(str(here / "s")), Socket(str(here / "m")))
        begun = time.perf_counter()
        told = apply_to_haproxy.enforce(made, here, self.found, sockets)
        assert told == "commands", told
        return time.perf_counter() - begun

    @property
    def door(self) -> tuple[str, int]:
        return NODES["n1"], self.ports["visit"]

    def memory(self, node: str) -> int:
        status = Path(f"/proc/{self.running[node]}/status").read_text(encoding="ascii")
        return int(status.split("VmRSS:")[1].split()[0]) * 1024

    def cpu(self, node: str) -> float:
        """Seconds of processor time that the node's HAProxy used so far."""
        tasks = Path(f"/proc/{self.running[node]}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


@contextmanager
def two_nodes(
    owner_of: Mapping[str, str], *, doors: bool = True, one_writer: frozenset[str] | None = None
) -> Iterator[Rig]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="flex-bench-")))
        ports = {name: free_port() for name in ("visit", "inner", "origin", "peers")}
        stack.enter_context(web_servers(ports["origin"], NODES))
        rig = Rig(folder, haproxy_program.program(), ports, doors, one_writer)
        for node, address in NODES.items():
            here = folder / node
            here.mkdir()
            haproxy_program.write(rig.files(node, owner_of), here)
            started = haproxy_program.running(rig.found, here, ports["visit"], address)
            rig.running[node] = stack.enter_context(started)
        # The nodes find each other within two checks, a second each.
        time.sleep(3)
        yield rig


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HERE, 0))
        port: int = probe.getsockname()[1]
    return port
