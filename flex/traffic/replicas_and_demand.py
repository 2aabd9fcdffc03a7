"""On how many nodes a site goes, and what each of its replicas asks of a node there.

Takes profiles, spreads, and what people want of the number of replicas. Returns the number of
replicas of each site, and what one of them asks in each dimension, in bytes, requests or
microseconds. Does not choose the nodes or the dimensions.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    import numpy.typing as npt

Floats: TypeAlias = "npt.NDArray[np.float64]"
Ints: TypeAlias = "npt.NDArray[np.int64]"
Bools: TypeAlias = "npt.NDArray[np.bool_]"

# What can be balanced, and the column of PROFILES that says it. The first two always are.
RESOURCES = {
    "access rate": "access_bytes",
    "working set": "working_set",
    "busy hour": "busy_hour_bytes",
    "requests": "requests",
    "service time": "service_us",
    "cpu": "cpu_us",
}
WORKING_SET = list(RESOURCES).index("working set")


@dataclass(frozen=True, slots=True)
class Marks:
    """Shares of a node: a site is split when it is larger than `above`, joined again when it is
    smaller than `below`. One that rests is split when it is larger than `alone`: no partition is
    balanced with it then.
    """

    above: float
    below: float
    alone: float


@dataclass(frozen=True, slots=True, eq=False)
class ReplicaCounts:
    """What is known and wished of each site's number of replicas: at least, at most, in force (0:
    none), and needed by a night of late (0: not known of any). A site that is `resting` is split by
    a mark of its own.

    A site of `stays` has just as many as it says. Those of a group of `together` have equally many,
    and those of a group of `apart` no more than there are nodes for all of them, as far as the
    least of each allows.
    """

    least: Ints
    most: Ints
    in_force: Ints
    needed: Ints
    resting: Bools
    stays: Mapping[int, int]
    together: Sequence[Set[int]]
    apart: Sequence[Set[int]]


class Demand:
    """What the sites ask, on however many nodes they are."""

    def __init__(
        self,
        profiles: pd.DataFrame,
        spreads: pd.DataFrame,
        sites: Sequence[str],
        dimensions: Sequence[str],
        headroom: Mapping[str, float],
        routed: Container[str] | None,
    ) -> None:
        """Sites count as `headroom` larger than they are. The requests of `routed` ones are split
        by content, so that their working sets are split too; those of others go to any replica, and
        spreads say what that makes of it.
        """
        columns = [RESOURCES[name] for name in dimensions]
        whole = profiles.set_index("site")[columns].reindex(list(sites), fill_value=0)
        self.extra: Floats = np.array([1 + headroom.get(site, 0.0) for site in sites])
        self.whole: Floats = whole.to_numpy(dtype=np.float64) * self.extra[:, None]
        self._sites = sites
        self._by_chance: Bools = np.array(
            [routed is not None and site not in routed for site in sites], dtype=np.bool_
        )
        keys = zip(spreads["site"].tolist(), spreads["replicas"].tolist(), strict=True)
        self._measured = dict(zip(keys, spreads["working_set"].tolist(), strict=True))
        known = {site for site, _ in self._measured}
        self._is_measured: Bools = np.array([site in known for site in sites], dtype=np.bool_)

    def each(self, site: int, replicas: int) -> Floats:
        """What one of so many replicas asks; its working set is the whole one where no spread was
        measured.
        """
        demand: Floats = self.whole[site] / replicas
        if self._by_chance[site]:
            measured = self._measured.get((self._sites[site], replicas))
            whole = float(self.whole[site, WORKING_SET])
            demand[WORKING_SET] = whole if measured is None else measured * self.extra[site]
        return demand

    def replicas_needed(self, nodes: int, share: float) -> dict[int, int]:
        """On how many nodes each site stays under the share of a mean one, where one node is not
        enough.
        """
        mean = self._mean(nodes)
        large = np.flatnonzero((self.whole > share * mean).any(axis=1)).tolist()
        counts = {site: self._fewest(site, mean * share, 1, nodes) for site in large}
        return {site: count for site, count in counts.items() if count > 1}

    def replicas(self, counts: ReplicaCounts, nodes: int, marks: Marks) -> Ints:
        """The number is the smallest with which a site stays under `marks.above` of a mean node in
        every dimension.

        A site that has more keeps them while fewer would not stay under `marks.below`, or a night
        of late needed them. A working set that stays too large on any number of nodes does not add
        replicas beyond what everything else needs.
        """
        replica_counts, mean = counts.least.copy(), self._mean(nodes)
        # One node is enough for all others.
        many = (
            (self.whole > marks.below * mean).any(axis=1) | (counts.least > 1) | (counts.needed > 1)
        )
        for site in np.flatnonzero(many).tolist():
            least, most = int(counts.least[site]), int(counts.most[site])
            split = marks.alone if counts.resting[site] else marks.above
            high, low = (
                self._fewest(site, mean * mark, least, most) for mark in (split, marks.below)
            )
            replica_counts[site] = max(
                high, min(int(counts.in_force[site]), max(low, int(counts.needed[site])))
            )
        for site, count in counts.stays.items():
            replica_counts[site] = count or max(1, int(replica_counts[site]))
        for group in counts.together:
            replica_counts[list(group)] = replica_counts[list(group)].max()
        for group in counts.apart:
            _fit(replica_counts, counts.least, sorted(group), nodes)
        for group in counts.together:
            replica_counts[list(group)] = max(
                replica_counts[list(group)].min(), counts.least[list(group)].max()
            )
        return replica_counts

    def _mean(self, nodes: int) -> Floats:
        mean: Floats = self.whole.sum(axis=0) / nodes
        return mean

    def demand_per_replica(self, replicas: Ints) -> Floats:
        """What one replica of each site asks, where it has any."""
        demand: Floats = self.whole / np.maximum(replicas, 1)[:, None]
        whole = self._by_chance & (replicas > 1)
        demand[whole, WORKING_SET] = self.whole[whole, WORKING_SET]
        for site in np.flatnonzero(whole & self._is_measured).tolist():
            demand[site] = self.each(site, int(replicas[site]))
        return demand

    def _fewest(self, site: int, ceiling: Floats, least: int, most: int) -> int:
        by_all_else = None
        others = np.arange(len(ceiling)) != WORKING_SET
        for count in range(least, most + 1):
            fits = self.each(site, count) <= ceiling
            if fits.all():
                return count
            if by_all_else is None and fits[others].all():
                by_all_else = count
        return most if by_all_else is None else by_all_else


def _fit(replicas: Ints, least: Ints, group: list[int], nodes: int) -> None:
    """Take replicas from those that have most of them until all of the group have nodes of their
    own.
    """
    while replicas[group].sum() > nodes:
        spare = [site for site in group if replicas[site] > least[site]]
        if not spare:
            return
        replicas[max(spare, key=lambda site: (replicas[site], -site))] -= 1
