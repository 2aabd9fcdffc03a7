"""Visitors who keep their connections and ask for one answer after the other, as fast as it comes:
wrk where it is installed, else a small program in Python.

Takes an address, host names of which each request draws one, and a path. Returns how many answers
came, how fast, and how many were none. Does not measure what answers.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import cast

import uvloop


@dataclass(frozen=True, slots=True)
class Visits:
    """`failed` are answers other than 200, and those that never came."""

    answers: int
    seconds: float
    median_ms: float
    failed: int


def name_of_program() -> str:
    """As figures name who asked."""
    return "wrk" if shutil.which("wrk") else "python"


def visit(
    at: tuple[str, int],
    names: Sequence[str],
    *,
    path: str = "/",
    connections: int = 16,
    seconds: int = 3,
) -> Visits:
    by = _by_wrk if shutil.which("wrk") else _by_python
    return by(at, names, path, connections, seconds)


# wrk's script in Lua. What it counts is said in one line at the end.
_SCRIPT = """\
names = {{}}
for line in io.lines("{folder}/names") do names[#names + 1] = line end
function request()
  return "GET {path} HTTP/1.1\\r\\nHost: " .. names[math.random(#names)] .. "\\r\\n\\r\\n"
end
function done(summary, latency, requests)
  local e = summary.errors
  local failed = e.status + e.connect + e.read + e.write + e.timeout
  io.write(string.format("SEEN %d %d %d %d\\n",
    summary.requests, summary.duration, latency:percentile(50), failed))
end
"""


def _by_wrk(
    at: tuple[str, int], names: Sequence[str], path: str, connections: int, seconds: int
) -> Visits:
    with tempfile.TemporaryDirectory(prefix="flex-bench-") as folder:
        (Path(folder) / "names").write_text("\n".join(names))
        script = Path(folder) / "visits.lua"
        script.write_text(_SCRIPT.format(folder=folder, path=path))
        how = ["-t1", f"-c{connections}", f"-d{seconds}s", "-s", str(script)]
        url = f"http://{at[0]}:{at[1]}/"
        done = subprocess.run(["wrk", *how, url], capture_output=True, text=True, check=True)
    seen = re.search(r"^SEEN (\d+) (\d+) (\d+) (\d+)$", done.stdout, re.MULTILINE)
    assert seen, done.stdout + done.stderr
    answers, microseconds, half, failed = map(int, seen.groups())
    return Visits(answers, microseconds / 1e6, half / 1e3, failed)


def _by_python(
    at: tuple[str, int], names: Sequence[str], path: str, connections: int, seconds: int
) -> Visits:
    """In a process of its own, so that it waits for nothing but answers."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    asked = (theirs, at, list(names), path, connections, seconds)
    process = context.Process(target=_ask_and_say, args=asked, daemon=True)
    process.start()
    said: Visits = ours.recv()
    process.join()
    return said


def _ask_and_say(
    to: Connection,
    at: tuple[str, int],
    names: Sequence[str],
    path: str,
    connections: int,
    seconds: int,
) -> None:
    to.send(uvloop.run(_ask(at, names, path, connections, seconds)))


async def _ask(
    at: tuple[str, int], names: Sequence[str], path: str, connections: int, seconds: int
) -> Visits:
    loop = asyncio.get_running_loop()
    made = [
        (await loop.create_connection(lambda: _Visitor(names, path), *at))[1]
        for _ in range(connections)
    ]
    begun = time.perf_counter()
    for visitor in made:
        visitor.ask()
    await asyncio.sleep(seconds)
    for visitor in made:
        visitor.transport.close()
    took = [second for visitor in made for second in visitor.took]
    failed = sum(visitor.failed for visitor in made)
    spent = time.perf_counter() - begun
    return Visits(len(took), spent, median(took) * 1e3 if took else 0.0, failed)


class _Visitor(asyncio.Protocol):
    """A kept connection with one request at a time."""

    transport: asyncio.Transport

    def __init__(self, names: Sequence[str], path: str) -> None:
        self.names, self.path = names, path
        self.took: list[float] = []
        self.failed = 0
        # Of the answer that is under way: its head until that is whole, then how much it lacks.
        self.head = b""
        self.lacks: int | None = None
        self.sent = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def ask(self) -> None:
        host = random.choice(self.names)
        self.sent = time.perf_counter()
        request = f"GET {self.path} HTTP/1.1\r\nHost: {host}\r\n\r\n"
        self.transport.write(request.encode("ascii"))

    def data_received(self, data: bytes) -> None:
        if self.lacks is None:
            self.head += data
            head, end, body = self.head.partition(b"\r\n\r\n")
            if not end:
                return
            length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
            self.failed += not head.startswith(b"HTTP/1.1 200 ")
            self.lacks = int(length[1]) if length else 0
            data = body
        self.lacks -= len(data)
        if self.lacks <= 0:
            self.took.append(time.perf_counter() - self.sent)
            self.head, self.lacks = b"", None
            self.ask()

    def connection_lost(self, error: Exception | None) -> None:
        self.failed += error is not None
