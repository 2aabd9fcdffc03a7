"""The REST API over a large store: every list page, then a minute of mixed reads at a thousand a second.

The server is the one that `flex serve` runs, on loopback; the load comes from a process of its own, over connections
that stay open, each request at the moment it is due. What an answer is late by counts; a request that was not answered,
or not by 200, is an error.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from http.client import HTTPConnection
from itertools import cycle
from pathlib import Path
from statistics import median, quantiles
from urllib.parse import urlsplit

from bench.api import given
from bench.figures import Figures
from flex.store import open_store
from flex_api import access
from flex_api.access import Caller
from flex_api.settings import file as config

LISTS = (
    "/sites", "/sites?sort=-working_set&node=n007", "/sites?replicated=true", "/sites?name=site-0999&sort=site",
    "/pins", "/nodes", "/plans", "/partitions", "/runs", "/jobs", "/ingests", "/audit", "/reports", "/tokens",
)  # fmt: skip
# Every page of the walk is timed, so that a page far down counts as much as the first.
PAGES = 12
RATE, SECONDS, CONNECTIONS = 1000, int(os.environ.get("API_SECONDS", "60")), 64


def measure(folder: Path, size: given.Size, workers: int) -> Figures:
    secret = _token(folder)
    with _served(folder, workers) as address:
        found = _lists(address, secret)
        return {**found, **_load(address, secret, size)}


def _token(folder: Path) -> str:
    settings = config.load(folder / "flex.toml")
    with open_store(settings.database.url) as store:
        return access.create(store, Caller("bench", "admin"), "bench", "admin", datetime.now(UTC))[1]


@contextmanager
def _served(folder: Path, workers: int) -> Iterator[str]:
    """A server without limits for one token, until the end of the block."""
    path = folder / "served.toml"
    extra = f"[api]\nworkers = {workers}\nrequests_per_second = 0\n"
    path.write_text((folder / "flex.toml").read_text(encoding="utf-8") + extra, encoding="utf-8")
    address = "127.0.0.1:18473"
    command = [
        sys.executable,
        "-c",
        "from flex_api.cli import main; main()",
        "-c",
        str(path),
        "serve",
        "--listen",
        address,
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            _wait_for(address)
            yield f"http://{address}"
        finally:
            process.terminate()


def _wait_for(address: str) -> None:
    for _ in range(600):
        try:
            connection = HTTPConnection(address, timeout=5)
            connection.request("GET", "/livez")
            connection.getresponse().read()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"nobody answers at {address}")


def _lists(address: str, secret: str) -> Figures:
    """Milliseconds of each page as a client sees it; the first, cold one of each list is told apart."""
    connection = HTTPConnection(urlsplit(address).netloc, timeout=120)
    cold = 0.0
    times: dict[str, list[float]] = {path: [] for path in LISTS}
    for path in LISTS:
        took, _ = _page(connection, secret, f"/api/v1{path}")
        cold = max(cold, took)
    for path in LISTS:
        following: str | None = f"/api/v1{path}"
        for _ in range(PAGES):
            took, following = _page(connection, secret, following or f"/api/v1{path}")
            times[path].append(took)
    every = [took for found in times.values() for took in found]
    return {
        "list_page_ms_p50": median(every),
        "list_page_ms_worst_p50": max(median(found) for found in times.values()),
        "list_page_ms_p99": quantiles(every, n=100)[98],
        "list_page_ms_cold_max": cold,
    }


def _page(connection: HTTPConnection, secret: str, path: str) -> tuple[float, str | None]:
    began = time.perf_counter()
    connection.request("GET", path, headers={"Authorization": f"Bearer {secret}"})
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != 200:
        raise RuntimeError(f"{path}: {answer.status} {body[:200]!r}")
    following = re.match(r"<([^>]*)>", answer.getheader("Link") or "")
    return (time.perf_counter() - began) * 1000, following[1] if following else None


def _load(address: str, secret: str, size: given.Size) -> Figures:
    """In a process of its own: one that also measures would be late by its own fault."""
    command = [sys.executable, "-m", "bench.api.asked", address, str(size.sites), str(size.nodes)]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, input=secret).stdout
    found: Figures = json.loads(said.splitlines()[-1])
    return found


async def _mixed(address: str, secret: str, sites: int, nodes: int) -> dict[str, float]:
    paths = _paths(sites, nodes)
    late: list[float] = []
    errors = 0
    host, port = urlsplit(address).hostname, urlsplit(address).port
    began = asyncio.get_running_loop().time()

    async def worker(first: int) -> None:
        nonlocal errors
        reader, writer = await asyncio.open_connection(host, port)
        for number in range(first, RATE * SECONDS, CONNECTIONS):
            due = began + number / RATE
            await asyncio.sleep(max(0.0, due - asyncio.get_running_loop().time()))
            path = paths[number % len(paths)]
            try:
                writer.write(f"GET {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {secret}\r\n\r\n".encode())
                status = await asyncio.wait_for(_answer(reader), 30)
                errors += status != 200
            except (OSError, TimeoutError, ValueError, asyncio.IncompleteReadError):
                errors += 1
                writer.close()
                reader, writer = await asyncio.open_connection(host, port)
            late.append(asyncio.get_running_loop().time() - due)
        writer.close()

    await asyncio.gather(*(worker(first) for first in range(CONNECTIONS)))
    took = asyncio.get_running_loop().time() - began
    return {
        f"errors_{RATE}rps_{SECONDS}s": errors,
        "requests": len(late),
        "requests_per_second": len(late) / took,
        "late_ms_p50": median(late) * 1000,
        "late_ms_p99": quantiles(late, n=100)[98] * 1000,
    }


async def _answer(reader: asyncio.StreamReader) -> int:
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head.lower())
    await reader.readexactly(int(length[1]) if length else 0)
    return int(head[9:12])


def _paths(sites: int, nodes: int) -> Sequence[str]:
    """What pages and programs ask for, most often single sites."""
    near = [f"/sites/{given.site_name(number * 7919 % sites)}" for number in range(500)]
    some = cycle(
        ("/sites?limit=20", "/plans?limit=20", "/nodes?limit=20", "/runs?limit=20", "/pins", "/audit?limit=20")
    )
    single = cycle((f"/nodes/{given.node_name(7 % nodes)}", "/freeze", "/partitions?limit=5", "/jobs"))
    return [f"/api/v1{path}" for trio in zip(near, some, single, strict=False) for path in trio]


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_mixed(sys.argv[1], sys.stdin.read().strip(), int(sys.argv[2]), int(sys.argv[3])))))
