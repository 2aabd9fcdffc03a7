"""Nodes that have as many visitors as they take answer all of them, one after the other: real
HAProxies on loopback.
"""

from __future__ import annotations

import queue
import re
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest

from flex.routing import haproxy, haproxy_program, haproxy_state, host_to_node_maps
from flex.routing.haproxy_frontends import Doors
from flex.routing.haproxy_program import HaproxyProgram
from flex.routing.haproxy_socket import Socket
from flex.routing.member_pools import LardLimits, Pool
from flex.routing.member_pools import members as members_at
from flex.routing.ports_and_paths import Layout
from tests.ports import any_port
from tests.routing.conftest import Members, until_closed
from tests.routing.following import until
from tests.routing.test_doors import NAMES, Cluster, stack

pytestmark = pytest.mark.real

__all__ = ["stack"]
CONNECTIONS = 40
CROWD = 60
# HAProxy gives up a request that waits longer.
TIMEOUT = timedelta(seconds=10)


@dataclass(eq=False)
class Small(Cluster):
    def layout(self, node: str) -> Layout:
        return replace(super().layout(node), connections=CONNECTIONS, timeout=TIMEOUT)


@pytest.fixture
def answering(members: Members) -> Iterator[None]:
    """Web servers answer whatever they are asked."""
    over = threading.Event()

    def answer() -> None:
        while not over.is_set():
            try:
                members.asked.get(timeout=0.05).answer()
            except (queue.Empty, OSError):
                continue

    thread = threading.Thread(target=answer)
    thread.start()
    yield
    over.set()
    thread.join()


def connected(address: str, port: int, number: int = CROWD) -> list[socket.socket]:
    return [socket.create_connection((address, port), 60) for _ in range(number)]


def asked(visitors: list[socket.socket], host: str) -> None:
    """HAProxy has those it takes before any of them asks."""
    for number, visitor in enumerate(visitors):
        visitor.sendall(
            f"GET /{number} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
        )


def statuses(visitors: list[socket.socket]) -> Counter[str]:
    return Counter(until_closed(visitor)[9:12].decode() for visitor in visitors)


@pytest.mark.parametrize("connections", [4, 7, 100, 20_000])
@pytest.mark.parametrize("listen_sni", [(), (":443",)])
def test_visitors_never_have_all_connections_however_they_come(
    connections: int, listen_sni: tuple[str, ...]
) -> None:
    layout = Layout(connections=connections, listen_sni=listen_sni)
    everywhere = Doors(host_to_node_maps.maps_of(NAMES), ["192.0.2.1"])
    made = haproxy.files("n0", {"n0": "192.0.2.1"}, [], layout, everywhere)
    text = made[haproxy.CONFIGURATION]
    frontends = re.findall(r"frontend visitors.*\n +maxconn (\d+)\n", text)
    assert len(frontends) == 1 + len(listen_sni)
    assert sum(map(int, frontends)) == connections - connections // 4


@pytest.mark.slow
@pytest.mark.usefixtures("answering")
def test_two_nodes_full_of_visitors_for_each_other_answer_them_all(
    found: HaproxyProgram, members: Members, stack: ExitStack, tmp_path: Path
) -> None:
    cluster = Small(found, tmp_path, members)
    cluster.start(stack, NAMES)
    at = members.addresses
    here, there = connected(at["n0"], cluster.port), connected(at["n1"], cluster.port)
    asked(here, "b.example")
    asked(there, "a.example")
    assert statuses([*here, *there]) == {"200": 2 * CROWD}


@dataclass(frozen=True, slots=True)
class Admitting:
    """A node whose site, on two nodes, lets five requests in."""

    pool: Pool
    address: str
    port: int
    socket: Socket


@pytest.fixture
def admitting(found: HaproxyProgram, members: Members, tmp_path: Path) -> Iterator[Admitting]:
    at = {node: members.addresses[node] for node in ("n0", "n1")}
    port, address = any_port(), at["n0"]
    layout = Layout(
        directory=str(tmp_path),
        listen=(f"{address}:{port}",),
        origin=address,
        origin_port=members.port,
        peers_port=any_port(),
        socket=str(tmp_path / "s"),
        metrics="",
        threads=1,
        connections=CONNECTIONS,
        timeout=TIMEOUT,
    )
    limits = LardLimits(low=2, high=4)
    pool = Pool("shop.example", (), members_at(at), "lardr", limits)
    made = haproxy.files("n0", {"n0": address}, [pool], layout)
    haproxy_program.write(made, tmp_path)
    with haproxy_program.running(found, tmp_path, port, address):
        yield Admitting(pool, address, port, Socket(layout.socket))


@pytest.mark.usefixtures("answering")
def test_a_node_full_of_visitors_who_wait_for_admission_answers_them_all(
    admitting: Admitting,
) -> None:
    visitors = connected(admitting.address, admitting.port)
    asked(visitors, "shop.example")
    assert statuses(visitors) == {"200": CROWD}


def test_everybody_who_waits_for_admission_is_counted(
    admitting: Admitting, members: Members
) -> None:
    visitors = connected(admitting.address, admitting.port, 20)
    asked(visitors, "shop.example")

    def all_are_counted() -> bool:
        (live,) = haproxy_state.live([admitting.pool], admitting.socket)
        under_way = sum(member.under_way for member in live.members)
        return under_way + live.waiting == len(visitors)

    until("each visitor waits or is answered", all_are_counted)
    for _ in visitors:
        members.asked.get(timeout=60).answer()
    assert statuses(visitors) == {"200": len(visitors)}
