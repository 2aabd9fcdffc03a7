"""A node's web server, as a process to be killed: `python node_web_server.py ADDRESS PORT NODE`. It
answers every request with the node's name.
"""

from __future__ import annotations

import http
import socketserver
import sys
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


if __name__ == "__main__":
    with Server((sys.argv[1], int(sys.argv[2])), Answer) as server:
        server.serve_forever()
