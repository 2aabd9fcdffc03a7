"""The links by which distributors tell each other what they decided, each through a relay that can
be cut.

Takes the address at which others reach each node, and the address at which the node listens.
Commands come through a pipe: cut, mend. A cut link ends its connections and accepts no new ones.
Does not read what passes through.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection

Address = tuple[str, int]


@dataclass(eq=False, slots=True)
class _Relays:
    links: Mapping[Address, Address]
    listening: list[asyncio.Server] = field(default_factory=list)
    writers: set[asyncio.StreamWriter] = field(default_factory=set)

    async def mend(self) -> None:
        for (host, port), to in self.links.items():
            self.listening.append(await asyncio.start_server(partial(self._relay, to), host, port))

    def cut(self) -> None:
        while self.listening:
            self.listening.pop().close()
        for writer in self.writers:
            writer.transport.abort()

    async def _relay(
        self, to: Address, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            their_reader, their_writer = await asyncio.open_connection(*to)
        except OSError:
            writer.close()
            return
        both = {writer, their_writer}
        self.writers |= both
        await asyncio.gather(_copy(reader, their_writer), _copy(their_reader, writer))
        self.writers -= both


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while part := await reader.read(2**16):
            writer.write(part)
            await writer.drain()
    writer.close()


async def _relay(pipe: Connection, links: Mapping[Address, Address]) -> None:
    relays, ended = _Relays(links), asyncio.Event()
    await relays.mend()
    pipe.send("relaying")

    async def do(command: str) -> None:
        relays.cut() if command == "cut" else await relays.mend()
        pipe.send(command)

    def commanded() -> None:
        try:
            command = pipe.recv()
        except EOFError:
            ended.set()
            return
        tasks.add(asyncio.get_running_loop().create_task(do(command)))

    tasks: set[asyncio.Task[None]] = set()
    asyncio.get_running_loop().add_reader(pipe.fileno(), commanded)
    await ended.wait()


def relay(pipe: Connection, links: Mapping[Address, Address]) -> None:
    """Until the other end of the pipe is closed."""
    asyncio.run(_relay(pipe, links))
