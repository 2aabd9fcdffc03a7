"""The health watch: nodes are really asked, and a dead one leaves DNS by itself where the settings
allow it.
"""

from __future__ import annotations

import multiprocessing
import socket
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING

import pytest

from flex.model.nodes import Node
from flex_api import wiring
from flex_api.night import probing
from flex_api.night.health_watch import HealthWatch, watching
from flex_api.settings import file as settings
from tests.served_in_thread import in_a_thread

if TYPE_CHECKING:
    from tests.api.conftest import Installation

pytestmark = pytest.mark.real

MAY_HALF = "[watch]\nprobes = ['tcp:80']\nmax_down = 0.5\n"


class Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(503 if self.path == "/broken" else 404)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Not to the terminal."""


@pytest.fixture
def port() -> Iterator[int]:
    with HTTPServer(("127.0.0.1", 0), Site) as server, in_a_thread(server):
        yield server.server_port


def test_a_server_that_serves_is_told_from_a_broken_one_and_from_none(
    port: int, free_port: int
) -> None:
    node = Node("n1", ("127.0.0.1",), 0)
    probes = (
        f"tcp:{port}",
        f"http:{port}/",
        f"http:{port}/broken",
        f"tcp:{free_port}",
        f"http:{free_port}",
    )
    assert probing.answers([node], probes, 2.0) == {"n1": [True, True, False, False, False]}


def test_what_takes_connections_and_never_answers_serves_nobody() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        here = silent.getsockname()[1]
        assert probing.is_answered("127.0.0.1", f"tcp:{here}", 0.3)
        assert not probing.is_answered("127.0.0.1", f"http:{here}", 0.3)


def watch(installation: Installation, said: list[str], dead: Sequence[str]) -> HealthWatch:
    """One that finds these nodes dead."""

    def probe(nodes: Sequence[Node]) -> Mapping[str, Sequence[bool]]:
        return {node.name: [node.name not in dead] for node in nodes}

    here = wiring.world(
        settings.load(installation.settings), lambda: datetime.now(UTC), say=said.append
    )
    return HealthWatch(here, probe)


def on_nodes(installation: Installation) -> set[str]:
    items = installation.flex("-o", "json", "sites", "list").json["items"]
    return {node for row in items for node in row["nodes"]}


def prepared(installation: Installation, mode: str) -> None:
    installation.mode, installation.extra = "auto", MAY_HALF
    installation.write_settings()
    installation.first_night()
    installation.mode = mode
    installation.write_settings()


@pytest.mark.slow
def test_a_node_that_is_dead_for_three_rounds_leaves_dns_by_itself(
    installation: Installation,
) -> None:
    prepared(installation, "auto")
    said: list[str] = []
    watched = watch(installation, said, ["n1"])
    watched.round()
    watched.round()
    assert "n1" in on_nodes(installation)
    watched.round()
    assert "n1" not in on_nodes(installation)
    assert said[0] == "n1 does not answer any more."
    assert said[-1].startswith("n1 was dead and is out of DNS by plan ")
    assert installation.flex("verify").code == 0
    serial = installation.serial()
    watched.round()
    assert installation.serial() == serial


@pytest.mark.slow
def test_a_node_that_somebody_brings_back_is_judged_by_what_it_does_from_then_on(
    installation: Installation,
) -> None:
    """It was started a moment ago, and is not well yet by its rounds."""
    prepared(installation, "auto")
    said: list[str] = []
    dead = ["n1"]
    watched = watch(installation, said, dead)

    def after(rounds: int) -> str:
        for _ in range(rounds):
            watched.round()
        items = installation.flex("-o", "json", "nodes", "list").json["items"]
        return str(next(row["state"] for row in items if row["node"] == "n1"))

    assert after(3) == "down"
    assert installation.flex("nodes", "up", "n1").code == 0
    dead.clear()
    assert after(1) == "active"
    assert said[-1].startswith("n1 was dead and is out of DNS by plan ")
    dead.append("n1")
    assert after(2) == "active"
    assert after(1) == "down"


def test_where_people_decide_it_only_says_so_and_says_it_once(installation: Installation) -> None:
    prepared(installation, "review")
    said: list[str] = []
    dead = ["n1"]
    watched = watch(installation, said, dead)
    is_dead = "n1 is dead, and the mode is review: `flex nodes down n1` takes it out of DNS."

    def after(rounds: int) -> list[str]:
        said.clear()
        for _ in range(rounds):
            watched.round()
        return said

    assert after(5) == ["n1 does not answer any more.", is_dead]
    assert "n1" in on_nodes(installation)
    dead.clear()
    assert after(5) == ["n1 answers again."]
    dead.append("n1")
    assert after(5) == ["n1 does not answer any more.", is_dead]


def test_when_all_seem_dead_none_is_taken_down(installation: Installation) -> None:
    prepared(installation, "auto")
    said: list[str] = []
    before, watched = (
        on_nodes(installation),
        watch(installation, said, sorted(on_nodes(installation))),
    )
    for _ in range(4):
        watched.round()
    assert on_nodes(installation) == before
    assert said[-1].startswith("Nothing is taken down: ")


@pytest.mark.slow
def test_the_last_node_that_takes_sites_stays_in_service_beside_a_draining_one(
    installation: Installation,
) -> None:
    prepared(installation, "auto")
    assert installation.flex("nodes", "down", "n3").code == 0
    assert installation.flex("nodes", "drain", "n2").code == 0
    installation.extra = MAY_HALF.replace("0.5", "0.9")
    installation.write_settings()
    said: list[str] = []
    watched = watch(installation, said, ["n1"])
    for _ in range(4):
        watched.round()
    states = {
        row["node"]: row["state"]
        for row in installation.flex("-o", "json", "nodes", "list").json["items"]
    }
    assert states["n1"] == "active"
    assert "no other node is active" in said[-1]
    assert installation.flex("nodes", "undrain", "n2").code == 0
    watched.round()
    assert on_nodes(installation) == {"n2"}


def watches() -> list[BaseProcess]:
    """Other tests of this process may have children of their own."""
    return [child for child in multiprocessing.active_children() if child.name == "health watch"]


@pytest.mark.parametrize("extra", ["", MAY_HALF], ids=["without probes", "probes"])
def test_it_runs_beside_whoever_serves(installation: Installation, extra: str) -> None:
    installation.extra = extra
    installation.write_settings()
    installation.first_night()
    with watching(settings.load(installation.settings), print):
        assert len(watches()) == 1
    assert not watches()
