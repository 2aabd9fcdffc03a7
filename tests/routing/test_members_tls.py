"""Members of a replicated site reach each other by TLS where nodes have certificates: real
HAProxies on loopback, whose web servers nobody else asks.
"""

from __future__ import annotations

import queue
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from flex.routing import host_to_node_maps, install_files
from flex.routing.haproxy import CONFIGURATION, files
from flex.routing.haproxy_frontends import Doors
from flex.routing.haproxy_program import HaproxyProgram
from flex.routing.member_pools import LardLimits, Pool
from flex.routing.member_pools import members as members_at
from flex.routing.ports_and_paths import Layout
from tests.routing.certificates import Authority
from tests.routing.conftest import Members, until_closed
from tests.routing.test_doors import NAMES, header
from tests.routing.test_doors_tls import Encrypted, Unchecked, asking_with, figures_of

SITE = "shop.example"
LED = NAMES | {SITE: "n1"}
NODES = {"n0": "192.0.2.1", "n1": "2001:db8::2", "n2": "192.0.2.3"}


def pool(at: dict[str, str]) -> Pool:
    """Whoever has the least to do answers, so a second request goes to another member."""
    return Pool(SITE, (), members_at(at), "least_connections", LardLimits())


@pytest.fixture
def cluster(found: HaproxyProgram, members: Members, tmp_path: Path) -> Encrypted:
    made = Encrypted(found, tmp_path, members)
    at = members.addresses
    made.pools = (pool({node: at[node] for node in ("n1", "n2")}),)
    return made


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def member_of(cluster: Encrypted, node: str) -> str:
    """The server of that member in the pool."""
    (only,) = cluster.pools
    return next(f"s{one.bit}" for one in only.members if one.node == node)


def until_member_is(cluster: Encrypted, door: str, node: str, status: str) -> None:
    (only,) = cluster.pools
    for _ in range(600):
        said = figures_of(cluster.stats(door), only.name, member_of(cluster, node))
        if said["status"] == status:
            return
        time.sleep(0.1)
    pytest.fail(f"{door} says of {node}: {said['status']}")


def answered_by_both(cluster: Encrypted, door: str) -> set[str]:
    """Two requests at a time, and who was asked."""
    forged = "X-Flex-Visitor: 198.51.100.9\r\n"
    asked = [cluster.ask(door, SITE, forged) for _ in range(2)]
    held = [cluster.members.asked.get(timeout=60) for _ in asked]
    for one in held:
        assert header(one, "x-forwarded-for") == ["127.0.0.1"]
        assert "198.51.100.9" not in one.head.decode()
        one.answer()
    assert [until_closed(one)[-2:] for one in asked] == [b"ok", b"ok"]
    return {one.node for one in held}


def said_by_peer(cluster: Encrypted, node: str, context: ssl.SSLContext | None) -> bytes:
    """As another distributor is answered that comes with this."""
    address = (cluster.members.addresses[node], cluster.peers)
    with (
        suppress(ConnectionResetError, BrokenPipeError, ssl.SSLError),
        socket.create_connection(address, 60) as plain,
    ):
        spoken = context.wrap_socket(plain) if context else plain
        with spoken as connection:
            connection.sendall(f"HAProxyS 2.1\n{node}\nstranger 1 1\n".encode())
            said = connection.recv(100)
            return said if said[:1].isdigit() else b""
    return b""


@pytest.mark.torture("")
@pytest.mark.slow
@pytest.mark.real
@pytest.mark.parametrize("check_path", ["", "/healthy"])
def test_members_answer_each_others_visitors_by_tls_alone(
    cluster: Encrypted, stack: ExitStack, check_path: str
) -> None:
    cluster.check_path = check_path
    if check_path:
        cluster.members.asked = Unchecked()
    cluster.start(stack, LED)
    for door, other in (("n1", "n2"), ("n2", "n1")):
        until_member_is(cluster, door, other, "UP")
    for door in ("n0", "n1", "n2"):
        assert answered_by_both(cluster, door) == {"n1", "n2"}
    own = asking_with(cluster.certificate("n2"))
    # A node that it does not know, by which it is seen that it was heard.
    assert said_by_peer(cluster, "n1", own) == b"504\n"
    assert said_by_peer(cluster, "n1", None) == b""
    assert said_by_peer(cluster, "n1", asking_with(None)) == b""
    # Its web server goes on, and nobody asks it past its HAProxy.
    cluster.end("n2")
    until_member_is(cluster, "n1", "n2", "DOWN")
    assert answered_by_both(cluster, "n1") == {"n1"}


@pytest.mark.slow
@pytest.mark.real
def test_a_member_whose_web_server_is_away_is_away(cluster: Encrypted, stack: ExitStack) -> None:
    cluster.start(stack, LED)
    until_member_is(cluster, "n1", "n2", "UP")
    cluster.members.stop("n2")
    until_member_is(cluster, "n1", "n2", "DOWN")
    assert answered_by_both(cluster, "n1") == {"n1"}


@pytest.mark.slow
@pytest.mark.real
def test_whoever_has_no_certificate_of_the_cluster_gets_nothing_at_a_members_door(
    cluster: Encrypted, stack: ExitStack
) -> None:
    cluster.start(stack, LED)
    stranger = Authority(cluster.folder / "other", "cluster").begin()
    forged = stranger.sign("n1", cluster.folder / "other" / "n1.pem")
    own = asking_with(cluster.certificate("n2"))
    said = cluster.at_port(cluster.member, "n1", own, "check.invalid")
    assert said.startswith(b"HTTP/1.1 200")
    for context in (None, *map(asking_with, (None, forged))):
        assert b"HTTP" not in cluster.at_port(cluster.member, "n1", context, SITE)
    with pytest.raises(queue.Empty):
        cluster.members.asked.get_nowait()


@pytest.mark.slow
@pytest.mark.real
def test_a_member_whose_certificate_is_of_another_ca_is_away(
    cluster: Encrypted, stack: ExitStack
) -> None:
    other = Authority(cluster.folder / "other", "cluster").begin()
    other.sign("n2", cluster.certificate("n2"), 2)
    cluster.start_nodes(stack)
    until_member_is(cluster, "n1", "n2", "DOWN")
    until_member_is(cluster, "n2", "n1", "DOWN")
    assert answered_by_both(cluster, "n1") == {"n1"}


@pytest.mark.real
@pytest.mark.parametrize("proxy_protocol", [False, True])
@pytest.mark.parametrize("policy", ["lardr", "lard", "least_connections"])
def test_haproxy_takes_members_by_tls_with_everything_that_can_be_set(
    cluster: Encrypted, tmp_path: Path, policy: str, proxy_protocol: bool
) -> None:
    one = replace(pool(NODES), policy=policy, dynamic=("n1",), popular=(("/hot", 3),))
    layout = replace(cluster.layout("n0"), proxy_protocol=proxy_protocol)
    made = Doors(host_to_node_maps.maps_of(LED), NODES.values())
    there = files("n0", NODES, [one], layout, made)
    here = tmp_path / "here"
    here.mkdir()
    assert install_files.put(there, here, cluster.found)
    # Nor does a controller need the nodes' certificates to check the rest.
    away = replace(layout, inner_certificate="/nowhere/n.pem", inner_ca="/nowhere/c.pem")
    assert install_files.put(files("n0", NODES, [one], away, made), here, cluster.found)
    text = there[CONFIGURATION]
    for node, address in NODES.items():
        if node != "n0":
            assert f"{address}:{layout.origin_port}" not in text


def test_without_certificates_members_are_reached_as_before() -> None:
    made = Doors(host_to_node_maps.maps_of(LED), NODES.values())
    text = files("n0", NODES, [pool(NODES)], Layout(), made)[CONFIGURATION]
    assert ":10002" not in text
    assert "members" not in text
    assert "    peer n0 192.0.2.1:10000\n" in text
    assert "192.0.2.3:8080 id 3 weight 100 check inter 1s fall 2 rise 2 slowstart 5s" in text


def test_without_replicated_sites_there_is_no_door_for_members() -> None:
    layout = Layout(inner_certificate="/etc/n.pem", inner_ca="/etc/ca.pem")
    made = Doors(host_to_node_maps.maps_of(NAMES), NODES.values())
    assert ":10002" not in files("n0", NODES, [], layout, made)[CONFIGURATION]
