"""A node's web server, as a process to be killed:
`python node_web_server.py ADDRESS PORT NODE [TLS_PORT CERTIFICATE]`. It answers every request with
the node's name.
"""

from __future__ import annotations

import http
import socketserver
import ssl
import sys
import threading
from http.server import BaseHTTPRequestHandler


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        """HAProxy looks whether somebody listens, and hangs up."""


class Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        said = sys.argv[3].encode()
        self.send_response(http.HTTPStatus.OK)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


class TlsServer(Server):
    def __init__(self, at: tuple[str, int], certificate: str) -> None:
        super().__init__(at, Answer)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate)

    def finish_request(self, request: object, client_address: object) -> None:
        """Speaks TLS in the thread of the request: who only looks whether it listens says nothing,
        and keeps nobody else waiting.
        """
        with self.context.wrap_socket(request, server_side=True) as spoken:  # type: ignore[arg-type]
            super().finish_request(spoken, client_address)


if __name__ == "__main__":
    if len(sys.argv) > 4:
        with_tls = TlsServer((sys.argv[1], int(sys.argv[4])), sys.argv[5])
        threading.Thread(target=with_tls.serve_forever, daemon=True).start()
    with Server((sys.argv[1], int(sys.argv[2])), Answer) as server:
        server.serve_forever()
