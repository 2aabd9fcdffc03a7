"""What a request costs a node's HAProxy: answered where it came, or passed on to another node.

Sixteen visitors keep their connections and ask all the time (many_visitors.py), so HAProxy has
several requests whenever it wakes. One visitor alone has it wake for each: that is the dearest way
to ask it, and is measured beside. In each round all kinds take their turn. CPU is that of the
HAProxy processes alone.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from bench.figures import Figures
from bench.routing import many_visitors, web_servers
from bench.routing.many_visitors import Visits
from bench.routing.two_nodes import NODES, Rig
from bench.routing.visitor import Visitor

# Requests of one visitor alone, for a figure.
REQUESTS = 5_000
SECONDS = int(os.environ.get("SECONDS_OF_VISITS", "3"))
# Connections of visitors who ask all the time, and of those who ask for 1 MiB.
AT_ONCE = 16
LARGE_AT_ONCE = 8
# Names that visitors ask for, of each kind.
ASKED = 10_000
MICRO = 1e6


@dataclass(frozen=True, slots=True)
class Kind:
    """What is asked for, and of which nodes. `alone` is by one visitor, one answer after the
    other.
    """

    rig: Rig
    names: Sequence[str]
    path: str = "/"
    alone: bool = False


@dataclass(eq=False, slots=True)
class Cost:
    """Microseconds of a request at each node, and answers in a second, for each round."""

    first: list[float] = field(default_factory=list)
    second: list[float] = field(default_factory=list)
    rate: list[float] = field(default_factory=list)

    @property
    def both(self) -> list[float]:
        return [a + b for a, b in zip(self.first, self.second, strict=True)]


def measure(without: Rig, rig: Rig, owner_of: Mapping[str, str], rounds: int) -> Figures:
    """The nodes `without` know no sites; the others know `owner_of`, and do so afterwards, too."""
    names = list(owner_of)
    away, here = names[:ASKED], names[ASKED : 2 * ASKED]
    rig.flip("n1", rig.files("n1", {**owner_of, **dict.fromkeys(away, "n2")}))
    kinds = {
        "without_map": Kind(without, here),
        "local": Kind(rig, here),
        "forwarded": Kind(rig, away),
        "local_1mib": Kind(rig, here, "/1m"),
        "forwarded_1mib": Kind(rig, away, "/1m"),
        "without_map_alone": Kind(without, here, alone=True),
        "local_alone": Kind(rig, here, alone=True),
        "forwarded_alone": Kind(rig, away, alone=True),
    }
    costs = {name: Cost() for name in kinds}
    failed = 0
    for _ in range(rounds):
        for name, kind in kinds.items():
            failed += take_turn(kind, costs[name])
    rig.flip("n1", rig.files("n1", owner_of))
    return _figures(costs) | {"visits_failed": failed}


def take_turn(kind: Kind, cost: Cost) -> int:
    """Returns how many requests had no answer."""
    before = [kind.rig.cpu(node) for node in NODES]
    seen = _asked_alone(kind) if kind.alone else _asked_by_many(kind)
    for node, spent, was in zip(NODES, (cost.first, cost.second), before, strict=True):
        spent.append((kind.rig.cpu(node) - was) / seen.answers * MICRO)
    cost.rate.append(seen.answers / seen.seconds)
    return seen.failed


def _asked_by_many(kind: Kind) -> Visits:
    connections = LARGE_AT_ONCE if kind.path == "/1m" else AT_ONCE
    return many_visitors.visit(
        kind.rig.door, kind.names, path=kind.path, connections=connections, seconds=SECONDS
    )


def _asked_alone(kind: Kind) -> Visits:
    visitor = Visitor(kind.rig.door)
    begun = time.perf_counter()
    answers = [visitor.ask(kind.names[each % ASKED]) for each in range(REQUESTS)]
    spent = time.perf_counter() - begun
    visitor.close()
    return Visits(REQUESTS, spent, spent / REQUESTS * 1e3, answers.count(""))


def _figures(costs: Mapping[str, Cost]) -> Figures:
    without, local = costs["without_map"], costs["local"]
    forwarded, large = costs["forwarded"], costs["local_1mib"]
    figures: Figures = {
        "asked_by": many_visitors.name_of_program(),
        "answered_by": web_servers.name_of_program(),
        **spread("without_map_us", without.first),
        **spread("door_local_us", local.first),
        **spread("local_more_us", _differences(local, without)),
        **spread("door_forwarded_us", forwarded.first),
        **spread("inner_door_us", forwarded.second),
        **spread("local_1mib_us", large.first),
        **spread("forwarded_1mib_us", costs["forwarded_1mib"].both),
        **spread("forwarded_1mib_vs_local", _ratios(costs["forwarded_1mib"], large)),
    }
    for name, cost in costs.items():
        figures[f"{name}_per_second"] = median(cost.rate)
    return figures | {
        "without_map_alone_us": median(costs["without_map_alone"].first),
        "local_alone_us": median(costs["local_alone"].first),
        "forwarded_alone_us": median(costs["forwarded_alone"].first),
        "inner_alone_us": median(costs["forwarded_alone"].second),
    }


def spread(name: str, each: Sequence[float]) -> Figures:
    return {name: median(each), f"{name}_min": min(each), f"{name}_max": max(each)}


def _differences(one: Cost, other: Cost) -> list[float]:
    """Round by round, as rounds differ by what else the machine has to do."""
    return [a - b for a, b in zip(one.first, other.first, strict=True)]


def _ratios(one: Cost, other: Cost) -> list[float]:
    """Round by round, both nodes taken together."""
    return [a / b for a, b in zip(one.both, other.both, strict=True)]
