"""The band that each node is asked to keep, where its own cannot hold.

Takes a Problem. Returns the least and the most that each open node is to carry, as parts of its
share. Does not change what the judge calls balanced.

Where pins leave room on every node, the band is the tolerance around 1. A node that its pins, or
one site larger than any node, put over the band cannot be brought back. It is asked to come as near
as it can, to a tenth of the tolerance. Where another node must stay farther off, it may keep its
small sites as well, because none of them is worth a move. The other nodes are asked for less,
because less is left for them. So few rows move where the band cannot hold.
"""

from __future__ import annotations

import numpy as np

from flex.placing.problem import Floats, Ints, Problem
from flex.placing.score import ROUNDING
from flex_solver.bounds.problem_arrays import may_leave

# How near a node that cannot reach its band must come to the nearest possible, as a part of the
# tolerance. A guess.
NEAR = 0.1


def bands(problem: Problem, tolerance: float) -> tuple[Floats, Floats]:
    """`tolerance` is the problem's, and what is forgiven beside it."""
    share = problem.share[problem.open, None]
    low, high = (
        np.full((len(share), len(problem.dimensions)), 1 + sign * tolerance) for sign in (-1, 1)
    )
    stays = np.maximum(_pinned_load(problem), _too_large(problem, tolerance)) / share
    over = stays > high
    if not over.any():
        return low, high
    near = stays + NEAR * tolerance
    high[over] = np.maximum(near, np.minimum(stays + _small(problem) / share, near[over].max()))[
        over
    ]
    left = problem.replicas @ problem.load - (share * high * over).sum(axis=0)
    of_others = left / np.maximum((share * ~over).sum(axis=0), ROUNDING)
    return np.minimum(low, np.maximum(of_others - tolerance / 2, 0.0)), high


def _pinned_load(problem: Problem) -> Floats:
    """What the pins bring to each open node."""
    pairs = [(site, node) for site, nodes in problem.pinned.items() for node in nodes]
    rows = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return _on_each(problem, rows[problem.open[rows[:, 1]]])


def _small(problem: Problem) -> Floats:
    """What the rows in force bring that are no larger than the tolerance and not pinned."""
    rows = _in_force(problem)
    asks = problem.load[rows[:, 0]].max(axis=1)
    return _on_each(problem, rows[asks <= problem.tolerance * problem.share[rows[:, 1]]])


def _too_large(problem: Problem, tolerance: float) -> Floats:
    """The largest row in force on each node of those that fit no node."""
    most = np.zeros((len(problem.nodes), len(problem.dimensions)))
    widest = problem.share.max() * (1 + tolerance)
    if problem.load.max(initial=0.0) > widest:
        rows = _in_force(problem)
        large = rows[problem.load[rows[:, 0]].max(axis=1) > widest]
        np.maximum.at(most, large[:, 1], problem.load[large[:, 0]])
    return most[problem.open]


def _in_force(problem: Problem) -> Ints:
    rows: Ints = problem.old[may_leave(problem)]
    return rows


def _on_each(problem: Problem, rows: Ints) -> Floats:
    load = problem.load[rows[:, 0]]
    sums: Floats = np.zeros((len(problem.nodes), load.shape[1]))
    np.add.at(sums, rows[:, 1], load)
    return sums[problem.open]
