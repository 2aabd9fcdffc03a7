"""A request whose host HAProxy and a web server would read differently gets past no door: real
HAProxies of four nodes on loopback, and a real nginx behind them.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from flex.routing.haproxy_program import HaproxyProgram, running
from flex.routing.member_pools import Pool
from flex.routing.member_pools import members as members_at
from tests.hooks import servers
from tests.routing.conftest import Distributor, Members, until_closed, written
from tests.routing.test_doors import stack
from tests.routing.test_one_writer import AT_N1, SITE, WriterCluster

pytestmark = pytest.mark.real

__all__ = ["stack"]

# A target, a version of HTTP, and what Host says; None for a request without it.
Request = tuple[str, str, str | None]

# nginx reads each of these as SITE, but for the last one, which is a key of the maps.
UNCLEAR_HOSTS = (
    f"{SITE}:80,z",
    f"{SITE}:,z",
    f"{SITE}:80,a.example",
    f"{SITE}:80:80",
    f"{SITE}::",
    f"{SITE}:x",
    f"{SITE}:80x",
    f"{SITE}:80;x",
    f"{SITE}:80@x",
    f"[::1]:80,{SITE}",
    ":version",
)
# And these URIs, whatever Host says.
UNCLEAR_URIS: tuple[Request, ...] = (
    (f"http://{SITE}/", "1.0", None),
    (f"http://{SITE}:80/", "1.0", None),
    (f"http://{SITE}", "1.0", None),
    (f"http://{SITE}/", "1.1", "a.example"),
    (f"http://{SITE}/", "1.0", ""),
    (f"http://{SITE}?@a.example/", "1.1", "a.example"),
    (f"http://{SITE}?@a.example", "1.1", "a.example"),
    (f"http://{SITE}:80?@a.example/", "1.0", "a.example"),
    (f"http://{SITE}?/", "1.1", f"{SITE}?"),
)
UNCLEAR: list[Request] = [
    *(("/", "1.1", host) for host in UNCLEAR_HOSTS),
    *(("/", "1.0", host) for host in UNCLEAR_HOSTS),
    *UNCLEAR_URIS,
]
CLEAR: tuple[Request, ...] = (
    ("/", "1.1", SITE),
    ("/@a.example", "1.1", f"{SITE.upper()}.:8080"),
    ("/?x=http://y@a.example/", "1.1", f"{SITE}:"),
    ("/", "1.0", SITE),
    (f"http://{SITE}/", "1.1", SITE),
    (f"http://{SITE}:80/@a.example", "1.0", SITE),
)
# Nobody owns them, so the node where they came answers.
NOBODYS: tuple[Request, ...] = (
    ("/", "1.0", None),
    ("/", "1.1", "[::1]:80"),
    ("/", "1.1", "[2001:db8::7]"),
    ("/", "1.1", "192.0.2.7:80"),
    ("/", "1.1", "under_score.example"),
)


@dataclass(frozen=True, slots=True)
class Nginx:
    """A web server at each node, which says the node's name and that of the site."""

    members: Members
    folder: Path

    def start(self, stack: ExitStack) -> None:
        for node in list(self.members.listening):
            self.members.stop(node)
        program, log = servers.program("nginx", "nginx"), self.folder / "nginx.log"
        file = self.folder / "nginx.conf"
        parts = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        file.write_text(
            f"{'user root;' if os.geteuid() == 0 else ''}\n"
            f"pid {self.folder}/nginx.pid;\nerror_log {log};\nevents {{}}\nhttp {{\n"
            "access_log off;\n"
            + "".join(f"{part}_temp_path {self.folder}/{part};\n" for part in parts)
            + "".join(
                f"server {{ listen {address}:{self.members.port}{default}; "
                f'server_name {name}; return 200 "{node} {name}"; }}\n'
                for node, address in self.members.addresses.items()
                for name, default in (("nobody", " default_server"), (SITE, ""))
            )
            + "}\n"
        )
        command = [program, "-e", str(log), "-c", str(file), "-g", "daemon off;"]
        stack.enter_context(servers.running(command, log, self._listens))

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return not probe.connect_ex((self.members.addresses["n0"], self.members.port))


@pytest.fixture
def nginx(members: Members, tmp_path: Path, stack: ExitStack) -> Nginx:
    started = Nginx(members, tmp_path)
    started.start(stack)
    return started


@pytest.fixture
def doors(found: HaproxyProgram, nginx: Nginx, tmp_path: Path) -> WriterCluster:
    return WriterCluster(found, tmp_path, nginx.members)


def request(method: str, target: str, version: str, host: str | None) -> bytes:
    said = "" if host is None else f"Host: {host}\r\n"
    return f"{method} {target} HTTP/{version}\r\n{said}Connection: close\r\n\r\n".encode()


def answer(address: str, port: int, asked: bytes) -> str:
    """What a web server says, or HAProxy's status."""
    connection = socket.create_connection((address, port), 60)
    connection.sendall(asked)
    head, _, body = until_closed(connection).decode("latin-1").partition("\r\n\r\n")
    status = head.split()[1]
    return body if status == "200" else status


@pytest.mark.slow
def test_a_request_that_names_two_hosts_is_refused_at_every_door(
    doors: WriterCluster, stack: ExitStack
) -> None:
    doors.start(stack, AT_N1)
    for port in (doors.port, doors.inner):
        address = doors.members.addresses["n0"]
        said = {case: answer(address, port, request("GET", *case)) for case in UNCLEAR}
        assert {case: status for case, status in said.items() if status != "400"} == {}


@pytest.mark.slow
def test_a_request_that_names_one_host_is_answered_by_its_owner_and_one_of_nobody_where_it_came(
    doors: WriterCluster, stack: ExitStack
) -> None:
    doors.start(stack, AT_N1)
    for port in (doors.port, doors.inner):
        address = doors.members.addresses["n0"]
        for case in CLEAR:
            assert answer(address, port, request("GET", *case)) == f"n1 {SITE}", case
        for case in NOBODYS:
            assert answer(address, port, request("GET", *case)) == "n0 nobody", case


@pytest.mark.slow
def test_no_such_request_gets_past_a_hold(doors: WriterCluster, stack: ExitStack) -> None:
    doors.hold_time = 0.3
    doors.start(stack, AT_N1)
    doors.hold(AT_N1)
    address = doors.members.addresses["n1"]
    assert answer(address, doors.port, request("POST", *CLEAR[0])) == "503"
    said = {case: answer(address, doors.port, request("POST", *case)) for case in UNCLEAR}
    assert set(said.values()) == {"400"}


@pytest.fixture
def routed(
    found: HaproxyProgram, nginx: Nginx, tmp_path: Path, another_port: int
) -> Iterator[Distributor]:
    """SITE is on several nodes, and HAProxy knows such sites alone."""
    pool = Pool(SITE, (), members_at(nginx.members.addresses), "least_connections")
    written(pool, nginx.members, tmp_path, another_port)
    with running(found, tmp_path, another_port):
        yield Distributor(another_port)


def test_no_such_request_gets_past_the_routing_of_a_site_on_several_nodes(
    routed: Distributor,
) -> None:
    for case in UNCLEAR:
        said = answer("127.0.0.1", routed.port, request("GET", *case))
        assert said == "400", case
    for case in CLEAR:
        said = answer("127.0.0.1", routed.port, request("GET", *case))
        assert said.endswith(SITE), case
    for case in NOBODYS:
        said = answer("127.0.0.1", routed.port, request("GET", *case))
        assert said == "n0 nobody", case
