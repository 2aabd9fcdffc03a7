"""The integer program in which some sites are decided, and all others are sums or stay.

Takes a Problem whose pins are kept, the sites to decide and where the others are. Returns a
Program. Does not run it: heavy_site_programs.py does.

Columns: each decided site on each open node where it may be, at the moves that its row is there. A
row that stays has a column too, at no cost: without it HiGHS proves next to nothing.

With `others` fixed, they carry what they carry there, and the bands are narrower than the judge's
by what HiGHS forgives: a point is a balanced partition.

Without them the program is a bound. Take any balanced partition, and let the numbers of the others
on each node be: how many of their rows leave it, how many enter it, and the load of both. What
leaves is no more load than so many times the largest row that may leave, and so is what enters with
the largest site. Over all nodes as much enters as leaves and is lacking. Each row that leaves is a
new row elsewhere, at the least price of such sites. The bands are wider by what HiGHS forgives. So
no balanced partition has fewer moves than the program says.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from flex.placing import score
from flex.placing.problem import Bools, Floats, Ints, Problem
from flex_solver.bounds.problem_arrays import SHARE, ProblemArrays, cluster_of, may_leave
from flex_solver.programs.highs_program import Program
from flex_solver.programs.program_assembly import Sums, program_with
from flex_solver.wishes_as_row_rules import RowRules

# A mean node's share in the program: what HiGHS forgives, 1e-6, is 1e-9 of a share then, which is
# what the judge forgives.
UNIT = 1_000.0
# By how much bands are narrower, or wider, in these units: twice what HiGHS forgives.
CLEAR = 2e-6
# What the dearest row costs where cold bytes are counted. A guess.
COLDEST = 1e4


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Where each of `sites` may be: cell c is `site[c]` on node `node[c]`, `at[c]` among the open
    ones, at `cost[c]` moves and `cold[c]` cold bytes.
    """

    sites: Ints
    site: Ints
    node: Ints
    at: Ints
    cost: Ints
    cold: Ints

    @property
    def rows(self) -> Ints:
        return np.stack([self.site, self.node], axis=1)


def cells_of(problem: Problem, sites: Ints) -> Cells:
    opened = np.flatnonzero(problem.open)
    site, at = (grid.ravel() for grid in np.meshgrid(sites, np.arange(len(opened)), indexing="ij"))
    rows = np.stack([site, opened[at]], axis=1)
    able = ~RowRules(problem).rows_among(rows, problem.barred)
    cost, cold = score.costs(problem, rows[able]).T
    return Cells(sites, site[able], rows[able, 1], at[able], cost, cold)


def program_with_others_fixed(problem: Problem, cells: Cells, others: Ints) -> Program:
    return _make_program(problem, cells, others, cells.cost.astype(np.float64), ())


def program_for_fewer_cold_bytes(
    problem: Problem, cells: Cells, others: Ints, known: Floats
) -> Program:
    """A point has no more moves than the known one has."""
    moves, cold = cells.cost.astype(np.float64), cells.cold.astype(np.float64)
    cold *= COLDEST / max(1.0, cold.max(initial=0.0))
    fewer = tuple(_fewer(moves, float(moves @ known) + 1))
    return _make_program(problem, cells, others, cold, fewer)


def _make_program(
    problem: Problem, cells: Cells, others: Ints, cost: Floats, more: tuple[Sums, ...]
) -> Program:
    cluster = cluster_of(problem)
    opened = np.flatnonzero(problem.open)
    share = problem.share[opened, None] / SHARE
    reach = share * problem.tolerance
    base = _loads(problem, cluster, others)
    free = ~RowRules(problem).rows_among(cells.rows, _nodes_of_rivals(problem, others))
    return program_with(
        cost=cost,
        lower=_demand_pins(problem, cells),
        upper=free.astype(np.float64),
        whole=np.ones(len(cells.site), dtype=np.bool_),
        sums=(
            _once(problem, cells),
            _bands(
                cluster,
                cells,
                UNIT * (share - reach - base) + CLEAR,
                UNIT * (share + reach - base) - CLEAR,
            ),
            _crowds(problem, cells),
            *more,
        ),
    )


def _nodes_of_rivals(problem: Problem, others: Ints) -> dict[int, frozenset[int]]:
    """The nodes where each site would meet others that it is to be apart from."""
    nodes = dict[int, set[int]]()
    for site, node in others[np.isin(others[:, 0], list(problem.rivals))].tolist():
        nodes.setdefault(site, set()).add(node)
    return {
        site: frozenset(node for rival in rivals for node in nodes.get(rival, ()))
        for site, rivals in problem.rivals.items()
    }


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """No balanced partition has fewer moves than the program's least and what is `spent` beside."""

    program: Program
    spent: int


def bound_with_others_as_sums(
    problem: Problem, cells: Cells, fewer_than: float = math.inf
) -> Bound:
    """The program of partitions with fewer moves. None of the others may have more rows in force
    than it needs, if it asks for anything.
    """
    cluster, rules = cluster_of(problem), RowRules(problem)
    others = np.setdiff1d(np.arange(len(problem.sites)), cells.sites)
    loaded = others[cluster.of_site[others].any(axis=1)]
    staying = problem.old[rules.may_stay & np.isin(problem.old[:, 0], others)]
    leaving = problem.old[may_leave(problem) & np.isin(problem.old[:, 0], loaded)]
    lacking = np.maximum(rules.lacking, 0)
    few = _Few(problem, cluster, cells, leaving, loaded)
    base = UNIT * _loads(problem, cluster, staying)
    count = len(cells.site)
    spent = int(lacking[others] @ rules.prices[others])
    cost = np.concatenate([cells.cost, few.cost])
    program = program_with(
        cost=cost,
        lower=np.concatenate([_demand_pins(problem, cells), np.zeros(len(few.cost))]),
        upper=np.concatenate([np.ones(count), few.upper]),
        whole=np.concatenate([np.ones(count, dtype=np.bool_), few.whole]),
        sums=(
            _once(problem, cells),
            few.bands(UNIT * cluster.low - base - CLEAR, UNIT * cluster.high - base + CLEAR),
            _crowds(problem, cells),
            few.leave_and_enter(lacking[loaded]),
            few.largest(),
            *_fewer(cost, fewer_than - spent),
        ),
    )
    return Bound(program, spent)


def _fewer(cost: Floats, moves: float) -> Iterator[Sums]:
    """Moves are whole numbers: HiGHS stays clear of so many by half of one."""
    if moves < math.inf:
        priced = np.flatnonzero(cost)
        term = (np.zeros_like(priced), priced, cost[priced])
        yield Sums(np.full(1, -np.inf), np.full(1, moves - 0.5), (term,))


class _Few:
    """The columns of the others: rows that leave each node, rows that enter it, and the loads of
    both.
    """

    def __init__(
        self, problem: Problem, cluster: ProblemArrays, cells: Cells, leaving: Ints, loaded: Ints
    ) -> None:
        self._cluster, self._cells, self._loaded = cluster, cells, loaded
        opened = np.flatnonzero(problem.open)
        self._asks = UNIT * cluster.of_site
        nodes, dimensions = len(opened), cluster.of_site.shape[1]
        at = np.searchsorted(opened, leaving[:, 1])
        rows = np.bincount(at, minlength=nodes)
        self._leaves = np.zeros((nodes, dimensions + 1))
        np.maximum.at(self._leaves, at, self._asks_with_sum(leaving[:, 0]))
        price = RowRules(problem).prices[leaving[:, 0]].min(initial=sys.maxsize)
        first = len(cells.site)
        self.rows_out, self.rows_in = first + np.arange(2 * nodes).reshape(2, -1)
        self.load_out, self.load_in = (
            first + 2 * nodes + np.arange(2 * nodes * dimensions)
        ).reshape(2, nodes, dimensions)
        cost = np.zeros(2 * nodes + 2 * nodes * dimensions)
        cost[:nodes] = price if len(leaving) else 0
        self.cost = cost
        self.upper = np.full(len(cost), np.inf)
        self.upper[:nodes] = rows
        self.whole = np.arange(len(cost)) < 2 * nodes

    def _asks_with_sum(self, sites: Ints) -> Floats:
        """What rows of the sites ask, and the sum of that."""
        asks = self._asks[sites]
        return np.concatenate([asks, asks.sum(axis=1, keepdims=True)], axis=1)

    def bands(self, low: Floats, high: Floats) -> Sums:
        decided, each = (_bands(self._cluster, self._cells, low, high), np.arange(low.size))
        terms = ((each, self.load_in.ravel(), 1.0), (each, self.load_out.ravel(), -1.0))
        return replace(decided, terms=(*decided.terms, *terms))

    def leave_and_enter(self, lacking: Ints) -> Sums:
        """As many rows enter as leave and are lacking, and as much load."""
        nodes, dimensions = self.load_in.shape
        row = np.zeros(nodes, dtype=np.int64)
        each = np.tile(1 + np.arange(dimensions), nodes)
        wanted = np.concatenate([[lacking.sum()], lacking @ self._asks[self._loaded]])
        terms = (
            (row, self.rows_in, 1.0),
            (row, self.rows_out, -1.0),
            (each, self.load_in.ravel(), 1.0),
            (each, self.load_out.ravel(), -1.0),
        )
        return Sums(
            wanted - CLEAR * (np.arange(len(wanted)) > 0),
            wanted + CLEAR * (np.arange(len(wanted)) > 0),
            terms,
        )

    def largest(self) -> Sums:
        """No row that leaves or enters asks more than the largest that may, nor all together."""
        nodes, dimensions = self.load_in.shape
        most = self._asks_with_sum(self._loaded).max(axis=0, initial=0.0)
        enters = np.broadcast_to(most, self._leaves.shape)
        terms: list[tuple[Ints, Ints, Floats | float]] = []
        first = 0
        for rows, load, largest in (
            (self.rows_out, self.load_out, self._leaves),
            (self.rows_in, self.load_in, enters),
        ):
            for d in range(dimensions + 1):
                row = first + np.arange(nodes)
                terms.append((row, rows, largest[:, d]))
                for part in (d,) if d < dimensions else range(dimensions):
                    terms.append((row, load[:, part], -1.0))
                first += nodes
        return Sums(np.full(first, -CLEAR), np.full(first, np.inf), tuple(terms))


def _loads(problem: Problem, cluster: ProblemArrays, rows: Ints) -> Floats:
    """What the rows ask of each open node, in shares of a mean one."""
    at = np.searchsorted(np.flatnonzero(problem.open), rows[:, 1])
    nodes = int(problem.open.sum())
    loads: Floats = np.stack(
        [np.bincount(at, demand[rows[:, 0]], nodes) for demand in cluster.of_site.T], axis=1
    )
    return loads


def _demand_pins(problem: Problem, cells: Cells) -> Floats:
    pinned: Bools = RowRules(problem).rows_among(cells.rows, problem.pinned)
    return pinned.astype(np.float64)


def _once(problem: Problem, cells: Cells) -> Sums:
    """Each site is on as many nodes as it has replicas."""
    wanted = problem.replicas[cells.sites].astype(np.float64)
    row = np.searchsorted(cells.sites, cells.site)
    return Sums(wanted, wanted, ((row, np.arange(len(row)), 1.0),))


def _bands(cluster: ProblemArrays, cells: Cells, low: Floats, high: Floats) -> Sums:
    """What the decided sites bring to each node lies between these two."""
    dimensions = cluster.of_site.shape[1]
    column, asks = np.arange(len(cells.site)), UNIT * cluster.of_site[cells.site]
    terms = tuple((cells.at * dimensions + d, column, asks[:, d]) for d in range(dimensions))
    return Sums(low.ravel(), high.ravel(), terms)


def _crowds(problem: Problem, cells: Cells) -> Sums:
    """One site at most of those that are to be apart is on a node."""
    nodes, first = int(problem.open.sum()), 0
    terms: list[tuple[Ints, Ints, Floats | float]] = []
    for group in problem.apart:
        column = np.flatnonzero(np.isin(cells.site, list(group)))
        if len(np.unique(cells.site[column])) > 1:
            terms.append((first + cells.at[column], column, 1.0))
            first += nodes
    return Sums(np.zeros(first), np.ones(first), tuple(terms))
