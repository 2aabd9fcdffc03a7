"""A placement in which nodes put each other right in groups, as far as that goes.

In go a Problem and rows; out come the rows after the moves of groups.py, of groups that share no node and are chosen,
by an integer program, so that the fewest moves are needed where each node left outside the band will need one or more.
Most of many thousand groups would do alike: the linear program says which, and some of these go into the integer one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flex.problem import Bools, Floats
from flex_solver import highs
from flex_solver.groups import NONE, Groups, groups
from flex_solver.improve import MOVE
from flex_solver.mending import outside_band, spread
from flex_solver.placed import Placed

# What a move costs in the program, and what a node that no group puts right.
A_MOVE, LEFT = 4.0, 7.0
# Nodes of HiGHS's search tree, and groups put to it besides those that the linear program takes.
TREE, MORE = 200, 4_000
# What rounding makes of a whole cost.
NEARLY = 0.5


def packed(placed: Placed) -> Placed:
    found = groups(placed)
    totals = placed.totals()
    off = outside_band(placed.items, np.arange(len(totals)), totals)
    if not len(found):
        return placed
    found = _likely(found, off)
    chosen = highs.whole_minimum(_program(found, off), _nothing(found, off), TREE)
    if chosen is None:
        return placed
    taken = found[np.flatnonzero(chosen.values[: len(found)] > 0.5)]
    node = placed.node.copy()
    moves = taken.item >= 0
    node[taken.item[moves]] = taken.to[moves]
    return replace(placed, node=node)


def _likely(found: Groups, off: Bools) -> Groups:
    """Those that the linear program takes, and some of the others that would not make its optimum dearer."""
    program = _program(found, off)
    best = highs.minimum(replace(program, whole=None))
    if best is None:
        return found
    real = found.nodes != NONE
    dearer = program.cost[: len(found)] - np.where(real, best.duals[found.nodes], 0.0).sum(axis=1)
    alike = np.flatnonzero(dearer < NEARLY)
    some = alike[spread(np.zeros_like(alike), MORE)]
    return found[np.union1d(np.flatnonzero(best.values[: len(found)] > 0), some)]


def _nothing(found: Groups, off: Bools) -> Floats:
    return np.concatenate([np.zeros(len(found)), np.ones(off.sum())])


def _program(found: Groups, off: Bools) -> highs.Program:
    """Columns: each group, and each node outside the band as one that is left."""
    left = np.flatnonzero(off)
    count, nodes = len(found) + len(left), len(off)
    program = highs.Program(
        cost=np.concatenate([A_MOVE * np.floor(found.cost / MOVE + 0.5), np.full(len(left), LEFT)]),
        lower=np.zeros(count),
        upper=np.ones(count),
        row_lower=off.astype(np.float64),
        row_upper=np.ones(nodes),
        whole=np.ones(count, dtype=np.bool_),
    )
    for nodes_of in found.nodes.T:
        real = np.flatnonzero(nodes_of != NONE)
        program.add(nodes_of[real], real, 1.0)
    program.add(left, len(found) + np.arange(len(left)), 1.0)
    return program
