"""Connections whose TLS ends at web servers find the site's node by SNI: real HAProxies on
loopback, and certificates of openssl.
"""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from flex.routing import host_to_node_maps, read_strays
from flex.routing.haproxy import CONFIGURATION, files
from flex.routing.haproxy_frontends import Doors
from flex.routing.haproxy_program import HaproxyProgram, refusal, write
from flex.routing.haproxy_socket import Socket
from flex.routing.member_pools import Pool
from flex.routing.member_pools import members as members_at
from flex.routing.ports_and_paths import Layout
from flex_api.settings.routing_and_warming import Routing
from tests.ports import any_port
from tests.routing.certificates import Authority
from tests.routing.conftest import Members, until_closed
from tests.routing.test_doors import NAMES, Cluster
from tests.routing.test_doors_tls import figures_of

V2 = b"\r\n\r\n\x00\r\nQUIT\n"


@dataclass(eq=False)
class BySni(Cluster):
    """A cluster whose web servers end TLS, and say to each line which node they are."""

    tls: int = field(default_factory=any_port)
    web: int = field(default_factory=any_port)
    proxied: bool = False
    web_servers: dict[str, ExitStack] = field(default_factory=dict)

    def layout(self, node: str) -> Layout:
        return replace(
            super().layout(node),
            listen_sni=(f"{self.members.addresses[node]}:{self.tls}",),
            origin_tls_port=self.web,
            proxy_protocol=self.proxied,
        )

    def ports(self) -> dict[str, int]:
        return {**super().ports(), "visitors_by_sni": self.tls}

    def serve(self, stack: ExitStack) -> None:
        authority = Authority(self.folder / "tls", "web").begin()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(authority.sign("web", self.folder / "tls" / "w.pem"))
        for node, address in self.members.addresses.items():
            server = socket.create_server((address, self.web))
            self.web_servers[node] = stack.enter_context(ExitStack())
            self.web_servers[node].callback(server.close)
            self.web_servers[node].callback(server.shutdown, socket.SHUT_RDWR)
            threading.Thread(target=self._accept, args=(node, server, context), daemon=True).start()

    def _accept(self, node: str, server: socket.socket, context: ssl.SSLContext) -> None:
        with suppress(OSError):
            while True:
                plain, _ = server.accept()
                threading.Thread(
                    target=self._answer, args=(node, plain, context), daemon=True
                ).start()

    def _answer(self, node: str, plain: socket.socket, context: ssl.SSLContext) -> None:
        with suppress(OSError), plain:
            visitor = _visitor(plain) if self.proxied else ""
            # Whoever only looks whether somebody listens says nothing.
            if not plain.recv(1, socket.MSG_PEEK):
                return
            with context.wrap_socket(plain, server_side=True) as connection:
                while connection.recv(100):
                    connection.sendall(f"{node} {visitor}\n".encode())

    def visit(self, door: str, name: str | None) -> ssl.SSLSocket:
        plain = socket.create_connection((self.members.addresses[door], self.tls), 60)
        return self.visit_over(plain, name)

    def visit_over(self, plain: socket.socket, name: str | None) -> ssl.SSLSocket:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context.wrap_socket(plain, server_hostname=name)

    def reached(self, door: str, name: str | None) -> str:
        with self.visit(door, name) as connection:
            return said(connection)

    def down(self, door: str, node: str) -> None:
        """As the check finds it, which takes two seconds."""
        stats = Socket(str(self.folder / door / "s"))
        stats.ask("set", "server", f"tls_at_{node}/tls", "state", "maint")


def said(connection: socket.socket) -> str:
    connection.sendall(b"who?")
    return connection.recv(100).decode().strip()


def _visitor(plain: socket.socket) -> str:
    """By the PROXY protocol's second version: a head of 16 bytes, then addresses."""
    head = plain.recv(16, socket.MSG_WAITALL)
    assert head.startswith(V2)
    rest = plain.recv(int.from_bytes(head[14:]), socket.MSG_WAITALL)
    return socket.inet_ntoa(rest[:4]) if rest else ""


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


@pytest.fixture
def cluster(found: HaproxyProgram, members: Members, tmp_path: Path, stack: ExitStack) -> BySni:
    made = BySni(found, tmp_path, members)
    made.serve(stack)
    return made


@pytest.mark.torture("False")
@pytest.mark.slow
@pytest.mark.real
@pytest.mark.parametrize("proxied", [False, True])
def test_any_door_leads_to_the_owners_web_server_which_ends_tls(
    cluster: BySni, stack: ExitStack, proxied: bool
) -> None:
    cluster.proxied = proxied
    visitor = " 127.0.0.1" if proxied else ""
    cluster.start(stack, NAMES)
    for door in cluster.members.addresses:
        for name, owner in NAMES.items():
            assert cluster.reached(door, name) == f"{owner}{visitor}"
            assert cluster.reached(door, name.upper()) == f"{owner}{visitor}"
        for unknown in ("strange.example", None):
            assert cluster.reached(door, unknown) == f"{door}{visitor}"


@pytest.mark.slow
@pytest.mark.real
def test_connections_that_came_to_a_wrong_door_are_counted_by_name(
    cluster: BySni, stack: ExitStack
) -> None:
    pool = Pool("c.example", (), members_at(cluster.members.addresses))
    cluster.pools = (pool,)
    cluster.start(stack, NAMES)
    stats = Socket(str(cluster.folder / "n0" / "s"))
    for _ in range(3):
        assert cluster.reached("n0", "B.example") == "n1"
    for name in ("a.example", "c.example", "strange.example", None):
        assert cluster.reached("n0", name) == "n0"
    found = read_strays.strays(stats)
    assert found
    assert [(one.name, one.requests) for one in found.counted] == [("b.example", 3)]
    # A connection is one, however much is said in it; requests of the same name come on top.
    with cluster.visit("n0", "b.example") as kept:
        assert {said(kept), said(kept)} == {"n1"}
    cluster.answered("n0", "b.example")
    found = read_strays.strays(stats)
    assert found
    assert [(one.name, one.requests) for one in found.counted] == [("b.example", 5)]
    assert (found.names, found.requests) == (1, 5)


@pytest.mark.slow
@pytest.mark.real
def test_a_flip_holds_for_new_connections_and_cuts_none(cluster: BySni, stack: ExitStack) -> None:
    cluster.start(stack, NAMES)
    with cluster.visit("n2", "b.example") as kept:
        assert said(kept) == "n1"
        moved = NAMES | {"b.example": "n3", "new.example": "n0"}
        del moved["c.example"]
        assert cluster.flip("n2", moved) == "commands"
        assert said(kept) == "n1"
        assert cluster.reached("n2", "b.example") == "n3"
        assert cluster.reached("n2", "new.example") == "n0"
        # Nobody owns it any more.
        assert cluster.reached("n2", "c.example") == "n2"
        assert said(kept) == "n1"


@pytest.mark.slow("owner")
@pytest.mark.real
@pytest.mark.parametrize("content", ["everywhere", "owner"])
def test_a_process_that_ends_leads_connections_to_the_owner_as_before(
    cluster: BySni, stack: ExitStack, content: str
) -> None:
    cluster.content = content
    cluster.start(stack, NAMES)
    plain = cluster.held_by_old_process("n0", "visitors_by_sni")
    with cluster.visit_over(plain, "b.example") as connection:
        assert said(connection) == "n1"


@pytest.mark.slow
@pytest.mark.real
def test_maps_that_contradict_each_other_send_no_connection_in_circles(
    cluster: BySni, stack: ExitStack
) -> None:
    cluster.start(stack, NAMES)
    cluster.flip("n0", NAMES | {"a.example": "n1"})
    assert cluster.reached("n0", "a.example") == "n1"
    assert cluster.reached("n1", "a.example") == "n0"


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.parametrize("content", ["everywhere", "owner"])
def test_where_the_owner_is_away_a_node_answers_itself_only_if_it_has_the_content(
    cluster: BySni, stack: ExitStack, content: str
) -> None:
    cluster.content = content
    cluster.start(stack, NAMES)
    cluster.down("n0", "n1")
    if content == "everywhere":
        assert cluster.reached("n0", "b.example") == "n0"
    else:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            cluster.reached("n0", "b.example")
    assert cluster.reached("n0", "c.example") == "n2"


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.parametrize("proxied", [False, True])
def test_a_connection_to_an_owner_that_has_just_gone_is_answered_where_it_came(
    cluster: BySni, stack: ExitStack, proxied: bool
) -> None:
    cluster.proxied = proxied
    visitor = " 127.0.0.1" if proxied else ""
    cluster.start(stack, NAMES)
    # Checks have not found it yet.
    stats = Socket(str(cluster.folder / "n0" / "s"))
    assert stats.ask("disable", "health", "tls_at_n1/tls") == ""
    cluster.web_servers.pop("n1").close()
    for _ in range(3):
        assert cluster.reached("n0", "b.example") == f"n0{visitor}"


@pytest.mark.slow
@pytest.mark.real
def test_a_member_of_a_replicated_site_answers_what_comes_to_it(
    cluster: BySni, stack: ExitStack
) -> None:
    at = cluster.members.addresses
    three = members_at({node: at[node] for node in ("n1", "n2", "n3")})
    joined = tuple(replace(one, leaving=one.node == "n3") for one in three)
    cluster.pools = (Pool("shop.example", (), joined),)
    cluster.start(stack, NAMES | {"shop.example": "n2"})
    asked = {door: cluster.reached(door, "shop.example") for door in at}
    # One that leaves is no member any more.
    assert asked == {"n0": "n2", "n1": "n1", "n2": "n2", "n3": "n2"}


@pytest.mark.slow
@pytest.mark.real
def test_whoever_does_not_speak_tls_is_not_passed_on(cluster: BySni, stack: ExitStack) -> None:
    cluster.start(stack, NAMES)
    at = (cluster.members.addresses["n0"], cluster.tls)
    with suppress(ConnectionResetError), socket.create_connection(at, 60) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: b.example\r\n\r\n")
        assert until_closed(connection) == b""
    stats = Socket(str(cluster.folder / "n0" / "s")).ask("show", "stat")
    for backend in ("tls_here", "tls_at_n1"):
        assert figures_of(stats, backend, "tls")["stot"] == "0"


@pytest.mark.real
def test_haproxy_takes_doors_by_sni_with_everything_that_can_be_set(
    found: HaproxyProgram, tmp_path: Path
) -> None:
    nodes = {"n0": "192.0.2.1", "n1": "2001:db8::2"}
    for content in ("everywhere", "owner"):
        for check_path in ("", "/healthy"):
            for proxy_protocol in (False, True):
                layout = Layout(
                    directory=str(tmp_path),
                    socket=str(tmp_path / "s"),
                    listen_sni=(":443", "[2001:db8::2]:444"),
                    content=content,
                    check_path=check_path,
                    proxy_protocol=proxy_protocol,
                )
                made = Doors(host_to_node_maps.maps_of(NAMES), nodes.values())
                write(files("n1", nodes, [], layout, made), tmp_path)
                assert refusal(found, tmp_path) == ""


def test_without_the_setting_no_line_speaks_of_it() -> None:
    made = Doors(host_to_node_maps.maps_of(NAMES), ["192.0.2.1"])
    text = files("n0", {"n0": "192.0.2.1"}, [], Layout(), made)[CONFIGURATION]
    assert "tls" not in text
    assert "sni" not in text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"doors": "replicated"}, 'needs doors = "all"'),
        ({"origin_tls_port": 443}, "circles"),
        ({"listen_sni": [":8000-9000"]}, "circles"),
        ({"listen_tls": [":8443"], "certificates": "/c"}, "circles"),
        ({"inner_port": 8443}, "circles"),
        ({"listen": [":80", ":443"]}, "listens there already"),
        ({"listen_sni": [":443 ssl"]}, "HAProxy configuration"),
        ({"origin_tls_port": 0}, "from 1 to 65535"),
    ],
)
def test_settings_by_which_connections_would_go_wrong_are_one_clear_error(
    given: dict[str, object], said: str
) -> None:
    whole = {"on": True, "doors": "all", "listen_sni": [":443"], **given}
    with pytest.raises(ValueError, match=said) as raised:
        Routing.model_validate(whole)
    assert str(raised.value).count("\n  Value error") == 1
