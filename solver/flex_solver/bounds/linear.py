"""The least number of rows that any balanced partition moves, by a linear program over all nodes.

Takes a Problem. Returns a number of moves that no balanced partition can stay under, and the
reduced cost of each row in force: what moving that row adds to the number. Good partitions hardly
ever move a row that adds much. Does not find a partition.

Why the number is a bound. Take any balanced partition, and describe it by these numbers:

- y[r] is 1 if the partition gives up row r, and 0 if not. Here r is a row in force that may stay.
- v[n] is the number of new rows on node n.
- in[n, d] is the load that these new rows bring to node n in resource d.

A site with k replicas, of which h are where they may stay, gets k - h new rows and one more for
each row that it gives up. Each new row costs at least the site's price, which is the least number
of moves that a new row of the site takes. So the cost of all moves is at least this sum: over all
sites the price times k - h, and over all rows the price times y.

The numbers of a balanced partition have these properties:

- Node n: its load in force, less that of its rows given up, plus in[n, d] lies within the band.
- Resource d: all nodes together gain the load of all rows given up, and of k - h replicas of every
  site.
- Rows: the sum of v is the sum of k - h and of y.
- New rows: in[n, d] is at most v[n] times the load of the largest site.
- A site that has more rows than it needs gives up as many as it must.
- Each node gives up, gains and exchanges as many rows as one_node.py counts.

A linear program finds the least sum with these properties, with fractions allowed. No balanced
partition has a smaller sum. The dual of the program gives a bound for any multipliers. HiGHS finds
good ones, and the bound is computed from them here, over every row. So neither the tolerances of
HiGHS nor rows that HiGHS was not given can make the bound too large. The largest possible rounding
error of this computation is subtracted before the number is rounded up to a whole one.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from flex.placing.problem import Bools, Floats, Ints, Problem
from flex_solver.bounds import counting, one_node
from flex_solver.bounds.pinned_problem import keep_pins
from flex_solver.bounds.problem_arrays import ProblemArrays, cluster_of, may_leave
from flex_solver.programs import highs_linear
from flex_solver.programs.highs_program import Program
from flex_solver.wishes_as_row_rules import RowRules

# What a share of load outside the band costs in the program, in moves: so much that it is the last
# resort, and every program has a solution. A guess.
ELASTIC = 1e4
# Rows that HiGHS sees at first: so many of each node by each measure of size, and as many as must
# leave it. A guess.
FIRST = 12
# Rows that it sees in addition after each round: so many of each node at least, and as many as it
# saw before, the most wanted. A guess.
NEXT = 20
# How often rows may be added; the bound holds whenever that ends. A guess.
ROUNDS = 30
# Of a row that is chosen more than so much is given up.
HALF = 0.5
# What a sum of some hundred thousand floats may be off by. A guess on the safe side.
INEXACT = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Relaxed:
    """`least` moves; `reduced[r]` is what giving up row r of `old` adds to that, infinite where it
    cannot be. `prices` say what each site costs the node that gives it, in moves.
    """

    least: int
    reduced: Floats
    prices: Floats


@dataclass(frozen=True, slots=True, eq=False)
class GivenUp:
    """The rows in force that are `chosen`, and how many moves giving up each is worth beyond its
    own; below all numbers for rows that may not leave.
    """

    chosen: Bools
    saved: Floats


def relax(
    problem: Problem, *, first: int = FIRST, rounds: int = ROUNDS, until: float = math.inf
) -> Relaxed:
    """With fewer rows shown at `first`, in fewer `rounds`, or with time up after a round, the bound
    is lower and holds as well; 0 rounds: counting.
    """
    counted = counting.least_moves(problem)
    free = may_leave(problem)
    reduced = np.where(free, 0.0, np.inf)
    if not rounds or not problem.load.any():
        return Relaxed(counted, reduced, _no_prices(problem))
    pins = keep_pins(problem)
    kept = pins.problem
    cluster = cluster_of(kept)
    row_counts = one_node.counts(kept, cluster, until)
    least, of_rows, duals = _best(cluster, row_counts, first, rounds, until)
    reduced[np.flatnonzero(free & pins.stays)] = of_rows
    least += pins.moves
    return Relaxed(
        max(counted, int(np.ceil(least - INEXACT * (1 + abs(least))))),
        reduced,
        _no_prices(problem) if duals is None else _prices(problem, cluster, duals),
    )


def rows_to_give_up(problem: Problem, until: float) -> GivenUp:
    """As the program says without what one_node.py counts: that says how many rows, not which."""
    cluster, free = cluster_of(problem), np.flatnonzero(may_leave(problem))
    none = np.zeros(len(cluster.load), dtype=np.int64)
    optimum = highs_linear.minimum(
        _program(cluster, one_node.RowCounts(none, none, none), np.arange(len(free))), until
    )
    chosen = np.zeros(len(problem.old), dtype=np.bool_)
    saved = np.full(len(problem.old), -np.inf)
    if optimum is not None:
        chosen[free] = optimum.values[: len(free)] > HALF
        saved[free] = -_reduced_costs(cluster, _duals(cluster, optimum.duals))
    return GivenUp(chosen, saved)


def _no_prices(problem: Problem) -> Floats:
    half: Floats = RowRules(problem).prices / 2
    return half


def _prices(problem: Problem, cluster: ProblemArrays, duals: _Duals) -> Floats:
    """What the program says that a row of each site costs the node that gives it: all of its moves,
    less what it is worth elsewhere.
    """
    worth = RowRules(problem).prices
    prices: Floats = worth + duals.rows + cluster.of_site @ duals.total
    return np.clip(prices, 0, worth)


@dataclass(frozen=True, slots=True, eq=False)
class _Duals:
    """The multipliers of the program's rows, in its order."""

    band: Floats
    total: Floats
    rows: float
    new: Floats
    leave: Floats
    touch: Floats
    giving: Floats


def _best(
    cluster: ProblemArrays, counts: one_node.RowCounts, first: int, rounds: int, until: float
) -> tuple[float, Floats, _Duals | None]:
    """The largest bound found, and the reduced cost of every row in it, and the duals."""
    shown = _largest_of_each(cluster, np.maximum(first, counts.leave))
    best, reduced, best_duals = 0.0, np.zeros(len(cluster.node)), None
    for _ in range(rounds):
        optimum = highs_linear.minimum(_program(cluster, counts, np.flatnonzero(shown)), until)
        if optimum is None:
            break
        duals = _duals(cluster, optimum.duals)
        of_rows = _reduced_costs(cluster, duals)
        if (least := _bound_by_duals(cluster, counts, duals, of_rows)) > best:
            best, reduced, best_duals = least, of_rows, duals
        wanted = np.flatnonzero((of_rows < -INEXACT) & ~shown)
        if time.monotonic() > until:
            break
        if not len(wanted) or of_rows[wanted].sum() > -INEXACT * 100:
            break
        more = np.bincount(cluster.node[shown], minlength=len(cluster.load))
        more = np.maximum(more, NEXT)
        shown[wanted[_first_of_each(cluster.node[wanted], of_rows[wanted], more)]] = True
    return best, reduced, best_duals


def _program(cluster: ProblemArrays, counts: one_node.RowCounts, shown: Ints) -> Program:
    """Columns: y of the rows shown, in, v, load too much, load too little."""
    nodes, dimensions = cluster.load.shape
    cells = nodes * dimensions
    y = np.arange(len(shown))
    into = len(shown) + np.arange(cells)
    v = len(shown) + cells + np.arange(nodes)
    columns = len(shown) + 3 * cells + nodes
    floors = np.concatenate([np.zeros(cells), counts.leave, counts.touch, cluster.gives])
    program = Program(
        cost=np.concatenate(
            [cluster.price[shown], np.zeros(cells + nodes), np.full(2 * cells, ELASTIC)]
        ),
        lower=np.concatenate([np.zeros(len(shown) + cells), counts.enter, np.zeros(2 * cells)]),
        upper=np.concatenate([np.ones(len(shown)), np.full(columns - len(shown), np.inf)]),
        row_lower=_limits(cluster, cluster.low - cluster.load, floors),
        row_upper=_limits(cluster, cluster.high - cluster.load, np.full(len(floors), np.inf)),
    )
    band, total, rows, new, leave, touch, giving = _starts(nodes, dimensions)
    node, giver = cluster.node[shown], cluster.giver[shown]
    each = np.arange(cells)
    for d in range(dimensions):
        program.add(band + node * dimensions + d, y, -cluster.asks[shown, d])
        program.add(np.full(len(shown), total + d), y, -cluster.asks[shown, d])
        program.add(new + np.arange(nodes) * dimensions + d, v, cluster.largest[d])
    program.add(np.full(len(shown), rows), y, -1.0)
    program.add(leave + node, y, 1.0)
    program.add(touch + node, y, 1.0)
    program.add(giving + giver[giver >= 0], y[giver >= 0], 1.0)
    program.add(band + each, into, 1.0)
    program.add(total + each % dimensions, into, 1.0)
    program.add(new + each, into, -1.0)
    program.add(np.full(nodes, rows), v, 1.0)
    program.add(touch + np.arange(nodes), v, 1.0)
    program.add(band + each, into + cells + nodes, -1.0)
    program.add(band + each, into + 2 * cells + nodes, 1.0)
    return program


def _starts(nodes: int, dimensions: int) -> list[int]:
    """Where the rows begin: bands, totals, the count of rows, new rows, leaving, touching, sites
    that give.
    """
    cells = nodes * dimensions
    starts: list[int] = np.cumsum([0, cells, dimensions, 1, cells, nodes, nodes]).tolist()
    return starts


def _limits(cluster: ProblemArrays, band: Floats, floors: Floats) -> Floats:
    return np.concatenate([band.ravel(), cluster.lacking_load, [cluster.lacking], floors])


def _duals(cluster: ProblemArrays, duals: Floats) -> _Duals:
    """Duals of rows with only a lower bound become zero where HiGHS left them negative."""
    nodes, dimensions = cluster.load.shape
    starts = _starts(nodes, dimensions)
    band, total, rows, *floors = np.split(duals, starts[1:])
    new, leave, touch, giving = (np.maximum(part, 0.0) for part in floors)
    return _Duals(
        band.reshape(nodes, dimensions),
        total,
        float(rows[0]),
        new.reshape(nodes, dimensions),
        leave,
        touch,
        giving,
    )


def _reduced_costs(cluster: ProblemArrays, duals: _Duals) -> Floats:
    """What giving up each row costs, less what it is worth to the rows of the program."""
    of_node = (duals.band + duals.total)[cluster.node]
    worth = (
        duals.leave[cluster.node]
        + duals.touch[cluster.node]
        - duals.rows
        - (cluster.asks * of_node).sum(axis=1)
    )
    worth += np.concatenate([duals.giving, [0.0]])[cluster.giver]
    reduced: Floats = cluster.price - worth
    return reduced


def _bound_by_duals(
    cluster: ProblemArrays, counts: one_node.RowCounts, duals: _Duals, reduced: Floats
) -> float:
    """What no partition stays under, by these duals: each row's bound at its price, and of each
    column the best end.

    Nothing enters a node beyond its band, and no more rows than there are replicas.
    """
    of_rows = (
        np.where(duals.band > 0, cluster.low - cluster.load, cluster.high - cluster.load)
        * duals.band
    )
    prices = of_rows.sum() + duals.total @ cluster.lacking_load + duals.rows * cluster.lacking
    prices += duals.leave @ counts.leave + duals.touch @ counts.touch + duals.giving @ cluster.gives
    into = duals.new - duals.band - duals.total
    v = -duals.rows - (duals.new * cluster.largest).sum(axis=1) - duals.touch
    ends = np.minimum(reduced, 0.0).sum() + (np.minimum(into, 0.0) * cluster.high).sum()
    ends += np.where(v > 0, v * counts.enter, v * cluster.replicas).sum()
    return float(cluster.forced + prices + ends)


def _largest_of_each(cluster: ProblemArrays, counts: Ints) -> Bools:
    """The rows HiGHS sees at first: so many of each node, the largest by each resource and by all,
    and those of sites that give.
    """
    shown: Bools = cluster.giver >= 0
    for size in (*cluster.asks.T, cluster.asks.sum(axis=1), cluster.asks.max(axis=1)):
        shown[_first_of_each(cluster.node, -size, counts)] = True
    return shown


def _first_of_each(group: Ints, key: Floats, counts: Ints) -> Ints:
    """The places with the least keys in each group, as many as it counts."""
    ordered = np.lexsort((key, group))
    starts = np.searchsorted(group[ordered], group[ordered])
    first: Ints = ordered[np.arange(len(ordered)) - starts < counts[group[ordered]]]
    return first
