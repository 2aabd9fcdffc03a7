"""Visitors as the testbed has them: a number of them, and each asks for the next target of a trace
once it has the answer before.

Takes a trace and, through a pipe, when to begin and with how many visitors. Returns a row for each
answer. A visitor keeps its connection. If a distributor closes it before the first byte of an
answer, the visitor asks again on a new connection, as browsers do. If nobody listens there, it goes
to the next distributor. Does not run distributors.
"""

from __future__ import annotations

import asyncio
import os
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any, cast

import numpy as np
import uvloop

from flex.placing.problem import Floats, Ints

HOST = "shop.example"
_REQUEST = b"GET /o/%d/%d HTTP/1.1\r\nhost: %b\r\n\r\n"
_AGAIN = 0.02

Ports = Sequence[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Answers:
    """By answer: when it came, the seconds it took, who gave it, whether from memory; status 0 is a
    failure.
    """

    at: Floats
    took: Floats
    status: Ints
    node: Ints
    hit: Ints
    asked_again: int

    def between(self, begin: float, end: float) -> Answers:
        here = (self.at >= begin) & (self.at < end)
        return Answers(
            self.at[here],
            self.took[here],
            self.status[here],
            self.node[here],
            self.hit[here],
            self.asked_again,
        )

    @property
    def failures(self) -> int:
        return int(np.count_nonzero(self.status != 200))


@dataclass(eq=False, slots=True)
class _Crowd:
    """What all visitors share: the trace, where they are in it, and the rows."""

    target: Ints
    size: Ints
    ports: Ports = ()
    next: int = 0
    open: bool = False
    here: int = 0
    asked_again: int = 0
    rows: tuple[array[float], ...] = field(
        default_factory=lambda: tuple(array("d") for _ in range(5))
    )

    def request(self) -> bytes:
        number = int(self.target[self.next])
        self.next = (self.next + 1) % len(self.target)
        return _REQUEST % (number, int(self.size[number]), HOST.encode())

    def note_answer(self, started: float, status: int, node: int, hit: int) -> None:
        now = asyncio.get_running_loop().time()
        for column, value in zip(self.rows, (now, now - started, status, node, hit), strict=True):
            column.append(value)

    def answers(self) -> Answers:
        at, took, *others = (np.array(column) for column in self.rows)
        status, node, hit = (column.astype(np.int64) for column in others)
        found = Answers(at, took, status, node, hit, self.asked_again)
        self.rows = tuple(array("d") for _ in range(5))
        self.asked_again = 0
        return found


class _Visitor(asyncio.Protocol):
    __slots__ = ("buffer", "crowd", "first", "request", "started", "transport", "which")

    def __init__(self, crowd: _Crowd, which: int) -> None:
        self.crowd, self.which, self.request = crowd, which, b""
        self.first, self.buffer, self.started = True, b"", 0.0
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport, self.first = cast(asyncio.Transport, transport), True
        if self.request:
            self.transport.write(self.request)
        else:
            self._ask(self.transport)

    def _ask(self, transport: asyncio.Transport) -> None:
        if not self.crowd.open:
            self.request = b""
            transport.close()
            return
        self.request, self.started = (self.crowd.request(), asyncio.get_running_loop().time())
        transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, found, body = self.buffer.partition(b"\r\n\r\n")
        if not found or len(body) < _number(head, b"content-length: "):
            return
        self.buffer, self.request, self.first = b"", b"", False
        status = int(head[9:12])
        self.crowd.note_answer(
            self.started, status, _number(head, b"x-node: "), _number(head, b"x-hit: ")
        )
        assert self.transport
        if b"connection: close" in head:
            self.transport.close()
        else:
            self._ask(self.transport)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - as asyncio calls it
        if self.request and (self.first or self.buffer):
            self.crowd.note_answer(self.started, 0, 0, 0)
            self.request = b""
        self.crowd.asked_again += bool(self.request)
        self.buffer = b""
        if self.crowd.open:
            asyncio.get_running_loop().create_task(self.connect())
        else:
            self.crowd.here -= 1

    async def connect(self) -> None:
        while self.crowd.open:
            host, port = self.crowd.ports[self.which % len(self.crowd.ports)]
            try:
                await asyncio.get_running_loop().create_connection(lambda: self, host, port)
            except OSError:
                self.which += 1
                await asyncio.sleep(_AGAIN)
            else:
                return
        self.crowd.here -= 1


def _number(head: bytes, name: bytes) -> int:
    """The value of a header, 0 where it is missing."""
    _, found, rest = head.partition(name)
    return int(rest.partition(b"\r")[0]) if found else 0


async def _visit(pipe: Connection, crowd: _Crowd) -> None:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    async def do(command: str, value: Any) -> Any:  # what a command takes is its own
        if command == "begin":
            clients, crowd.ports, first = value
            crowd.next = crowd.next if first is None else first
            crowd.open, crowd.here = True, clients
            for which in range(clients):
                loop.create_task(_Visitor(crowd, which).connect())
        elif command == "ports":
            crowd.ports = value
        elif command == "end":
            crowd.open = False
            while crowd.here > 0:
                await asyncio.sleep(0.01)
            return crowd.answers()
        elif command == "trace":
            crowd.target, crowd.size = value
            crowd.next = 0
        elif command == "count":
            return len(crowd.rows[0])
        return None

    def answered(done: asyncio.Task[Any]) -> None:
        pipe.send(done.result())

    def commanded() -> None:
        try:
            command, value = pipe.recv()
        except EOFError:
            ended.set()
            return
        loop.create_task(do(command, value)).add_done_callback(answered)

    loop.add_reader(pipe.fileno(), commanded)
    # The loop takes the blocking from what it watches; traces and answers are longer than a pipe.
    os.set_blocking(pipe.fileno(), True)
    await ended.wait()


def visit(pipe: Connection, target: Ints, size: Ints) -> None:
    """Until the other end of the pipe is closed."""
    uvloop.run(_visit(pipe, _Crowd(target, size)))
