"""For how long the cluster is large enough: days until its busiest node is busy all the time, if
traffic keeps growing.

Takes what all sites sent in consecutive periods, and how busy the busiest node is. Returns days.
Does not predict beyond a straight line: it says when to look, not what will be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# Periods that a straight line needs: with fewer than a week it says nothing. A guess.
LEAST_PERIODS = 7
# Growth in a period, as a part of the last one. Less than this looks like none. A guess.
NO_GROWTH = 0.0005
# Days. Nobody plans beyond this. A guess.
FAR = 1000


@dataclass(frozen=True, slots=True)
class Room:
    """`growth` is a period's, as a part of the last one; `days` is None where nothing grows, or
    nothing ends soon.
    """

    busy: float
    growth: float
    days: int | None


def room(sent: Sequence[float], busy: float) -> Room | None:
    """None where too little is known."""
    if len(sent) < LEAST_PERIODS or not busy > 0 or not sent[-1] > 0:
        return None
    slope = float(np.polyfit(np.arange(len(sent)), np.asarray(sent, dtype=np.float64), 1)[0])
    growth = slope / sent[-1]
    left = (1 / busy - 1) / growth if growth > NO_GROWTH else FAR
    return Room(busy, growth, max(round(left), 0) if left < FAR else None)
