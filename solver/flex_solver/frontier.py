"""The frontier of a cluster: placements by the local search at several tolerances, and one from scratch.

In go a Problem and a Budget, which all of the searches share; out come the points of flex.frontier.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flex.bundles import bundled
from flex.frontier import Point, frontier
from flex.problem import Budget, Problem, in_order
from flex_solver import local, scratch
from flex_solver.start import repair

# Parts of the tolerance that placements are searched for: a wider band takes fewer moves, a narrower one more.
WIDTHS = (2.0, 1.0, 0.5, 0.25)


def points(problem: Problem, budget: Budget) -> tuple[Point, ...]:
    """From what the wishes alone demand to a new partition: each more moves, and less imbalance."""
    asked = bundled(problem).problem
    start = in_order(repair(asked, np.arange(len(asked.sites)), asked.old[:0]))
    share = Budget(budget.steps // len(WIDTHS), budget.seconds / len(WIDTHS))
    bands = [replace(asked, tolerance=min(0.99, asked.tolerance * width)) for width in WIDTHS]
    searched = [local.place(band, share).rows for band in bands]
    return frontier(asked, start, [*searched, scratch.place(asked, share).rows])
