"""A Problem as the bounds see it: loads, bands, and the rows that may leave, all as arrays.

Takes a Problem. Returns which rows may leave, and ProblemArrays, in which a mean node's share is 1.
Does not compute a bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flex.placing.problem import Bools, Floats, Ints, Problem
from flex.placing.score import ROUNDING
from flex_solver.wishes_as_row_rules import RowRules

# A mean node's share in a Problem, which counts in hundredths of it.
SHARE = 100.0


@dataclass(frozen=True, slots=True, eq=False)
class ProblemArrays:
    """The numbers that linear.py's docstring names: nodes are numbered among the open ones,
    resources among those that carry load.

    A site asks `of_site`. Row r stands on `node[r]`, asks `asks[r]` and costs `price[r]` moves;
    `giver[r]` is its place among the sites that have rows to spare, and the crowds of sites that
    are to be apart and share a node, each of which gives up `gives`, or -1. There are `replicas` in
    all. `lacking` of them are on no node yet; these ask `lacking_load` and cost `forced` moves.
    """

    of_site: Floats
    node: Ints
    asks: Floats
    price: Floats
    giver: Ints
    gives: Floats
    replicas: float
    lacking: float
    forced: float
    lacking_load: Floats
    load: Floats
    low: Floats
    high: Floats
    largest: Floats


def may_leave(problem: Problem) -> Bools:
    """Which rows in force are where their sites may be, and not pinned there."""
    rules = RowRules(problem)
    free: Bools = rules.may_stay & ~rules.rows_pinned
    return free


def cluster_of(problem: Problem) -> ProblemArrays:
    rows = np.flatnonzero(may_leave(problem))
    carries = np.flatnonzero(problem.load.sum(axis=0) > 0)
    of_site = problem.load[:, carries] / SHARE
    opened = np.flatnonzero(problem.open)
    load, low, high = _bands(problem, of_site, opened)
    rules = RowRules(problem)
    lacking, prices = rules.lacking, rules.prices.astype(np.float64)
    to_give = rules.rows_demanded - lacking
    giving = np.flatnonzero(to_give > 0)
    place = np.full(len(lacking), -1)
    place[giving] = np.arange(len(giving))
    site, node = problem.old[rows, 0], np.searchsorted(opened, problem.old[rows, 1])
    giver, gives = _add_crowds(problem, rows, place[site], to_give[giving].astype(np.float64))
    return ProblemArrays(
        of_site=of_site,
        node=node,
        asks=of_site[site],
        price=prices[site],
        giver=giver,
        gives=gives,
        replicas=float(problem.replicas.sum()),
        lacking=float(lacking.sum()),
        forced=float(lacking @ prices),
        lacking_load=lacking @ of_site,
        load=load,
        low=low,
        high=high,
        largest=of_site.max(axis=0),
    )


def _add_crowds(problem: Problem, rows: Ints, giver: Ints, gives: Floats) -> tuple[Ints, Floats]:
    """Where sites that are to be apart are on one node, all but one leave. A row counts in one
    crowd at most, and in none where it leaves for another reason: it may be the one to go then.
    """
    if not problem.apart:
        return giver, gives
    place = {row: r for r, row in enumerate(map(tuple, problem.old[rows].tolist()))}
    staying = problem.old[RowRules(problem).may_stay]
    giver, more = giver.copy(), list[float]()
    for crowd in _crowds(problem, staying):
        free = [place[row] for row in crowd if row in place]
        able = [row for row in free if giver[row] < 0]
        must = min(len(able), len(crowd) - 1 - (len(free) - len(able)))
        if must > 0:
            giver[able] = len(gives) + len(more)
            more.append(float(must))
    return giver, np.concatenate([gives, more])


def _crowds(problem: Problem, staying: Ints) -> list[list[tuple[int, int]]]:
    """The rows on one node of sites that are to be apart, the largest crowds first."""
    rivals = np.array(sorted(frozenset[int]().union(*problem.apart)), dtype=np.int64)
    nodes: dict[int, list[int]] = {}
    for site, node in staying[np.isin(staying[:, 0], rivals)].tolist():
        nodes.setdefault(site, []).append(node)
    crowds = list[list[tuple[int, int]]]()
    for group in problem.apart:
        of_node: dict[int, list[tuple[int, int]]] = {}
        for site in sorted(group):
            for node in nodes.get(site, ()):
                of_node.setdefault(node, []).append((site, node))
        crowds += [crowd for crowd in of_node.values() if len(crowd) > 1]
    return sorted(crowds, key=lambda crowd: (-len(crowd), crowd))


def _bands(problem: Problem, of_site: Floats, opened: Ints) -> tuple[Floats, Floats, Floats]:
    """The load in force of each open node and its band, wider by what the judge forgives."""
    held = problem.old[RowRules(problem).may_stay]
    at = np.searchsorted(opened, held[:, 1])
    load: Floats = np.stack(
        [np.bincount(at, demand[held[:, 0]], len(opened)) for demand in of_site.T], axis=1
    )
    count = np.bincount(at, minlength=len(opened)).tolist()
    forgiven = np.array(
        [slack(problem, node, rows) for node, rows in zip(opened, count, strict=True)]
    )[:, None]
    share = problem.share[opened, None]
    reach = share * problem.tolerance + forgiven
    low, high = (
        np.repeat(edge / SHARE, of_site.shape[1], axis=1) for edge in (share - reach, share + reach)
    )
    return load, low, high


def slack(problem: Problem, node: int, rows: int) -> float:
    """What the judge forgives, and what a sum of so many floats can be off by."""
    return float(problem.share[node] * ROUNDING * (2 + rows))
