"""Web servers as the testbed models them: each has an LRU cache, one disk and one processor, and
answers over loopback.

Takes addresses and a Machine. Commands come through a pipe: how many hits, be slow, die, come back.
Does not compute for the time that a read or an answer takes: it waits, so one process runs all
servers. Does not send targets in full: an answer has a few hundred bytes, because the bench
measures which node is asked, and not how fast this machine copies.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from typing import Any, Literal, cast

import uvloop

_BODY = b"." * 256
_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\nx-node: %d\r\nx-hit: %d\r\n\r\n%b"


@dataclass(frozen=True, slots=True)
class Machine:
    """Bytes of memory for targets; seconds for a read and an answer, each with a part that grows
    with the bytes.
    """

    memory: int
    read: float = 0.028
    read_byte: float = 1e-7
    answer: float = 0.000_29
    answer_byte: float = 8e-8

    def slower(self, times: float) -> Machine:
        seconds = (self.read, self.read_byte, self.answer, self.answer_byte)
        return Machine(self.memory, *(times * each for each in seconds))


@dataclass(eq=False, slots=True)
class Origin:
    """One node. Disk and processor do one thing after the other: each is known by when it is free
    again.
    """

    number: int
    machine: Machine
    factor: float = 1.0
    cache: OrderedDict[int, int] = field(default_factory=OrderedDict)
    used: int = 0
    reading: dict[int, float] = field(default_factory=dict)
    disk_free: float = 0.0
    processor_free: float = 0.0
    hits: int = 0
    misses: int = 0
    connections: set[asyncio.Transport] = field(default_factory=set)
    listening: asyncio.Server | None = None

    def note_request(self, target: int, size: int, to: asyncio.Transport) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        if target in self.cache:
            self.cache.move_to_end(target)
            self.hits += 1
            self._compute(target, size, 1, to)
            return
        self.misses += 1
        if target not in self.reading:
            seconds = (self.machine.read + size * self.machine.read_byte) * self.factor
            self.disk_free = self.reading[target] = max(self.disk_free, now) + seconds
        loop.call_at(self.reading[target], self._compute, target, size, 0, to)

    def _compute(self, target: int, size: int, hit: int, to: asyncio.Transport) -> None:
        loop = asyncio.get_running_loop()
        if self.reading.pop(target, None) is not None:
            self._keep(target, size)
        seconds = (self.machine.answer + size * self.machine.answer_byte) * self.factor
        if not seconds:
            self._answer(hit, to)
            return
        self.processor_free = max(self.processor_free, loop.time()) + seconds
        loop.call_at(self.processor_free, self._answer, hit, to)

    def _answer(self, hit: int, to: asyncio.Transport) -> None:
        if not to.is_closing():
            to.write(_ANSWER % (len(_BODY), self.number, hit, _BODY))

    def _keep(self, target: int, size: int) -> None:
        if size > self.machine.memory:
            return
        self.cache[target] = size
        self.used += size
        while self.used > self.machine.memory:
            self.used -= self.cache.popitem(last=False)[1]

    def forget(self) -> None:
        self.cache.clear()
        self.used = 0


class _Asked(asyncio.Protocol):
    """A connection from a distributor, with one request at a time."""

    __slots__ = ("buffer", "origin", "transport")

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.origin.connections.add(self.transport)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - as asyncio calls it
        self.origin.connections.discard(self.transport)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if self.buffer.endswith(b"\r\n\r\n"):
            path = self.buffer.split(b" ", 2)[1]
            self.buffer = b""
            _, _, target, size = path.split(b"/")
            self.origin.note_request(int(target), int(size), self.transport)


Command = Literal["stats", "machine", "slow", "kill", "revive", "forget"]


@dataclass(eq=False, slots=True)
class Origins:
    """All of them, and what their pipe says is to be done."""

    pipe: Connection
    addresses: Mapping[int, tuple[str, int]]
    nodes: dict[int, Origin]

    async def listen(self, number: int) -> None:
        host, port = self.addresses[number]
        make = partial(_Asked, self.nodes[number])
        self.nodes[number].listening = await asyncio.get_running_loop().create_server(
            make, host, port, backlog=1024
        )

    async def run(self) -> None:
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        for number in self.addresses:
            await self.listen(number)
        loop.add_reader(self.pipe.fileno(), self._follow_commands, ended)
        self.pipe.send("listening")
        await ended.wait()

    def _follow_commands(self, ended: asyncio.Event) -> None:
        try:
            command, number, value = self.pipe.recv()
        except EOFError:
            ended.set()
            return
        task = asyncio.get_running_loop().create_task(self._do(command, number, value))
        task.add_done_callback(lambda done: self.pipe.send(done.result()))

    async def _do(
        self, command: Command, number: int, value: Any
    ) -> Any:  # what a command takes is its own
        chosen = [self.nodes[number]] if number in self.nodes else list(self.nodes.values())
        for node in chosen:
            await self._on(node, command, value)
        return {node.number: (node.hits, node.misses) for node in chosen}

    async def _on(self, node: Origin, command: Command, value: Any) -> None:
        if command == "machine":
            node.machine = value
        elif command == "slow":
            node.factor = value
        elif command == "forget":
            node.forget()
        elif command == "kill" and node.listening:
            node.listening.close()
            node.listening = None
            for connection in list(node.connections):
                connection.abort()
            node.forget()
        elif command == "revive":
            await self.listen(node.number)


def serve(pipe: Connection, addresses: Mapping[int, tuple[str, int]], machine: Machine) -> None:
    """Until the other end of the pipe is closed."""
    uvloop.run(
        Origins(pipe, addresses, {number: Origin(number, machine) for number in addresses}).run()
    )
