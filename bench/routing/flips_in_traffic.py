"""Eight nodes under traffic while sites change their owner: who answers, and whether anybody waits
in vain.

Each node has an HAProxy, a web server, and `flex route follow`, as in follow_doors.py. Visitors
keep their connections, come to the door of every node in turn, and ask for names that move and for
names that stay. Their doors are loopback addresses of one machine, not eight machines.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from statistics import median

from bench.figures import Figures
from bench.routing.follow_doors import following_cluster
from bench.routing.web_servers import web_servers

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
# Between two flips, in seconds.
PAUSE = 1.0


@dataclass(frozen=True, slots=True)
class Answer:
    sent: float
    done: float
    door: str
    moves: bool
    # "" where there was no answer.
    node: str


def measure() -> Figures:
    with following_cluster(NAMES, NODES) as cluster:
        names = list(cluster.owner_of)
        origin = cluster.ports["origin"]
        with web_servers(origin, cluster.addresses):
            ours, theirs = multiprocessing.get_context("spawn").Pipe()
            doors = {
                node: (address, cluster.ports["visit"])
                for node, address in cluster.addresses.items()
            }
            visitors = multiprocessing.get_context("spawn").Process(
                target=visit,
                args=(theirs, doors, names[:FLIPPED], names[FLIPPED:]),
                daemon=True,
            )
            visitors.start()
            # Health checks find the web servers, and visitors their doors.
            time.sleep(5)
            took, orders, heard = [], [], []
            for each in range(FLIPS):
                owner = f"n{2 + each % (NODES - 1)}"
                made = cluster.order(FLIPPED, owner)
                begun = time.perf_counter()
                cluster.put(made)
                seen = cluster.until_all_go_by(cluster.number)
                took.append(max(seen.values()) - begun)
                orders.append((begun, owner))
                heard.append(seen)
                time.sleep(PAUSE)
            ours.send("stop")
            said = [Answer(*row) for row in json.loads(ours.recv())]
            visitors.join()
    wrong = sum(_is_wrong(answer, orders, heard) for answer in said if answer.moves)
    stray = sum(not answer.moves and answer.node not in ("", "n1") for answer in said)
    return {
        "flips_nodes": NODES,
        "flips": FLIPS,
        "flips_requests": len(said),
        "flips_load_average": os.getloadavg()[0],
        "flips_failed": sum(not answer.node for answer in said),
        "flips_wrong_owner_after_ack": wrong,
        "flips_wrong_owner_of_others": stray,
        "flips_all_nodes_s": median(took),
        "flips_all_nodes_s_max": max(took),
        "flips_answer_ms": median(answer.done - answer.sent for answer in said) * 1e3,
        "flips_answer_ms_max": max(answer.done - answer.sent for answer in said) * 1e3,
    }


def _is_wrong(
    answer: Answer,
    orders: Sequence[tuple[float, str]],
    heard: Sequence[dict[str, float]],
) -> bool:
    """Whether somebody else answered than the owner that the door had said to go by, and before the
    next order began.
    """
    for at, (_, owner) in enumerate(orders):
        end = orders[at + 1][0] if at + 1 < len(orders) else float("inf")
        if heard[at][answer.door] <= answer.sent and answer.done < end:
            return answer.node not in ("", owner)
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
) -> list[tuple[float, float, str, bool, str]]:
    answers: list[tuple[float, float, str, bool, str]] = []
    over = asyncio.Event()
    pause = NODES * CONNECTIONS / RATE
    visitors = [
        asyncio.create_task(
            _keep_asking(door, at, number, pause, over, (moving, staying), answers)
        )
        for door, at in doors.items()
        for number in range(CONNECTIONS)
    ]
    while not commands.poll():
        await asyncio.sleep(0.1)
    over.set()
    await asyncio.gather(*visitors)
    return answers


async def _keep_asking(
    door: str,
    at: tuple[str, int],
    number: int,
    pause: float,
    over: asyncio.Event,
    names: tuple[Sequence[str], Sequence[str]],
    answers: list[tuple[float, float, str, bool, str]],
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
        answers.append((sent, time.perf_counter(), door, moves, node))
    writer.close()


async def _answered(reader: asyncio.StreamReader) -> str:
    """The node that says it answered; "" for any other answer than 200."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
    fields = dict(line.split(": ", 1) for line in head[1:] if ": " in line)
    await reader.readexactly(int(fields.get("content-length", 0)))
    return fields.get("x-node", "") if " 200 " in head[0] else ""
