"""What else could have been done with a site, in numbers: left where it was, or put on another
node.

Takes a Problem and the rows that were chosen. Returns, for one site, the other nodes that each of
its rows could be on, the best first. Each says how full the two nodes would be that it touches, if
everything else stays as it was chosen. Sites that must be together with the site go where it goes.
Does not change the choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flex.placing import bundles, score
from flex.placing.problem import Floats, Ints, Problem


@dataclass(frozen=True, slots=True)
class Other:
    """The row on `source` would be on `target`, and then `node` be `off` its share of a dimension,
    as a ratio of it.

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
            f"{self.node} "
            f"{'outside the band, ' * self.outside}{100 * abs(self.off):.1f} % "
            f"{side} its {self.dimension}"
        )


class Chosen:
    """Rows that were chosen, and how full they make each node."""

    def __init__(self, problem: Problem, rows: Ints) -> None:
        self._problem = problem
        self._total: Floats = score.loads(problem, rows)
        self._carries = problem.load.sum(axis=0) > 0
        self._rivals, self._ties = problem.rivals, bundles.ties(problem)
        self._rows = rows

    def outcome_of_move(self, site: int, source: int, target: int) -> Other:
        """What the site's row on `source` would do on `target`, with those of all that are tied to
        the site.
        """
        away = self._away_with(self._companions(site), source, target)
        return self._farthest(site, source, target, away, np.abs(away))

    def fits_alone(self, site: int, source: int, target: int) -> bool:
        """Whether both nodes would be in balance if the site's row went there without those of any
        that are tied to it.
        """
        away = np.abs(self._away_with([site], source, target))
        return bool((away <= self._problem.tolerance + score.ROUNDING).all())

    def left_there(self, site: int, source: int, target: int) -> Other | None:
        """What a row that is on `target` would do on `source`, of what is farther off then than as
        it was chosen; None where nothing is.
        """
        away = self._away_with(self._companions(site), target, source)
        chosen = self._away([target, source], self._total[[target, source]])
        worse = np.abs(away) > np.abs(chosen) + score.ROUNDING
        if not worse.any():
            return None
        return self._farthest(site, target, source, away, np.where(worse, np.abs(away), 0.0))

    def _away_with(self, sites: Sequence[int], source: int, target: int) -> Floats:
        load = self._problem.load[list(sites)].sum(axis=0)
        both = [source, target]
        return self._away(both, self._total[both] + np.stack([-load, load]))

    def _away(self, nodes: list[int], total: Floats) -> Floats:
        """A node that takes no sites has no share that anything could be over or under."""
        is_open = self._problem.open[nodes][:, None]
        share = np.where(is_open, self._problem.share[nodes][:, None], 100.0)
        away: Floats = np.where(is_open & self._carries, total / share - 1.0, 0.0)
        return away

    def _farthest(self, site: int, source: int, target: int, away: Floats, far: Floats) -> Other:
        problem, both = self._problem, [source, target]
        # Where one node is over and one under by as much, the one over is named.
        order = np.round(far, 9) + (away > 0) * score.ROUNDING / 10
        at, dimension = divmod(int(order.argmax()), away.shape[1])
        off = float(away[at, dimension])
        tied = self._companions(site)
        return Other(
            source=problem.nodes[source],
            target=problem.nodes[target],
            node=problem.nodes[both[at]],
            dimension=problem.dimensions[dimension],
            off=off,
            outside=abs(off) > problem.tolerance + score.ROUNDING,
            cold_bytes=score.cold_bytes(
                problem, np.array([[companion, target] for companion in tied], dtype=np.int64)
            ),
        )

    def others(self, site: int) -> list[Other]:
        """Each row of the site on each other node that the wishes let it have; the nearest to
        balance first.
        """
        tied, pinned = self._companions(site), self._problem.pinned
        candidates = [
            self.outcome_of_move(site, source, target)
            for source in self._nodes_of(site)
            if not any(source in pinned.get(companion, ()) for companion in tied)
            for target in self.free(site)
        ]
        return sorted(
            candidates,
            key=lambda other: (other.outside, abs(other.off), other.cold_bytes, other.target),
        )

    def free(self, site: int) -> list[int]:
        """The nodes that the site may come to, where no row of it is."""
        here = self._nodes_of(site)
        return [
            node
            for node in np.flatnonzero(self._problem.open).tolist()
            if node not in here and not self.bars(site, node) and not self.rivals(site, node)
        ]

    def bars(self, site: int, node: int) -> bool:
        """Whether the site, or one that is tied to it, is not to be on the node."""
        return any(
            node in self._problem.barred.get(companion, ()) for companion in self._companions(site)
        )

    def rivals(self, site: int, node: int) -> list[int]:
        """The sites on the node that are kept apart from it, or from one that is tied to it."""
        apart = frozenset[int]().union(
            *(self._rivals.get(companion, frozenset()) for companion in self._companions(site))
        )
        return [rival for rival in sorted(apart) if node in self._nodes_of(rival)]

    def _companions(self, site: int) -> list[int]:
        return self._ties.get(site, [site])

    def _nodes_of(self, site: int) -> list[int]:
        nodes: list[int] = self._rows[self._rows[:, 0] == site, 1].tolist()
        return nodes
