"""Web servers of nodes for tests of readiness: each on a loopback address of its own, with what it
answers for each host name given by the test, down to single bytes; and certificates.
"""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.routing.certificates import Authority

OLD, NEW = "127.0.3.1", "127.0.3.2"
# What is done with a connection once the head of a request has come: the path is given.
Respond = Callable[[socket.socket, str], None]


def raw(*parts: bytes) -> Respond:
    """Just these bytes; then the connection ends."""

    def respond(connection: socket.socket, _: str) -> None:
        for part in parts:
            connection.sendall(part)

    return respond


def page(body: str | bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Respond:
    content = body.encode() if isinstance(body, str) else body
    given = {
        "Content-Type": "text/html; charset=utf-8",
        "Content-Length": str(len(content)),
        **(headers or {}),
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    head = f"HTTP/1.1 {status} So\r\n{lines}\r\n".encode()
    return raw(head + content)


def paths(**known: Respond) -> Respond:
    """`root` is /, any other name its own path."""

    def respond(connection: socket.socket, path: str) -> None:
        known.get(path.strip("/") or "root", page("no such page", 404))(connection, path)

    return respond


@dataclass
class WebServer:
    """What is not in `hosts` gets what `default` says. `shown` are certificates by name."""

    address: str
    port: int
    hosts: dict[str, Respond] = field(default_factory=dict)
    default: Respond = field(default_factory=lambda: page("nothing here", 404))
    shown: dict[str, Path] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    # Until the test is over: who never answers waits for this.
    over: threading.Event = field(default_factory=threading.Event)

    def serve(self, connection: socket.socket) -> None:
        with suppress(OSError, ValueError), connection:
            connection.settimeout(30)
            if self.shown:
                connection = self._context().wrap_socket(connection, server_side=True)
            with connection:
                head = b""
                while b"\r\n\r\n" not in head and (part := connection.recv(4096)):
                    head += part
                if b"\r\n\r\n" not in head:
                    return
                lines = head.decode().split("\r\n")
                path = lines[0].split(" ")[1]
                host = next((line[6:] for line in lines if line.startswith("Host: ")), "")
                self.asked.append((host, path))
                self.hosts.get(host, self.default)(connection, path)

    def _context(self) -> ssl.SSLContext:
        contexts = {}
        for name, file in self.shown.items():
            contexts[name] = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            contexts[name].load_cert_chain(file)
        first = next(iter(contexts.values()))

        def chosen(over: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
            over.context = contexts.get(name or "", first)

        first.sni_callback = chosen
        return first


@contextmanager
def listening(server: WebServer) -> Iterator[WebServer]:
    with ExitStack() as held:
        found = held.enter_context(socket.socket())
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((server.address, server.port))
        found.listen(64)
        server.port = found.getsockname()[1]
        threads: list[threading.Thread] = []

        def accept() -> None:
            while True:
                try:
                    connection, _ = found.accept()
                except OSError:
                    return
                one = threading.Thread(target=server.serve, args=(connection,))
                threads.append(one)
                one.start()

        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield server
        finally:
            server.over.set()
            found.shutdown(socket.SHUT_RDWR)
            accepting.join()
            for one in threads:
                one.join(30)


@contextmanager
def old_and_new() -> Iterator[tuple[WebServer, WebServer]]:
    """Two nodes that listen on one port."""
    with listening(WebServer(OLD, 0)) as old, listening(WebServer(NEW, old.port)) as new:
        yield old, new


def valid_between(authority: Authority, name: str, file: Path, start: str, end: str) -> Path:
    """A certificate with the given times, such as 20400101000000Z; `openssl ca` alone sets them."""
    folder = file.parent / f"{file.stem}.ca"
    folder.mkdir()
    (folder / "index.txt").touch()
    (folder / "serial").write_text("01\n")
    config = folder / "ca.cnf"
    config.write_text(
        f"[ca]\ndefault_ca = d\n[d]\ndatabase = {folder}/index.txt\nserial = {folder}/serial\n"
        f"new_certs_dir = {folder}\ndefault_md = sha256\npolicy = p\ncopy_extensions = copy\n"
        "unique_subject = no\n[p]\ncommonName = supplied\n"
    )
    key, asked = folder / "key.pem", folder / "asked.csr"
    _openssl(
        *("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
        *("-nodes", "-keyout", str(key), "-out", str(asked), "-subj", f"/CN={name}"),
        *("-addext", f"subjectAltName=DNS:{name}"),
    )
    _openssl(
        *("ca", "-batch", "-config", str(config), "-in", str(asked), "-out", str(file)),
        *("-cert", str(authority.ca), "-keyfile", str(authority.ca.with_suffix(".key"))),
        *("-startdate", start, "-enddate", end, "-notext"),
    )
    file.write_text(file.read_text() + key.read_text())
    return file


def self_signed(name: str, file: Path) -> Path:
    key = file.with_suffix(".key")
    _openssl(
        *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
        *("-nodes", "-keyout", str(key), "-out", str(file), "-days", "30"),
        *("-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"),
    )
    file.write_text(file.read_text() + key.read_text())
    return file


def _openssl(*words: str) -> None:
    subprocess.run(("openssl", *words), check=True, capture_output=True)
