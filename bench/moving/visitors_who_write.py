"""Visitors who write and read while sites move, by the door of any node, and who know what was
acknowledged.

Takes the nodes' doors and sites. Runs in a process of its own until it is told to stop, and is
asked meanwhile. Each write has a number of its own for its site. A read that began after a write
was acknowledged must say that number or a higher one: what is older is noted.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

# Writes in a second, to all sites together; half as many reads.
WRITES = 200
# Kept connections to each door.
_CONNECTIONS = 8
# An answer that takes longer counts as none, in seconds.
_PATIENCE = 15.0
# How many of all requests are for sites that move.
_HOT = 0.6


@dataclass(eq=False)
class Site:
    sent: int = 0
    acknowledged: set[int] = field(default_factory=set)
    highest: int = 0


@dataclass(eq=False)
class Seen:
    sites: dict[str, Site]
    hot: Sequence[str] = ()
    old: list[str] = field(default_factory=list)
    reads: int = 0
    failed: int = 0
    # The longest that an acknowledged write waited since `hot` was said.
    slowest: float = 0.0


@dataclass(eq=False)
class Visitors:
    """As the bench's own process asks them."""

    pipe: Connection

    def go_to(self, hot: Sequence[str]) -> None:
        self._ask({"hot": list(hot)})

    def known_of(self, sites: Sequence[str]) -> dict[str, tuple[set[int], int]]:
        """What was acknowledged, and the highest number sent, by site."""
        said = self._ask({"of": list(sites)})
        return {site: (set(ids), sent) for site, (ids, sent) in said.items()}

    def so_far(self) -> dict[str, object]:
        said: dict[str, object] = self._ask({"so_far": True})
        return said

    def _ask(self, what: object):  # type: ignore[no-untyped-def]
        self.pipe.send(json.dumps(what))
        return json.loads(self.pipe.recv())


@contextmanager
def visitors(doors: Mapping[str, tuple[str, int]], sites: Sequence[str]) -> Iterator[Visitors]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_visit, args=(theirs, dict(doors), list(sites)), daemon=True)
    process.start()
    # So that a process that fails ends the bench as well.
    theirs.close()
    try:
        yield Visitors(ours)
    finally:
        process.kill()
        process.join()


def _visit(pipe: Connection, doors: dict[str, tuple[str, int]], sites: Sequence[str]) -> None:
    asyncio.run(_visit_all(pipe, doors, sites))


async def _visit_all(
    pipe: Connection, doors: dict[str, tuple[str, int]], sites: Sequence[str]
) -> None:
    seen = Seen({site: Site() for site in sites})
    pause = len(doors) * _CONNECTIONS / (WRITES * 1.5)
    asking = [
        asyncio.create_task(_keep_asking(at, number, pause, seen))
        for at in doors.values()
        for number in range(_CONNECTIONS)
    ]
    while not any(task.done() for task in asking):
        while pipe.poll():
            pipe.send(json.dumps(_say(seen, json.loads(pipe.recv()))))
        await asyncio.sleep(0.01)
    await asyncio.gather(*asking)


def _say(seen: Seen, asked: Mapping[str, Sequence[str]]) -> object:
    if "hot" in asked:
        seen.hot, seen.slowest = asked["hot"], 0.0
        return {}
    if "of" in asked:
        return {
            site: (sorted(seen.sites[site].acknowledged), seen.sites[site].sent)
            for site in asked["of"]
        }
    return {
        "old": seen.old,
        "reads": seen.reads,
        "writes": sum(len(site.acknowledged) for site in seen.sites.values()),
        "failed": seen.failed,
        "slowest": seen.slowest,
    }


async def _keep_asking(at: tuple[str, int], number: int, pause: float, seen: Seen) -> None:
    chosen = random.Random(f"{at} {number}")
    names = [*seen.sites]
    streams = None
    due = time.perf_counter() + chosen.random() * pause
    while True:
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        due = max(due + pause, time.perf_counter())
        is_hot = seen.hot and chosen.random() < _HOT
        name = chosen.choice(seen.hot if is_hot else names)
        try:
            async with asyncio.timeout(_PATIENCE):
                streams = streams or await asyncio.open_connection(*at)
                if chosen.random() < 2 / 3:
                    await _write(streams, seen, name, is_hot=bool(is_hot))
                else:
                    await _read(streams, seen, name)
        except (OSError, EOFError, TimeoutError, ValueError):
            seen.failed += 1
            if streams:
                streams[1].close()
            streams = None


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _write(streams: Streams, seen: Seen, name: str, *, is_hot: bool) -> None:
    site = seen.sites[name]
    site.sent += 1
    id_, begun = site.sent, time.perf_counter()
    said = await _answer(streams, "POST", f"/?id={id_}", name)
    # Where PHP is killed nginx may answer 200 with nothing behind it.
    if said.split()[:1] != [str(id_)]:
        raise ValueError(said)
    site.acknowledged.add(id_)
    site.highest = max(site.highest, id_)
    if is_hot:
        seen.slowest = max(seen.slowest, time.perf_counter() - begun)


async def _read(streams: Streams, seen: Seen, name: str) -> None:
    least = seen.sites[name].highest
    said = await _answer(streams, "GET", "/", name)
    in_table, in_file, node = said.split()
    seen.reads += 1
    if min(int(in_table), int(in_file)) < least:
        seen.old.append(f"{name} at {node}: {in_table} {in_file}, though {least}")


async def _answer(streams: Streams, method: str, path: str, name: str) -> str:
    reader, writer = streams
    more = "Content-Length: 0\r\n" if method == "POST" else ""
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: {name}\r\n{more}\r\n".encode())
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
    fields = dict(line.split(": ", 1) for line in head[1:] if ": " in line)
    body = await reader.readexactly(int(fields.get("content-length", 0)))
    if fields.get("transfer-encoding") == "chunked":
        body = await _chunks(reader)
    if " 200 " not in head[0]:
        if "connection" in fields and fields["connection"] == "close":
            raise EOFError
        raise ValueError(f"{head[0]}: {body[:200]!r}")
    return body.decode()


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    whole = b""
    while size := int(await reader.readline(), 16):
        whole += (await reader.readexactly(size + 2))[:-2]
    with suppress(asyncio.IncompleteReadError):
        await reader.readexactly(2)
    return whole
