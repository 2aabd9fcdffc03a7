"""Whether any balanced partition makes do with so many moves: an integer program that HiGHS solves.

Takes a Problem and a number of moves. Returns a ProofVerdict: it is impossible, or here are rows
that do, or neither where HiGHS looked at its share of cases and did not settle it. Does not take on
clusters for which is_small() is false: they would take too long.

A partition gives up some rows in force and has some new ones. Each new row of a site is one that a
row it gave up has become, or one of the k - h that it lacks where only h rows of its k replicas may
stay; where more may stay than are needed, h - k vanish. Columns say which row becomes which, at the
price of a new row of its site, and rows of the program that each node ends within its band. Where
sites that are to be apart are on one node, all but one leave it. All other wishes to be apart,
limits of moves and missing pins are left out: so much the less can the program be without a
solution where the cluster has one. The band is wider by what HiGHS and the judge forgive, for the
same reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from threading import Event

import numpy as np

from flex.placing import score
from flex.placing.problem import Bools, Floats, Ints, Problem, sort_by_site
from flex_solver.bounds import one_node
from flex_solver.bounds.problem_arrays import ProblemArrays, cluster_of, may_leave
from flex_solver.programs import highs_proof
from flex_solver.programs.highs_program import Program
from flex_solver.programs.program_assembly import Sums, program_with
from flex_solver.wishes_as_row_rules import RowRules

# Steps that the budget must have for each pair of a row, in force or to come, and an open node:
# with fewer the cluster is too large for a proof. A guess.
STEPS = 4
# Nodes of HiGHS's search tree for one proof. A guess.
CASES = 100
# How much wider the bands are: HiGHS forgives 1e-6, and the rest is for rounding. A guess.
FORGIVEN = 2e-6
# Half the distance of two prices, which are whole numbers: halfway it is clear which one is meant.
LESS_THAN_ONE = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class ProofVerdict:
    """`impossible`: no balanced partition makes do with so many moves. `rows` is one that does,
    where one was found.
    """

    impossible: bool
    rows: Ints | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Columns:
    """What may happen: row `row` of those in force (-1: none) becomes one of `site` on open node
    `node` (-1: none).
    """

    row: Ints
    site: Ints
    node: Ints

    @property
    def leaves(self) -> Ints:
        return np.flatnonzero(self.row >= 0)

    @property
    def comes(self) -> Ints:
        return np.flatnonzero(self.node >= 0)


def is_small(problem: Problem, steps: int) -> bool:
    """Where nothing is in force every partition has as many moves, and nobody need ask."""
    rows = len(problem.old) + int(np.count_nonzero(RowRules(problem).lacking > 0))
    return len(problem.old) > 0 and rows * int(problem.open.sum()) * STEPS <= steps


def judge_so_few_moves(
    problem: Problem,
    moves: int,
    seconds: float,
    cases: int = CASES,
    share: float = 1.0,
    unwanted: Event | None = None,
) -> ProofVerdict:
    """Where nothing asks for anything, or no row could be elsewhere, nothing is said; nor once it
    is `unwanted`.

    The larger a mean node's `share` is in the program, the less of it HiGHS forgives, and the
    longer it takes.
    """
    columns = _columns(problem)
    if not problem.load.any() or not len(columns.row):
        return ProofVerdict(impossible=False)
    point = highs_proof.any_point(
        _program(problem, columns, moves, share), seconds, cases, unwanted
    )
    if point.values is None:
        return ProofVerdict(point.impossible)
    rows = _rows(problem, columns, np.flatnonzero(point.values > LESS_THAN_ONE))
    keeps = not score.violations(problem, rows) and score.moves(problem, rows) <= moves
    return ProofVerdict(False, rows if keeps else None)


def _columns(problem: Problem) -> _Columns:
    """Rows that become others, rows that vanish, and rows that come from nowhere."""
    free = np.flatnonzero(may_leave(problem))
    lacking = RowRules(problem).lacking
    opened = np.flatnonzero(problem.open)
    place = np.arange(len(opened))
    row, node = (grid.ravel() for grid in np.meshgrid(free, place, indexing="ij"))
    new, there = (
        grid.ravel() for grid in np.meshgrid(np.flatnonzero(lacking > 0), place, indexing="ij")
    )
    gone = free[lacking[problem.old[free, 0]] < 0]
    site = np.concatenate([problem.old[row, 0], new, problem.old[gone, 0]])
    node = np.concatenate([node, there, np.full(len(gone), -1)])
    row = np.concatenate([row, np.full(len(new), -1), gone])
    able = (node < 0) | _may_come(problem, site, opened[node])
    return _Columns(row[able], site[able], node[able])


def _may_come(problem: Problem, site: Ints, node: Ints) -> Bools:
    """Where no row of the site is in force and none is forbidden."""
    rows = np.stack([site, node], axis=1)
    keys = rows[:, 0] * len(problem.nodes) + rows[:, 1]
    here = problem.old[:, 0] * len(problem.nodes) + problem.old[:, 1]
    able: Bools = ~np.isin(keys, here) & ~RowRules(problem).rows_among(rows, problem.barred)
    return able


def _program(problem: Problem, columns: _Columns, moves: int, share: float) -> Program:
    cluster = cluster_of(problem)
    sums = (
        *_once(problem, columns),
        _bands(problem, columns, cluster, share),
        *_floors(problem, columns, cluster),
        _crowds(problem, columns),
        _odd(problem, columns),
        _moves(problem, columns, moves),
    )
    count = len(columns.row)
    return program_with(
        cost=_prices(problem, columns),
        lower=np.zeros(count),
        upper=np.ones(count),
        whole=np.ones(count, dtype=np.bool_),
        sums=sums,
    )


def _once(problem: Problem, columns: _Columns) -> Iterator[Sums]:
    """A row is given up once, and a new one is there once."""
    pairs = columns.site * len(problem.nodes) + columns.node
    for column, key in ((columns.leaves, columns.row), (columns.comes, pairs)):
        keys, row = np.unique(key[column], return_inverse=True)
        yield Sums(np.zeros(len(keys)), np.ones(len(keys)), ((row, column, 1.0),))


def _bands(problem: Problem, columns: _Columns, cluster: ProblemArrays, share: float) -> Sums:
    leaves, comes, dimensions = columns.leaves, columns.comes, cluster.load.shape[1]
    source, asks = _sources(problem, columns), share * cluster.of_site[columns.site]
    terms = [
        term
        for d in range(dimensions)
        for term in (
            (source * dimensions + d, leaves, -asks[leaves, d]),
            (columns.node[comes] * dimensions + d, comes, asks[comes, d]),
        )
    ]
    low = share * (cluster.low - cluster.load) - FORGIVEN
    high = share * (cluster.high - cluster.load) + FORGIVEN
    return Sums(low.ravel(), high.ravel(), tuple(terms))


def _floors(problem: Problem, columns: _Columns, cluster: ProblemArrays) -> Iterator[Sums]:
    """What one_node.py counts: it follows from the bands, and spares HiGHS finding that out."""
    leave = (_sources(problem, columns), columns.leaves, 1.0)
    enter = (columns.node[columns.comes], columns.comes, 1.0)
    counts = one_node.counts(problem, cluster)
    for least, terms in (
        (counts.leave, (leave,)),
        (counts.enter, (enter,)),
        (counts.touch, (leave, enter)),
    ):
        yield Sums(least.astype(np.float64), np.full(len(least), np.inf), terms)


def _crowds(problem: Problem, columns: _Columns) -> Sums:
    """Where sites that are to be apart are on one node, all but one leave, and one more for each
    that comes.

    Where none of them meet now, nothing is asked: HiGHS is faster without, and what it finds is
    looked at.
    """
    opened, leaves, comes = np.flatnonzero(problem.open), columns.leaves, columns.comes
    staying = problem.old[RowRules(problem).may_stay]
    source, site = _sources(problem, columns), columns.site
    least, terms = list[float](), list[tuple[Ints, Ints, float]]()
    for group in problem.apart:
        members = sorted(group)
        here = np.bincount(
            np.searchsorted(opened, staying[np.isin(staying[:, 0], members), 1]),
            minlength=len(opened),
        )
        for node in np.flatnonzero(here > 1).tolist():
            gone = leaves[np.isin(site[leaves], members) & (source == node)]
            come = comes[np.isin(site[comes], members) & (columns.node[comes] == node)]
            row = len(least)
            terms += [(np.full(len(gone), row), gone, 1.0), (np.full(len(come), row), come, -1.0)]
            least.append(float(here[node] - 1))
    return Sums(np.array(least), np.full(len(least), np.inf), tuple(terms))


def _odd(problem: Problem, columns: _Columns) -> Sums:
    """Rows that come from nowhere or vanish, as many as the replicas of their sites want."""
    lacking = RowRules(problem).lacking
    sites = np.flatnonzero(lacking)
    odd = np.flatnonzero((columns.row < 0) | (columns.node < 0))
    wanted = np.abs(lacking[sites]).astype(np.float64)
    return Sums(wanted, wanted, ((np.searchsorted(sites, columns.site[odd]), odd, 1.0),))


def _moves(problem: Problem, columns: _Columns, moves: int) -> Sums:
    each = np.arange(len(columns.row))
    most = np.array([moves + LESS_THAN_ONE])
    return Sums(np.zeros(1), most, ((np.zeros_like(each), each, _prices(problem, columns)),))


def _prices(problem: Problem, columns: _Columns) -> Floats:
    prices: Floats = np.where(columns.node >= 0, RowRules(problem).prices[columns.site], 0).astype(
        np.float64
    )
    return prices


def _sources(problem: Problem, columns: _Columns) -> Ints:
    """The open node that each of the rows given up leaves."""
    left: Ints = problem.old[columns.row[columns.leaves], 1]
    return np.searchsorted(np.flatnonzero(problem.open), left)


def _rows(problem: Problem, columns: _Columns, chosen: Ints) -> Ints:
    """The partition that the chosen columns make of the one in force."""
    stays = RowRules(problem).may_stay.copy()
    left = columns.row[chosen]
    stays[left[left >= 0]] = False
    new = chosen[columns.node[chosen] >= 0]
    come = np.stack([columns.site[new], np.flatnonzero(problem.open)[columns.node[new]]], axis=1)
    return sort_by_site(np.concatenate([problem.old[stays], come]))
