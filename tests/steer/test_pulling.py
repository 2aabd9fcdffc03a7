"""A node takes its files from a folder, a file or a server: all of one version, or nothing at all."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from flex.errors import Away, BadInput
from flex.steer import delivery, pulling
from flex.steer.haproxy import CONFIGURATION, HOSTS, Layout, files, is_whole, version
from flex.steer.pool import Pool, members
from flex.steer.pulling import pulled

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

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    told.url = f"http://127.0.0.1:{httpd.server_port}/api/v1/routing/nodes/n1"
    thread = threading.Thread(target=httpd.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield
    finally:
        httpd.shutdown()
        thread.join()
        httpd.server_close()


def put(taken: pulling.Pulled, folder: Path) -> None:
    delivery.put(taken.files, folder, None)
    pulling.noted(taken, folder)


def test_a_folder_a_file_and_a_server_give_the_same(tmp_path: Path, server: Server) -> None:
    made = of_node(tmp_path)
    delivery.put(made, tmp_path / "carried", None)
    (tmp_path / "answer.json").write_text(json.dumps({"node": "n1", "files": made}))
    (tmp_path / "files.json").write_text(json.dumps(made))
    server.has(made)
    for where in (str(tmp_path / "carried"), str(tmp_path / "answer.json"), str(tmp_path / "files.json"), server.url):
        taken = pulled(where, tmp_path / "here", "secret")
        assert taken.files == made
        assert (taken.node, taken.directory, taken.socket) == ("n1", str(tmp_path), Layout().socket)
    assert server.asked[-1]["Authorization"] == "Bearer secret"


def test_a_server_is_heard_in_full_only_when_something_changed_here_or_there(tmp_path: Path, server: Server) -> None:
    made, other = of_node(tmp_path), of_node(tmp_path, "www.shop.example")
    server.has(made)
    put(pulled(server.url, tmp_path), tmp_path)
    assert pulled(server.url, tmp_path).files == made
    assert server.asked[-1]["If-None-Match"] == f'"{len(server.answer)}"'
    # By hand, or from elsewhere: the server's tag says nothing of these.
    delivery.put(other, tmp_path, None)
    assert pulled(server.url, tmp_path).files == made
    assert "If-None-Match" not in server.asked[-1]
    server.has(other)
    assert pulled(server.url, tmp_path).files == other


def test_what_is_not_whole_is_not_taken(tmp_path: Path, server: Server) -> None:
    made = of_node(tmp_path)
    mixed = made | {HOSTS: of_node(tmp_path / "other", "www.shop.example")[HOSTS]}
    named = made | {"../../etc/passwd": ""}
    wrong: list[object] = [{}, [], "x", mixed, named, made | {HOSTS: made[HOSTS][:-3]}, {HOSTS: made[HOSTS]}]
    wrong += [{"files": {CONFIGURATION: 3}}, made | {CONFIGURATION: made[CONFIGURATION] + "é"}, {"files": None}]
    for each in wrong:
        server.answer = json.dumps(each).encode()
        with pytest.raises(BadInput, match="one version"):
            pulled(server.url, tmp_path)
    (tmp_path / "half").write_bytes(json.dumps(made).encode()[:100])
    with pytest.raises(BadInput, match="one version"):
        pulled(str(tmp_path / "half"), tmp_path)
    with pytest.raises(BadInput, match="No such file"):
        pulled(str(tmp_path / "none"), tmp_path)
    assert not is_whole({})
    assert version({}) == ""


def test_what_a_server_refuses_is_one_line_and_nobody_else_hears_the_token(tmp_path: Path, server: Server) -> None:
    server.status, server.answer = 403, b'{"detail": "the token is for n2"}'
    with pytest.raises(Away, match="403: the token is for n2"):
        pulled(server.url, tmp_path, "secret")
    other = Server()
    with serving(other):
        server.status, server.location = 302, other.url
        with pytest.raises(Away, match="302"):
            pulled(server.url, tmp_path, "secret")
    assert other.asked == []
    with pytest.raises(Away, match="refused"):
        pulled("http://127.0.0.1:1/", tmp_path)
    with pytest.raises(Away, match="header"):
        pulled(server.url, tmp_path, "two\nlines")
