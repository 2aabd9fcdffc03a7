"""Whether the clock of a log is in another time zone: then its days are shifted by whole hours
against those of other logs.

Takes the answers by hour of one log, and of all others. Returns the shift that explains the
difference, or 0. Does not report a shift unless it explains nearly all of the difference, because
the days of sites differ.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

# Zones lie between twelve hours behind and fourteen before UTC.
FARTHEST = 14
# Answers an hour, in the mean, from which on a log's hours say something. A guess.
BUSY = 100
# Hours that must be counted: two days. A guess.
SHORTEST = 48
# How alike days must be when shifted (a correlation). A guess.
ALIKE = 0.8
# The correlation when shifted is larger than without a shift by at least this. A guess.
BETTER = 0.4


def hours_shifted(ours: Mapping[int, int], others: Mapping[int, int]) -> int:
    """By how many hours ours are later than the others; 0 where nothing says so."""
    if len(ours) < SHORTEST or sum(ours.values()) < BUSY * len(ours):
        return 0
    first, last = min(ours), max(ours)
    if last - first > 100 * 24:
        return 0
    mine = np.array([ours.get(hour, 0) for hour in range(first, last + 1)], dtype=float)
    alike = {shift: _alike(mine, others, first - shift) for shift in range(-FARTHEST, FARTHEST + 1)}
    best = max(alike, key=lambda shift: (alike[shift], -abs(shift)))
    return best if alike[best] >= ALIKE and alike[best] - alike[0] >= BETTER else 0


def _alike(mine: np.ndarray, others: Mapping[int, int], first: int) -> float:
    """The correlation with the others' hours from `first` on."""
    theirs = np.array(
        [others.get(hour, 0) for hour in range(first, first + len(mine))], dtype=float
    )
    if np.count_nonzero(theirs) < SHORTEST or theirs.std() == 0 or mine.std() == 0:
        return 0.0
    return float(np.corrcoef(mine, theirs)[0, 1])
