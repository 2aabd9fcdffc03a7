"""The REST API over a large store: every list page, then a minute of mixed reads at a thousand a
second.

The server is the one that `flex serve` runs, on loopback; the load comes from a process of its own,
over connections that stay open, each request at the moment it is due. What an answer is late by
counts; a request that was not answered, or not by 200, is an error.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.client import HTTPConnection
from itertools import count, cycle
from pathlib import Path
from statistics import median, quantiles
from time import process_time
from urllib.parse import urlsplit

from bench.api import apart, given
from bench.figures import Figures
from flex.store import open_store
from flex_api import manage_tokens
from flex_api.manage_tokens import Caller
from flex_api.settings import file as config

LISTS = (
    "/sites", "/sites?sort=-working_set&node=n007", "/sites?replicated=true",
    "/sites?name=site-0999&sort=site",
    "/pins", "/nodes", "/plans", "/partitions", "/runs", "/jobs", "/ingests", "/audit",
    "/reports", "/tokens",
    "/partitions/current/placement", "/routing",
    # The plan that was put aside has the longest lists.
    "/plans/{plan}/moves", "/plans/{plan}/moves?sort=-cold_bytes&node=n007",
    "/plans/{plan}/dns-diff", "/plans/{plan}/dns-diff?sort=-zone&name=site-0999",
    "/partitions/{plan}/placement", "/partitions/{plan}/placement?node=n007",
    "/partitions/{plan}/difference", "/partitions/{plan}/difference?sort=-site&node=n007",
    "/routing?plan={plan}", "/routing?plan={plan}&sort=-site&node=n007",
    "/sites/{site}/profile",
)  # fmt: skip
# Every page of the walk is timed, so that a page far down counts as much as the first.
PAGES = 12
RATE, SECONDS, CONNECTIONS = 1000, int(os.environ.get("API_SECONDS", "60")), 64
TELLS = 10
TICKS = os.sysconf("SC_CLK_TCK")
_NEVER_TWICE = count()


def measure(folder: Path, size: given.Size, workers: int, say: Callable[[str], None]) -> Figures:
    secret = _token(folder)
    with _serve(folder, workers) as (address, process):
        found = _lists(address, secret, size, say)
        before = _cpu_seconds(process.pid)
        asked = _load(address, secret, size, say)
        spent = _cpu_seconds(process.pid) - before
        peak = max(_peak_mib(pid) for pid in (process.pid, *_children(process.pid)))
    cpu = spent / float(asked["requests"]) * 1000
    return {**found, **asked, "server_cpu_ms_per_request": cpu, "server_peak_mib": peak}


def _token(folder: Path) -> str:
    settings = config.load(folder / "flex.toml")
    with open_store(settings.database.url) as store:
        return manage_tokens.create(
            store, Caller("bench", "admin"), "bench", "admin", datetime.now(UTC)
        )[1]


@contextmanager
def _serve(folder: Path, workers: int) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A server without limits for one token, until the end of the block."""
    path = folder / "served.toml"
    extra = f"[api]\nworkers = {workers}\nrequests_per_second = 0\n"
    path.write_text((folder / "flex.toml").read_text(encoding="utf-8") + extra, encoding="utf-8")
    address = f"127.0.0.1:{_free_port()}"
    flex = [sys.executable, "-c", "from flex_api.cli import main; main()", "-c", str(path)]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(
        [*flex, "serve", "--listen", address], stdout=quiet, stderr=quiet
    ) as process:
        try:
            _wait_for(address)
            yield f"http://{address}", process
        finally:
            process.terminate()


def _free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


def _cpu_seconds(pid: int) -> float:
    """CPU seconds of a process and of those that it started."""
    return sum(_ticks(one) / TICKS for one in (pid, *_children(pid)))


def _children(pid: int) -> list[int]:
    return list(
        map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split())
    )


def _peak_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]  # the kernel always says it


def _ticks(pid: int) -> int:
    """Fields 14 and 15, counted behind the name, which may hold spaces."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


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


def _lists(address: str, secret: str, size: given.Size, say: Callable[[str], None]) -> Figures:
    """Milliseconds of each page as a client sees it; the first, cold one of each list is told
    apart.
    """
    connection = HTTPConnection(urlsplit(address).netloc, timeout=120)
    names = {"plan": given.put_aside(size), "site": given.site_name(0)}
    paths = {path: f"/api/v1{path.format(**names)}" for path in LISTS}
    colds = {path: _page(connection, secret, asked)[0] for path, asked in paths.items()}
    times: dict[str, list[float]] = {path: [] for path in LISTS}
    for path, asked in paths.items():
        following: str | None = asked
        for _ in range(PAGES):
            took, following = _page(connection, secret, following or asked)
            times[path].append(took)
        say(f"{path}: a page in {median(times[path]):.1f} ms, the first in {colds[path]:,.0f} ms")
    every = [took for found in times.values() for took in found]
    return {
        "list_page_ms_p50": median(every),
        "list_page_ms_worst_p50": max(median(found) for found in times.values()),
        "list_page_ms_p99": quantiles(every, n=100)[98],
        "list_page_ms_cold_max": max(colds.values()),
    }


def _page(connection: HTTPConnection, secret: str, path: str) -> tuple[float, str | None]:
    """Each accepts something else besides, so that no answer which the server kept is measured."""
    accepted = f"application/json, text/x-{next(_NEVER_TWICE)}"
    began = time.perf_counter()
    connection.request(
        "GET", path, headers={"Authorization": f"Bearer {secret}", "Accept": accepted}
    )
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != 200:
        raise RuntimeError(f"{path}: {answer.status} {body[:200]!r}")
    following = re.match(r"<([^>]*)>", answer.getheader("Link") or "")
    return (time.perf_counter() - began) * 1000, following[1] if following else None


def _load(address: str, secret: str, size: given.Size, say: Callable[[str], None]) -> Figures:
    """In a process of its own: one that also measures would be late by its own fault."""
    return apart.measure_apart(
        "bench.api.asked", address, str(size.sites), str(size.nodes), say=say, told=secret
    )


@dataclass(slots=True)
class Load:
    """Requests at the moments they are due, over connections that stay open, and what became of
    them.
    """

    address: str
    secret: str
    paths: Sequence[str]
    began: float = 0.0
    errors: int = 0
    late: list[float] = field(default_factory=list)

    async def run(self) -> Figures:
        loop = asyncio.get_running_loop()
        self.began, spent = loop.time(), process_time()
        telling = asyncio.create_task(self._tell())
        await asyncio.gather(*(self._connection(first) for first in range(CONNECTIONS)))
        telling.cancel()
        took = loop.time() - self.began
        return {
            f"errors_{RATE}rps_{SECONDS}s": self.errors,
            "requests": len(self.late),
            "requests_per_second": len(self.late) / took,
            "late_ms_p50": median(self.late) * 1000,
            "late_ms_p99": quantiles(self.late, n=100)[98] * 1000,
            "asking_cpu_share": (process_time() - spent) / took,
        }

    async def _connection(self, first: int) -> None:
        loop = asyncio.get_running_loop()
        reader, writer = await self._open()
        for number in range(first, RATE * SECONDS, CONNECTIONS):
            due = self.began + number / RATE
            await asyncio.sleep(max(0.0, due - loop.time()))
            try:
                writer.write(self._ask(number))
                self.errors += await asyncio.wait_for(_answer(reader), 30) != 200
            except (OSError, TimeoutError, ValueError, asyncio.IncompleteReadError):
                self.errors += 1
                writer.close()
                reader, writer = await self._open()
            self.late.append(loop.time() - due)
        writer.close()

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(
            urlsplit(self.address).hostname, urlsplit(self.address).port
        )

    def _ask(self, number: int) -> bytes:
        path = self.paths[number % len(self.paths)]
        return (
            f"GET {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {self.secret}\r\n\r\n"
        ).encode()

    async def _tell(self) -> None:
        while True:
            await asyncio.sleep(TELLS)
            seconds = asyncio.get_running_loop().time() - self.began
            print(f"{seconds:.0f} s: {len(self.late):,} answers, {self.errors} errors", flush=True)


async def _answer(reader: asyncio.StreamReader) -> int:
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head.lower())
    await reader.readexactly(int(length[1]) if length else 0)
    return int(head[9:12])


def _paths(sites: int, nodes: int) -> Sequence[str]:
    """What pages and programs ask for, most often single sites."""
    near = [f"/sites/{given.site_name(number * 7919 % sites)}" for number in range(500)]
    some = cycle(
        (
            "/sites?limit=20",
            "/plans?limit=20",
            "/nodes?limit=20",
            "/runs?limit=20",
            "/pins",
            "/audit?limit=20",
        )
    )
    single = cycle(
        (f"/nodes/{given.node_name(7 % nodes)}", "/freeze", "/partitions?limit=5", "/jobs")
    )
    return [f"/api/v1{path}" for trio in zip(near, some, single, strict=False) for path in trio]


if __name__ == "__main__":
    asked_for = _paths(int(sys.argv[2]), int(sys.argv[3]))
    print(json.dumps(asyncio.run(Load(sys.argv[1], sys.stdin.read().strip(), asked_for).run())))
