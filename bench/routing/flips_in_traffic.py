"""Eight nodes under traffic while sites change their owner: who answers, and whether anybody waits
in vain or has an answer cut off.

Each node has an HAProxy, a web server, and `flex route follow`, as in follow_doors.py, and is a
network namespace of its own with an address that the others reach by a bridge. Visitors keep their
connections, come to the door of every node in turn, as by an address of yesterday, and ask for
names that move and for names that stay; at each door one of them downloads slowly. Without root,
`ip` or nginx the nodes are loopback addresses of one host, and the figures say so.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import random
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from statistics import median

from bench.figures import Figures
from bench.routing import network_namespaces, web_servers
from bench.routing.follow_doors import Cluster, following_cluster
from bench.routing.web_servers import MIB

NODES = 8
NAMES = int(os.environ.get("NAMES", "1_000_000"))
FLIPPED = 20_000
FLIPS = int(os.environ.get("FLIPS", "50"))
# Requests in a second, to all doors together.
RATE = 1_000
# Kept connections to each door.
CONNECTIONS = 4
# An answer that takes longer counts as none, in seconds.
PATIENCE = 10.0
# Flips of one name, after the others.
FLIPS_OF_ONE = int(os.environ.get("FLIPS_OF_ONE", "20"))
# Bytes that a slow visitor takes at once, and seconds between: one of 1 MiB is under way for two.
SLOW_BYTES = 32_768
SLOW_PAUSE = 0.06
# Between two flips, in seconds.
PAUSE = 1.0


# An answer as it comes from the visitors' process.
Row = tuple[float, float, str, bool, str, str]


@dataclass(frozen=True, slots=True)
class Answer:
    sent: float
    done: float
    door: str
    moves: bool
    # "" where there was no answer.
    node: str
    name: str


def measure() -> Figures:
    lacking = network_namespaces.lacking() or web_servers.lacking_for_hosts()
    names = [f"n{number}" for number in range(1, NODES + 1)]
    with ExitStack() as stack:
        hosts = None
        if not lacking:
            hosts = stack.enter_context(network_namespaces.hosts(names))
        cluster = stack.enter_context(following_cluster(NAMES, NODES, hosts=hosts))
        stack.enter_context(_answering(cluster))
        where = f"loopback: {lacking}" if lacking else "network namespaces"
        return {"flips_nodes_are_on": where, **_of_flips(cluster)}


@contextmanager
def _answering(cluster: Cluster) -> Iterator[None]:
    """A web server of each node."""
    port = cluster.ports["origin"]
    with ExitStack() as stack:
        if not cluster.hosts:
            stack.enter_context(web_servers.web_servers(port, cluster.addresses))
        else:
            for node, address in cluster.addresses.items():
                of_it = {node: address}
                on = cluster.hosts.on(node)
                stack.enter_context(web_servers.nginx_of(port, of_it, on))
        yield


@dataclass(eq=False, slots=True)
class Flips:
    """When each order was given, to whom sites went, and when each node was seen to go by it."""

    cluster: Cluster
    orders: list[tuple[float, str]] = field(default_factory=list)
    heard: list[dict[str, float]] = field(default_factory=list)

    def flip(self, count: int) -> float:
        """Seconds until all nodes go by it. One node after the other gets these sites, and has
        none of them before.
        """
        owner = f"n{2 + len(self.orders) % (NODES - 1)}"
        made = self.cluster.order(count, owner)
        begun = time.perf_counter()
        self.cluster.put(made)
        seen = self.cluster.until_all_go_by(self.cluster.number)
        self.orders.append((begun, owner))
        self.heard.append(seen)
        time.sleep(PAUSE)
        return max(seen.values()) - begun


def _of_flips(cluster: Cluster) -> Figures:
    names = list(cluster.owner_of)
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    doors = {node: (at, cluster.ports["visit"]) for node, at in cluster.addresses.items()}
    moving, staying = names[:FLIPPED], names[FLIPPED:]
    visitors = context.Process(target=visit, args=(theirs, doors, moving, staying), daemon=True)
    visitors.start()
    # Health checks find the web servers, and visitors their doors.
    time.sleep(5)
    flips = Flips(cluster)
    many = [flips.flip(FLIPPED) for _ in range(FLIPS)]
    # Only the first name is elsewhere after each of these. The first order is not one of them: by
    # it all others go back.
    one = [flips.flip(1) for _ in range(FLIPS_OF_ONE + 1)][1:]
    ours.send("stop")
    said, downloads = json.loads(ours.recv())
    visitors.join()
    return {
        "flips_nodes": NODES,
        "flips": FLIPS,
        "flips_load_average": os.getloadavg()[0],
        "flips_all_nodes_s": median(many),
        "flips_all_nodes_s_max": max(many),
        "flips_one_ms": median(one) * 1e3,
        "flips_one_ms_max": max(one) * 1e3,
        **_of_answers(flips, [Answer(*row) for row in said], moving[0]),
        "flips_downloads": len(downloads),
        "flips_cut": downloads.count(False),
    }


def _of_answers(flips: Flips, said: Sequence[Answer], first: str) -> Figures:
    wrong = sum(_is_wrong(answer, flips, first) for answer in said if answer.moves)
    stray = sum(not answer.moves and answer.node not in ("", "n1") for answer in said)
    waited = [answer.done - answer.sent for answer in said]
    return {
        "flips_requests": len(said),
        "flips_failed": sum(not answer.node for answer in said),
        "flips_wrong_owner_after_ack": wrong,
        "flips_wrong_owner_of_others": stray,
        "flips_answer_ms": median(waited) * 1e3,
        "flips_answer_ms_max": max(waited) * 1e3,
    }


def _is_wrong(answer: Answer, flips: Flips, first: str) -> bool:
    """Whether somebody else answered than the owner that the door had said to go by, and before the
    next order began.
    """
    orders = flips.orders
    for at, (_, owner) in enumerate(orders):
        end = orders[at + 1][0] if at + 1 < len(orders) else float("inf")
        if flips.heard[at][answer.door] <= answer.sent and answer.done < end:
            # By the last orders only one name is elsewhere.
            gone = at < FLIPS or answer.name == first
            return answer.node not in ("", owner if gone else "n1")
    return False


def visit(
    commands: Connection,
    doors: dict[str, tuple[str, int]],
    moving: Sequence[str],
    staying: Sequence[str],
) -> None:
    """Until it is told to stop; then it sends all answers."""
    commands.send(json.dumps(asyncio.run(_visit(commands, doors, moving, staying))))


async def _visit(
    commands: Connection,
    doors: dict[str, tuple[str, int]],
    moving: Sequence[str],
    staying: Sequence[str],
) -> tuple[list[Row], list[bool]]:
    answers: list[Row] = []
    downloads: list[bool] = []
    over = asyncio.Event()
    pause = NODES * CONNECTIONS / RATE
    visitors = [
        asyncio.create_task(_keep_asking(door, at, number, pause, over, (moving, staying), answers))
        for door, at in doors.items()
        for number in range(CONNECTIONS)
    ]
    visitors += [
        asyncio.create_task(_keep_downloading(at, over, moving, downloads)) for at in doors.values()
    ]
    while not commands.poll():
        await asyncio.sleep(0.1)
    over.set()
    await asyncio.gather(*visitors)
    return answers, downloads


async def _keep_downloading(
    at: tuple[str, int], over: asyncio.Event, names: Sequence[str], whole: list[bool]
) -> None:
    """Slowly, so that flips come while an answer is under way. Notes of each whether it was
    whole.
    """
    chosen = random.Random(f"{at}")
    while not over.is_set():
        asked = f"GET /1m HTTP/1.1\r\nHost: {chosen.choice(names)}\r\n\r\n"
        try:
            async with asyncio.timeout(PATIENCE * 3):
                whole.append(await _downloaded(at, asked) == MIB)
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            whole.append(False)


async def _downloaded(at: tuple[str, int], asked: str) -> int:
    """How many bytes came after the head."""
    with socket.socket() as connection:
        connection.setblocking(False)
        # Else all of it would be in buffers at once.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SLOW_BYTES)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(connection, at)
        await loop.sock_sendall(connection, asked.encode())
        head, _, body = (await loop.sock_recv(connection, SLOW_BYTES)).partition(b"\r\n\r\n")
        if b" 200 " not in head:
            return 0
        count = len(body)
        while count < MIB:
            more = await loop.sock_recv(connection, SLOW_BYTES)
            if not more:
                break
            count += len(more)
            await asyncio.sleep(SLOW_PAUSE)
        return count


async def _keep_asking(
    door: str,
    at: tuple[str, int],
    number: int,
    pause: float,
    over: asyncio.Event,
    names: tuple[Sequence[str], Sequence[str]],
    answers: list[Row],
) -> None:
    chosen = random.Random(f"{door} {number}")
    reader, writer = await asyncio.open_connection(*at)
    due = time.perf_counter() + chosen.random() * pause
    while not over.is_set():
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        due = max(due + pause, time.perf_counter())
        moves = chosen.random() < 0.5
        name = chosen.choice(names[0] if moves else names[1])
        sent = time.perf_counter()
        try:
            async with asyncio.timeout(PATIENCE):
                writer.write(f"GET / HTTP/1.1\r\nHost: {name}\r\n\r\n".encode())
                node = await _answered(reader)
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            node = ""
            writer.close()
            reader, writer = await asyncio.open_connection(*at)
        answers.append((sent, time.perf_counter(), door, moves, node, name))
    writer.close()


async def _answered(reader: asyncio.StreamReader) -> str:
    """The node that says it answered; "" for any other answer than 200."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
    fields = dict(line.split(": ", 1) for line in head[1:] if ": " in line)
    await reader.readexactly(int(fields.get("content-length", 0)))
    return fields.get("x-node", "") if " 200 " in head[0] else ""
