"""Clusters that are harder to balance than those of family.py, and what solvers find on them.

Takes a family, a size and a seed. Returns a Problem, or figures: for each family the moves above
the bound (`gap`), the nodes left outside the band, and those that a partition from scratch leaves;
and how many moves more than a program over the heaviest sites alone.
Seeds follow the version of FLEX, so that nobody tunes to them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np

import flex
from bench.figures import Figures
from bench.solver.family import SIZES, Random, cluster
from flex.placing import check_proof, proof_statement, score
from flex.placing.bundles import bundle_groups
from flex.placing.problem import Budget, Floats, Ints, MoveLimits, Problem, sort_by_site
from flex_solver import SOLVERS
from flex_solver.bounds import program_of_heaviest
from flex_solver.bounds.pinned_problem import keep_pins
from flex_solver.programs import highs_proof
from flex_solver.search.repair_wishes import repair_all

# Sites with wishes: a fifth of all.
WISHING = 5
# Hours of a day.
HOURS = 24
# Moves that the family with limits may make, as parts of what it would make. A guess.
TIGHT = 3
# The largest load that one row has in a family with many resources, in shares of a node. A guess.
LARGEST = 0.55

# The sites that the core alone is: the heaviest.
CORE = 600
# Nodes of HiGHS's search tree: as many as it wants.
ALL_NODES = 2**31 - 1

Make = Callable[[int, int, int], Problem]


def with_four_resources(sites: int, nodes: int, seed: int) -> Problem:
    """Beside the two that there are, a busy hour and the number of requests."""
    random = np.random.default_rng([seed, 4])
    problem = cluster(sites, nodes, seed=seed)
    rate = problem.load[:, :1]
    factors = np.exp(random.standard_normal((sites, 2)) * [0.5, 1.0])
    drift = np.exp(0.2 * random.standard_normal((sites, 2)))
    names = (*problem.dimensions, "busy hour", "requests")
    return _balanced_before(problem, names, rate * factors, drift)


def by_the_hour(sites: int, nodes: int, seed: int) -> Problem:
    """Three resources by the hour: sites have their peaks at noon or at night."""
    random = np.random.default_rng([seed, 24])
    problem = cluster(sites, nodes, seed=seed)
    peak = random.choice([9.0, 13.0, 20.0, 3.0], sites)[:, None]
    away = np.abs(np.arange(HOURS) - peak)
    away = np.minimum(away, HOURS - away)
    rhythm = 0.3 + np.exp(-(away**2) / 18)
    of_resources = [problem.load[:, :1], problem.load[:, 1:], problem.load[:, :1]]
    sizes = [
        one * rhythm * np.exp(0.3 * random.standard_normal((sites, 1))) for one in of_resources
    ]
    drift = np.exp(0.1 * random.standard_normal((sites, 3 * HOURS)))
    names = tuple(f"{what} {hour}" for what in ("rate", "set", "time") for hour in range(HOURS))
    bare = replace(problem, load=problem.load[:, :0])
    return _balanced_before(bare, names, np.concatenate(sizes, axis=1), drift)


def _balanced_before(
    problem: Problem, names: tuple[str, ...], more: Floats, drift: Floats
) -> Problem:
    """Today's loads are yesterday's, which were balanced, times the drift."""
    before = _in_shares(problem, np.concatenate([problem.load, more], axis=1))
    wide = replace(problem, dimensions=names, load=before)
    old = SOLVERS["scratch"](replace(wide, old=problem.old[:0]), Budget()).rows
    kept = problem.load.shape[1]
    now = np.concatenate([problem.load, before[:, kept:] * drift], axis=1)
    return replace(wide, load=_in_shares(problem, now), old=old)


def _in_shares(problem: Problem, load: Floats) -> Floats:
    total = 100.0 * len(problem.nodes)
    for _ in range(30):
        load = load * total / (load * problem.replicas[:, None]).sum(axis=0)
        load = np.minimum(load, 100.0 * LARGEST)
    scaled: Floats = load * total / (load * problem.replicas[:, None]).sum(axis=0)
    return scaled


def with_wishes(sites: int, nodes: int, seed: int) -> Problem:
    """A third of the wishing are pinned, a third are apart from two others, a third together with
    one other.
    """
    problem, random = cluster(sites, nodes, seed=seed), np.random.default_rng([seed, 5])
    count = np.bincount(problem.old[:, 0], minlength=sites)
    single = np.flatnonzero((problem.replicas == 1) & (count == 1))
    node = np.full(sites, -1)
    node[problem.old[:, 0]] = problem.old[:, 1]
    chosen = random.permutation(single)[: sites // WISHING]
    pinned, apart, together = np.array_split(chosen, 3)
    together = together[np.lexsort((together, node[together]))]
    return replace(
        problem,
        pinned=_pins(pinned, node, nodes, random),
        apart=_groups(apart, 3),
        together=_groups(together, 2),
    )


def _pins(sites: Ints, node: Ints, nodes: int, random: Random) -> Mapping[int, frozenset[int]]:
    """One of ten is wished elsewhere than it is."""
    return {
        int(site): frozenset(
            {int(random.integers(nodes)) if random.random() < 0.1 else int(node[site])}
        )
        for site in sites
    }


def _groups(sites: Ints, size: int) -> tuple[frozenset[int], ...]:
    whole = sites[: len(sites) // size * size].reshape(-1, size)
    return tuple(frozenset(group) for group in whole.tolist())


def with_limits(sites: int, nodes: int, seed: int) -> Problem:
    """Fewer moves than the balance takes, and not all bytes."""
    problem = cluster(sites, nodes, seed=seed)
    limits = MoveLimits(moves=max(2, nodes // TIGHT), inflow=int(problem.cold.max()))
    return replace(problem, limits=limits)


def with_unequal_nodes(sites: int, nodes: int, seed: int) -> Problem:
    """Nodes of one to four times the capacity."""
    problem = cluster(sites, nodes, seed=seed)
    capacity = np.resize([1.0, 2.0, 3.0, 4.0], nodes)
    share = 100.0 * capacity * nodes / capacity.sum()
    yesterday = replace(problem, share=share, old=problem.old[:0])
    drift = np.random.default_rng([seed, 6]).standard_normal(problem.load.shape)
    rows = SOLVERS["scratch"](yesterday, Budget()).rows
    load = problem.load * np.exp(0.2 * drift)
    return replace(yesterday, load=_in_shares(problem, load), old=sort_by_site(rows))


def with_idle_sites(sites: int, nodes: int, seed: int) -> Problem:
    """Nine of ten ask for nothing."""
    problem = cluster(sites, nodes, seed=seed)
    load = problem.load.copy()
    load[np.random.default_rng([seed, 7]).random(sites) < 0.9] = 0
    return replace(problem, load=_in_shares(problem, load))


def with_like_sites(sites: int, nodes: int, seed: int) -> Problem:
    """As many on each node as the sizes that they had put there."""
    problem = cluster(sites, nodes, seed=seed)
    each = 100.0 * nodes / problem.replicas.sum()
    return replace(problem, load=np.full_like(problem.load, each))


def with_one_node_more(sites: int, nodes: int, seed: int) -> Problem:
    problem = cluster(sites, nodes - 1, seed=seed)
    return replace(
        problem,
        nodes=(*problem.nodes, f"n{nodes:04}"),
        open=np.ones(nodes, dtype=np.bool_),
        share=np.full(nodes, 100.0),
        load=problem.load * nodes / (nodes - 1),
    )


def with_one_node_less(sites: int, nodes: int, seed: int) -> Problem:
    """It is drained: all that is there must move."""
    problem = cluster(sites, nodes + 1, seed=seed)
    is_open = np.arange(nodes + 1) > 0
    replicas = np.minimum(problem.replicas, nodes)
    load = problem.load * (problem.replicas / replicas)[:, None]
    asked = (load * replicas[:, None]).sum(axis=0)
    return replace(
        problem,
        open=is_open,
        share=np.where(is_open, 100.0, 0.0),
        replicas=replicas,
        load=load * 100.0 * nodes / asked,
    )


def with_all_on_one_node(sites: int, nodes: int, seed: int) -> Problem:
    """As in a zone that FLEX takes over: many must move."""
    every = np.arange(sites)
    old = np.stack([every, np.zeros_like(every)], axis=1)
    return replace(cluster(sites, nodes, seed=seed), old=old)


FAMILIES: Mapping[str, Make] = {
    "dims4": with_four_resources,
    "hours": by_the_hour,
    "tol1": lambda s, n, seed: cluster(s, n, seed=seed, tolerance=0.01),
    "tol2": lambda s, n, seed: cluster(s, n, seed=seed, tolerance=0.02),
    "wishes": with_wishes,
    "limits": with_limits,
    "unequal": with_unequal_nodes,
    "idle": with_idle_sites,
    "like": with_like_sites,
    "added": with_one_node_more,
    "drained": with_one_node_less,
    "adopted": with_all_on_one_node,
}


@dataclass(frozen=True, slots=True)
class Found:
    """What a solver found, and what the checker says of it."""

    moves: int
    bound: int
    proven: bool
    outside: int
    scratch_outside: int
    overrun: float
    more_than_core: int
    certified: int
    check_seconds: float


def first_seed() -> int:
    return crc32(flex.__version__.encode()) % 10_000


def measure(size: str, seeds: int, seconds: float, families: list[str]) -> Figures:
    figures: Figures = {}
    every = list[Found]()
    for name in families:
        found = [
            solve(FAMILIES[name](*SIZES[size], first_seed() + nth), seconds, f"{name} {size}")
            for nth in range(seeds)
        ]
        every += found
        figures |= {
            f"{name}_{size}_gap": _mean([one.moves / max(1, one.bound) - 1 for one in found]),
            f"{name}_{size}_outside": sum(one.outside for one in found),
            f"{name}_{size}_proven": sum(one.proven for one in found),
            f"{name}_{size}_overrun": round(max(one.overrun for one in found), 3),
            f"{name}_{size}_outside_from_scratch": sum(one.scratch_outside for one in found),
            f"{name}_{size}_certified_part": _mean(
                [one.certified / max(1, one.bound) for one in found]
            ),
        }
    return figures | {
        f"moves_vs_core_{size}_worst": max(one.more_than_core for one in every),
        f"overrun_{size}_max": round(max(one.overrun for one in every), 3),
        f"certificate_check_{size}_s": round(max(one.check_seconds for one in every), 2),
    }


def solve(problem: Problem, seconds: float, what: str) -> Found:
    """`overrun` is the time beyond the budget, as a part of it; the check is in CPU seconds."""
    started = time.perf_counter()
    answer = SOLVERS["auto"](problem, Budget(seconds=seconds))
    took = time.perf_counter() - started
    scratch = SOLVERS["scratch"](problem, Budget()).rows
    certified, check = _certified(problem, answer.certificate)
    moves = score.moves(problem, answer.rows)
    core = core_alone(problem, seconds)
    found = Found(
        moves,
        answer.bound,
        answer.proven,
        nodes_outside(problem, answer.rows),
        nodes_outside(problem, scratch),
        max(0.0, took / seconds - 1),
        0 if core is None else moves - core,
        certified,
        check,
    )
    print(f"{what}: {found}, {took:.1f} s", flush=True)
    return found


def core_alone(problem: Problem, seconds: float) -> int | None:
    """The fewest moves that HiGHS finds in that time where the heaviest sites alone may move: None
    where it finds no balance.
    """
    bundled = bundle_groups(problem).problem
    pins = keep_pins(bundled)
    able = np.flatnonzero(bundled.load.any(axis=1))
    weight = bundled.load[able].max(axis=1)
    heaviest = np.sort(able[np.argsort(-weight, kind="stable")[:CORE]])
    start = sort_by_site(repair_all(bundled))
    others = start[~np.isin(start[:, 0], heaviest)]
    cells, found = program_of_heaviest.cells_of(pins.problem, heaviest), list[int]()

    def note(values: Floats) -> None:
        rows = np.concatenate([others, cells.rows[values > 0.5]])
        found.append(score.moves(bundled, sort_by_site(rows)))

    highs_proof.least_of(
        program_of_heaviest.program_with_others_fixed(pins.problem, cells, others),
        ALL_NODES,
        time.monotonic() + seconds,
        lambda _: False,
        note,
    )
    return min(found, default=None)


def _certified(problem: Problem, certificate: Mapping[str, object] | None) -> tuple[int, float]:
    if certificate is None:
        return 0, 0.0
    started = time.process_time()
    said = check_proof.Statement(proof_statement.statement(problem))
    try:
        needed = check_proof.needed_moves(said, certificate)
    except check_proof.NotProven:
        needed = 0
    return needed, time.process_time() - started


def nodes_outside(problem: Problem, rows: Ints) -> int:
    away = np.abs(score.deviation(problem, rows))[problem.open]
    return int((away > problem.tolerance + score.ROUNDING).any(axis=1).sum())


def _mean(values: list[float]) -> float:
    return round(float(np.mean(values)), 4)
