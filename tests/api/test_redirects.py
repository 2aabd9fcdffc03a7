"""A redirect is never followed: nothing counts as told that was not, and no token goes to somebody
else.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from flex.errors import Away
from flex_api.client import client
from flex_api.night.notifying import post
from flex_api.schemas.sites_and_wishes import PinGiven
from flex_api.settings.safety_and_notices import Webhook
from tests.api.test_notify import NEWS
from tests.served_in_thread import in_a_thread

CODES = (300, 301, 302, 303, 304, 305, 307, 308, 399)


@dataclass
class Road:
    """A server that sends everybody on to another one, which hears who comes."""

    port: int = 0
    code: int = 302
    to: str = ""
    asked: list[tuple[str, str]] = field(default_factory=list)
    came: list[tuple[str, str]] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@pytest.fixture
def road() -> Iterator[Road]:
    found = Road()

    class Crossing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            there = self.path.startswith("/hidden")
            (found.came if there else found.asked).append(
                (self.command, self.headers.get("Authorization", ""))
            )
            self.send_response(200 if there else found.code)
            if not there:
                self.send_header("Location", found.to)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815  the names that the base class looks for

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Crossing) as server:
        found.port = server.server_address[1]
        found.to = f"http://localhost:{found.port}/hidden/secret"
        with in_a_thread(server):
            yield found


@pytest.mark.parametrize("code", CODES)
def test_a_webhook_that_was_redirected_was_not_told(road: Road, code: int) -> None:
    road.code = code
    with pytest.raises(
        Away, match=f"answered {code}: it points to http://localhost:{road.port}/, and FLEX"
    ) as error:
        post(Webhook(url=f"{road.address}/hook"), NEWS, "id-1", pauses=(0.0, 0.0))
    assert "secret" not in str(error.value)
    assert (road.asked, road.came) == ([("POST", "")], [])


@pytest.mark.parametrize(
    "to", ["", "/hidden/other", "//", "http://[", "ftp://user:word@192.0.2.1/x\x7f"]
)
def test_wherever_a_redirect_points_it_is_said_and_not_followed(road: Road, to: str) -> None:
    road.to = to
    with pytest.raises(Away, match="answered 302: it points to") as error:
        post(Webhook(url=f"{road.address}/hook"), NEWS, "id-1", pauses=(0.0,))
    assert "word" not in str(error.value)
    assert road.came == []


@pytest.mark.parametrize("code", CODES)
def test_the_client_sends_neither_its_token_nor_a_change_elsewhere(road: Road, code: int) -> None:
    road.code, there = code, client(road.address, "flex_secret")
    for ask in (
        lambda: there.site("s1.example.org"),
        lambda: there.put_pin("s1.example.org", PinGiven(nodes=("n1",))),
        lambda: there.drop_pin("s1.example.org", "*"),
    ):
        with pytest.raises(Away, match=f"answered {code}: it points to"):
            ask()
    assert (len(road.asked), road.came) == (3, [])


def test_who_answers_something_else_than_http_was_not_told() -> None:
    """It stops no night, and it is no fault of FLEX."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=_babble, args=(listening, 3))
        thread.start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with pytest.raises(HTTPException):
            post(Webhook(url=address), NEWS, "id-1", pauses=(0.0,))
        with pytest.raises(Away):
            client(address, "flex_secret").site("s1.example.org")
        thread.join()


def _babble(listening: socket.socket, times: int) -> None:
    for _ in range(times):
        connection, _ = listening.accept()
        with connection:
            connection.recv(2**16)
            connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
