"""A node takes its files from a folder, a file or a server: all of one version, or nothing at
all.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from flex.errors import Away, BadInput, Denied, Unauthenticated
from flex.routing import install_files, node_file_download
from flex.routing.haproxy import CONFIGURATION, HOSTS, files, is_whole, version
from flex.routing.member_pools import Pool, members
from flex.routing.node_file_download import pull
from flex.routing.ports_and_paths import Layout
from tests.served_in_thread import in_a_thread

NODES = {"n1": "192.0.2.1", "n2": "192.0.2.2"}


def of_node(directory: Path, *names: str) -> dict[str, str]:
    pool = Pool("shop.example", names, members(NODES))
    return files("n1", NODES, [pool], Layout(directory=str(directory)))


@dataclass
class Server:
    """What a FLEX server says of one node, and what it was asked with."""

    answer: bytes = b""
    status: int = 200
    location: str = ""
    asked: list[dict[str, str]] = field(default_factory=list)
    url: str = ""

    def has(self, made: dict[str, str]) -> None:
        self.answer = json.dumps({"node": "n1", "files": made}).encode()


@pytest.fixture
def server() -> Iterator[Server]:
    told = Server()
    with serving(told):
        yield told


@contextmanager
def serving(told: Server) -> Iterator[None]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            told.asked.append(dict(self.headers))
            tag = f'"{len(told.answer)}"'
            known = self.headers.get("If-None-Match") == tag
            self.send_response(304 if known else told.status)
            self.send_header("ETag", tag)
            if told.location:
                self.send_header("Location", told.location)
            self.end_headers()
            if not known:
                self.wfile.write(told.answer)

        def log_message(self, *_: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd, in_a_thread(httpd):
        told.url = f"http://127.0.0.1:{httpd.server_port}/api/v1/routing/nodes/n1"
        yield


def put(taken: node_file_download.Pulled, folder: Path) -> None:
    install_files.put(taken.files, folder, None)
    node_file_download.note_in_force(taken, folder)


def test_a_folder_a_file_and_a_server_give_the_same(tmp_path: Path, server: Server) -> None:
    made = of_node(tmp_path)
    install_files.put(made, tmp_path / "carried", None)
    (tmp_path / "answer.json").write_text(json.dumps({"node": "n1", "files": made}))
    (tmp_path / "files.json").write_text(json.dumps(made))
    server.has(made)
    for where in (
        str(tmp_path / "carried"),
        str(tmp_path / "answer.json"),
        str(tmp_path / "files.json"),
        server.url,
    ):
        taken = pull(where, tmp_path / "here", "secret")
        assert taken.files == made
        assert (taken.node, taken.directory, taken.socket) == ("n1", str(tmp_path), Layout().socket)
    assert server.asked[-1]["Authorization"] == "Bearer secret"


def test_a_server_is_heard_in_full_only_when_something_changed_here_or_there(
    tmp_path: Path, server: Server
) -> None:
    made, other = of_node(tmp_path), of_node(tmp_path, "www.shop.example")
    server.has(made)
    put(pull(server.url, tmp_path), tmp_path)
    assert pull(server.url, tmp_path).files == made
    assert server.asked[-1]["If-None-Match"] == f'"{len(server.answer)}"'
    # By hand, or from elsewhere: the server's tag says nothing of these.
    install_files.put(other, tmp_path, None)
    assert pull(server.url, tmp_path).files == made
    assert "If-None-Match" not in server.asked[-1]
    server.has(other)
    assert pull(server.url, tmp_path).files == other


def test_what_is_not_whole_is_not_taken(tmp_path: Path, server: Server) -> None:
    made = of_node(tmp_path)
    mixed = made | {HOSTS: of_node(tmp_path / "other", "www.shop.example")[HOSTS]}
    named = made | {"../../etc/passwd": ""}
    wrong: list[object] = [
        {},
        [],
        "x",
        mixed,
        named,
        made | {HOSTS: made[HOSTS][:-3]},
        {HOSTS: made[HOSTS]},
    ]
    wrong += [
        {"files": {CONFIGURATION: 3}},
        made | {CONFIGURATION: made[CONFIGURATION] + "é"},
        {"files": None},
    ]
    for each in wrong:
        server.answer = json.dumps(each).encode()
        with pytest.raises(BadInput, match="one version"):
            pull(server.url, tmp_path)
    for deep in (b"[" * 100_000, b'{"files": ' * 100_000, b'{"a":' * 50_000 + b"1" + b"}" * 50_000):
        server.answer = deep
        (tmp_path / "deep").write_bytes(deep)
        for where in (server.url, str(tmp_path / "deep")):
            with pytest.raises(BadInput, match="one version"):
                pull(where, tmp_path)
    (tmp_path / "half").write_bytes(json.dumps(made).encode()[:100])
    with pytest.raises(BadInput, match="one version"):
        pull(str(tmp_path / "half"), tmp_path)
    with pytest.raises(BadInput, match="No such file"):
        pull(str(tmp_path / "none"), tmp_path)
    assert not is_whole({})
    assert version({}) == ""


def test_what_a_server_refuses_is_one_line_and_nobody_else_hears_the_token(
    tmp_path: Path, server: Server
) -> None:
    server.status, server.answer = 403, b'{"detail": "the token is for n2"}'
    with pytest.raises(Denied, match="403: the token is for n2"):
        pull(server.url, tmp_path, "secret")
    server.status, server.answer = 401, b'{"detail": "\\ud800\\u001b[2J"}'
    with pytest.raises(Unauthenticated, match=r"401: \?\?\[2J"):
        pull(server.url, tmp_path, "secret")
    server.status, server.answer = 503, b"[" * 60_000
    with pytest.raises(Away, match="503: Service Unavailable"):
        pull(server.url, tmp_path, "secret")
    other = Server()
    with serving(other):
        for status in (300, 301, 302, 303, 305, 307, 308):
            server.status, server.location = status, other.url
            with pytest.raises(Away, match=f"answered {status}: it points to {other.url[:16]}"):
                pull(server.url, tmp_path, "secret")
    assert other.asked == []
    with pytest.raises(Away, match="refused"):
        pull("http://127.0.0.1:1/", tmp_path)


@pytest.mark.parametrize("token", ["abc\ndef", "abc\r\nHost: x", "abc\x00", "schlüssel"])
def test_a_token_that_no_request_can_carry_is_refused_and_not_repeated(
    tmp_path: Path, token: str
) -> None:
    with pytest.raises(BadInput, match="one line") as refused:
        pull("http://127.0.0.1:1/", tmp_path, token)
    said = refused.value
    assert not any(part in f"{said} {said.advice}" for part in ("abc", "schl"))


@pytest.mark.parametrize(
    "url",
    [
        "http://",
        "http://[::1",
        "http://x:99999/",
        "https://a..b/",
        "http://a b/",
        "http://a/\n",
        "file:///etc",
        "FTP://a",
    ],
)
def test_an_address_that_is_none_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(BadInput, match=r"address of a server|no way to ask"):
        pull(url, tmp_path)


def test_a_scheme_is_one_in_capitals_too(tmp_path: Path, server: Server) -> None:
    made = of_node(tmp_path)
    server.has(made)
    assert pull(server.url.replace("http", "HTTP", 1), tmp_path).files == made


@pytest.mark.parametrize("begun", [b"", b"HTTP/1.0 200 OK\r\n\r\n", b"HTTP/1.0 503 No\r\n\r\n"])
def test_an_answer_that_trickles_has_one_time_for_all_of_it(tmp_path: Path, begun: bytes) -> None:
    over = threading.Event()

    def trickles(listening: socket.socket) -> None:
        with listening.accept()[0] as visitor:
            visitor.sendall(begun)
            while not over.wait(0.02):
                visitor.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=trickles, args=(listening,))
        thread.start()
        with pytest.raises(Away, match=r"not whole after|timed out"):
            pull(f"http://127.0.0.1:{listening.getsockname()[1]}/", tmp_path, patience=0.3)
        over.set()
        thread.join()


def test_what_is_in_force_is_known_where_flex_wrote_it(tmp_path: Path) -> None:
    assert node_file_download.files_in_force(tmp_path) is None
    install_files.put(of_node(tmp_path), tmp_path, None)
    here = node_file_download.files_in_force(tmp_path)
    assert here is not None
    assert here.node == "n1"
    (tmp_path / CONFIGURATION).write_text("# von Hand: überall\n", encoding="utf-8")
    assert node_file_download.files_in_force(tmp_path) is None
