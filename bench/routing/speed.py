"""The routing of replicated sites, measured: policy against policy on one trace after the other, in
one run.

    make bench NAME=routing                       some 25 minutes
    QUICK=1 make bench NAME=routing               only to see that it runs: the figures mean little
    TRACES=/srv/traces make bench NAME=routing    real logs too, two minutes each
    PACE=4 make bench NAME=routing                origins four times as slow
    ONLY=hot,faults make bench NAME=routing       these traces and parts alone

HAProxy, origins and visitors are on loopback. TRACES is a folder with a folder for each set of
logs. PACE is for a machine that has other work. The parts are `eight`, `processor`, `faults` and
`warmth`.

All policies of a case stand ready at once, warm, and take turns of a few seconds: what else this
machine does hits them alike. A ratio is that of two sums of one run. docs/why/bench.md says what
each figure means.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.figures import Figures
from bench.routing import faults, simulated, traffic, warmth
from bench.routing.origins import Machine
from bench.routing.rig import Rig, rig
from bench.routing.traffic import Case
from bench.routing.visitors import Answers
from flex.routing.member_pools import LardLimits

QUICK = "QUICK" in os.environ
PACE = float(os.environ.get("PACE", "2"))
ONLY = frozenset(filter(None, os.environ.get("ONLY", "").split(",")))
POLICIES = ("least_connections", "hash", "bounded_hash", "lard", "lardr")
FEW = ("round_robin", "least_connections", "lardr")
# Said of a policy: every node has a distributor, as in a cluster; else the first node alone.
EVERYWHERE = " everywhere"
# Said behind that: these have doors for all sites.
DOORS = " with doors"
TURN, WARM = (1.0 * PACE, 2.0) if QUICK else (2.5 * PACE, 5.0)
VISITORS = 50
# So many policies of a case are warmed up at a time; they are measured one at a time.
WARMING = 2
MEMBERS = (2, 4, 8)
CONSOLE = Console()


@dataclass(eq=False, slots=True)
class Measured:
    """What a policy did in its turns."""

    policy: str
    seconds: float = 0.0
    processor: float = 0.0
    hits: int = 0
    misses: int = 0
    turns: list[Answers] = field(default_factory=list)

    @property
    def count(self) -> int:
        return sum(len(turn.at) for turn in self.turns)

    @property
    def rate(self) -> float:
        return self.count / self.seconds

    @property
    def miss(self) -> float:
        return self.misses / max(1, self.hits + self.misses)

    @property
    def per_request(self) -> float:
        return self.processor / max(1, self.count)

    def slowest(self, percent: float) -> float:
        """Seconds within which so many percent had their answer."""
        return float(np.percentile(np.concatenate([turn.took for turn in self.turns]), percent))

    def imbalance(self, nodes: int) -> float:
        """The load of the busiest node over the mean."""
        by_node = np.bincount(
            np.concatenate([turn.node for turn in self.turns]), minlength=nodes + 1
        )[1:]
        return float(by_node.max() / by_node.mean())


def measure() -> Figures:
    figures: Figures = {"pace": PACE, "load_average": os.getloadavg()[0]}
    for name, part in _parts():
        begun = time.monotonic()
        found = part()
        _say(found | {f"{name}_part_seconds": round(time.monotonic() - begun)})
        figures |= found | {f"{name}_part_seconds": round(time.monotonic() - begun)}
    return figures | _worst(figures)


def _parts() -> Iterator[tuple[str, Callable[[], Figures]]]:
    """Each with its name: the traces, one after the other as they are read, and what is not
    measured by trace.
    """
    for case in _cases(4):
        yield case.name, partial(_on_trace, case)
    others: dict[str, Callable[[], Figures]] = {
        "eight": _on_eight,
        "processor": _processor,
        "faults": partial(faults.measure, QUICK, PACE),
        "warmth": partial(warmth.measure, QUICK, PACE),
    }
    yield from ((name, part) for name, part in others.items() if _wanted(name))


def _wanted(name: str) -> bool:
    return not ONLY or name in ONLY


def _worst(figures: Figures) -> Figures:
    """The trace on which another policy is furthest ahead."""
    name = "lardr_vs_best_"
    ratios = {
        each.removeprefix(name): float(ratio)
        for each, ratio in figures.items()
        if each.startswith(name)
    }
    worst = min(ratios, key=ratios.__getitem__, default="")
    return {f"{name}worst_trace": ratios[worst], "worst_trace": worst} if worst else {}


def _on_eight() -> Figures:
    case = next(traffic.made_up(8))
    eight = compare(case, 8, FEW)
    _show(case, 8, eight)
    return _against_wrr(eight, 8)


def _on_trace(case: Case) -> Figures:
    """Every policy on four nodes. Round robin and a distributor on each node only where a figure is
    made of them.
    """
    everywhere, with_doors = f"lardr{EVERYWHERE}", f"lardr{EVERYWHERE}{DOORS}"
    more = {
        "zipf": ("round_robin", everywhere, with_doors),
        "hot": (everywhere, with_doors),
    }.get(case.name, ())
    found = compare(case, 4, (*(FEW[1:] if QUICK else POLICIES), *more))
    _show(case, 4, found)
    best = max(each.rate for each in found.values())
    figures: Figures = {f"lardr_vs_best_{case.name}": found["lardr"].rate / best}
    if "round_robin" in found:
        figures |= _against_wrr(found, 4)
    if everywhere in found:
        rate = found[everywhere].rate
        figures[f"four_distributors_vs_one_{case.name}"] = rate / found["lardr"].rate
        figures[f"with_doors_vs_without_{case.name}"] = found[with_doors].rate / rate
    real = {policy: (each.rate, each.miss) for policy, each in found.items()}
    figures |= simulated.beside(case, _machine(case), 4, VISITORS * 4, real)
    if case.name == "fits":
        figures["fits_in_ram_vs_leastconn"] = found["lardr"].rate / found["least_connections"].rate
    return figures


def _say(figures: Figures) -> None:
    for name, value in figures.items():
        CONSOLE.print(
            f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}",
            highlight=False,
        )


def _cases(nodes: int) -> Iterator[Case]:
    yield from (case for case in traffic.made_up(nodes) if _wanted(case.name))
    if "TRACES" in os.environ:
        yield from traffic.logs(Path(os.environ["TRACES"]), nodes, ONLY or None)


def _against_wrr(found: dict[str, Measured], nodes: int) -> Figures:
    ours, theirs = found["lardr"], found["round_robin"]
    return {
        f"lardr_vs_wrr_k{nodes}": ours.rate / theirs.rate,
        f"lardr_p99_vs_wrr_k{nodes}": ours.slowest(99) / theirs.slowest(99),
        f"lardr_per_second_k{nodes}": ours.rate,
    }


def compare(case: Case, nodes: int, policies: Sequence[str]) -> dict[str, Measured]:
    found = {policy: Measured(policy) for policy in policies}
    machine = _machine(case)
    # As long as a queue for large answers takes, and longer.
    settle = max(PACE, VISITORS * (machine.answer + case.large * machine.answer_byte))
    with ExitStack() as stack:
        # First, as it ends last: HAProxy ends with the thread that started it.
        side_by_side = stack.enter_context(ThreadPoolExecutor(WARMING))
        rigs = {policy: stack.enter_context(rig(nodes, machine, case.trace)) for policy in policies}
        list(side_by_side.map(partial(_ready, case, machine), rigs.values(), rigs))
        for first in _parts_of(case):
            for policy, each in rigs.items():
                _turn(
                    each,
                    found[policy],
                    VISITORS * nodes,
                    first,
                    settle=settle,
                    turn=TURN / PACE * settle,
                )
    return found


def _machine(case: Case) -> Machine:
    return Machine(case.memory).slower(PACE / case.quicker)


def _ready(case: Case, machine: Machine, each: Rig, policy: str) -> None:
    each.has_doors = policy.endswith(DOORS)
    policy = policy.removesuffix(DOORS)
    on = list(each.addresses) if policy.endswith(EVERYWHERE) else ()
    each.start(policy.removesuffix(EVERYWHERE), LardLimits(), on=on)
    warm(each, case, machine, len(each.addresses), by_sets=policy.startswith("lard"))


def _parts_of(case: Case) -> list[int]:
    """Where in the trace each turn begins."""
    turns = 1 if QUICK else case.turns
    return [turn * len(case.trace.target) // turns for turn in range(turns)]


def warm(each: Rig, case: Case, machine: Machine, nodes: int, *, by_sets: bool) -> None:
    """With a fast disk first: a cache fills slowly with the one that is measured. Not where targets
    have sets of members, which each have their own from the start: what machines do in a tenth of
    the time is to sets ten times as crowded, and there are as many seconds as ever until they lose
    a member.
    """
    clients = VISITORS * nodes
    each.tell("machine", value=Machine(case.memory, 0, 0, 0, 0))
    fits = case.memory >= case.trace.working_set()
    each.all_once(case.trace, clients, nodes if fits else 1)
    fast = replace(
        machine,
        read=machine.read / 50,
        answer=machine.answer / 10,
        answer_byte=machine.answer_byte / 10,
    )
    each.tell("machine", value=machine if by_sets else fast)
    each.during(clients, WARM)
    each.tell("machine", value=machine)
    each.during(clients, WARM / 2)


def _turn(
    each: Rig,
    found: Measured,
    clients: int,
    first: int | None = None,
    *,
    settle: float,
    turn: float,
) -> None:
    """The beginning, while queues of the disks grow to what they stay at, is not counted. Every
    policy has the same requests in a turn: those of a log are not alike all over.
    """
    each.begin(clients, first)
    each.settle(settle)
    hits, misses = each.memory()
    used, begun = each.processor(), each.now()
    each.settle(turn)
    used, ended = each.processor() - used, each.now()
    now_hits, now_misses = each.memory()
    found.turns.append(each.end().between(begun, ended))
    found.seconds += ended - begun
    found.processor += used
    found.hits += now_hits - hits
    found.misses += now_misses - misses


def _processor() -> Figures:
    """The time of a request whose answer takes the origin nothing: what the rules cost beside round
    robin.
    """
    figures: Figures = {}
    case = next(traffic.made_up(4))
    for nodes in MEMBERS:
        found = _costs(replace(case, memory=2 * case.trace.working_set()), nodes)
        plain = found["round_robin"].per_request
        figures[f"rr_cpu_us_k{nodes}"] = 1e6 * plain
        for policy in ("lardr", "lardr_long"):
            figures[f"{policy}_cpu_us_k{nodes}"] = 1e6 * found[policy].per_request
            figures[f"{policy}_cpu_vs_rr_k{nodes}"] = found[policy].per_request / plain
    for policy in ("lardr", "lardr_long"):
        figures[f"{policy}_cpu_vs_rr"] = max(
            float(figures[f"{policy}_cpu_vs_rr_k{nodes}"]) for nodes in MEMBERS
        )
    return figures


def _costs(case: Case, nodes: int) -> dict[str, Measured]:
    """`lardr` is the way of most requests, whose target has one member with room; `lardr_long` that
    of those whose members are all overloaded: here nobody ever has room, so every target has all
    members, and all are looked at.
    """
    ways = {
        "round_robin": ("round_robin", LardLimits()),
        "lardr": ("lardr", LardLimits()),
        "lardr_long": ("lardr", LardLimits(1, 1, admission=False)),
    }
    found = {way: Measured(way) for way in ways}
    with ExitStack() as stack:
        rigs = {
            way: stack.enter_context(rig(nodes, Machine(case.memory, 0, 0, 0, 0), case.trace))
            for way in ways
        }
        for way, each in rigs.items():
            each.start(*ways[way])
            each.all_once(case.trace, VISITORS)
        for _ in range(1 if QUICK else 6):
            for way, each in rigs.items():
                _turn(each, found[way], VISITORS, settle=0.5, turn=2.0)
    return found


def _show(case: Case, nodes: int, found: dict[str, Measured]) -> None:
    table = Table(title=f"{case.name}, {nodes} nodes", title_justify="left")
    table.add_column("policy")
    for column in ("requests/s", "miss", "p50 ms", "p99 ms", "busiest/mean", "CPU us", "failed"):
        table.add_column(column, justify="right")
    for policy, each in found.items():
        table.add_row(
            policy,
            f"{each.rate:,.0f}",
            f"{each.miss:.3f}",
            f"{1e3 * each.slowest(50):,.0f}",
            f"{1e3 * each.slowest(99):,.0f}",
            f"{each.imbalance(nodes):.2f}",
            f"{1e6 * each.per_request:.0f}",
            f"{sum(turn.failures for turn in each.turns)}",
        )
    CONSOLE.print(table)
