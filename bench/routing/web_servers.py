"""Web servers that answer at once: nginx where it is installed, else a small one in Python.

Each listens on its node's address and says in `x-node` which node it is. `/` is two bytes, `/1m` a
file of 1 MiB.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

MIB = 2**20
_PATIENCE = 30.0
_LOOPBACK = "127.0.0.1"
_CONNECTIONS = 8_192


def name_of_program() -> str:
    """As figures name what answered."""
    return "nginx" if nginx() else "python"


def nginx() -> str | None:
    places = (None, "/usr/sbin:/usr/local/sbin")
    return next(filter(None, (shutil.which("nginx", path=one) for one in places)), None)


@contextmanager
def web_servers(port: int, nodes: Mapping[str, str]) -> Iterator[None]:
    """One at each node's address."""
    with nginx_of(port, nodes) if nginx() else _python(port, nodes):
        yield


def lacking_for_hosts() -> str:
    """What is not there for a web server on each of several hosts; "" where it is."""
    return "" if nginx() else "no nginx"


def until_listens(places: Iterator[tuple[str, int]]) -> None:
    end = time.monotonic() + _PATIENCE
    for place in places:
        while _is_silent(place):
            assert time.monotonic() < end, f"nobody listens on {place}"
            time.sleep(0.02)


def _is_silent(place: tuple[str, int]) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(place) != 0


@contextmanager
def nginx_of(port: int, nodes: Mapping[str, str], before: Sequence[str] = ()) -> Iterator[None]:
    """One process for these nodes. `before` is what its command begins with that makes it a host's
    own: then it listens on that host's loopback, too.
    """
    program = nginx()
    assert program
    with tempfile.TemporaryDirectory(prefix="flex-bench-") as name:
        folder = Path(name)
        (folder / "1m").write_bytes(os.urandom(MIB))
        configuration = folder / "nginx.conf"
        configuration.write_text(_configuration(folder, port, nodes, bool(before)))
        command = [program, "-e", f"{folder}/nginx.log", "-c", str(configuration)]
        process = subprocess.Popen([*before, *command])
        try:
            until_listens((address, port) for address in nodes.values())
            yield
        finally:
            process.terminate()
            process.wait(_PATIENCE)


def _configuration(folder: Path, port: int, nodes: Mapping[str, str], on_loopback: bool) -> str:
    # A worker of another user could not read what a folder of ours has.
    user = "user root;\n" if os.geteuid() == 0 else ""
    parts = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"    {part}_temp_path {folder}/{part};\n" for part in parts)
    own = (_LOOPBACK,) if on_loopback else ()
    servers = "".join(
        _server(folder, port, node, (address, *own)) for node, address in nodes.items()
    )
    return (
        f"{user}daemon off;\nworker_processes 1;\npid {folder}/nginx.pid;\n"
        f"events {{ worker_connections {_CONNECTIONS}; }}\n"
        "http {\n    access_log off;\n    sendfile on;\n"
        f"    keepalive_requests 1000000000;\n{temporary}{servers}}}\n"
    )


def _server(folder: Path, port: int, node: str, addresses: Sequence[str]) -> str:
    listen = "".join(f"        listen {at}:{port} backlog=1024;\n" for at in addresses)
    return (
        f"    server {{\n{listen}"
        f'        add_header x-node {node} always;\n        location / {{ return 200 "ok"; }}\n'
        f"        location = /1m {{ root {folder}; }}\n    }}\n"
    )


@contextmanager
def _python(port: int, nodes: Mapping[str, str]) -> Iterator[None]:
    process = multiprocessing.get_context("spawn").Process(
        target=_serve, args=(port, dict(nodes)), daemon=True
    )
    process.start()
    try:
        until_listens((address, port) for address in nodes.values())
        yield
    finally:
        process.terminate()
        process.join()


def _serve(port: int, nodes: Mapping[str, str]) -> None:
    asyncio.run(_serve_all(port, nodes))


async def _serve_all(port: int, nodes: Mapping[str, str]) -> None:
    servers = [
        await asyncio.start_server(_answerer(node), address, port)
        for node, address in nodes.items()
    ]
    await asyncio.gather(*(server.serve_forever() for server in servers))


def _answerer(node: str):  # type: ignore[no-untyped-def]  # what asyncio calls
    small, large = (
        b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\nx-node: %b\r\n\r\n%b"
        % (len(body), node.encode(), body)
        for body in (b"ok", os.urandom(MIB))
    )

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                writer.write(large if head.startswith(b"GET /1m ") else small)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    return answer
