"""A partition made from nothing, the largest sites first.

Takes a Problem. Returns a partition that is as well balanced as that simple rule can make it; its
nodes are named so that as many rows as possible are in force already. Does not look at the
partition in force otherwise. It shows what that costs, and auto.py takes it where a search does not
get far.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flex.placing import score
from flex.placing.problem import Bools, Budget, Ints, Problem, Solution
from flex_solver.rows_to_solution import answer, worst
from flex_solver.search.repair_wishes import repair


def place(problem: Problem, budget: Budget) -> Solution:  # noqa: ARG001  # Nothing to stop.
    nothing = problem.old[:0]
    rows = repair(replace(problem, old=nothing), np.arange(len(problem.sites)), nothing)
    return answer(problem, rename_nodes(problem, rows), "scratch", least=0)


def rename_nodes(problem: Problem, rows: Ints) -> Ints:
    """The rows with other nodes' names, where wishes and balance allow it: sites with wishes keep
    their nodes.

    With those left behind, nodes that hold some are no longer the same under another name. Where
    that costs the balance, only nodes that no wish names are renamed.
    """
    wishing = np.isin(rows[:, 0], [*problem.pinned, *problem.barred, *problem.rivals])
    free, stays = rows[~wishing], rows[wishing]
    of_all = np.concatenate([stays, _rename_nodes(free, _names(problem, free, problem.open))])
    bare = problem.open.copy()
    named = [*problem.pinned.values(), *problem.barred.values()]
    bare[sorted({node for nodes in named for node in nodes})] = False
    of_bare = _rename_nodes(rows, _names(problem, rows, bare))
    good_enough = max(problem.tolerance + score.ROUNDING, worst(problem, of_bare))
    return of_all if worst(problem, of_all) <= good_enough else of_bare


def _rename_nodes(rows: Ints, names: Ints) -> Ints:
    return np.stack([rows[:, 0], names[rows[:, 1]]], axis=1)


def _names(problem: Problem, rows: Ints, free: Bools) -> Ints:
    """For each node of the new partition, the node of the old one that it resembles most.

    Only `free` nodes are renamed, and only nodes with the same share can stand for each other.
    """
    names, taken = np.arange(len(problem.nodes)), set()
    exchangeable = (
        free[:, None] & free[None, :] & (problem.share[:, None] == problem.share[None, :])
    )
    pairs = np.argwhere(exchangeable)
    best_first = np.argsort(-_alike(problem, rows)[exchangeable], kind="stable")
    unnamed = set(np.flatnonzero(free).tolist())
    for new, old in pairs[best_first].tolist():
        if new in unnamed and old not in taken:
            names[new] = old
            unnamed.remove(new)
            taken.add(old)
    return names


def _alike(problem: Problem, rows: Ints) -> Ints:
    """How many sites each new node shares with each old one."""
    old = problem.old[np.argsort(problem.old[:, 0], kind="stable")]
    first, last = (np.searchsorted(old[:, 0], rows[:, 0], side) for side in ("left", "right"))
    many = last - first
    # The rows in force of each new row's site, one after the other.
    nth = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
    before = old[np.repeat(first, many) + nth, 1]
    count = len(problem.nodes)
    pairs = np.repeat(rows[:, 1], many) * count + before
    alike: Ints = np.bincount(pairs, minlength=count * count).reshape(count, count).astype(np.int64)
    return alike
