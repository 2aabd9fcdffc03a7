"""What more moves would buy: the least imbalance for each number of moves, from none to a new
partition.

Takes a Problem, the rows to begin with, and partitions that solvers found. Returns points, each
with more moves and less imbalance than the one before. A partition is reached site by site: the
sites come first that bring most back towards the fair share. Each step on the way is a partition,
too, and may be a point. A partition that breaks a wish is not a point. Does not search for
partitions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from flex.placing import score
from flex.placing.problem import Floats, Ints, Problem

# Steps of the longest way that is put in order one step at a time; longer ones are ordered by size.
# A guess.
SHORT = 500
# Stops of a longer way that are looked at. A guess.
STOPS = 64


@dataclass(frozen=True, slots=True)
class Point:
    """`worst` is the largest distance of a node from its fair share, as a ratio, after so many
    moves.
    """

    moves: int
    worst: float


def frontier(problem: Problem, start: Ints, partitions: Iterable[Ints]) -> tuple[Point, ...]:
    """Limits of moves are not looked at: what is beyond them is what more moves would buy."""
    return least(point for rows in (start, *partitions) for point in _way(problem, start, rows))


def least(points: Iterable[Point]) -> tuple[Point, ...]:
    """Those points that no other one with as few moves betters."""
    best: list[Point] = []
    for point in sorted(points, key=lambda point: (point.moves, point.worst)):
        if not best or point.worst < best[-1].worst:
            best.append(point)
    return tuple(best)


def point_of(problem: Problem, rows: Ints) -> Point:
    return Point(score.moves(problem, rows), _worst(score.deviation(problem, rows)))


def keeps_wishes(problem: Problem, rows: Ints) -> bool:
    return not any(violation.is_wish for violation in score.violations(problem, rows))


def _way(problem: Problem, start: Ints, rows: Ints) -> list[Point]:
    """The first partition, the stops between the two, and the second, as far as they keep every
    wish.
    """
    if not (keeps_wishes(problem, start) and keeps_wishes(problem, rows)):
        return [point_of(problem, each) for each in (start, rows) if keeps_wishes(problem, each)]
    out, into = _subtract_rows(problem, start, rows), _subtract_rows(problem, rows, start)
    sites = np.union1d(out[:, 0], into[:, 0])
    changed = np.concatenate([out, into])
    sign = np.repeat([-1.0, 1.0], [len(out), len(into)])
    away, moves = score.deviation(problem, start), score.moves(problem, start)
    asks = sign[:, None] * _asks(problem, changed)
    place = np.searchsorted(sites, changed[:, 0])
    nth = np.empty(len(sites), dtype=np.int64)
    nth[_order(problem, away, (place, changed[:, 1], asks), sites)] = np.arange(len(sites))
    costs = sign * score.costs(problem, changed)[:, 0]
    points = [Point(moves, _worst(away))]
    # Each site's own wishes hold at both ends, so at each stop: only those for company are looked
    # at.
    in_company = bool(problem.apart or problem.together)
    turn = np.full(len(problem.sites), len(sites))
    turn[sites] = nth
    for first, last in _stretches(len(sites)):
        now = np.flatnonzero((nth[place] >= first) & (nth[place] < last))
        np.add.at(away, changed[now, 1], asks[now])
        moves += round(float(costs[now].sum()))
        if not in_company or keeps_wishes(problem, _stop(start, rows, turn, last)):
            points.append(Point(moves, _worst(away)))
    return points


def _stop(start: Ints, rows: Ints, turn: Ints, last: int) -> Ints:
    """The partition in which the sites whose turn it was have switched."""
    return np.concatenate([start[turn[start[:, 0]] >= last], rows[turn[rows[:, 0]] < last]])


def _worst(away: Floats) -> float:
    return float(np.abs(away).max(initial=0.0))


def _stretches(steps: int) -> list[tuple[int, int]]:
    stops = np.unique(
        np.linspace(0, steps, (steps if steps <= SHORT else STOPS) + 1).astype(int)
    ).tolist()
    return list(pairwise(stops))


def _subtract_rows(problem: Problem, rows: Ints, others: Ints) -> Ints:
    keys, known = (r[:, 0] * len(problem.nodes) + r[:, 1] for r in (rows, others))
    left: Ints = rows[~np.isin(keys, known)]
    return left


def _order(problem: Problem, away: Floats, changes: tuple[Ints, Ints, Floats], sites: Ints) -> Ints:
    """Sites by what they bring back: at each step the one whose switch lowers the squares of all
    distances the most.
    """
    if len(sites) > SHORT:
        return np.lexsort((sites, -problem.load[sites].max(axis=1)))
    place, node, asks = changes
    change = np.zeros((len(sites), *away.shape))
    np.add.at(change, (place, node), asks)
    left, order, now = list(range(len(sites))), list[int](), away
    while left:
        squares = ((now + change[left]) ** 2).sum(axis=(1, 2))
        order.append(left.pop(int(squares.argmin())))
        now = now + change[order[-1]]
    return np.array(order, dtype=np.int64)


def _asks(problem: Problem, rows: Ints) -> Floats:
    """What the rows ask, as a ratio of the fair share of where they are."""
    scale = np.where(problem.open, problem.share, 100.0)
    ratios: Floats = problem.load[rows[:, 0]] / scale[rows[:, 1], None]
    return ratios
