"""Doors for all sites: what a map of every name costs, and how long a flip takes.

    make bench NAME=doors
    NAMES=200000 FLIPPED=20000 ROUNDS=3 ...    fewer names

A flip is timed from the order to the node's acknowledgement, with everything that `flex route
apply` does: files are compared, written and synced. A visitor on a kept connection asks all the
time meanwhile. Medians of the rounds, with the worst beside them. cost_of_a_door.py has what a
request costs, follow_doors.py times orders until nodes that follow go by them, and
failover_by_doors.py a node that dies.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from statistics import median

from bench.figures import Figures
from bench.routing import cost_of_a_door, failover_by_doors, follow_doors
from bench.routing.two_nodes import Rig, two_nodes
from bench.routing.visitor import Visitor
from bench.routing.web_servers import MIB

# How many names the maps have.
NAMES = int(os.environ.get("NAMES", "1000000"))
# How many of them change their node at once.
FLIPPED = int(os.environ.get("FLIPPED", "20000"))
# How often each figure is taken.
ROUNDS = int(os.environ.get("ROUNDS", "5"))


def measure() -> Figures:
    figures: Figures = {
        "names": NAMES,
        "flipped": FLIPPED,
        "rounds": ROUNDS,
        "load_average": os.getloadavg()[0],
    }
    owner_of = {f"site{number:07}.example": "n1" for number in range(NAMES)}
    with two_nodes({}, doors=False) as without, two_nodes(owner_of) as rig:
        grown = (rig.memory("n1") - without.memory("n1")) / MIB
        figures["map_mib"] = grown
        figures["map_1m_mib"] = grown / NAMES * 1e6
        figures |= cost_of_a_door.measure(without, rig, owner_of, ROUNDS)
        figures |= _of_flips(rig, owner_of)
    figures |= follow_doors.measure(NAMES, FLIPPED, ROUNDS)
    return figures | failover_by_doors.measure()


def _of_flips(rig: Rig, owner_of: Mapping[str, str]) -> Figures:
    names = list(owner_of)
    one: list[float] = []
    many: list[float] = []
    slowest: list[float] = []
    failed = wrong = 0
    for _ in range(ROUNDS):
        for count, took in ((1, one), (FLIPPED, many)):
            made = rig.files("n1", {**owner_of, **dict.fromkeys(names[:count], "n2")})
            # A visitor of this process waits for nothing but the answer.
            with _asking(rig, names[count - 1]) as asked:
                time.sleep(0.2)
                took.append(rig.flip("n1", made))
                acknowledged = time.perf_counter()
                time.sleep(0.2)
            failed += sum(not node for _, _, node in asked)
            wrong += sum(sent > acknowledged and node == "n1" for sent, _, node in asked)
            slowest.append(max(end - sent for sent, end, _ in asked))
            rig.flip("n1", rig.files("n1", owner_of))
    return {
        "flip_one_ms": median(one) * 1e3,
        "flip_one_ms_max": max(one) * 1e3,
        f"flip_{FLIPPED}_s": median(many),
        f"flip_{FLIPPED}_s_max": max(many),
        "slowest_answer_ms": max(slowest) * 1e3,
        "flip_failed": failed,
        "wrong_owner_after_ack": wrong,
    }


@contextmanager
def _asking(rig: Rig, host: str) -> Iterator[list[tuple[float, float, str]]]:
    """When each request was sent and answered, and by whom."""
    asked: list[tuple[float, float, str]] = []
    over = threading.Event()

    def ask() -> None:
        visitor = Visitor(rig.door)
        while not over.is_set():
            sent = time.perf_counter()
            node = visitor.ask(host)
            asked.append((sent, time.perf_counter(), node))
            time.sleep(0.001)
        visitor.close()

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield asked
    finally:
        over.set()
        thread.join()
