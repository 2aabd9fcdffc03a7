"""What else could have been done with a site, in numbers: left where it was, or put on another node.

In go a Problem and the rows that were chosen; out come, for one site, the other places a row of it could have, from
the best one on, with what each would make of the two nodes it touches, everything else being as it was chosen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flex import score
from flex.problem import Floats, Ints, Problem


@dataclass(frozen=True, slots=True)
class Other:
    """The row on `source` would be on `target`, and then `node` be `off` its share of a dimension, as a ratio of it.

    `outside` says whether that is outside the band; `cold_bytes` would have to be read.
    """

    source: str
    target: str
    node: str
    dimension: str
    off: float
    outside: bool
    cold_bytes: int

    def __str__(self) -> str:
        side = "over" if self.off > 0 else "under"
        return (
            f"{self.node} {'outside the band, ' * self.outside}{100 * abs(self.off):.1f} % {side} its {self.dimension}"
        )


class Chosen:
    """Rows that were chosen, and how full they make each node."""

    def __init__(self, problem: Problem, rows: Ints) -> None:
        self._problem = problem
        self._total: Floats = score.loads(problem, rows)
        self._carries = problem.load.sum(axis=0) > 0
        self._rivals = problem.rivals
        self._rows = rows

    def with_row(self, site: int, source: int, target: int) -> Other:
        """What the site's row on `source` would do on `target`."""
        problem = self._problem
        both = [source, target]
        total = self._total[both] + np.stack([-problem.load[site], problem.load[site]])
        share = np.where(problem.open[both], problem.share[both], 100.0)[:, None]
        fair = np.where(problem.open[both], 1.0, 0.0)[:, None]
        away = np.where(self._carries, total / share - fair, 0.0)
        # Of a pair as far off, one over and one under, it is the one over that is named.
        farthest = np.round(np.abs(away), 9) + (away > 0) * score.ROUNDING / 10
        at, dimension = divmod(int(farthest.argmax()), away.shape[1])
        off = float(away[at, dimension])
        return Other(
            source=problem.nodes[source],
            target=problem.nodes[target],
            node=problem.nodes[both[at]],
            dimension=problem.dimensions[dimension],
            off=off,
            outside=abs(off) > problem.tolerance + score.ROUNDING,
            cold_bytes=score.cold_bytes(problem, np.array([[site, target]], dtype=np.int64)),
        )

    def others(self, site: int) -> list[Other]:
        """Each row of the site on each other node that the wishes let it have; the nearest to balance first."""
        free = self._free(site)
        found = [
            self.with_row(site, source, target)
            for source in self._nodes_of(site)
            if source not in self._problem.pinned.get(site, ())
            for target in free
        ]
        return sorted(found, key=lambda other: (other.outside, abs(other.off), other.cold_bytes, other.target))

    def _free(self, site: int) -> list[int]:
        taken = set(self._nodes_of(site)) | self._problem.barred.get(site, frozenset())
        for rival in self._rivals.get(site, ()):
            taken |= set(self._nodes_of(rival))
        return [node for node in np.flatnonzero(self._problem.open).tolist() if node not in taken]

    def _nodes_of(self, site: int) -> list[int]:
        nodes: list[int] = self._rows[self._rows[:, 0] == site, 1].tolist()
        return nodes
