"""The frontier of a cluster: how much balance each number of moves buys.

Takes a Problem, a Budget that all searches share, and partitions that are known. Returns points of
flex.placing.frontier, from searches at several tolerances, from a partition from scratch, and from
the known partitions. For a small cluster HiGHS settles the least imbalance for each number of
moves. Does not choose a point.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from flex.placing.bundles import bundle_groups
from flex.placing.frontier import Point, frontier, keeps_wishes, least, point_of
from flex.placing.problem import Budget, Ints, MoveLimits, Problem, sort_by_site
from flex_solver import auto, from_scratch
from flex_solver.exact import run_pulp_with_highs
from flex_solver.exact.integer_program import SHARE, Give, PartitionProgram
from flex_solver.search import local_solver
from flex_solver.search.repair_wishes import repair
from flex_solver.symmetry.site_kinds import kinds

# Parts of the tolerance that partitions are searched for: a wider band takes fewer moves, a
# narrower one more.
WIDTHS = (2.0, 1.0, 0.5, 0.25)
# Sites times open nodes, at most, where HiGHS settles one number of moves at once. A guess.
SETTLED = 100
# How many numbers of moves are settled, at most. A guess.
NUMBERS = 40
# Nodes of HiGHS's search tree for each number of moves. A guess.
CASES = 300
# The imbalance is settled to so much of a share. A guess.
NEAR = 1e-4


def points(problem: Problem, budget: Budget, known: Sequence[Ints] = ()) -> tuple[Point, ...]:
    """From what the wishes alone demand to a new partition: each more moves, and less imbalance."""
    bundles = bundle_groups(problem)
    unlimited = replace(bundles.problem, limits=MoveLimits())
    start = sort_by_site(repair(unlimited, np.arange(len(unlimited.sites)), unlimited.old[:0]))
    share = Budget(budget.steps // len(WIDTHS), budget.seconds / len(WIDTHS))
    partitions = [
        *(_search(unlimited, width, share) for width in WIDTHS),
        from_scratch.place(unlimited, share).rows,
    ]
    of_known = [bundles.bundle_rows(rows) for rows in known if keeps_wishes(problem, rows)]
    on_the_way = frontier(unlimited, start, [*partitions, *of_known])
    return least([*on_the_way, *_settle(unlimited, on_the_way, share.seconds)])


def _search(problem: Problem, width: float, share: Budget) -> Ints:
    """At the aim as at night, where that takes no longer."""
    band = replace(problem, tolerance=min(0.99, problem.tolerance * width))
    small = len(problem.sites) * np.count_nonzero(problem.open) <= auto.SMALL
    return (auto.place if small and width == 1 else local_solver.place)(band, share).rows


def _settle(problem: Problem, known_points: Sequence[Point], seconds: float) -> Iterator[Point]:
    """The least imbalance for each number of moves, up to that with the least of all."""
    if not known_points or len(problem.sites) * np.count_nonzero(problem.open) > SETTLED:
        return
    until = time.monotonic() + seconds
    lowest = _nearest(problem, None, seconds)
    first, last = known_points[0].moves, lowest.moves if lowest else known_points[-1].moves
    for moves in np.unique(
        np.linspace(first, last, min(NUMBERS, last - first + 1)).astype(int)
    ).tolist():
        point = _nearest(problem, moves, until - time.monotonic())
        if point is not None:
            yield point
        if point is not None and lowest is not None and point.worst <= lowest.worst + NEAR:
            return
    yield from [lowest] if lowest else []


def _nearest(problem: Problem, moves: int | None, seconds: float) -> Point | None:
    """The least imbalance with so many moves at most; None where that was not found in so many
    cases.
    """
    limited = replace(problem, tolerance=0.0, limits=MoveLimits(moves=moves))
    program = PartitionProgram(
        limited, kinds(problem, range(len(problem.sites))), give=Give(band=True)
    )
    try:
        best = program.minimise(program.worst(), seconds, within=NEAR * SHARE, nodes=CASES)
    except (run_pulp_with_highs.NoAnswer, run_pulp_with_highs.Impossible):
        return None
    rows = sort_by_site(program.rows(best))
    return point_of(problem, rows) if keeps_wishes(problem, rows) else None
