"""The judge: how balanced a placement is, what it moves, which rules it breaks.

One judge for every solver. Nothing here looks at how an answer was found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flex.domain import Balance, NodeLoad
from flex.problem import Floats, Ints, Problem

# Loads are sums of floats: a node exactly on the edge of the band is inside it.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule a placement breaks. `kind` is one of over, under (the band), replicas, twice, pin, closed (the wishes)."""

    kind: str
    subject: str
    limit: float
    actual: float

    @property
    def is_wish(self) -> bool:
        return self.kind not in ("over", "under")


def loads(problem: Problem, rows: Ints) -> Floats:
    """What the placement asks of each node, in each dimension."""
    total = np.zeros((len(problem.nodes), len(problem.dimensions)))
    np.add.at(total, rows[:, 1], problem.load[rows[:, 0]])
    return total


def deviation(problem: Problem, rows: Ints) -> Floats:
    """Distance from the fair share as a ratio of it; for a closed node, what is left on it beside a mean share."""
    return _distance(problem, loads(problem, rows))


def _distance(problem: Problem, total: Floats) -> Floats:
    share = np.where(problem.open, problem.share, 0.0)[:, None]
    scale = np.where(problem.open, problem.share, 100.0)[:, None]
    distance: Floats = (total - share) / scale
    return distance


def balance_in_force(problem: Problem) -> Balance:
    """How balanced the nodes are now, whatever number of replicas is wanted next."""
    if problem.held is None:
        return balance(problem, problem.old)
    total = np.zeros((len(problem.nodes), len(problem.dimensions)))
    np.add.at(total, problem.old[:, 1], problem.held)
    # Shares are of what the rows in force ask together, which more replicas make more.
    whole = total.sum(axis=0)
    total *= np.divide(problem.share[problem.open].sum(), whole, out=np.ones_like(whole), where=whole > 0)
    return _balance(problem, problem.old, total)


def balance(problem: Problem, rows: Ints) -> Balance:
    return _balance(problem, rows, loads(problem, rows))


def _balance(problem: Problem, rows: Ints, total: Floats) -> Balance:
    away = _distance(problem, total)
    count = np.bincount(rows[:, 1], minlength=len(problem.nodes))
    per_node = tuple(
        NodeLoad(name, float(total[n, 0]), float(total[n, 1]), int(count[n]), float(problem.share[n]))
        for n, name in enumerate(problem.nodes)
    )
    if not away.size:
        return Balance(per_node, 0.0)
    farthest = int(np.abs(away).argmax())
    node, dimension = divmod(farthest, len(problem.dimensions))
    return Balance(per_node, float(abs(away[node, dimension])), problem.nodes[node], problem.dimensions[dimension])


def moved(problem: Problem, rows: Ints) -> Ints:
    """The rows that are new: what the placement moves."""
    return rows[~np.isin(_keys(problem, rows), _keys(problem, problem.old))]


def left(problem: Problem, rows: Ints) -> Ints:
    """The rows in force that the placement gives up."""
    return problem.old[~np.isin(_keys(problem, problem.old), _keys(problem, rows))]


def cold_bytes(problem: Problem, rows: Ints) -> int:
    return int(problem.cold[moved(problem, rows)[:, 0]].sum())


def violations(problem: Problem, rows: Ints) -> tuple[Violation, ...]:
    """Everything the placement breaks, in a fixed order; empty when it is balanced and all wishes hold."""
    return (*_wishes_broken(problem, rows), *_band_broken(problem, rows))


def _wishes_broken(problem: Problem, rows: Ints) -> list[Violation]:
    found = []
    keys, times = np.unique(_keys(problem, rows), return_counts=True)
    for key, count in zip(keys[times > 1], times[times > 1], strict=True):
        found.append(Violation("twice", problem.sites[key // len(problem.nodes)], 1, float(count)))
    replicas = np.bincount(rows[:, 0], minlength=len(problem.sites))
    for s in np.flatnonzero(replicas != problem.replicas):
        found.append(Violation("replicas", problem.sites[s], float(problem.replicas[s]), float(replicas[s])))
    for s, n in rows[~problem.open[rows[:, 1]]]:
        found.append(Violation("closed", f"{problem.sites[s]} on {problem.nodes[n]}", 0, 1))
    present = set(keys.tolist())
    for site, nodes in sorted(problem.pinned.items()):
        for node in sorted(nodes):
            if site * len(problem.nodes) + node not in present:
                found.append(Violation("pin", f"{problem.sites[site]} on {problem.nodes[node]}", 1, 0))
    return found


def _band_broken(problem: Problem, rows: Ints) -> list[Violation]:
    found = []
    away = deviation(problem, rows)
    carries = problem.load.sum(axis=0) > 0
    outside = (np.abs(away) > problem.tolerance + ROUNDING) & problem.open[:, None] & carries[None, :]
    for n, d in np.argwhere(outside):
        kind = "over" if away[n, d] > 0 else "under"
        subject = f"{problem.nodes[n]} {problem.dimensions[d]}"
        found.append(Violation(kind, subject, problem.tolerance, float(abs(away[n, d]))))
    return found


def _keys(problem: Problem, rows: Ints) -> Ints:
    """One number per row, so that sets of rows are sets of numbers."""
    keys: Ints = rows[:, 0] * len(problem.nodes) + rows[:, 1]
    return keys
