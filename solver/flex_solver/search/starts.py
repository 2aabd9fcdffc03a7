"""The partitions that the searches of large.py start from.

Takes a Problem and its bound. Returns rows for each search. Does not search around them: anneal.py
does. Every start comes from the partition in force, changed as little as the wishes demand. Where
few nodes are so far off that hundreds of rows must move, a linear program says first which ones.
bring_nodes_near_band.py brings its far nodes near, and one_exchange_per_node.py puts most of its
nodes right.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from flex.placing.problem import Floats, Ints, Problem, sort_by_site
from flex_solver.bounds.linear import Relaxed, rows_to_give_up
from flex_solver.bounds.pinned_problem import keep_pins
from flex_solver.search.bring_nodes_near_band import bring_nodes_near
from flex_solver.search.choose_rows_to_search import make_all_movable, make_some_movable
from flex_solver.search.one_exchange_per_node import deal_remedies
from flex_solver.search.partition_in_integers import Placed
from flex_solver.search.repair_wishes import repair_all
from flex_solver.wishes_as_row_rules import RowRules

# Searches for few nodes, each from its own seed. For more nodes two are enough, because the results
# of two searches differ less. A guess.
SEARCHES = 4
# Nodes, at most, that count as few. Then smaller sites are dealt as well. A guess.
FEW_NODES = 40
# Open nodes, at most, for which one_exchange_per_node.py is asked. A guess.
MOST_NODES_FOR_DEALS = 400
# How often it is asked in a row, each time for what one remedy for each node has left. A guess.
DEALS = 2
# Moves beyond those that wishes demand, from which on a linear program says which rows are given
# up. A guess.
MANY_MOVES = 200
# Rows for each node that bring_nodes_near_band.py moves. Where it moves more, the nodes are far
# off, and the partition in force is no start for deals. A guess.
FAR = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """Rows that keep every wish, with little that is not in force. Where a linear program had to
    say which rows are given up, how much each site is in `doubt`: more where it makes less of a
    difference whether it moves.
    """

    rows: Ints
    doubt: Floats | None = None


def first_start(problem: Problem, known: Relaxed, until: float) -> Start:
    pins = keep_pins(problem)
    kept = pins.problem
    forced = pins.moves + int(RowRules(kept).rows_demanded @ RowRules(kept).prices)
    if known.least - forced < MANY_MOVES or problem.open.sum() > FEW_NODES:
        return Start(sort_by_site(repair_all(problem)))
    given_up = rows_to_give_up(kept, until)
    # Where sites go that are nowhere yet makes no difference in moves.
    doubt = np.where(RowRules(kept).lacking > 0, 0.0, -np.inf)
    np.maximum.at(doubt, kept.old[:, 0], -np.abs(given_up.saved))
    staying = replace(kept, old=kept.old[~given_up.chosen])
    return Start(sort_by_site(repair_all(staying)), doubt)


def starts(
    problem: Problem, start: Start, known: Relaxed, threads: int, until: float | None
) -> list[Ints]:
    """The rows that each search starts from. With many nodes, deals that put every node right are
    the only starts, if there are any.

    Deals may take until `until`; where it is None there are none.
    """
    nodes, rows = int(problem.open.sum()), sort_by_site(repair_all(problem))
    near = bring_nodes_near(make_some_movable(problem, known, start.rows))
    plain = [rows] * (SEARCHES if nodes <= FEW_NODES else 2)
    if until is None or not len(problem.old) or nodes > MOST_NODES_FOR_DEALS:
        return [*plain[1:], near.rows]
    if nodes <= FEW_NODES:
        dealing = [rows, near.rows] if start.doubt is None else [near.rows]
    else:
        moved = np.count_nonzero(rows[:, 1] != near.open_nodes[near.node])
        dealing = [near.rows] if moved > nodes * FAR else [near.rows, rows]
    deals = _deals(problem, dealing, threads, until)
    right = [deal.rows for deal in deals if not deal.merit()[0]]
    if right and nodes > FEW_NODES:
        return right
    return [*(deal.rows for deal in deals), *plain[len(deals) :]]


def _deals(problem: Problem, starts: list[Ints], threads: int, until: float) -> list[Placed]:
    """What deals make of each start, while there is time. Equal starts are dealt once."""
    dealt = dict[bytes, Placed]()
    for rows in starts:
        if rows.tobytes() not in dealt and (not dealt or time.monotonic() < until):
            dealt[rows.tobytes()] = _deal(problem, until, rows, threads)
    return [dealt[rows.tobytes()] for rows in starts if rows.tobytes() in dealt]


def _deal(problem: Problem, until: float, rows: Ints, threads: int) -> Placed:
    start = make_all_movable(problem, rows)
    for _ in range(DEALS):
        dealt = deal_remedies(
            start,
            problem.tolerance,
            until,
            finely=len(start.items.low) <= FEW_NODES,
            threads=threads,
        )
        if not dealt.merit()[0] or dealt.merit() >= start.merit():
            break
        start = dealt
    return dealt
