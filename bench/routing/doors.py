"""Doors for all sites: what a map of every name costs, and how long a flip takes.

    make bench NAME=doors
    NAMES=200000 FLIPPED=20000 ROUNDS=3 ...    fewer names

Two nodes on loopback, each with a HAProxy of one thread as FLEX configures it, and a web server
that answers at once. CPU is that of the HAProxy processes alone. A flip is timed from the order to
the node's acknowledgement, with everything that `flex route apply` does: files are compared,
written and synced. A visitor on a kept connection asks all the time meanwhile. Medians of the
rounds, with the worst beside them. bench/routing/follow_doors.py times orders until nodes that
follow go by them, and failover_by_doors.py a node that dies.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import socket
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from bench.figures import Figures
from bench.routing import failover_by_doors, follow_doors
from flex.routing import apply_to_haproxy, haproxy, haproxy_program, host_to_node_maps
from flex.routing.haproxy_frontends import Doors
from flex.routing.haproxy_socket import Socket
from flex.routing.ports_and_paths import Layout

# How many names the maps have.
NAMES = int(os.environ.get("NAMES", "1000000"))
# How many of them change their node at once.
FLIPPED = int(os.environ.get("FLIPPED", "20000"))
# How often each figure is taken.
ROUNDS = int(os.environ.get("ROUNDS", "5"))
# Requests for a figure of CPU: the kernel counts in hundredths of a second.
REQUESTS = 20_000
NODES = {"n1": "127.0.0.2", "n2": "127.0.0.3"}
# What a loopback connection to one of these comes from.
HERE = "127.0.0.1"
MICRO = 1e6
MIB = 2**20


def measure() -> Figures:
    figures: Figures = {
        "names": NAMES,
        "flipped": FLIPPED,
        "rounds": ROUNDS,
        "load_average": os.getloadavg()[0],
    }
    owner_of = {f"site{number:07}.example": "n1" for number in range(NAMES)}
    with _rig({}) as without:
        before = without.memory("n1")
        figures["without_map_us"] = _cpu(without, "unknown.example")["n1"]
    with _rig(owner_of) as rig:
        figures["map_mib"] = (rig.memory("n1") - before) / MIB
        figures |= _of_requests(rig)
        figures |= _of_flips(rig, owner_of)
    figures |= follow_doors.measure(NAMES, FLIPPED, ROUNDS)
    return figures | failover_by_doors.measure()


@dataclass(eq=False)
class Rig:
    """The HAProxies of both nodes."""

    folder: Path
    found: haproxy_program.HaproxyProgram
    ports: dict[str, int]
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
        owners = host_to_node_maps.maps_of(owner_of, self.large)
        self.large = owners.large
        return haproxy.files(
            node, NODES, [], layout, Doors(owners, {*NODES.values(), HERE})
        )

    def flip(self, node: str, made: Mapping[str, str]) -> float:
        """Seconds until the node goes by these files."""
        here = self.folder / node
        sockets = apply_to_haproxy.Sockets(
            Socket(str(here / "s")), Socket(str(here / "m"))
        )
        begun = time.perf_counter()
        told = apply_to_haproxy.enforce(made, here, self.found, sockets)
        assert told == "commands", told
        return time.perf_counter() - begun

    def memory(self, node: str) -> int:
        status = Path(f"/proc/{self.running[node]}/status").read_text(encoding="ascii")
        return int(status.split("VmRSS:")[1].split()[0]) * 1024

    def cpu(self, node: str) -> float:
        stat = Path(f"/proc/{self.running[node]}/stat").read_text(encoding="ascii")
        user, system = stat.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@contextmanager
def _rig(owner_of: Mapping[str, str]) -> Iterator[Rig]:
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="flex-bench-"))
        )
        ports = {name: _free_port() for name in ("visit", "inner", "origin", "peers")}
        stack.enter_context(web_servers(ports["origin"], NODES))
        rig = Rig(folder, haproxy_program.program(), ports)
        for node, address in NODES.items():
            here = folder / node
            here.mkdir()
            haproxy_program.write(rig.files(node, owner_of), here)
            started = haproxy_program.running(rig.found, here, ports["visit"], address)
            rig.running[node] = stack.enter_context(started)
        # The nodes find each other within two checks, a second each.
        time.sleep(3)
        yield rig


@contextmanager
def web_servers(port: int, nodes: Mapping[str, str]) -> Iterator[None]:
    """One at each node's address, which says in `x-node` which it is."""
    process = multiprocessing.get_context("spawn").Process(
        target=_serve, args=(port, dict(nodes)), daemon=True
    )
    process.start()
    try:
        for address in nodes.values():
            while _is_silent(address, port):
                time.sleep(0.02)
        yield
    finally:
        process.terminate()
        process.join()


def _serve(port: int, nodes: Mapping[str, str]) -> None:
    asyncio.run(_serve_all(port, nodes))


async def _serve_all(port: int, nodes: Mapping[str, str]) -> None:
    servers = [
        await asyncio.start_server(_answerer(node), address, port)
        for node, address in nodes.items()
    ]
    await asyncio.gather(*(server.serve_forever() for server in servers))


def _answerer(node: str):  # type: ignore[no-untyped-def]  # what asyncio calls
    body = (
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx-node: %b\r\n\r\nok" % node.encode()
    )

    async def answer(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(body)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    return answer


def _is_silent(address: str, port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((address, port)) != 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HERE, 0))
        port: int = probe.getsockname()[1]
    return port


class Visitor:
    """One kept connection to n1's door."""

    def __init__(self, rig: Rig) -> None:
        self._connection = socket.create_connection(
            (NODES["n1"], rig.ports["visit"]), 60
        )
        self._answers = self._connection.makefile("rb")

    def ask(self, host: str) -> str:
        """Who answered; "" where nobody did."""
        self._connection.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        ok = b" 200 " in self._answers.readline()
        node, length = "", 0
        while (line := self._answers.readline().strip()) != b"":
            key, _, value = line.partition(b": ")
            if key.lower() == b"x-node":
                node = value.decode()
            elif key.lower() == b"content-length":
                length = int(value)
        self._answers.read(length)
        return node if ok else ""

    def close(self) -> None:
        self._answers.close()
        self._connection.close()


def _cpu(rig: Rig, host: str) -> dict[str, float]:
    """Microseconds of CPU for a request, of each node's HAProxy."""
    visitor = Visitor(rig)
    before = {node: rig.cpu(node) for node in NODES}
    for _ in range(REQUESTS):
        visitor.ask(host)
    visitor.close()
    return {node: (rig.cpu(node) - before[node]) / REQUESTS * MICRO for node in NODES}


def _of_requests(rig: Rig) -> Figures:
    own = "site0000001.example"
    local = [_cpu(rig, own)["n1"] for _ in range(ROUNDS)]
    rig.flip("n1", rig.files("n1", {**_owners(), own: "n2"}))
    forwarded = [_cpu(rig, own) for _ in range(ROUNDS)]
    rig.flip("n1", rig.files("n1", _owners()))
    second = [each["n2"] for each in forwarded]
    return {
        "door_local_us": median(local),
        "door_local_us_max": max(local),
        "door_forwarded_us": median(each["n1"] for each in forwarded),
        "inner_door_us": median(second),
        "inner_door_us_max": max(second),
    }


def _owners() -> dict[str, str]:
    return {f"site{number:07}.example": "n1" for number in range(NAMES)}


def _of_flips(rig: Rig, owner_of: Mapping[str, str]) -> Figures:
    names = list(owner_of)
    one: list[float] = []
    many: list[float] = []
    slowest: list[float] = []
    failed = wrong = 0
    for _ in range(ROUNDS):
        for count, took in ((1, one), (FLIPPED, many)):
            made = rig.files("n1", {**owner_of, **dict.fromkeys(names[:count], "n2")})
            # A visitor of this process waits for nothing but the answer.
            with _asking(rig, names[count - 1]) as asked:
                time.sleep(0.2)
                took.append(rig.flip("n1", made))
                acknowledged = time.perf_counter()
                time.sleep(0.2)
            failed += sum(not node for _, _, node in asked)
            wrong += sum(
                sent > acknowledged and node == "n1" for sent, _, node in asked
            )
            slowest.append(max(end - sent for sent, end, _ in asked))
            rig.flip("n1", rig.files("n1", owner_of))
    return {
        "flip_one_ms": median(one) * 1e3,
        "flip_one_ms_max": max(one) * 1e3,
        "flip_many_s": median(many),
        "flip_many_s_max": max(many),
        "slowest_answer_ms": max(slowest) * 1e3,
        "flip_failed": failed,
        "wrong_owner_after_ack": wrong,
    }


@contextmanager
def _asking(rig: Rig, host: str) -> Iterator[list[tuple[float, float, str]]]:
    """When each request was sent and answered, and by whom."""
    asked: list[tuple[float, float, str]] = []
    over = threading.Event()

    def ask() -> None:
        visitor = Visitor(rig)
        while not over.is_set():
            sent = time.perf_counter()
            node = visitor.ask(host)
            asked.append((sent, time.perf_counter(), node))
            time.sleep(0.001)
        visitor.close()

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield asked
    finally:
        over.set()
        thread.join()
