"""What the routing bench runs on: nodes on loopback, each with a HAProxy as FLEX configures it, and
visitors.

Takes sizes and a policy. Returns the answers that visitors got, and the CPU time that the
distributors used. Does not compare policies.
"""

from __future__ import annotations

import multiprocessing
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from bench.routing import origins, relays, visitors
from bench.routing.origins import Machine
from bench.routing.visitors import HOST, Answers
from flex.routing import apply_to_haproxy, haproxy, haproxy_program
from flex.routing.haproxy_frontends import Doors
from flex.routing.haproxy_socket import Socket
from flex.routing.host_to_node_maps import map_of, maps_of
from flex.routing.member_pools import LardLimits, Pool, members
from flex.routing.ports_and_paths import Layout
from flex.sim.traces import Trace

# Policies that no site needs, to compare with: what they have instead of another's way to balance.
PLAIN = {
    "round_robin": "balance roundrobin",
    "hash": "balance uri\n    hash-type consistent sdbm avalanche",
}

_PATIENCE = 60.0


@dataclass(eq=False)
class Rig:
    """A site on nodes 1 to k."""

    folder: Path
    addresses: dict[str, str]
    ports: dict[str, int]
    web: Connection
    crowd: Connection
    found: haproxy_program.HaproxyProgram
    stack: ExitStack
    # Whether each node's HAProxy has doors for all sites.
    has_doors: bool = False
    running: dict[str, int] = field(default_factory=dict)
    links: Connection | None = None

    def relay(self) -> None:
        """From now on distributors reach each other by links that can be cut."""
        port = self.ports["peers"]
        links = {(_relay_of(address), port): (address, port) for address in self.addresses.values()}
        self.links = self.stack.enter_context(_process(relays.relay, links))
        _answer(self.links)

    def link(self, command: str) -> None:
        """`cut` or `mend` all links."""
        assert self.links
        self.links.send(command)
        _answer(self.links)

    def start(
        self,
        policy: str,
        limits: LardLimits,
        *,
        on: Sequence[str] = (),
        threads: int = 1,
        mastered: bool = False,
    ) -> None:
        """Distributors on these nodes, or on the first alone; under a master process where it is to
        be reloaded.
        """
        nodes = on or list(self.addresses)[:1]
        for node in nodes:
            folder = self.folder / node
            folder.mkdir(exist_ok=True)
            haproxy_program.write(self.files(node, policy, limits, threads, nodes), folder)
            port, address = self.ports["visit"], self.addresses[node]
            ours = (
                haproxy_program.start_with_master(self.found, folder, port, folder / "m", address)
                if mastered
                else haproxy_program.running(self.found, folder, port, address)
            )
            self.running[node] = self.stack.enter_context(ours)

    def become(self, *, without: str = "", leaving: str = "") -> None:
        """The distributors, which are mastered, are told that this member is gone, or that it
        leaves.
        """
        for node in self.running:
            folder = self.folder / node
            made = self.files(node, "lardr", LardLimits(), 1, list(self.running), without, leaving)
            sockets = apply_to_haproxy.Sockets(Socket(str(folder / "s")), Socket(str(folder / "m")))
            apply_to_haproxy.enforce(made, folder, None, sockets)

    def files(
        self,
        node: str,
        policy: str,
        limits: LardLimits,
        threads: int,
        on: Sequence[str],
        without: str = "",
        leaving: str = "",
    ) -> Mapping[str, str]:
        there = members(
            {name: address for name, address in self.addresses.items() if name != without}
        )
        there = tuple(replace(member, leaving=member.node == leaving) for member in there)
        pool = Pool(HOST, (), there, "least_connections" if policy in PLAIN else policy, limits)
        layout = Layout(
            directory=str(self.folder / node),
            listen=(f"{self.addresses[node]}:{self.ports['visit']}",),
            origin=self.addresses[node],
            origin_port=self.ports["web"],
            peers_port=self.ports["peers"],
            inner_port=self.ports["inner"],
            inner_listen=(f"{self.addresses[node]}:{self.ports['inner']}",),
            socket=str(self.folder / node / "s"),
            metrics="",
            threads=threads,
            connections=4_000,
        )
        peers = {each: self._peer(node, each) for each in on}
        made = haproxy.files(node, peers, [pool], layout, self._doors() if self.has_doors else None)
        if policy in PLAIN:
            name = f"\nbackend {pool.name}\n"
            before, after = made[haproxy.CONFIGURATION].split(name)
            made[haproxy.CONFIGURATION] = (
                before + name + after.replace("balance leastconn", PLAIN[policy], 1)
            )
        return made

    def _doors(self) -> Doors:
        owner_of = {HOST: next(iter(self.addresses))}
        maps = maps_of(owner_of, map_of(owner_of))
        return Doors(maps, {*self.addresses.values(), "127.0.0.1"})

    def _peer(self, node: str, other: str) -> str:
        address = self.addresses[other]
        return _relay_of(address) if self.links and other != node else address

    @property
    def entrances(self) -> list[tuple[str, int]]:
        return [(self.addresses[node], self.ports["visit"]) for node in self.running]

    def tell(
        self, command: origins.Command, number: int = 0, value: Any = None
    ) -> Any:  # as each command has it
        self.web.send((command, number, value))
        return _answer(self.web)

    def trace(self, trace: Trace) -> None:
        self._visitors("trace", (trace.target, trace.size))

    def begin(self, clients: int, first: int | None = None) -> None:
        """The trace goes on where it was left, or from its `first`."""
        self._visitors("begin", (clients, self.entrances, first))

    def end(self) -> Answers:
        answers: Answers = self._visitors("end", None)
        return answers

    def all_once(self, trace: Trace, clients: int, times: int = 1) -> None:
        """Every target asked for so many times, the hottest last; then the trace again from its
        beginning.
        """
        coldest_first = np.argsort(trace.frequency(), kind="stable")
        self.trace(replace(trace, target=coldest_first))
        self.begin(clients)
        deadline = time.monotonic() + _PATIENCE
        while self.count() < times * len(coldest_first) and time.monotonic() < deadline:
            time.sleep(0.1)
        self.end()
        self.trace(trace)

    def count(self) -> int:
        """Answers since the visitors began."""
        counted: int = self._visitors("count", None)
        return counted

    def during(self, clients: int, seconds: float) -> Answers:
        self.begin(clients)
        time.sleep(seconds)
        return self.end()

    def memory(self) -> tuple[int, int]:
        """Hits and misses of all nodes so far."""
        told = self.tell("stats").values()
        return sum(hits for hits, _ in told), sum(misses for _, misses in told)

    @staticmethod
    def settle(seconds: float) -> None:
        time.sleep(seconds)

    @staticmethod
    def now() -> float:
        """By the clock that answers are dated by."""
        return time.monotonic()

    def processor(self) -> float:
        """Seconds of CPU that the distributors used so far."""
        return sum(_cpu_seconds(pid) for pid in self.running.values())

    def _visitors(self, command: str, value: Any) -> Any:
        self.crowd.send((command, value))
        return _answer(self.crowd)


def _relay_of(address: str) -> str:
    return address.replace("127.0.1.", "127.0.2.")


def _answer(pipe: Connection) -> Any:  # what was commanded says what it is
    if not pipe.poll(_PATIENCE):
        raise TimeoutError("a part of the testbed does not answer")
    return pipe.recv()


def _cpu_seconds(pid: int) -> float:
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


@contextmanager
def rig(nodes: int, machine: Machine, trace: Trace) -> Iterator[Rig]:
    ports = dict(zip(("visit", "web", "peers", "inner"), _free(4), strict=True))
    # Names that no other rig of this machine has: HAProxy's own sockets are called after them.
    addresses = {
        f"n{number}-{ports['visit']}": f"127.0.1.{number}" for number in range(1, nodes + 1)
    }
    listening = {number: (f"127.0.1.{number}", ports["web"]) for number in range(1, nodes + 1)}
    folder = Path(tempfile.mkdtemp(prefix="flex-bench-"))
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        web = stack.enter_context(_process(origins.serve, listening, machine))
        crowd = stack.enter_context(_process(visitors.visit, trace.target, trace.size))
        _answer(web)
        yield Rig(folder, addresses, ports, web, crowd, haproxy_program.program(), stack)


@contextmanager
def _process(work: Any, *args: Any) -> Iterator[Connection]:
    """What it is given is between the two ends."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=work, args=(theirs, *args), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours
    finally:
        ours.close()
        process.join(10)
        if process.is_alive():
            process.kill()
            process.join()


def _free(count: int) -> list[int]:
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [probe.getsockname()[1] for probe in probes]
