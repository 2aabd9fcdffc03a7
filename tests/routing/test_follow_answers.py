"""Whatever a server answers to a node that follows: what is no order changes nothing, and is one
line.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from flex.errors import Away, BadInput, FlexError
from flex.routing import (
    flex_server_client,
    haproxy,
    host_to_node_maps,
    install_files,
    owners_map,
)
from flex.routing.apply_to_haproxy import Sockets
from flex.routing.flex_server_client import Asker
from flex.routing.haproxy_frontends import Doors
from flex.routing.haproxy_program import HaproxyProgram, start_with_master
from flex.routing.haproxy_socket import Socket
from flex.routing.host_to_node_maps import MOVED, Heading, Owners, maps_of, set_heading
from flex.routing.node_file_download import Pulled
from flex.routing.order_follower import Follower, FollowingNode
from flex.routing.ports_and_paths import Layout
from flex.routing.refuse_older_maps import refuse_older
from tests.ports import any_port
from tests.served_in_thread import in_a_thread

pytestmark = pytest.mark.real

ADDRESS = "127.0.0.2"
NAMES = {"shop.example": "n1", "blog.example": "n1"}


def owners(number: int, node: str = "n1", cluster: str = "ours") -> Owners:
    large = host_to_node_maps.map_of(NAMES)
    made = maps_of({**NAMES, "shop.example": node}, large)
    heading = Heading(cluster, host_to_node_maps.digest(large), number)
    return set_heading(made, heading)


@dataclass
class Server:
    """What it answers to questions for orders, and for all files; by path as long as it is told. An
    older one does not say what it calls these.
    """

    orders: bytes = b""
    status: int = 200
    files: Mapping[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    url: str = ""
    is_older: bool = False

    @property
    def all_files(self) -> dict[str, object]:
        said: dict[str, object] = {"files": dict(self.files)}
        if self.files and not self.is_older:
            said["others"] = haproxy.others_digest(self.files)
        return said

    def says(self, moved: str, files: str) -> None:
        self.orders = json.dumps({"moved": moved, "files": files}).encode()


@pytest.fixture
def server() -> Iterator[Server]:
    told = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            told.asked.append(self.path)
            is_order = "/doors" in self.path
            body = told.orders if is_order else json.dumps(told.all_files).encode()
            self.send_response(told.status if is_order else 200)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Location", "http://192.0.2.9/")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        told.url = f"http://127.0.0.1:{listening.server_address[1]}/nodes/n1"
        with in_a_thread(listening):
            yield told


@dataclass
class Here:
    """A node's HAProxy that goes by order 3."""

    folder: Path
    found: HaproxyProgram
    layout: Layout
    said: list[str] = field(default_factory=list)
    # Seconds for which HAProxy may take for an answer.
    patience: float = 5.0

    @property
    def sockets(self) -> Sockets:
        stats = Socket(str(self.folder / "s"), self.patience)
        return Sockets(stats, Socket(str(self.folder / "m"), self.patience), 0)

    def files(self, made: Owners, *others: str) -> dict[str, str]:
        """Also with n2 and other nodes, none of which is there."""
        doors = Doors(made, {ADDRESS, "127.0.0.1"})
        at = {"n1": ADDRESS} | dict.fromkeys(("n2", *others), "127.0.0.99")
        return haproxy.files("n1", at, [], self.layout, doors)

    def follower(self, url: str) -> Follower:
        return Follower(
            FollowingNode(
                url,
                "flex_token",
                self.folder,
                self.found,
                lambda _: self.sockets,
                lambda _: None,
                refuse_older,
                self.said.append,
            )
        )

    @property
    def goes_by(self) -> int:
        return owners_map.order_in_force(self.sockets.stats, self.folder)[0]

    @property
    def worker(self) -> str:
        """Which process serves."""
        said = self.sockets.stats.ask("show", "info")
        return next(line for line in said.splitlines() if line.startswith("Pid: "))

    def state(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.folder.glob("*.map*")}


@pytest.fixture
def here(found: HaproxyProgram, tmp_path: Path) -> Iterator[Here]:
    with begun(found, tmp_path) as made:
        yield made


@contextmanager
def begun(found: HaproxyProgram, folder: Path) -> Iterator[Here]:
    port = any_port()
    layout = Layout(
        directory=str(folder),
        listen=(f"{ADDRESS}:{port}",),
        origin=ADDRESS,
        origin_port=any_port(),
        inner_port=any_port(),
        inner_listen=(f"{ADDRESS}:{any_port()}",),
        peers_port=any_port(),
        socket=str(folder / "s"),
        metrics="",
        threads=1,
        connections=1_000,
    )
    made = Here(folder, found, layout)
    install_files.put(made.files(owners(3)), folder, found)
    with start_with_master(found, folder, port, folder / "m", ADDRESS):
        yield made


def test_an_order_is_in_force_without_the_other_files_being_asked_for(
    here: Here, server: Server
) -> None:
    own = haproxy.others_digest(here.files(owners(3)))
    server.says(owners(4, "n2").moved, own)
    here.follower(server.url).once()
    assert here.goes_by == 4
    assert all("/doors?" in path for path in server.asked)
    assert "have=3" in server.asked[0]
    # What is there is what the server would have sent as a whole.
    there = Pulled(owners_map.small_files(here.folder))
    assert haproxy.version(there.files) == haproxy.version(here.files(owners(4, "n2")))
    assert (here.folder / f"{MOVED}.before").read_text() == owners(3).moved


def test_other_files_are_fetched_once_and_called_what_an_older_server_calls_them(
    here: Here, server: Server
) -> None:
    server.files = here.files(owners(4, "n2"))
    server.says(owners(4, "n2").moved, "another-name")
    server.is_older = True
    follower = here.follower(server.url)
    for _ in range(4):
        follower.once()
        assert here.goes_by == 4
    asked = [path for path in server.asked if "/doors" not in path]
    assert len(asked) == 1
    assert "files=another-name" in server.asked[-1]


def test_an_order_that_leads_to_a_node_that_is_new_here_comes_with_all_files(
    here: Here, server: Server
) -> None:
    own = haproxy.others_digest(here.files(owners(3)))
    server.files = here.files(owners(4, "n3"), "n3")
    server.says(owners(4, "n3").moved, own)
    here.follower(server.url).once()
    assert here.goes_by == 4
    configured = (here.folder / haproxy.CONFIGURATION).read_text()
    assert "\nbackend at_n3\n" in configured


def test_files_that_changed_between_what_was_said_of_them_and_what_came_are_fetched_again(
    here: Here, server: Server
) -> None:
    server.files = here.files(owners(4, "n2"))
    coming = here.files(owners(4, "n2"), "n3")
    server.says(owners(4, "n2").moved, haproxy.others_digest(coming))
    follower = here.follower(server.url)
    # A server may say for a while what is no longer so.
    for _ in range(3):
        follower.once()
    server.files = coming
    follower.once()
    there = (here.folder / haproxy.CONFIGURATION).read_text()
    assert there == coming[haproxy.CONFIGURATION]


def test_an_older_server_is_asked_for_all_files_and_that_is_said_once(
    here: Here, server: Server
) -> None:
    server.status, server.files = 404, here.files(owners(5, "n2"))
    follower = here.follower(server.url)
    follower.once()
    follower.once()
    assert here.goes_by == 5
    assert sum("older" in line for line in here.said) == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"garbage",
        b"[" * 100_000,
        b"[1]",
        b'{"moved": 1, "files": ""}',
        b'{"moved": "", "files": 7}',
        '{"moved": "ü", "files": ""}'.encode(),
        b'{"moved": "x at_n1\\n", "files": "OWN"}',
        b'{"moved": "CUT", "files": "OWN"}',
        b'{"moved": "OLDER", "files": "OWN"}',
        b'{"moved": "SAME", "files": "OWN"}',
        b'{"moved": "THEIRS", "files": "OWN"}',
        b'{"moved": "COMMAND", "files": "OWN"}',
    ],
)
def test_what_is_no_newer_order_changes_nothing(here: Here, server: Server, answer: bytes) -> None:
    text = answer.decode()
    command = owners(4).moved.rstrip("\n") + "\nx.example at_n1; shutdown sessions\n"
    for name, value in {
        "OWN": haproxy.others_digest(here.files(owners(3))),
        "CUT": owners(4).moved[:-5],
        "OLDER": owners(2).moved,
        "SAME": owners(3, "n2").moved,
        "THEIRS": owners(9, cluster="theirs").moved,
        "COMMAND": sealed(command),
    }.items():
        text = text.replace(f'"{name}"', json.dumps(value))
    server.orders = text.encode()
    before = here.state()
    with pytest.raises(BadInput):
        here.follower(server.url).once()
    assert (here.goes_by, here.state()) == (3, before)


def sealed(text: str) -> str:
    """A map that says of itself that it is whole."""
    lines = text.partition("\n")[2]
    made = replace(owners(4), moved=f":digest 0\n{lines}")
    again = host_to_node_maps.set_heading(
        made, Heading("ours", host_to_node_maps.digest(made.large), 4)
    )
    return again.moved


@pytest.mark.parametrize("status", [301, 400, 401, 403, 500, 503])
def test_what_a_server_refuses_changes_nothing(here: Here, server: Server, status: int) -> None:
    server.status, before = status, here.state()
    with pytest.raises(FlexError):
        here.follower(server.url).once()
    assert (here.goes_by, here.state()) == (3, before)


def test_an_answer_that_is_too_long_changes_nothing(here: Here, server: Server) -> None:
    own = haproxy.others_digest(here.files(owners(3)))
    server.says(owners(4).moved + "a.example at_n1\n" * 1_000, own)
    follower = here.follower(server.url)
    follower.asker = Asker(longest=1_000)
    with pytest.raises(BadInput, match="more than 1000 bytes"):
        follower.once()
    assert here.goes_by == 3


def test_answers_that_never_end_take_no_more_than_some_threads() -> None:
    asker, held = Asker(), threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            held.wait(60)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        listening.daemon_threads = True
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{listening.server_address[1]}/"
        ask = partial(asker.begin, flex_server_client.request(url, "t"), 60)
        told = [ask() for _ in range(8)]
        with pytest.raises(Away, match="have not come to their end"):
            ask()
        held.set()
        for each in told:
            each.exception(60)
        listening.shutdown()
