"""Whichever node a request comes to, the node that owns the site answers it: real HAProxies of four
nodes on loopback.
"""

from __future__ import annotations

import os
import queue
import random
import re
import signal
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from flex.errors import BadInput
from flex.routing import apply_to_haproxy, haproxy_socket, host_to_node_maps, install_files
from flex.routing.haproxy import CONFIGURATION, files, version
from flex.routing.haproxy_frontends import NEIGHBOURS, STRAYS, Doors
from flex.routing.haproxy_program import HaproxyProgram, refusal, start_with_master, write
from flex.routing.haproxy_socket import Socket
from flex.routing.member_pools import Member, Pool, backend
from flex.routing.member_pools import members as members_at
from flex.routing.ports_and_paths import Layout
from tests.ports import any_port
from tests.routing.conftest import Held, Members, let_others_be_reached, until_closed

pytestmark = pytest.mark.real


@dataclass(eq=False)
class Cluster:
    """A HAProxy at each of the members' addresses, and the maps that each of them was given. By
    name there may be `others` that have its site.
    """

    found: HaproxyProgram
    folder: Path
    members: Members
    content: str = "everywhere"
    pools: tuple[Pool, ...] = ()
    port: int = field(default_factory=any_port)
    inner: int = field(default_factory=any_port)
    peers: int = field(default_factory=any_port)
    large: str = ""
    others: Mapping[str, Sequence[str]] = field(default_factory=dict)
    running: dict[str, ExitStack] = field(default_factory=dict)

    def layout(self, node: str) -> Layout:
        here, address = self.folder / node, self.members.addresses[node]
        return Layout(
            directory=str(here),
            listen=(f"{address}:{self.port}",),
            origin=address,
            origin_port=self.members.port,
            inner_port=self.inner,
            inner_listen=(f"{address}:{self.inner}",),
            peers_port=self.peers,
            socket=str(here / "s"),
            metrics="",
            threads=1,
            connections=1_000,
            content=self.content,
        )

    def files(
        self, node: str, owner_of: Mapping[str, str], allowed: tuple[str, ...] = ()
    ) -> dict[str, str]:
        # What connects from this machine to 127.0.0.3 comes from 127.0.0.1.
        every = allowed or (*self.members.addresses.values(), "127.0.0.1")
        maps = host_to_node_maps.maps_of(owner_of, self.large, others_of=self.others)
        made = Doors(maps, every)
        self.large = self.large or made.owners.large
        return files(node, self.members.addresses, self.pools, self.layout(node), made)

    def start(self, stack: ExitStack, owner_of: Mapping[str, str]) -> None:
        for node, address in self.members.addresses.items():
            install_files.put(self.files(node, owner_of), self.folder / node, self.found)
            here = self.folder / node
            running = start_with_master(self.found, here, self.port, here / "m", address)
            self.running[node] = stack.enter_context(ExitStack())
            self.running[node].enter_context(running)
        for node in self.members.addresses:
            self._until_all_are_well(node)

    def ports(self) -> dict[str, int]:
        """By frontend."""
        return {"visitors": self.port, "inner": self.inner}

    def end(self, node: str) -> None:
        """Its HAProxy, whatever it has begun."""
        master = Socket(str(self.folder / node / "m"))
        said = master.ask("show", "proc")
        for pid in re.findall(r"^(\d+)\s+(?:master|worker)", said, re.MULTILINE):
            os.kill(int(pid), signal.SIGKILL)
        self.running.pop(node).close()
        until_none_listens(self.members.addresses[node], self.inner)

    def _until_all_are_well(self, node: str) -> None:
        stats = Socket(str(self.folder / node / "s"))
        let_others_be_reached(stats)
        for _ in range(600):
            rows = haproxy_socket.parse_stat(stats.ask("show", "stat"))
            ways = [row.status for row in rows if row.server == "inner"]
            if ways and set(ways) == {"UP"}:
                return
            time.sleep(0.1)
        pytest.fail(f"{node} does not find its neighbours")

    def flip(self, node: str, owner_of: Mapping[str, str]) -> str:
        here = self.folder / node
        sockets = apply_to_haproxy.Sockets(Socket(str(here / "s")), Socket(str(here / "m")), 0)
        return apply_to_haproxy.enforce(self.files(node, owner_of), here, self.found, sockets)

    def ask(self, node: str, host: str, more: str = "", keep: bool = False) -> socket.socket:
        connection = socket.create_connection((self.members.addresses[node], self.port), 60)
        ask_over(connection, host, more, keep)
        return connection

    def answered(self, node: str, host: str, more: str = "") -> Held:
        """The request as it came to whoever answered it."""
        return self.answer_to(self.ask(node, host, more))

    def answer_to(self, asking: socket.socket) -> Held:
        with asking as connection:
            held = self.members.asked.get(timeout=60)
            held.answer()
            assert until_closed(connection).endswith(b"ok")
        return held

    def held_by_old_process(self, node: str, frontend: str = "visitors") -> socket.socket:
        """A connection over which nothing was said before the node's HAProxy was reloaded."""
        connection = self.accepted(node, frontend)
        apply_to_haproxy.reload(Socket(str(self.folder / node / "m")))
        return connection

    def accepted(self, node: str, frontend: str = "visitors") -> socket.socket:
        """A connection over which nothing was said."""
        port = self.ports()[frontend]
        address = self.members.addresses[node]
        connection = socket.create_connection((address, port), 60)
        stats = Socket(str(self.folder / node / "s"))
        for _ in range(600):
            rows = haproxy_socket.parse_stat(stats.ask("show", "stat"))
            if any(row.backend == frontend and row.under_way for row in rows):
                return connection
            time.sleep(0.1)
        pytest.fail(f"{frontend} of {node} does not accept a connection")


def until_none_listens(address: str, port: int) -> None:
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex((address, port)):
                return
        time.sleep(0.1)
    pytest.fail(f"HAProxy still listens at {address}:{port}")


def until_down(stats: Socket, way: str) -> None:
    """Wait until the checks of this node have found that the neighbour is away."""
    for _ in range(600):
        rows = haproxy_socket.parse_stat(stats.ask("show", "stat"))
        if any((row.backend, row.server, row.status) == (way, "inner", "DOWN") for row in rows):
            return
        time.sleep(0.1)
    pytest.fail(f"{way} does not count as away")


def start_with_pool_that_n2_leaves(cluster: Cluster, stack: ExitStack) -> Member:
    """Return the member that stays, n1."""
    at = cluster.members.addresses
    stays, leaves = members_at({node: at[node] for node in ("n1", "n2")})
    cluster.pools = (Pool("shop.example", (), (stays, replace(leaves, leaving=True))),)
    cluster.start(stack, NAMES | {"shop.example": "n2"})
    return stays


def ask_over(connection: socket.socket, host: str, more: str = "", keep: bool = False) -> None:
    close = "" if keep else "Connection: close\r\n"
    connection.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\n{close}{more}\r\n".encode())


@pytest.fixture
def cluster(found: HaproxyProgram, members: Members, tmp_path: Path) -> Cluster:
    return Cluster(found, tmp_path, members)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


NAMES = {"a.example": "n0", "b.example": "n1", "www.b.example": "n1", "c.example": "n2"}


def header(held: Held, name: str) -> list[str]:
    lines = held.head.decode("latin-1").split("\r\n")
    pairs = (line.partition(": ") for line in lines)
    return [value for key, _, value in pairs if key.lower() == name]


@pytest.mark.slow
def test_any_door_leads_to_the_owner_and_a_name_that_nobody_owns_is_answered_where_it_came(
    cluster: Cluster, stack: ExitStack
) -> None:
    cluster.start(stack, NAMES)
    for door in cluster.members.addresses:
        for host, owner in NAMES.items():
            assert cluster.answered(door, host).node == owner
            assert cluster.answered(door, f"{host.upper()}.:80").node == owner
        assert cluster.answered(door, "strange.example").node == door


@pytest.mark.slow
@pytest.mark.parametrize("forged", ["x-flex-visitor", "X-Flex-Visitor"])
def test_the_owner_hears_who_the_visitor_is_once_and_a_visitor_cannot_say_to_be_another(
    cluster: Cluster, stack: ExitStack, forged: str
) -> None:
    cluster.start(stack, NAMES)
    asked = [("n0", "b.example"), ("n1", "b.example"), ("n1", "strange.example")]
    for door, name in asked:
        held = cluster.answered(door, name, f"{forged}: 198.51.100.9\r\n")
        assert header(held, "x-forwarded-for") == ["127.0.0.1"]
        assert header(held, "x-forwarded-proto") == ["http"]
        assert header(held, "x-flex-visitor") == []


@pytest.mark.slow
def test_maps_that_contradict_each_other_send_no_request_in_circles(
    cluster: Cluster, stack: ExitStack
) -> None:
    cluster.start(stack, NAMES)
    assert cluster.flip("n0", NAMES | {"a.example": "n1"}) == "commands"
    # n0 says that n1 has it, and n1 that n0 has it.
    assert cluster.answered("n0", "a.example").node == "n1"
    assert cluster.answered("n1", "a.example").node == "n0"


@pytest.mark.slow
def test_a_flip_takes_no_reload_and_the_next_request_of_a_kept_connection_goes_by_it(
    cluster: Cluster, stack: ExitStack
) -> None:
    cluster.start(stack, NAMES)
    with cluster.ask("n2", "b.example", keep=True) as kept:
        held = cluster.members.asked.get(timeout=60)
        assert held.node == "n1"
        assert cluster.flip("n2", NAMES | {"b.example": "n3"}) == "commands"
        held.answer()
        assert b"ok" in kept.recv(65536)
        kept.sendall(b"GET / HTTP/1.1\r\nHost: b.example\r\nConnection: close\r\n\r\n")
        held = cluster.members.asked.get(timeout=60)
        assert held.node == "n3"
        held.answer()
        assert until_closed(kept).endswith(b"ok")


@pytest.mark.slow
def test_a_large_answer_is_passed_on_to_the_last_byte_though_its_site_moves_meanwhile(
    cluster: Cluster, stack: ExitStack
) -> None:
    cluster.start(stack, NAMES)
    whole = random.Random(1).randbytes(4 * 2**20)
    with ThreadPoolExecutor() as visitors:
        visitor = visitors.submit(until_closed, cluster.ask("n2", "b.example"))
        held = cluster.members.asked.get(timeout=60)
        head = f"HTTP/1.1 200 OK\r\ncontent-length: {len(whole)}\r\n\r\n"
        with held.connection as answering:
            answering.sendall(head.encode() + whole[: 2**20])
            assert cluster.flip("n2", NAMES | {"b.example": "n3"}) == "commands"
            answering.sendall(whole[2**20 :])
        assert held.node == "n1"
        assert visitor.result(60).partition(b"\r\n\r\n")[2] == whole


def test_a_large_answer_is_copied_at_no_inner_door_and_at_none_that_passed_it_on() -> None:
    layout = Layout("/etc/haproxy/flex")
    doors = Doors(host_to_node_maps.maps_of({"a.example": "n2"}, ""), {"127.0.0.1"})
    made = files("n1", {"n1": "127.0.0.2", "n2": "127.0.0.3"}, [], layout, doors)
    sections = re.split(r"\n(?=\S)", made[CONFIGURATION])
    spliced = {
        section.partition("\n")[0]
        for section in sections
        if "    option splice-response\n" in f"{section}\n"
    }
    assert spliced == {"frontend inner", "backend at_n2"}


def test_haproxy_checks_whatever_changes_beside_owners(cluster: Cluster, tmp_path: Path) -> None:
    refuses = HaproxyProgram("/bin/false", (2, 6))
    folder = tmp_path / "n0"
    install_files.put(cluster.files("n0", NAMES), folder, None)
    moved = NAMES | {"b.example": "n3"}
    assert install_files.put(cluster.files("n0", moved), folder, refuses)
    at = cluster.members.addresses
    cluster.pools = (Pool("shop.example", (), members_at({"n0": at["n0"]})),)
    install_files.put(cluster.files("n0", moved), folder, None)
    (pool,) = cluster.pools
    cluster.pools = (replace(pool, hosts=("www.shop.example",)),)
    with pytest.raises(BadInput, match="refuses"):
        install_files.put(cluster.files("n0", moved), folder, refuses)


@pytest.mark.slow
def test_a_reload_is_told_of_before_it_happens_and_commands_are_not(
    cluster: Cluster, stack: ExitStack
) -> None:
    cluster.start(stack, NAMES)
    here, told = cluster.folder / "n0", []
    stats = Socket(str(here / "s"))

    def tell() -> None:
        told.append(apply_to_haproxy.version_in_force(stats, here))

    sockets = apply_to_haproxy.Sockets(stats, Socket(str(here / "m")), 0, tell)

    def enforced(made: dict[str, str]) -> str:
        return apply_to_haproxy.enforce(made, here, cluster.found, sockets)

    flipped = cluster.files("n0", NAMES | {"a.example": "n1"})
    assert (enforced(flipped), told) == ("commands", [])
    # Another node may come in at inner doors.
    more = (*cluster.members.addresses.values(), "127.0.0.1", "192.0.2.9")
    made = cluster.files("n0", NAMES, more)
    assert enforced(made) == "reload"
    assert told == [version(flipped)]
    assert apply_to_haproxy.version_in_force(stats, here) == version(made)


@pytest.mark.slow
def test_after_a_reload_the_maps_are_the_same(cluster: Cluster, stack: ExitStack) -> None:
    cluster.start(stack, NAMES)
    moved = NAMES | {"b.example": "n3", "new.example": "n2"}
    del moved["c.example"]
    assert cluster.flip("n0", moved) == "commands"
    apply_to_haproxy.reload(Socket(str(cluster.folder / "n0" / "m")))
    for host, owner in moved.items():
        assert cluster.answered("n0", host).node == owner
    assert cluster.answered("n0", "c.example").node == "n0"


@pytest.mark.slow("owner")
@pytest.mark.parametrize("content", ["everywhere", "owner"])
def test_a_process_that_ends_leads_to_the_owner_as_before(
    cluster: Cluster, stack: ExitStack, content: str
) -> None:
    cluster.content = content
    cluster.start(stack, NAMES)
    connection = cluster.held_by_old_process("n0")
    ask_over(connection, "b.example")
    held = cluster.answer_to(connection)
    assert held.node == "n1"
    assert header(held, "x-forwarded-for") == ["127.0.0.1"]


@pytest.mark.slow
@pytest.mark.parametrize("content", ["everywhere", "owner"])
def test_a_process_that_ends_leads_around_an_owner_that_is_away(
    cluster: Cluster, stack: ExitStack, content: str
) -> None:
    cluster.content, cluster.others = content, {"b.example": ["n2"]}
    cluster.start(stack, NAMES)
    stats = Socket(str(cluster.folder / "n0" / "s"))
    cluster.end("n1")
    cluster.members.stop("n1")
    until_down(stats, "at_n1")
    connection = cluster.held_by_old_process("n0")
    ask_over(connection, "b.example")
    assert cluster.answer_to(connection).node == ("n0" if content == "everywhere" else "n2")


@pytest.mark.slow
def test_a_process_that_ends_leaves_a_replicated_site_to_its_members(
    cluster: Cluster, stack: ExitStack
) -> None:
    start_with_pool_that_n2_leaves(cluster, stack)
    connection = cluster.held_by_old_process("n2")
    ask_over(connection, "shop.example")
    assert cluster.answer_to(connection).node == "n1"


@pytest.mark.slow
def test_a_large_map_is_exchanged_without_a_reload_too(cluster: Cluster, stack: ExitStack) -> None:
    many = {f"s{number:05}.example": f"n{number % 4}" for number in range(5_000)}
    cluster.start(stack, NAMES)
    cluster.large = ""
    assert cluster.flip("n0", NAMES | many) == "commands"
    for host in ("s00001.example", "s04998.example", "b.example"):
        assert cluster.answered("n0", host).node == (NAMES | many)[host]


@pytest.mark.slow
@pytest.mark.parametrize(("content", "answers"), [("everywhere", b"200 OK"), ("owner", b"503 ")])
def test_where_the_owner_is_away_a_node_answers_itself_only_if_it_has_the_content(
    cluster: Cluster, stack: ExitStack, content: str, answers: bytes
) -> None:
    cluster.content = content
    cluster.start(stack, NAMES)
    there = cluster.folder / "n0" / "s"
    # As the check finds it, which takes two seconds.
    Socket(str(there)).ask("set", "server", "at_n1/inner", "state", "maint")
    with cluster.ask("n0", "b.example") as connection:
        if content == "everywhere":
            held = cluster.members.asked.get(timeout=60)
            assert held.node == "n0"
            held.answer()
        assert answers in until_closed(connection)


@pytest.mark.slow
@pytest.mark.parametrize("content", ["everywhere", "owner"])
def test_a_request_for_an_owner_that_has_just_gone_is_answered_where_it_came(
    cluster: Cluster, stack: ExitStack, content: str
) -> None:
    cluster.content = content
    cluster.start(stack, NAMES)
    # Checks have not found it yet.
    stats = Socket(str(cluster.folder / "n0" / "s"))
    assert stats.ask("disable", "health", "at_n1/inner") == ""
    cluster.end("n1")
    for _ in range(3):
        with cluster.ask("n0", "b.example") as connection:
            if content == "everywhere":
                held = cluster.members.asked.get(timeout=60)
                assert held.node == "n0"
                assert header(held, "x-forwarded-for") == ["127.0.0.1"]
                assert header(held, "x-flex-visitor") == []
                held.answer()
                assert b"200 OK" in until_closed(connection)
            else:
                assert b"503 " in until_closed(connection)


def test_a_stranger_is_not_listened_to_at_an_inner_door(cluster: Cluster, stack: ExitStack) -> None:
    made = cluster.files("n0", NAMES, allowed=("127.0.0.2",))
    install_files.put(made, cluster.folder / "n0", cluster.found)
    here, address = cluster.folder / "n0", cluster.members.addresses["n0"]
    stack.enter_context(start_with_master(cluster.found, here, cluster.port, here / "m", address))
    # HAProxy may hang up while the connection is still being made.
    with (
        suppress(ConnectionResetError),
        socket.create_connection((address, cluster.inner), 60) as connection,
    ):
        assert not connection.recv(1)
    with pytest.raises(queue.Empty):
        cluster.members.asked.get_nowait()


def test_a_neighbour_that_does_not_let_a_node_in_is_away_for_it(
    cluster: Cluster, stack: ExitStack
) -> None:
    """It takes the connection before it looks whose it is, so that a connection says nothing."""
    cluster.start(stack, NAMES)
    neighbour = cluster.folder / "n1"
    (neighbour / NEIGHBOURS).write_text("127.0.0.2\n")
    apply_to_haproxy.reload(Socket(str(neighbour / "m")))
    until_down(Socket(str(cluster.folder / "n0" / "s")), "at_n1")
    assert cluster.answered("n0", "b.example").node == "n0"


@pytest.mark.slow
def test_what_came_to_a_wrong_door_is_counted_by_name(cluster: Cluster, stack: ExitStack) -> None:
    cluster.start(stack, NAMES)
    for _ in range(3):
        cluster.answered("n0", "b.example")
    cluster.answered("n0", "a.example")
    cluster.answered("n0", "strange.example")
    said = Socket(str(cluster.folder / "n0" / "s")).ask("show", "table", STRAYS)
    assert "key=b.example " in said
    assert "http_req_cnt=3" in said
    assert "key=a.example" not in said
    assert "strange" not in said


@pytest.mark.slow
def test_a_replicated_site_is_reached_from_a_node_that_has_none_of_it(
    cluster: Cluster, stack: ExitStack
) -> None:
    at = cluster.members.addresses
    cluster.pools = (
        Pool("shop.example", (), members_at({node: at[node] for node in ("n1", "n2")})),
    )
    cluster.start(stack, NAMES | {"shop.example": "n2"})
    for door in at:
        held = cluster.answered(door, "shop.example")
        assert held.node in ("n1", "n2")
        assert header(held, "x-forwarded-for") == ["127.0.0.1"]


@pytest.mark.slow
def test_a_node_that_leaves_a_pool_answers_itself_while_the_other_members_are_away(
    cluster: Cluster, stack: ExitStack
) -> None:
    stays = start_with_pool_that_n2_leaves(cluster, stack)
    stats = Socket(str(cluster.folder / "n2" / "s"))
    stats.ask("set", "server", f"{backend('shop.example')}/s{stays.bit}", "state", "maint")
    # At the door of n2, and at its inner door: by what n0 has heard the site is still there.
    for door in ("n2", "n0"):
        assert cluster.answered(door, "shop.example").node == "n2"


def test_haproxy_takes_doors_with_everything_that_can_be_set(
    cluster: Cluster, tmp_path: Path
) -> None:
    nodes = {f"n{number}": f"192.0.2.{number + 1}" for number in range(200)}
    nodes["v6"] = "2001:db8::1"
    for content in ("everywhere", "owner"):
        for proxy_protocol in (False, True):
            layout = Layout(
                directory=str(tmp_path),
                socket=str(tmp_path / "s"),
                check_path="/healthy",
                proxy_protocol=proxy_protocol,
                content=content,
            )
            made = Doors(host_to_node_maps.maps_of(NAMES), nodes.values())
            write(files("n1", nodes, [], layout, made), tmp_path)
            assert refusal(cluster.found, tmp_path) == ""
