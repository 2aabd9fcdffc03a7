"""A node asks a FLEX server by TLS, also where the server's certificate is of one's own CA."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bench import forked_flex
from tests.routing.certificates import Authority
from tests.routing.following import PATIENCE
from tests.served_in_thread import in_a_thread

pytestmark = pytest.mark.real


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b'{"detail": "come later"}'
        self.send_response(503)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def own(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "own", "own").begin()


@pytest.fixture
def address(own: Authority) -> Iterator[str]:
    certificate = own.sign("localhost", own.folder / "server.pem")
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as listening:
        speaking = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        speaking.load_cert_chain(certificate)
        listening.socket = speaking.wrap_socket(listening.socket, server_side=True)
        with in_a_thread(listening):
            yield f"https://localhost:{listening.server_address[1]}/api/v1/routing/nodes/n1"


@pytest.mark.slow
def test_a_server_of_an_own_ca_is_heard_by_who_trusts_it_and_others_are_told_how(
    own: Authority, address: str, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("flex_token")

    def said(**environment: str) -> str:
        asked = forked_flex.run(
            *("route", "apply", "--from", address),
            *("--token-file", str(tmp_path / "token"), "--to", str(tmp_path)),
            seconds=PATIENCE,
            environment={**os.environ, **environment},
        )
        assert asked.returncode == 27
        return asked.stderr

    told = said()
    assert "certificate verify failed" in told
    assert "SSL_CERT_FILE" in told
    assert "it answered 503: come later" in said(SSL_CERT_FILE=str(own.ca))
    stranger = Authority(tmp_path / "strange", "strange").begin()
    assert "SSL_CERT_FILE" in said(SSL_CERT_FILE=str(stranger.ca))
