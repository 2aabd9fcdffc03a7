"""The routing of replicated sites, measured: policy against policy on one trace after the other, in one run.

    make bench NAME=routing                       some 25 minutes: HAProxy, origins and visitors on loopback
    QUICK=1 make bench NAME=routing               only to see that it runs: the figures mean little
    TRACES=/srv/traces make bench NAME=routing    real logs too, two minutes each: a folder with a folder for each set
    PACE=4 make bench NAME=routing                origins four times as slow, where this machine has other work

All policies of a case stand ready at once, warm, and take turns of a few seconds: what else this machine does hits them
alike. A ratio is that of two sums of one run. docs/bench.md says what each figure means.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.figures import Figures
from bench.routing import faults, traffic, warmth
from bench.routing.origins import Machine
from bench.routing.rig import Rig, rig
from bench.routing.traffic import Case
from bench.routing.visitors import Answers
from flex.steer.pool import Limits

QUICK = "QUICK" in os.environ
PACE = float(os.environ.get("PACE", "2"))
POLICIES = ("least_connections", "hash", "bounded_hash", "lard", "lardr")
FEW = ("round_robin", "least_connections", "lardr")
# Said of a policy: every node has a distributor, as in a cluster; else the first node alone.
EVERYWHERE = " everywhere"
ROUNDS, TURN, WARM = (1, 1.0 * PACE, 2.0) if QUICK else (2, 3.0 * PACE, 8.0)
VISITORS = 50
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
        """Of the busiest node over the mean."""
        by_node = np.bincount(np.concatenate([turn.node for turn in self.turns]), minlength=nodes + 1)[1:]
        return float(by_node.max() / by_node.mean())


def measure() -> Figures:
    figures: Figures = {"pace": PACE, "turns": ROUNDS, "load_average": os.getloadavg()[0]}
    for case in _cases(4):
        figures |= _on_trace(case)
    worst = min((name for name in figures if name.startswith("lardr_vs_best_")), key=lambda name: float(figures[name]))
    figures |= {"lardr_vs_best_worst_trace": figures[worst], "worst_trace": worst.removeprefix("lardr_vs_best_")}
    case = next(_cases(8))
    eight = compared(case, 8, FEW)
    _show(case, 8, eight)
    for part in (_against_wrr(eight, 8), _processor(), faults.measure(QUICK, PACE), warmth.measure(QUICK, PACE)):
        _say(part)
        figures |= part
    return figures


def _on_trace(case: Case) -> Figures:
    """Every policy on four nodes. Round robin and a distributor on each node only where a figure is made of them."""
    more = {"zipf": ("round_robin", f"lardr{EVERYWHERE}"), "hot": (f"lardr{EVERYWHERE}",)}.get(case.name, ())
    found = compared(case, 4, (*(FEW[1:] if QUICK else POLICIES), *more))
    _show(case, 4, found)
    best = max(each.rate for each in found.values())
    figures: Figures = {f"lardr_vs_best_{case.name}": found["lardr"].rate / best}
    if "round_robin" in found:
        figures |= _against_wrr(found, 4)
    if f"lardr{EVERYWHERE}" in found:
        figures[f"four_distributors_vs_one_{case.name}"] = found[f"lardr{EVERYWHERE}"].rate / found["lardr"].rate
    if case.name == "fits":
        figures["fits_in_ram_vs_leastconn"] = found["lardr"].rate / found["least_connections"].rate
    _say(figures)
    return figures


def _say(figures: Figures) -> None:
    for name, value in figures.items():
        CONSOLE.print(f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}", highlight=False)


def _cases(nodes: int) -> Iterator[Case]:
    yield from traffic.made_up(nodes)
    if "TRACES" in os.environ:
        yield from traffic.logs(Path(os.environ["TRACES"]), nodes)


def _against_wrr(found: dict[str, Measured], nodes: int) -> Figures:
    ours, theirs = found["lardr"], found["round_robin"]
    return {
        f"lardr_vs_wrr_k{nodes}": ours.rate / theirs.rate,
        f"lardr_p99_vs_wrr_k{nodes}": ours.slowest(99) / theirs.slowest(99),
        f"lardr_per_second_k{nodes}": ours.rate,
    }


def compared(case: Case, nodes: int, policies: Sequence[str], limits: Limits | None = None) -> dict[str, Measured]:
    found = {policy: Measured(policy) for policy in policies}
    machine = Machine(case.memory).slower(PACE)
    with ExitStack() as stack:
        rigs = {policy: stack.enter_context(rig(nodes, machine, case.trace)) for policy in policies}
        for policy, each in rigs.items():
            on = list(each.addresses) if policy.endswith(EVERYWHERE) else ()
            each.start(policy.removesuffix(EVERYWHERE), limits or Limits(), on=on)
            warm(each, case, machine, nodes)
        for _ in range(ROUNDS):
            for policy, each in rigs.items():
                _turn(each, found[policy], VISITORS * nodes)
    return found


def warm(each: Rig, case: Case, machine: Machine, nodes: int) -> None:
    """With a fast disk first: a cache fills slowly with the one that is measured."""
    clients = VISITORS * nodes
    each.told("machine", value=Machine(case.memory, 0, 0, 0, 0))
    fits = case.memory >= case.trace.working_set()
    each.all_once(case.trace, clients, nodes if fits else 1)
    fast = replace(machine, read=machine.read / 50, answer=machine.answer / 10, answer_byte=machine.answer_byte / 10)
    each.told("machine", value=fast)
    each.during(clients, WARM)
    each.told("machine", value=machine)
    each.during(clients, WARM / 2)


def _turn(each: Rig, found: Measured, clients: int, *, settle: float = PACE, turn: float = TURN) -> None:
    """The beginning, while queues of the disks grow to what they stay at, is not counted."""
    each.begin(clients)
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
    """Of a request whose answer takes the origin nothing: what the rules cost beside round robin."""
    figures: Figures = {}
    case = next(traffic.made_up(4))
    for nodes in MEMBERS:
        found = _costs(replace(case, memory=2 * case.trace.working_set()), nodes)
        figures[f"lardr_cpu_us_k{nodes}"] = 1e6 * found["lardr"].per_request
        figures[f"rr_cpu_us_k{nodes}"] = 1e6 * found["round_robin"].per_request
        figures[f"lardr_cpu_vs_rr_k{nodes}"] = found["lardr"].per_request / found["round_robin"].per_request
    figures["lardr_cpu_vs_rr"] = max(float(figures[f"lardr_cpu_vs_rr_k{nodes}"]) for nodes in MEMBERS)
    return figures


def _costs(case: Case, nodes: int) -> dict[str, Measured]:
    found = {policy: Measured(policy) for policy in ("round_robin", "lardr")}
    with ExitStack() as stack:
        rigs = {
            policy: stack.enter_context(rig(nodes, Machine(case.memory, 0, 0, 0, 0), case.trace)) for policy in found
        }
        for policy, each in rigs.items():
            each.start(policy, Limits())
            each.all_once(case.trace, VISITORS)
        for _ in range(4 * ROUNDS):
            for policy, each in rigs.items():
                _turn(each, found[policy], VISITORS, settle=0.5, turn=2.0)
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
            f"{sum(turn.failed for turn in each.turns)}",
        )
    CONSOLE.print(table)
