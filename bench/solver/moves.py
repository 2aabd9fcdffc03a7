"""How few rows the solvers move on the family of clusters, beside the proven bound: moves, bound
and seconds of each.

`solver` takes ten seeds of every size but the largest, of which it takes one; `solver-quick` two
seeds of the first four sizes. The other solvers of the register stand beside `auto` on the first
seed: what they move, and how many nodes they leave outside the band; on the other seeds all but the
slow ones are asked whether they balance as well with fewer moves. Then come the families of
hard_families.py, on other seeds with every version: of `solver` at five sizes, of `solver-quick` at
two. A million equal sites in balance show what size alone costs. FAMILIES names some of the sizes
and families, SEEDS says how many seeds of each. Every figure is printed and kept as soon as it is
there.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from bench.figures import Figures, keep, kept_figures
from bench.solver import hard_families
from bench.solver.family import SIZES, cluster
from flex import native_or_python
from flex.placing import score
from flex.placing.problem import Budget, Problem
from flex_solver import SOLVERS

SEEDS: Mapping[str, int] = {
    "s145x8": 10,
    "s100x4": 10,
    "s2000x16": 10,
    "s20000x64": 10,
    "s200000x256": 10,
    "s1000000x1000": 1,
}
QUICK: Mapping[str, int] = {"s145x8": 2, "s100x4": 2, "s2000x16": 2, "s20000x64": 2}
SECONDS = {
    "s145x8": 15.0,
    "s100x4": 15.0,
    "s2000x8": 10.0,
    "s20000x4": 10.0,
    "s20000x8": 10.0,
    "s2000x16": 15.0,
    "s20000x64": 40.0,
    "s200000x256": 120.0,
    "s1000000x1000": 600.0,
}
# How many times as long the other solvers get; they are compared only where they are done by then.
# A guess.
PATIENCE = 10
HEURISTICS = ("hill", "offload", "closest", "greedy", "keep", "scratch")
OTHERS: Mapping[str, tuple[str, ...]] = {
    "s145x8": HEURISTICS,
    "s100x4": HEURISTICS,
    "s2000x16": HEURISTICS,
    "s20000x64": ("hill", "offload", "greedy", "keep", "scratch"),
}
# The sizes at which there are hard families.
HARD = ("s2000x16", "s20000x64", "s2000x8", "s20000x4", "s20000x8")
# Those of `solver-quick`: with many nodes, and with few.
QUICK_HARD = ("s2000x16", "s20000x4")
# Seeds of each hard family.
HARD_SEEDS = 3
# These take all the time they are given, and get it on the first seed alone.
SLOW: Mapping[str, tuple[str, ...]] = {"s2000x16": ("exact", "cpsat")}


@dataclass(frozen=True, slots=True)
class Found:
    moves: int
    bound: int
    proven: bool
    outside: int
    seconds: float

    @property
    def gap(self) -> float:
        return self.moves / max(1, self.bound) - 1

    def beats(self, other: Found) -> bool:
        return self.outside <= other.outside and self.moves < other.moves


def measure(seeds: Mapping[str, int] = SEEDS, name: str = "solver") -> Figures:
    asked = _seeds_by_size(seeds)
    figures = _of_other_sizes(name, asked) | {
        "note": native_or_python.WHY_NOT or "native loops installed"
    }
    for size, count in asked.items():
        found, beaten = list[Found](), 0
        for seed in range(1, count + 1):
            problem = cluster(*SIZES[size], seed=seed)
            found.append(_solve("auto", problem, SECONDS[size]))
            others = _others(problem, size, with_slow=seed == 1)
            beaten += any(other.beats(found[-1]) for other in others.values())
            figures |= _of_all(size, found, count) | {
                f"{size}_seeds_with_fewer_moves_by_another": beaten
            }
            figures |= _of_others(size, others) if seed == 1 else {}
            keep(name, figures)
        figures[f"{size}_peak_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        keep(name, figures)
    figures |= _hard(seeds, name, figures)
    return figures | {
        "equal_sites_1000000_seconds": _solve("auto", _equal(1_000_000, 16), 15.0).seconds
    }


quick = partial(measure, QUICK, "solver-quick")


def _hard(seeds: Mapping[str, int], name: str, figures: Figures) -> Figures:
    """Each family at the sizes of HARD that are asked for at all."""
    wanted = os.environ.get("FAMILIES", " ".join(hard_families.FAMILIES)).split()
    families = [family for family in hard_families.FAMILIES if family in wanted]
    found: Figures = {}
    for size in HARD if seeds is SEEDS else QUICK_HARD:
        count = int(os.environ.get("SEEDS", 1 if seeds is QUICK else HARD_SEEDS))
        if families:
            found |= hard_families.measure(size, count, SECONDS[size], families)
            keep(name, figures | found)
    return found


def _of_other_sizes(name: str, asked: Mapping[str, int]) -> Figures:
    """The figures of an earlier run, of the sizes that are not measured again."""
    again = tuple(f"{size}_" for size in asked)
    return {
        figure: value
        for figure, value in kept_figures(name).items()
        if not figure.startswith(again)
    }


def _seeds_by_size(seeds: Mapping[str, int]) -> Mapping[str, int]:
    """The sizes and seeds that the environment wants, of those there are."""
    families = os.environ.get("FAMILIES", " ".join(seeds)).split()
    return {
        size: int(os.environ.get("SEEDS", count))
        for size, count in seeds.items()
        if size in families
    }


def _equal(sites: int, nodes: int) -> Problem:
    """Sites that cannot be told apart, as many on every node: the size alone must cost nothing."""
    one, every = cluster(nodes, nodes, seed=1), np.arange(sites)
    return replace(
        one,
        sites=tuple(f"s{s:07}.example.org" for s in range(sites)),
        replicas=np.ones(sites, dtype=np.int64),
        load=np.full((sites, 2), 100.0 * nodes / sites),
        cold=np.ones(sites, dtype=np.int64),
        old=np.stack([every, every % nodes], axis=1),
    )


def _of_all(size: str, found: list[Found], seeds: int) -> Figures:
    figures: Figures = {
        f"{size}_seeds": len(found),
        f"{size}_proven_seeds_of_{seeds}": sum(answer.proven for answer in found),
        f"{size}_balanced_seeds": sum(not answer.outside for answer in found),
    }
    for name in ("gap", "moves", "bound", "seconds"):
        values = [float(getattr(answer, name)) for answer in found]
        figures[f"{size}_{name}"] = float(np.mean(values))
        figures[f"{size}_{name}_min"], figures[f"{size}_{name}_max"] = (min(values), max(values))
    return figures


def _others(problem: Problem, size: str, *, with_slow: bool) -> dict[str, Found]:
    """By name, those of the register that are done in time."""
    names = (*(SLOW.get(size, ()) if with_slow else ()), *OTHERS.get(size, ()))
    return {
        name: _solve(name, problem, PATIENCE * SECONDS[size]) for name in names if name in SOLVERS
    }


def _of_others(size: str, others: Mapping[str, Found]) -> Figures:
    figures: Figures = {}
    for solver, found in others.items():
        figures[f"{size}_{solver}_moves"] = found.moves
        figures[f"{size}_{solver}_nodes_outside"] = found.outside
        figures[f"{size}_{solver}_seconds"] = found.seconds
    return figures


def _solve(solver: str, problem: Problem, seconds: float) -> Found:
    started = time.perf_counter()
    solution = SOLVERS[solver](problem, Budget(seconds=seconds))
    seconds = time.perf_counter() - started
    outside = np.abs(score.deviation(problem, solution.rows)) > problem.tolerance + score.ROUNDING
    moves = score.moves(problem, solution.rows)
    size = f"{len(problem.sites):,} x {len(problem.nodes):,}"
    print(
        f"{solver}, {size}: {moves} moves, at least {solution.bound}, {seconds:.1f} s", flush=True
    )
    return Found(moves, solution.bound, solution.proven, int(outside.any(axis=1).sum()), seconds)
