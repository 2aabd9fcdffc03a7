"""Nodes that share a site, on loopback: a HAProxy and the web servers behind it, which answer when
they are told to.
"""

from __future__ import annotations

import queue
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from flex.errors import BadSetting
from flex.routing import haproxy, haproxy_program
from flex.routing.haproxy_frontends import CHECKED_HOST
from flex.routing.haproxy_socket import Socket, parse_stat
from flex.routing.member_pools import Pool
from flex.routing.ports_and_paths import Layout
from tests.ports import any_port

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"


@pytest.fixture(scope="session")
def found() -> haproxy_program.HaproxyProgram:
    try:
        return haproxy_program.program()
    except BadSetting as error:
        pytest.skip(str(error))


def let_others_be_reached(stats: Socket) -> None:
    """Who was started before the others found them away, and would look again for seconds. They
    have to be there by now.
    """
    for row in parse_stat(stats.ask("show", "stat")):
        if row.server == "inner" and row.status != "UP":
            stats.ask("set", "server", f"{row.backend}/inner", "health", "up")


@dataclass(frozen=True, eq=False)
class Held:
    """A request that a member has and has not answered."""

    node: str
    connection: socket.socket
    head: bytes

    def answer(self) -> None:
        with self.connection:
            self.connection.sendall(ANSWER)


@dataclass(eq=False)
class Members:
    """Web servers at addresses of their own and one port; what they are asked waits in `asked`."""

    addresses: dict[str, str]
    port: int
    asked: queue.SimpleQueue[Held] = field(default_factory=queue.SimpleQueue)
    listening: dict[str, socket.socket] = field(default_factory=dict)

    def start(self, node: str) -> None:
        server = socket.create_server((self.addresses[node], self.port), backlog=512)
        self.listening[node] = server
        threading.Thread(target=self._serve, args=(node, server), daemon=True).start()

    def stop(self, node: str) -> None:
        server = self.listening.pop(node)
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)
        server.close()

    def _serve(self, node: str, server: socket.socket) -> None:
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                threading.Thread(target=self._take, args=(node, connection), daemon=True).start()

    def _take(self, node: str, connection: socket.socket) -> None:
        head = b""
        try:
            while b"\r\n\r\n" not in head:
                more = connection.recv(65536)
                if not more:
                    connection.close()
                    return
                head += more
        except OSError:
            connection.close()
            return
        held = Held(node, connection, head)
        if f"host: {CHECKED_HOST}\r\n".encode() in head:
            # What HAProxy asks of itself is no request of a visitor.
            with suppress(OSError):
                held.answer()
            return
        self.asked.put(held)


@pytest.fixture
def members(free_port: int) -> Iterator[Members]:
    """Four nodes. Every address of 127.0.0.0/8 is this machine's."""
    made = Members({f"n{number}": f"127.0.0.{number + 2}" for number in range(4)}, free_port)
    for node in made.addresses:
        made.start(node)
    yield made
    for node in list(made.listening):
        made.stop(node)
    # What nobody looked at, such as requests that were asked again elsewhere.
    with suppress(queue.Empty):
        while True:
            made.asked.get_nowait().connection.close()


@pytest.fixture
def another_port(free_port: int, members: Members) -> int:
    return any_port()


@dataclass(frozen=True, slots=True)
class Distributor:
    """Where visitors of a node connect to."""

    port: int

    def send(self, target: str, host: str = "shop.example", **headers: str) -> socket.socket:
        """A request on its way; who reads the answer closes it."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=120)
        more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        connection.sendall(
            f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}\r\n".encode(
                "latin-1"
            )
        )
        return connection


def until_closed(connection: socket.socket) -> bytes:
    answer = b""
    with connection:
        while more := connection.recv(65536):
            answer += more
    return answer


def written(pool: Pool, members: Members, folder: Path, port: int, more: str = "") -> None:
    """The configuration of the first member's node, whose requests bring the clock with them, with
    a line more.
    """
    node = pool.members[0]
    layout = Layout(
        directory=str(folder),
        listen=(f"127.0.0.1:{port}",),
        origin=node.address,
        origin_port=members.port,
        peers_port=any_port(),
        socket=str(folder / "s"),
        metrics="",
        threads=1,
        connections=1_000,
    )
    made = haproxy.files(node.node, {node.node: node.address}, [pool], layout)
    text = re.sub(r"\bdate\b", "req.hdr(x-now)", made[haproxy.CONFIGURATION])
    text = text.replace("    use_backend", f"    {more}\n    use_backend", 1)
    haproxy_program.write(made | {haproxy.CONFIGURATION: text}, folder)
