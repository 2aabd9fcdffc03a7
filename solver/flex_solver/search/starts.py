"""The partitions that the searches of large.py start from.

Takes a Problem and its bound. Returns rows for each search. Does not search around them: anneal.py
does. Every start comes from the partition in force, changed as little as the wishes demand.
bring_nodes_near_band.py brings its far nodes near, and one_exchange_per_node.py puts most of its
nodes right.
"""

from __future__ import annotations

import time

import numpy as np

from flex.placing.problem import Ints, Problem, in_order
from flex_solver.bounds.linear import Relaxed
from flex_solver.search.bring_nodes_near_band import bring_nodes_near
from flex_solver.search.choose_rows_to_search import with_all_movable, with_some_movable
from flex_solver.search.one_exchange_per_node import deal_remedies
from flex_solver.search.partition_in_integers import Placed
from flex_solver.search.repair_wishes import repair_all

# Searches for few nodes, each from its own seed. For more nodes two are enough, because the results
# of two searches differ less. A guess.
SEARCHES = 4
# Nodes, at most, that count as few. Then smaller sites are dealt as well. A guess.
FEW_NODES = 40
# Open nodes, at most, for which one_exchange_per_node.py is asked. A guess.
MOST_NODES_FOR_DEALS = 400
# How often it is asked in a row, each time for what one remedy for each node has left. A guess.
DEALS = 2
# Rows for each node that bring_nodes_near_band.py moves. Where it moves more, the nodes are far
# off, and the partition in force is no start for deals. A guess.
FAR = 0.5


def starts(
    problem: Problem, known: Relaxed, threads: int, until: float | None
) -> list[Ints]:
    """The rows that each search starts from. With many nodes, deals that put every node right are
    the only starts, if there are any.

    Deals may take until `until`; where it is None there are none.
    """
    rows = in_order(repair_all(problem))
    nodes = int(problem.open.sum())
    near = bring_nodes_near(with_some_movable(problem, known, rows))
    plain = [rows] * (SEARCHES if nodes <= FEW_NODES else 2)
    if until is None or not len(problem.old) or nodes > MOST_NODES_FOR_DEALS:
        return [*plain[1:], near.rows]
    if nodes <= FEW_NODES:
        dealing = [rows, near.rows]
    else:
        moved = np.count_nonzero(rows[:, 1] != near.open_nodes[near.node])
        dealing = [near.rows] if moved > nodes * FAR else [near.rows, rows]
    deals = _deals(problem, dealing, threads, until)
    right = [found.rows for found in deals if not found.merit()[0]]
    if right and nodes > FEW_NODES:
        return right
    return [*(found.rows for found in deals), *plain[len(deals) :]]


def _deals(
    problem: Problem, starts: list[Ints], threads: int, until: float
) -> list[Placed]:
    """What deals make of each start, while there is time. Equal starts are dealt once."""
    found = dict[bytes, Placed]()
    for rows in starts:
        if rows.tobytes() not in found and (not found or time.monotonic() < until):
            found[rows.tobytes()] = _deal(problem, until, rows, threads)
    return [found[rows.tobytes()] for rows in starts if rows.tobytes() in found]


def _deal(problem: Problem, until: float, rows: Ints, threads: int) -> Placed:
    start = with_all_movable(problem, rows)
    for _ in range(DEALS):
        found = deal_remedies(
            start,
            problem.tolerance,
            until,
            finely=len(start.items.low) <= FEW_NODES,
            threads=threads,
        )
        if not found.merit()[0] or found.merit() >= start.merit():
            break
        start = found
    return found
