"""A site with one writer is answered by one node alone, and while it is held requests wait at every
door: real HAProxies of four nodes on loopback.
"""

from __future__ import annotations

import os
import queue
import re
import signal
import socket
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest

from flex.errors import BadInput
from flex.routing import (
    apply_to_haproxy,
    haproxy,
    haproxy_program,
    host_to_node_maps,
    install_files,
    node_file_download,
)
from flex.routing.haproxy import files
from flex.routing.haproxy_frontends import STRAYS, Doors
from flex.routing.haproxy_program import HaproxyProgram, start_with_master
from flex.routing.haproxy_socket import Socket
from flex.routing.haproxy_writer_sites import HOLD, UNDER_WAY, WAITING
from flex.routing.host_to_node_maps import MOVED, Writers
from flex.routing.ports_and_paths import Layout
from tests.routing.conftest import Held, Members, until_closed
from tests.routing.test_doors import NAMES, Cluster, ask_over, header, stack, until_none_listens

pytestmark = pytest.mark.real

__all__ = ["stack"]
SITE = "b.example"
AT_N0 = {**NAMES, SITE: "n0"}
AT_N1 = NAMES
QUIET = 0.3


@dataclass(eq=False)
class WriterCluster(Cluster):
    """SITE has one writer; each node is told on its own whether it is held."""

    held: frozenset[str] = frozenset()
    hold_time: float = 20.0
    hold_requests: int = 3
    one: frozenset[str] = field(default_factory=lambda: frozenset({SITE}))

    def layout(self, node: str) -> Layout:
        return replace(
            super().layout(node),
            hold_time=timedelta(seconds=self.hold_time),
            hold_requests=self.hold_requests,
            threads=2,
        )

    def files(
        self, node: str, owner_of: Mapping[str, str], allowed: tuple[str, ...] = ()
    ) -> dict[str, str]:
        every = allowed or (*self.members.addresses.values(), "127.0.0.1")
        writers = Writers(self.one, self.held)
        owners = host_to_node_maps.maps_of(owner_of, self.large, writers)
        made = Doors(owners, every, one_writer=bool(self.one))
        self.large = self.large or owners.large
        return files(node, self.members.addresses, self.pools, self.layout(node), made)

    def hold(self, owner_of: Mapping[str, str], *nodes: str) -> None:
        self.held = frozenset({SITE})
        self.tell(owner_of, *nodes)

    def go_on(self, owner_of: Mapping[str, str], *nodes: str) -> None:
        self.held = frozenset()
        self.tell(owner_of, *nodes)

    def tell(self, owner_of: Mapping[str, str], *nodes: str) -> None:
        for node in nodes or self.members.addresses:
            assert self.flip(node, owner_of) == "commands"

    def count(self, node: str, table: str) -> int:
        said = Socket(str(self.folder / node / "s")).ask("show", "table", table)
        found = [line for line in said.splitlines() if f"key={SITE} " in line]
        return sum(int(line.rpartition("conn_cur=")[2]) for line in found)

    def until_counted(self, node: str, table: str, wanted: int) -> None:
        end = time.monotonic() + 60
        while self.count(node, table) != wanted:
            assert time.monotonic() < end, (node, table, self.count(node, table))
            time.sleep(0.01)

    def nobody_is_asked(self) -> None:
        with pytest.raises(queue.Empty):
            self.members.asked.get(timeout=QUIET)

    def asked(self) -> Held:
        return self.members.asked.get(timeout=60)


@pytest.fixture
def writers(found: HaproxyProgram, members: Members, tmp_path: Path) -> WriterCluster:
    return WriterCluster(found, tmp_path, members)


def post(cluster: WriterCluster, node: str, body: bytes) -> socket.socket:
    address = cluster.members.addresses[node], cluster.port
    connection = socket.create_connection(address, 60)
    head = f"POST / HTTP/1.1\r\nHost: {SITE}\r\nConnection: close\r\n"
    connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return connection


def is_asked_to_come_again(connection: socket.socket) -> bool:
    answer = until_closed(connection)
    return answer.startswith(b"HTTP/1.1 503 ") and b"retry-after: 5\r\n" in answer


@pytest.mark.slow
def test_requests_wait_at_every_door_and_the_new_node_answers_all_of_them(
    writers: WriterCluster, stack: ExitStack
) -> None:
    writers.start(stack, AT_N1)
    for door in writers.members.addresses:
        assert writers.answered(door, SITE).node == "n1"
    writers.hold(AT_N1)
    waiting = [writers.ask(door, SITE) for door in writers.members.addresses]
    for door in writers.members.addresses:
        writers.until_counted(door, WAITING, 1)
    writers.nobody_is_asked()
    # What is not held goes on.
    assert writers.answered("n0", "c.example").node == "n2"
    writers.go_on(AT_N0)
    for _ in waiting:
        held = writers.asked()
        assert held.node == "n0"
        assert header(held, "x-forwarded-for") == ["127.0.0.1"]
        assert header(held, "x-flex-visitor") == header(held, "x-flex-passed") == []
        held.answer()
    for connection in waiting:
        assert until_closed(connection).endswith(b"ok")
    assert writers.answered("n3", SITE).node == "n0"


@pytest.mark.slow
@pytest.mark.parametrize("size", [10, 300_000])
def test_what_a_waiting_request_sends_comes_whole_to_the_new_node(
    writers: WriterCluster, stack: ExitStack, size: int
) -> None:
    writers.start(stack, AT_N1)
    writers.hold(AT_N1)
    body = bytes(65 + place % 26 for place in range(size))
    address = writers.members.addresses["n2"], writers.port
    connection = socket.create_connection(address, 60)
    head = f"POST / HTTP/1.1\r\nHost: {SITE}\r\nConnection: close\r\n"
    connection.sendall(f"{head}Content-Length: {size}\r\n\r\n".encode())
    writers.until_counted("n2", WAITING, 1)
    # No more fits into buffers than these have: the rest is sent while somebody reads.
    connection.setblocking(False)
    sent = connection.send(body)
    connection.setblocking(True)
    writers.go_on(AT_N0)
    held = writers.asked()
    assert held.node == "n0"
    connection.settimeout(60)
    came = held.head.partition(b"\r\n\r\n")[2]
    while len(came) < size:
        if sent < size:
            sent += connection.send(body[sent : sent + 50_000])
        came += held.connection.recv(65_536)
    assert came == body
    held.answer()
    assert until_closed(connection).endswith(b"ok")


@pytest.mark.slow
def test_a_hold_that_is_undone_lets_requests_go_on_to_the_old_node(
    writers: WriterCluster, stack: ExitStack
) -> None:
    writers.start(stack, AT_N1)
    writers.hold(AT_N1)
    with writers.ask("n3", SITE) as waiting:
        writers.until_counted("n3", WAITING, 1)
        writers.go_on(AT_N1)
        held = writers.asked()
        assert held.node == "n1"
        held.answer()
        assert until_closed(waiting).endswith(b"ok")


@pytest.mark.slow
def test_more_requests_than_may_wait_are_asked_to_come_again_and_who_leaves_frees_a_place(
    writers: WriterCluster, stack: ExitStack
) -> None:
    writers.start(stack, AT_N1)
    writers.hold(AT_N1)
    waiting = [writers.ask("n2", SITE) for _ in range(3)]
    writers.until_counted("n2", WAITING, 3)
    assert is_asked_to_come_again(writers.ask("n2", SITE))
    # Another door has places of its own.
    waiting.append(writers.ask("n3", SITE))
    writers.until_counted("n3", WAITING, 1)
    waiting.pop(0).close()
    writers.until_counted("n2", WAITING, 2)
    waiting.append(writers.ask("n2", SITE))
    writers.until_counted("n2", WAITING, 3)
    writers.go_on(AT_N0)
    for _ in waiting:
        held = writers.asked()
        assert held.node == "n0"
        held.answer()
    for connection in waiting:
        assert until_closed(connection).endswith(b"ok")


@pytest.mark.slow
def test_who_has_waited_long_enough_is_asked_to_come_again(
    writers: WriterCluster, stack: ExitStack
) -> None:
    writers.hold_time = 0.3
    writers.start(stack, AT_N1)
    writers.hold(AT_N1)
    for door in ("n0", "n1"):
        assert is_asked_to_come_again(writers.ask(door, SITE))
        assert is_asked_to_come_again(post(writers, door, b"x" * 1_000))
    writers.nobody_is_asked()


@pytest.mark.slow
def test_what_is_under_way_is_counted_where_it_is_answered_until_it_is(
    writers: WriterCluster, stack: ExitStack
) -> None:
    writers.start(stack, AT_N1)
    with writers.ask("n1", SITE) as own, writers.ask("n3", SITE) as passed:
        first, second = writers.asked(), writers.asked()
        writers.until_counted("n1", UNDER_WAY, 2)
        writers.hold(AT_N1)
        assert writers.count("n1", UNDER_WAY) == 2
        assert writers.count("n3", UNDER_WAY) == 0
        for held, left in ((first, 1), (second, 0)):
            assert held.node == "n1"
            held.answer()
            writers.until_counted("n1", UNDER_WAY, left)
        assert until_closed(own).endswith(b"ok")
        assert until_closed(passed).endswith(b"ok")


@pytest.mark.slow
def test_a_node_that_did_not_hear_of_the_hold_leads_to_one_that_did(
    writers: WriterCluster, stack: ExitStack
) -> None:
    writers.start(stack, AT_N1)
    writers.hold(AT_N1, "n1")
    with writers.ask("n3", SITE) as waiting:
        writers.until_counted("n1", WAITING, 1)
        writers.nobody_is_asked()
        writers.go_on(AT_N0, "n0", "n1")
        held = writers.asked()
        assert held.node == "n0"
        assert header(held, "x-forwarded-for") == ["127.0.0.1"]
        assert header(held, "x-flex-passed") == []
        held.answer()
        assert until_closed(waiting).endswith(b"ok")


@pytest.mark.slow("owner")
@pytest.mark.parametrize("content", ["everywhere", "owner"])
def test_the_old_node_answers_nothing_whatever_it_did_not_hear_after_the_hold(
    writers: WriterCluster, stack: ExitStack, content: str
) -> None:
    writers.hold_time, writers.content = 0.3, content
    writers.start(stack, AT_N1)
    writers.hold(AT_N1, "n1")
    writers.go_on(AT_N0, "n0", "n2")
    # The old node has not heard of the new one, and others are told to come again there.
    assert is_asked_to_come_again(writers.ask("n1", SITE))
    assert is_asked_to_come_again(writers.ask("n3", SITE))
    writers.nobody_is_asked()
    for door in ("n0", "n2"):
        assert writers.answered(door, SITE).node == "n0"


@pytest.mark.slow
def test_maps_that_contradict_each_other_send_no_request_in_circles(
    writers: WriterCluster, stack: ExitStack
) -> None:
    writers.start(stack, AT_N1)
    # Each of the two says that the other one is the owner.
    writers.tell(AT_N0, "n1")
    for door in writers.members.addresses:
        assert is_asked_to_come_again(writers.ask(door, SITE))
    writers.nobody_is_asked()


def test_what_was_passed_on_already_is_not_passed_on_again(
    writers: WriterCluster, stack: ExitStack
) -> None:
    """One door is enough: it leads to the owner, which is reached at the door's own address."""
    here = writers.members.addresses["n0"]
    writers.members = Members({"n0": here, "n1": here}, writers.members.port)
    path = writers.folder / "n0"
    install_files.put(writers.files("n0", AT_N1), path, writers.found)
    running = start_with_master(writers.found, path, writers.port, path / "m", here)
    stack.enter_context(running)
    waiting = writers.ask("n0", SITE)
    waiting.settimeout(20)
    assert is_asked_to_come_again(waiting)


@pytest.mark.slow
@pytest.mark.parametrize("forged", ["x-flex-passed", "X-Flex-Passed"])
def test_a_visitor_that_says_what_nodes_say_to_each_other_gets_nothing_by_it(
    writers: WriterCluster, stack: ExitStack, forged: str
) -> None:
    writers.start(stack, AT_N1)
    # The inner door of n1 has to pass it on, which it would refuse behind this header.
    writers.tell(AT_N0, "n0", "n1")
    held = writers.answered("n3", SITE, f"{forged}: 1\r\n")
    assert held.node == "n0"
    assert header(held, "x-flex-passed") == []
    held = writers.answered("n3", "c.example", f"{forged}: 1\r\n")
    assert header(held, "x-flex-passed") == []


@pytest.mark.torture("owner")
@pytest.mark.slow
@pytest.mark.parametrize("content", ["everywhere", "owner"])
def test_where_the_owner_is_away_nobody_answers(
    writers: WriterCluster, stack: ExitStack, content: str
) -> None:
    writers.content = content
    writers.start(stack, AT_N1)
    stats = Socket(str(writers.folder / "n0" / "s"))
    assert stats.ask("disable", "health", "st_n1/inner") == ""
    writers.end("n1")
    # First no check has found it, then one has.
    assert is_asked_to_come_again(writers.ask("n0", SITE))
    stats.ask("set", "server", "st_n1/inner", "state", "maint")
    assert is_asked_to_come_again(writers.ask("n0", SITE))
    # So it is where no node of that name serves any more.
    writers.tell({**NAMES, SITE: "gone"}, "n0")
    assert is_asked_to_come_again(writers.ask("n0", SITE))
    connection = writers.held_by_old_process("n0")
    ask_over(connection, SITE)
    assert is_asked_to_come_again(connection)
    writers.nobody_is_asked()


@pytest.mark.slow("n0-visitors", "n1-inner")
@pytest.mark.parametrize(
    ("door", "frontend"), [("n1", "visitors"), ("n0", "visitors"), ("n1", "inner")]
)
def test_a_process_that_ends_leaves_its_sites_to_its_successor(
    writers: WriterCluster, stack: ExitStack, door: str, frontend: str
) -> None:
    """Which alone hears that the site has moved since then."""
    writers.start(stack, AT_N1)
    connection = writers.held_by_old_process(door, frontend)
    writers.tell(AT_N0)
    visitor = "x-flex-visitor: 192.0.2.77\r\n" if frontend == "inner" else ""
    ask_over(connection, SITE, visitor)
    held = writers.answer_to(connection)
    assert held.node == "n0"
    assert header(held, "x-forwarded-for") == ["192.0.2.77" if visitor else "127.0.0.1"]
    assert header(held, "x-flex-visitor") == header(held, "x-flex-passed") == []


@pytest.mark.slow
def test_a_process_that_ends_without_a_successor_answers_for_none_of_its_sites(
    writers: WriterCluster, stack: ExitStack
) -> None:
    """Nobody can tell it any more that another node owns them."""
    writers.start(stack, AT_N1)
    connection = writers.accepted("n1")
    master = Socket(str(writers.folder / "n1" / "m")).ask("show", "proc")
    found = re.search(r"^(\d+)\s+master", master, re.MULTILINE)
    assert found
    os.kill(int(found[1]), signal.SIGUSR1)
    until_none_listens(writers.members.addresses["n1"], writers.port)
    ask_over(connection, SITE)
    assert is_asked_to_come_again(connection)
    writers.nobody_is_asked()


@pytest.mark.slow
@pytest.mark.parametrize("waits", [False, True])
def test_a_process_that_ends_leaves_requests_for_held_names_to_its_successor(
    writers: WriterCluster, stack: ExitStack, waits: bool
) -> None:
    writers.start(stack, AT_N1)
    if waits:
        writers.hold(AT_N1)
        asking = writers.ask("n1", SITE)
        writers.until_counted("n1", WAITING, 1)
        apply_to_haproxy.reload(Socket(str(writers.folder / "n1" / "m")))
    else:
        asking = writers.held_by_old_process("n1")
        writers.hold(AT_N1)
        ask_over(asking, SITE)
    writers.until_counted("n1", WAITING, 1)
    writers.nobody_is_asked()
    writers.go_on(AT_N0)
    assert writers.answer_to(asking).node == "n0"


@pytest.mark.slow
def test_strays_are_counted_for_sites_with_one_writer_too(
    writers: WriterCluster, stack: ExitStack
) -> None:
    writers.start(stack, AT_N1)
    writers.answered("n0", SITE)
    writers.answered("n1", SITE)
    tables = {
        node: Socket(str(writers.folder / node / "s")).ask("show", "table", STRAYS)
        for node in ("n0", "n1")
    }
    assert f"key={SITE} " in tables["n0"]
    assert SITE not in tables["n1"]


def test_without_lua_the_files_are_refused_and_all_is_as_before(
    writers: WriterCluster, tmp_path: Path
) -> None:
    program = tmp_path / "haproxy"
    program.write_text('#!/bin/sh\necho "Feature list : +EPOLL -LUA +THREAD"\n')
    program.chmod(0o755)
    without = haproxy_program.HaproxyProgram(str(program), (2, 6, 12))
    here = tmp_path / "n0"
    with pytest.raises(BadInput, match="without Lua"):
        install_files.put(writers.files("n0", NAMES), here, without)
    assert install_files.there_of(here) == []
    writers.one = frozenset()
    made = writers.files("n0", NAMES)
    assert HOLD not in made
    assert install_files.put(made, here, without)


def test_without_such_a_site_files_are_as_if_there_could_be_none(
    writers: WriterCluster, tmp_path: Path
) -> None:
    with_one = writers.files("n0", NAMES)
    writers.one, writers.large = frozenset(), ""
    made = writers.files("n0", NAMES)
    every = (*writers.members.addresses.values(), "127.0.0.1")
    plain = Doors(host_to_node_maps.maps_of(NAMES), every)
    at = writers.members.addresses
    assert made == files("n0", at, (), writers.layout("n0"), plain)
    # A file that nobody waits by any more is none of the node's files.
    here = tmp_path / "n0"
    for each in (with_one, made):
        assert install_files.put(each, here, writers.found)
        pulled = node_file_download.files_in_force(here)
        assert pulled
        assert pulled.files == each
        assert haproxy.is_whole(each)


def test_a_change_between_waiting_and_not_takes_no_reload(writers: WriterCluster) -> None:
    writers.large = writers.files("n0", AT_N1)["owners.map"]
    before = writers.files("n0", AT_N1)
    writers.held = frozenset({SITE})
    after = writers.files("n0", AT_N1)
    changed = {name for name in after if after[name] != before[name]}
    assert changed == {MOVED, haproxy.HOSTS}
