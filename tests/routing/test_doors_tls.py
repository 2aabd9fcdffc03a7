"""Nodes that speak TLS to each other: real HAProxies on loopback, and certificates of openssl."""

from __future__ import annotations

import queue
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from flex.errors import BadInput
from flex.routing import host_to_node_maps, install_files
from flex.routing.haproxy import CONFIGURATION, files
from flex.routing.haproxy_frontends import Doors
from flex.routing.haproxy_program import HaproxyProgram, start_with_master
from flex.routing.haproxy_socket import Socket
from flex.routing.ports_and_paths import Layout
from flex_api.settings.routing_and_warming import Routing
from tests.ports import any_port
from tests.routing.certificates import Authority
from tests.routing.conftest import Held, Members, until_closed
from tests.routing.test_doors import NAMES, Cluster, header

NODES = {"n0": "192.0.2.1", "n1": "2001:db8::2"}


@dataclass(eq=False)
class Encrypted(Cluster):
    """A cluster whose nodes have certificates of its own."""

    check_path: str = ""
    member: int = field(default_factory=any_port)
    authority: Authority = field(init=False)

    def __post_init__(self) -> None:
        self.authority = Authority(self.folder / "tls", "cluster").begin()
        for node in self.members.addresses:
            self.authority.sign(node, self.certificate(node))

    def certificate(self, node: str) -> Path:
        return self.folder / "tls" / f"{node}.pem"

    def layout(self, node: str) -> Layout:
        return replace(
            super().layout(node),
            check_path=self.check_path,
            member_port=self.member,
            inner_certificate=str(self.certificate(node)),
            inner_ca=str(self.authority.ca),
        )

    def start_nodes(self, stack: ExitStack) -> None:
        """Without waiting until they find each other."""
        for node, address in self.members.addresses.items():
            here = self.folder / node
            install_files.put(self.files(node, NAMES), here, self.found)
            running = start_with_master(self.found, here, self.port, here / "m", address)
            stack.enter_context(running)

    def until_ways_are(self, node: str, wanted: dict[str, str]) -> None:
        for _ in range(600):
            stats = self.stats(node)
            said = {way: figures_of(stats, way)["status"] for way in wanted}
            if said == wanted:
                return
            time.sleep(0.1)
        pytest.fail(f"{node} says {said}")

    def stats(self, node: str) -> str:
        return Socket(str(self.folder / node / "s")).ask("show", "stat")

    def at_inner_door(self, node: str, context: ssl.SSLContext | None, host: str) -> bytes:
        """What whoever comes with this gets; b"" where nobody listens to it."""
        return self.at_port(self.inner, node, context, host)

    def at_port(self, port: int, node: str, context: ssl.SSLContext | None, host: str) -> bytes:
        address = (self.members.addresses[node], port)
        asks = f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
        with (
            suppress(ConnectionResetError, BrokenPipeError, ssl.SSLError),
            socket.create_connection(address, 60) as plain,
        ):
            spoken = context.wrap_socket(plain) if context else plain
            with spoken as connection:
                connection.sendall(asks)
                return connection.recv(65536)
        return b""


@pytest.fixture
def cluster(found: HaproxyProgram, members: Members, tmp_path: Path) -> Encrypted:
    return Encrypted(found, tmp_path, members)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def asking_with(certificate: Path | None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if certificate:
        context.load_cert_chain(certificate)
    return context


def figures_of(stats: str, backend: str, server: str = "inner") -> dict[str, str]:
    """What HAProxy says of a server, as of the way to a node."""
    head, *rows = stats.lstrip("# ").splitlines()
    for row in rows:
        said = dict(zip(head.split(","), row.split(","), strict=False))
        if (said["pxname"], said["svname"]) == (backend, server):
            return said
    raise AssertionError(backend)


@pytest.mark.slow
@pytest.mark.real
def test_any_door_leads_to_the_owner_by_tls_and_connections_are_used_again(
    cluster: Encrypted, stack: ExitStack
) -> None:
    cluster.start(stack, NAMES)
    for door in cluster.members.addresses:
        for host, owner in NAMES.items():
            held = cluster.answered(door, host)
            assert held.node == owner
            assert header(held, "x-forwarded-for") == ["127.0.0.1"]
            assert header(held, "x-flex-visitor") == []
    with cluster.ask("n0", "b.example", keep=True) as kept:
        cluster.members.asked.get(timeout=60).answer()
        assert b"ok" in kept.recv(65536)
        kept.sendall(b"GET / HTTP/1.1\r\nHost: b.example\r\nConnection: close\r\n\r\n")
        cluster.members.asked.get(timeout=60).answer()
        assert until_closed(kept).endswith(b"ok")
    # HAProxy takes a connection for other visitors once it has lasted for two requests.
    before = int(figures_of(cluster.stats("n0"), "at_n1")["connect"])
    for _ in range(8):
        assert cluster.answered("n0", "b.example").node == "n1"
    said = figures_of(cluster.stats("n0"), "at_n1")
    assert int(said["connect"]) == before
    assert int(said["reuse"]) >= 8


@pytest.mark.slow
@pytest.mark.real
def test_whoever_has_no_certificate_of_the_cluster_gets_nothing_at_an_inner_door(
    cluster: Encrypted, stack: ExitStack
) -> None:
    cluster.start(stack, NAMES)
    stranger = Authority(cluster.folder / "other", "cluster").begin()
    forged = stranger.sign("n1", cluster.folder / "other" / "n1.pem")
    late = cluster.authority.sign("n1", cluster.folder / "other" / "late.pem", -1)
    own = asking_with(cluster.certificate("n1"))
    # HAProxy itself answers what nodes ask to see how they are.
    assert cluster.at_inner_door("n0", own, "check.invalid").startswith(b"HTTP/1.1 200")
    strangers = (None, *map(asking_with, (None, forged, late)))
    for context in strangers:
        for host in ("a.example", "check.invalid"):
            said = cluster.at_inner_door("n0", context, host)
            assert b"HTTP" not in said
    with pytest.raises(queue.Empty):
        cluster.members.asked.get_nowait()


@pytest.mark.torture("everywhere-late-", "owner-late-/healthy", "everywhere-wrong-")
@pytest.mark.slow
@pytest.mark.real
@pytest.mark.parametrize("check_path", ["", "/healthy"])
@pytest.mark.parametrize(
    ("content", "signed"), [("everywhere", "late"), ("owner", "late"), ("everywhere", "wrong")]
)
def test_a_node_whose_certificate_does_not_hold_is_away_for_the_others_and_they_for_it(
    cluster: Encrypted, stack: ExitStack, content: str, signed: str, check_path: str
) -> None:
    cluster.content, cluster.check_path = content, check_path
    if check_path:
        cluster.members.asked = Unchecked()
    other = Authority(cluster.folder / "other", "cluster").begin()
    by, days = (cluster.authority, -1) if signed == "late" else (other, 2)
    by.sign("n1", cluster.certificate("n1"), days)
    cluster.start_nodes(stack)
    cluster.until_ways_are("n0", {"at_n1": "DOWN", "at_n2": "UP"})
    # Its own certificate is refused, which it hears when it waits for an answer.
    cluster.until_ways_are("n1", {"at_n0": "DOWN", "at_n2": "DOWN"})
    for door, host in (("n0", "b.example"), ("n1", "a.example")):
        if content == "everywhere":
            assert cluster.answered(door, host).node == door
        else:
            with cluster.ask(door, host) as connection:
                assert b"503 " in until_closed(connection)
    assert cluster.answered("n0", "c.example").node == "n2"


class Unchecked(queue.SimpleQueue[Held]):
    """What members are asked, but for checks, which they answer."""

    def put(self, item: Held, block: bool = True, timeout: float | None = None) -> None:
        if item.head.startswith(b"GET /healthy "):
            item.answer()
        else:
            super().put(item, block, timeout)


def test_without_certificates_between_nodes_no_line_speaks_of_them() -> None:
    made = Doors(host_to_node_maps.maps_of(NAMES), NODES.values())
    text = files("n0", NODES, [], Layout(), made)[CONFIGURATION]
    assert " ssl " not in text
    assert "\n    bind :10001\n" in text


@pytest.mark.real
def test_a_controller_without_the_nodes_certificates_checks_the_rest(
    found: HaproxyProgram, tmp_path: Path
) -> None:
    layout = Layout(
        directory=str(tmp_path / "n0"),
        socket=str(tmp_path / "s"),
        inner_certificate="/nowhere/node.pem",
        inner_ca="/nowhere/ca.pem",
    )
    made = Doors(host_to_node_maps.maps_of(NAMES), NODES.values())
    text = files("n0", NODES, [], layout, made)
    assert install_files.put(text, tmp_path / "n0", found)
    wrong = text | {CONFIGURATION: text[CONFIGURATION] + "nonsense\n"}
    with pytest.raises(BadInput, match="nonsense"):
        install_files.put(wrong, tmp_path / "n0", found)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"inner_certificate": "/etc/n.pem"}, "needed together"),
        ({"inner_ca": "/etc/ca.pem"}, "needed together"),
        ({"inner_certificate": "/etc/n.pem\n", "inner_ca": "/etc/ca.pem"}, "HAProxy configuration"),
        (
            {"doors": "replicated", "inner_certificate": "/etc/n.pem", "inner_ca": "/etc/ca.pem"},
            'needs doors = "all"',
        ),
    ],
)
def test_settings_that_would_leave_nodes_in_clear_are_one_clear_error(
    given: dict[str, str], said: str
) -> None:
    with pytest.raises(ValueError, match=said) as raised:
        Routing.model_validate({"on": True, "doors": "all", **given})
    assert str(raised.value).count("\n  Value error") == 1
