"""Hill climbing in the manner of Kafka's Cruise Control.

Takes a Problem. Returns a partition. Does not count moves while searching: that is what it is
compared for. It goes through one dimension after the other, and one node after the other. A node
above its band sends its largest sites to the emptiest node that has room; where nothing fits, it
exchanges a site for a smaller one. A node below its band takes sites in from the fullest. A change
must not take out of the band what an earlier dimension has put into it.
"""

from __future__ import annotations

import numpy as np

from flex.placing.problem import Bools, Budget, Floats, Problem, Solution
from flex.placing.score import ROUNDING
from flex_solver.rows_to_solution import answer
from flex_solver.search.repair_wishes import repair_all
from flex_solver.search.site_ledger import Ledger

# How often all nodes are gone through. A guess.
PASSES = 3
# Other nodes that each node exchanges sites with in one pass. A guess.
PARTNERS = 5
# Sites that a node offers for exchange. A guess.
OFFERS = 200


def place(problem: Problem, budget: Budget) -> Solution:  # noqa: ARG001  # It stops by itself.
    ledger = Ledger(problem, repair_all(problem))
    climb = _Climb(problem, ledger)
    for _ in range(PASSES):
        before = ledger.full.copy()
        for goal in np.flatnonzero(problem.load.sum(axis=0) > 0).tolist():
            for node in np.flatnonzero(problem.open).tolist():
                climb.relieve(node, goal)
                climb.fill(node, goal)
        if (ledger.full == before).all():
            break
    return answer(problem, ledger.rows(), "hill")


class _Climb:
    def __init__(self, problem: Problem, ledger: Ledger) -> None:
        self._load = problem.load
        self._ledger = ledger
        self._low = 1 - problem.tolerance - ROUNDING
        self._high = 1 + problem.tolerance + ROUNDING
        self._nodes = np.flatnonzero(problem.open)

    def relieve(self, node: int, goal: int) -> None:
        """Bring the node down to its band, as far as that goes."""
        full = self._ledger.full
        for site in self._ledger.movable(node, self._load[:, goal]).tolist():
            if full[node, goal] <= self._high:
                return
            room = self._ledger.may_take(site) & (full[:, goal] <= self._high)
            room &= self._may_take(self._load[site], node, slice(None), goal)
            if room.any():
                self._ledger.move(site, node, int(np.where(room, full[:, goal], np.inf).argmin()))
        for site in self._ledger.movable(node, self._load[:, goal])[:OFFERS].tolist():
            if full[node, goal] <= self._high or not self._exchange(site, node, goal):
                return

    def fill(self, node: int, goal: int) -> None:
        """Bring the node up to its band, as far as that goes."""
        full = self._ledger.full
        while full[node, goal] < self._low and self._take_in(node, goal):
            pass

    def _take_in(self, node: int, goal: int) -> bool:
        full = self._ledger.full[:, goal]
        for source in self._nodes[np.argsort(-full[self._nodes], kind="stable")].tolist():
            if source == node or full[source] <= self._low:
                return False
            sites = self._ledger.movable(source, self._load[:, goal])
            fits = np.flatnonzero(self._may_take(self._load[sites], source, node, goal))
            for site in sites[fits].tolist():
                if self._ledger.may_take(site)[node]:
                    self._ledger.move(site, source, node)
                    return True
        return False

    def _exchange(self, site: int, node: int, goal: int) -> bool:
        """Swap the site for a smaller one of one of the emptiest nodes; whether one was found."""
        full = self._ledger.full[:, goal]
        for target in self._nodes[np.argsort(full[self._nodes], kind="stable")][:PARTNERS].tolist():
            if target == node or not self._ledger.may_take(site)[target]:
                continue
            others = self._ledger.movable(target, self._load[:, goal])
            smaller = others[self._load[others, goal] < self._load[site, goal]]
            fits = self._may_take(self._load[site] - self._load[smaller], node, target, goal)
            for other in smaller[np.flatnonzero(fits)].tolist():
                if self._swapped(site, node, other, target):
                    return True
        return False

    def _swapped(self, site: int, node: int, other: int, target: int) -> bool:
        """Whether the other site may come once the first has gone; where it may not, everything is
        as it was.
        """
        self._ledger.move(site, node, target)
        may_come = bool(self._ledger.may_take(other)[node])
        self._ledger.move(*((other, target, node) if may_come else (site, target, node)))
        return may_come

    def _may_take(self, given: Floats, source: int, target: int | slice, goal: int) -> Bools:
        """Whether so much load may go from one node to another, each of `given` or each of the
        targets.
        """
        full, scale = self._ledger.full, self._ledger.scale
        here, there = full[source], full[target]
        left, come = here - given / scale[source], there + given / scale[target]
        fits = (left[..., goal] >= self._low) & (come[..., goal] <= self._high)
        for earlier in range(goal):
            inside = (here[earlier] >= self._low) & (there[..., earlier] <= self._high)
            stays = (left[..., earlier] >= self._low) & (come[..., earlier] <= self._high)
            nearer = np.abs(left - come)[..., earlier] < np.abs(here - there)[..., earlier]
            fits &= np.where(inside, stays, nearer)
        accepted: Bools = np.asarray(fits)
        return accepted
