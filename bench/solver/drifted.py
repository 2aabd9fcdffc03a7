"""How many rows each solver moves on clusters of growing size, and how long that takes: python bench/solver/drifted.py

The clusters are as they come: Zipf access rates, log-normal working sets, and an old placement that was balanced
before the loads drifted for a day and a few sites surged.
"""

from __future__ import annotations

import time

import numpy as np

from flex import engine, score
from flex.problem import DIMENSIONS, Budget, Floats, Ints, Problem, in_order
from flex_solver import SOLVERS
from flex_solver.bound import least_moves

SIZES = {"100x4": (100, 4), "145x8": (145, 8), "2000x16": (2_000, 16), "20000x64": (20_000, 64)}


def drifted(sites: int, nodes: int, *, seed: int, drift: float = 0.3, tolerance: float = 0.05) -> Problem:
    """Yesterday's balanced placement under today's loads."""
    random = np.random.default_rng(seed)
    demand = _demand(random, sites, nodes)
    replicas = np.ceil(demand.max(axis=1) / 50.0).clip(1, nodes).astype(np.int64)
    yesterday = demand / replicas[:, None]
    old = _largest_first(yesterday, replicas, nodes)
    today = yesterday * np.exp(drift * random.standard_normal(yesterday.shape) - drift**2 / 2)
    surging = random.choice(np.flatnonzero(yesterday.max(axis=1) < 10), max(3, nodes // 16), replace=False)
    today[surging, 0] *= random.uniform(3, 10, len(surging))
    load = today * 100 * nodes / (today * replicas[:, None]).sum(axis=0)
    return Problem(
        dimensions=DIMENSIONS,
        nodes=tuple(f"n{n:04}" for n in range(nodes)),
        open=np.ones(nodes, dtype=np.bool_),
        share=np.full(nodes, 100.0),
        sites=tuple(f"s{s:06}.example.org" for s in range(sites)),
        replicas=replicas,
        load=load,
        cold=(load[:, 1] * 1e6).astype(np.int64),
        old=old,
        pinned={},
        tolerance=tolerance,
    )


def _demand(random: np.random.Generator, sites: int, nodes: int) -> Floats:
    """Access rates and working sets that go together a little, each adding up to 100 for each node."""
    rank = random.permutation(sites) + 1
    common = -np.log(rank)
    access = 1.0 / rank
    working = np.exp(0.6 * common / common.std() + 1.4 * random.standard_normal(sites))
    working = np.minimum(working, working.sum() / nodes / 2)
    demand: Floats = np.stack([access / access.sum(), working / working.sum()], axis=1) * 100 * nodes
    return demand


def _largest_first(load: Floats, replicas: Ints, nodes: int) -> Ints:
    total = np.zeros((nodes, load.shape[1]))
    rows = []
    for site in np.argsort(-load.max(axis=1), kind="stable").tolist():
        after = (total + load[site]).max(axis=1)
        for node in np.argsort(after, kind="stable")[: replicas[site]].tolist():
            total[node] += load[site]
            rows.append((site, node))
    return in_order(np.array(rows, dtype=np.int64))


if __name__ == "__main__":
    print(f"engine: {engine.name()}")
    for size, (sites, nodes) in SIZES.items():
        problem = drifted(sites, nodes, seed=1)
        print(f"{size}: counting says at least {least_moves(problem)} moves")
        for name, solver in SOLVERS.items():
            if name == "exact" and sites > 1_000:
                continue
            started = time.perf_counter()
            solution = solver(problem, Budget())
            seconds, broken = time.perf_counter() - started, score.violations(problem, solution.rows)
            moves, proven = len(score.moved(problem, solution.rows)), "proven" if solution.proven else ""
            print(f"  {name:12}{moves:>7} moves {len(broken):>4} out of band {seconds:>7.2f} s  {proven}")
