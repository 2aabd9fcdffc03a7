"""Which ports of the nodes have to be open to the other nodes is said, by setting and number, and
where nodes do not reach each other there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flex.routing import haproxy_socket, install_files
from flex.routing.haproxy_program import HaproxyProgram, start_with_master
from flex.routing.haproxy_socket import Socket
from tests.ports import any_port
from tests.routing.conftest import found

if TYPE_CHECKING:
    from tests.api.conftest import Installation

__all__ = ["found"]

TLS = 'inner_certificate = "/etc/flex/node.pem"\ninner_ca = "/etc/flex/ca.pem"\n'
ALL = 'doors = "all"\n'


def with_routing(installation: Installation, more: str = "") -> Installation:
    installation.extra += f"[routing]\non = true\n{more}"
    installation.write_settings()
    return installation


def detail_of(installation: Installation) -> list[tuple[str, str]]:
    """What doctor says of routing: states and details."""
    rows = installation.flex("-o", "json", "doctor").json["checks"]
    return [(row["state"], row["detail"]) for row in rows if row["name"] == "routing"]


@pytest.mark.parametrize(
    ("more", "ports"),
    [
        ("", {"peers_port": 10000, "origin_port": 8080}),
        (
            f"{ALL}origin_port = 81\ninner_port = 9001\n",
            {"peers_port": 10000, "origin_port": 81, "inner_port": 9001},
        ),
        (f"{ALL}{TLS}", {"peers_port": 10000, "member_port": 10002, "inner_port": 10001}),
        (
            f"{ALL}{TLS}member_port = 9002\npeers_port = 9000\nlisten_sni = [':443']\n",
            {"peers_port": 9000, "member_port": 9002, "inner_port": 10001, "origin_tls_port": 8443},
        ),
    ],
    ids=["replicated", "doors", "TLS", "SNI"],
)
def test_who_routes_is_told_which_ports_to_open_between_nodes(
    installation: Installation, more: str, ports: dict[str, int]
) -> None:
    installation.first_night()
    with_routing(installation, more)
    line = ", ".join(f"{port} ({setting})" for setting, port in ports.items())
    for verb in (("route", "config", "n1"), ("route", "show")):
        said = installation.flex("-o", "json", *verb).json["ports"]
        assert {row["setting"]: row["port"] for row in said} == ports
        by_tls = {row["setting"] for row in said if row["authenticates"]}
        assert by_tls == (ports.keys() - {"origin_tls_port"} if TLS in more else set())
        shown = " ".join(installation.flex(*verb).out.split())
        assert f"Open to the other nodes, and to nobody else: {line}." in shown
    told = [detail for _, detail in detail_of(installation) if line in detail]
    assert len(told) == 1
    assert ("believed" in told[0]) == (TLS not in more or "origin_tls_port" in ports)


def test_without_routing_no_port_is_named(installation: Installation) -> None:
    assert installation.flex("-o", "json", "route", "show").json["ports"] == []
    assert detail_of(installation) == []


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


class Neighbour(BaseHTTPRequestHandler):
    """Lets everybody in, and says so."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.real
def test_doctor_names_nodes_that_others_do_not_reach_and_at_which_port(
    installation: Installation, found: HaproxyProgram, tmp_path: Path, stack: ExitStack
) -> None:
    """The HAProxy of n1 alone is here. n2 is reached by it and n3 is not."""
    installation.first_night()
    port, inner, peers = any_port(), any_port(), any_port()
    with_routing(
        installation,
        f'{ALL}directory = "{tmp_path}"\nsocket = "{tmp_path}/n1.s"\nmetrics = ""\n'
        f'sockets = "{tmp_path}/{{node}}.s"\nlisten = ["127.0.0.1:{port}"]\n'
        f'inner_listen = ["127.0.0.2:{inner}"]\ninner_port = {inner}\n'
        f"peers_port = {peers}\nconnections = 1000\n",
    )
    settings = installation.settings.read_text()
    for number in (1, 2, 3):
        settings = settings.replace(f'"192.0.2.{number}"', f'"127.0.0.{number + 1}"')
    settings = settings.replace("[dns]\n", '[dns]\nsettle = "1s"\n')
    installation.settings.write_text(settings)
    installation.flex("route", "config", "n1", "--to", str(tmp_path))
    assert install_files.there_of(tmp_path)
    neighbour = stack.enter_context(ThreadingHTTPServer(("127.0.0.3", inner), Neighbour))
    threading.Thread(target=neighbour.serve_forever, daemon=True).start()
    stack.callback(neighbour.shutdown)
    stack.enter_context(start_with_master(found, tmp_path, port, tmp_path / "m"))
    stats = Socket(str(tmp_path / "n1.s"))
    until_down(stats, "at_n3")
    said = [detail for state, detail in detail_of(installation) if state == "warn"]
    assert said == [f"n3 is not reached at {inner} (inner_port) by n1 (L4CON)"]
    # A node that FLEX knows to be down is no news. Nobody follows orders here.
    assert installation.flex("nodes", "down", "n3").code == 32
    states = detail_of(installation)
    assert ("ok", "n1: each reaches the other nodes") in states
    assert {state for state, _ in states} == {"ok"}


def until_down(stats: Socket, backend: str) -> None:
    for _ in range(600):
        rows = haproxy_socket.parse_stat(stats.ask("show", "stat"))
        if any(
            row.backend == backend and row.server == "inner" and row.status == "DOWN"
            for row in rows
        ):
            return
        time.sleep(0.1)
    pytest.fail(f"{backend} is not down")
