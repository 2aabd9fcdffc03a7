"""The doors at which nodes reach each other: by addresses of either family, and while the HAProxy
behind one of them begins anew.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from flex.routing import apply_to_haproxy, host_to_node_maps, install_files
from flex.routing.haproxy import CONFIGURATION, files
from flex.routing.haproxy_frontends import Doors
from flex.routing.haproxy_program import HaproxyProgram, start_with_master
from flex.routing.haproxy_socket import Socket
from flex.routing.member_pools import Pool
from flex.routing.member_pools import members as members_at
from flex.routing.ports_and_paths import Layout
from tests.routing.conftest import Members, until_closed
from tests.routing.test_doors import NAMES, Cluster, header

NODES = {"n0": "192.0.2.1", "n1": "2001:db8::2"}


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


@pytest.mark.parametrize("certificate", ["", "/etc/flex/node.pem"])
def test_a_node_that_others_reach_by_ipv6_listens_to_both_families(certificate: str) -> None:
    made = Doors(host_to_node_maps.maps_of(NAMES), NODES.values())
    layout = Layout(inner_certificate=certificate, inner_ca=certificate)
    binds = {
        node: [
            line.split()[1:3]
            for line in files(node, NODES, [], layout, made)[CONFIGURATION].splitlines()
            if ":10001" in line and line.split()[0] == "bind"
        ]
        for node in NODES
    }
    assert [at for at, *_ in binds["n0"]] == [":10001"]
    assert [at for at, *_ in binds["n1"]] == [":10001", ":::10001"]


def test_an_inner_door_looks_into_a_map_only_where_its_node_shares_a_site() -> None:
    made = Doors(host_to_node_maps.maps_of(NAMES), NODES.values())
    shared = Pool("shop.example", (), members_at(NODES))
    for pools, looks in (([], False), ([shared], True)):
        text = files("n0", NODES, pools, Layout(), made)[CONFIGURATION]
        (inner,) = (each for each in text.split("\n\n") if "frontend inner\n" in each)
        assert ("map_str" in inner) == looks
        # HAProxy has to have the map, which says by which version it goes.
        assert "map_str(/etc/haproxy/flex/hosts.map)" in text


def has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


@pytest.mark.real
def test_a_door_leads_to_an_owner_that_has_an_ipv6_address_alone(
    found: HaproxyProgram, members: Members, tmp_path: Path, stack: ExitStack
) -> None:
    if not has_ipv6():
        pytest.skip("this machine has no IPv6 address of its own")
    cluster = OfBothFamilies(found, tmp_path, members)
    cluster.start(stack, {"a.example": "n0", "b.example": "n1"})
    for door, host, owner in (("n0", "b.example", "n1"), ("n1", "a.example", "n0")):
        held = cluster.answered(door, host)
        assert held.node == owner
        assert header(held, "x-forwarded-for") == ["127.0.0.1"]
    with socket.create_connection(("::1", cluster.port), 60) as visitor:
        visitor.sendall(b"GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n")
        held = members.asked.get(timeout=60)
        held.answer()
        assert until_closed(visitor).endswith(b"ok")
    assert held.node == "n0"
    assert header(held, "x-forwarded-for") == ["::1"]


class OfBothFamilies(Cluster):
    """The other nodes reach n1 by ::1, where nobody said at what its inner door listens. Its web
    server and its visitors are as those of others.
    """

    def layout(self, node: str) -> Layout:
        made = super().layout(node)
        if node != "n1":
            return made
        return replace(made, listen=(*made.listen, f"[::1]:{self.port}"), inner_listen=())

    def files(
        self, node: str, owner_of: Mapping[str, str], allowed: tuple[str, ...] = ()
    ) -> dict[str, str]:
        at = {"n0": self.members.addresses["n0"], "n1": "::1"}
        made = Doors(host_to_node_maps.maps_of(owner_of), (*at.values(), "127.0.0.1", *allowed))
        return files(node, at, self.pools, self.layout(node), made)

    def start(self, stack: ExitStack, owner_of: Mapping[str, str]) -> None:
        for node in ("n0", "n1"):
            here = self.folder / node
            install_files.put(self.files(node, owner_of), here, self.found)
            address = self.members.addresses[node]
            stack.enter_context(start_with_master(self.found, here, self.port, here / "m", address))
        for node in ("n0", "n1"):
            self._until_all_are_well(node)


@pytest.mark.real
def test_a_reload_closes_no_connection_over_which_a_node_may_ask_at_this_moment(
    found: HaproxyProgram, members: Members, tmp_path: Path, stack: ExitStack
) -> None:
    cluster = Cluster(found, tmp_path, members)
    cluster.start(stack, NAMES)
    at = members.addresses["n1"], cluster.inner
    with socket.create_connection(at, 60) as kept:
        assert asked_over(kept, members).lower().find(b"connection: close") < 0
        apply_to_haproxy.reload(Socket(str(tmp_path / "n1" / "m")))
        assert b"connection: close" in asked_over(kept, members).lower()
        assert kept.recv(1) == b""


def asked_over(kept: socket.socket, members: Members) -> bytes:
    kept.sendall(b"GET / HTTP/1.1\r\nHost: b.example\r\n\r\n")
    members.asked.get(timeout=60).answer()
    said = b""
    while not said.endswith(b"ok"):
        more = kept.recv(65536)
        assert more, said
        said += more
    return said
