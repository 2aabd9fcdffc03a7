"""The partition as a picture: of which sites, nodes and moves it is, and what stands beside it.

Takes what is known of a plan: what each site asks for on each of its nodes, the plan's moves and
predictions, and the hours that the nodes' logs have. Returns the pictures of both resources and
what stands beside them. Does not decide what moves, and draws nothing where there is no site.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from flex_api.facts.site_table import Catalogue
from flex_api.pictures import beside_partition, partition_geometry
from flex_api.pictures.beside_partition import Days, MissPairs
from flex_api.pictures.partition_geometry import Move, Partition, Placed
from flex_api.schemas.plan_parts import ForecastRow
from flex_api.schemas.sites_and_wishes import SiteRow
from flex_api.schemas.verbs_output import PlanOutput

BY_ACCESS = "Sites by node, each as long as the bytes that it sends"
BY_WORKING_SET = "Sites by node, each as long as its working set"
# The words of the two partitions whose misses stand beside each other.
MISSES = ("every node in turn", "with this plan")


@dataclass(frozen=True, slots=True)
class PartitionPart:
    """`pictures` are by working set and by access rate; the others stand beside the first."""

    pictures: tuple[Partition, ...]
    days: Days | None
    misses: MissPairs | None


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """What sites ask for: each as a whole. `spread` is the working set of a site on each of its
    several nodes, where that is less than all of it.
    """

    sites: np.ndarray
    access: np.ndarray
    working_set: np.ndarray
    spread: Mapping[str, int]


def asked_by_columns(catalogue: Catalogue, spread: Mapping[str, int]) -> Asked:
    return Asked(
        catalogue.sites,
        catalogue.columns["access_bytes"].astype(np.float64),
        catalogue.columns["working_set"].astype(np.float64),
        spread,
    )


def asked_by_rows(rows: Sequence[SiteRow], spread: Mapping[str, int]) -> Asked:
    """In order of site, as the picture wants them."""
    ordered = sorted(rows, key=lambda row: row.site)
    return Asked(
        np.array([row.site for row in ordered], dtype=object),
        np.array([row.access_bytes for row in ordered], dtype=np.float64),
        np.array([row.working_set_bytes for row in ordered], dtype=np.float64),
        spread,
    )


def partition_of_rows(rows: Sequence[SiteRow]) -> tuple[np.ndarray, np.ndarray]:
    """Columns of sites and nodes, a row for each node of each site."""
    sites = [row.site for row in rows for _ in row.nodes]
    nodes = [node for row in rows for node in row.nodes]
    return np.array(sites, dtype=object), np.array(nodes, dtype=object)


def spread_of(spreads: pd.DataFrame, partition: pd.DataFrame) -> dict[str, int]:
    """The working set on each of its nodes of every site that is on several."""
    copies = partition.groupby("site", observed=True).size()
    several = copies[copies > 1]
    wanted = pd.DataFrame({"site": several.index.astype(str), "replicas": several.to_numpy()})
    merged = wanted.merge(spreads, on=["site", "replicas"])
    return dict(zip(merged["site"].tolist(), merged["working_set"].tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class OfPlan:
    """What a plan says of its partition: its nodes with their fair shares, its moves, what it
    predicts; and the memory of its nodes, as far as it is known.
    """

    nodes: tuple[tuple[str, float], ...]
    moves: tuple[Move, ...]
    forecasts: tuple[ForecastRow, ...]
    memory: Mapping[str, int]

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.nodes]


def plan_to_draw(plan: PlanOutput, memory: Mapping[str, int]) -> OfPlan:
    return OfPlan(
        tuple((row.node, row.fair_units) for row in plan.after.nodes),
        _moves(plan),
        tuple(plan.forecasts),
        memory,
    )


def part(
    plan: OfPlan,
    demand: Asked,
    columns: tuple[np.ndarray, np.ndarray],
    pinned: Collection[str],
    hours: Mapping[str, Sequence[float]],
) -> PartitionPart | None:
    """None where no site is on any node of the plan."""
    placed = pd.Index(columns[1], dtype=object).isin(plan.names)
    if not placed.any():
        return None
    there = columns[0][placed], columns[1][placed]
    pictures = tuple(
        partition_geometry.partition(
            title, _what_is_drawn(plan, demand, values, there, pinned), prefix=prefix
        )
        for title, prefix, values in (
            (BY_WORKING_SET, "held", demand.working_set),
            (BY_ACCESS, "access", demand.access),
        )
    )
    drawn = [row.node for row in pictures[0].rows]
    return PartitionPart(pictures, day_of(drawn, hours), misses_of(drawn, plan.forecasts))


def day_of(nodes: Sequence[str], hours: Mapping[str, Sequence[float]]) -> Days | None:
    title = "Answers by hour, UTC"
    return beside_partition.days(title, nodes, hours, "answers")


def misses_of(nodes: Sequence[str], forecasts: Sequence[ForecastRow]) -> MissPairs | None:
    by_policy = {
        row.policy: {node.node: node.miss_ratio for node in row.nodes} for row in forecasts
    }
    title = "From disk, predicted"
    return beside_partition.misses(
        title, nodes, by_policy.get("round robin", {}), by_policy.get("after", {}), MISSES
    )


def _what_is_drawn(
    plan: OfPlan,
    demand: Asked,
    values: np.ndarray,
    columns: tuple[np.ndarray, np.ndarray],
    pinned: Collection[str],
) -> Placed:
    sites = pd.Index(demand.sites, dtype=object)
    row_site = sites.get_indexer(pd.Index(columns[0], dtype=object))
    known = row_site >= 0
    row_site = row_site[known]
    row_node = pd.Index(plan.names, dtype=object).get_indexer(
        pd.Index(columns[1][known], dtype=object)
    )
    copies = np.bincount(row_site, minlength=len(sites))
    on_each = values.copy() if values is demand.working_set else values / np.maximum(copies, 1)
    if values is demand.working_set and demand.spread:
        at = sites.get_indexer(pd.Index(list(demand.spread), dtype=object))
        on_each[at[at >= 0]] = np.fromiter(demand.spread.values(), float)[at >= 0]
    per_row = on_each[row_site]
    fair = np.array([units for _, units in plan.nodes], dtype=float)
    shares = per_row.sum() * fair / fair.sum() if fair.sum() else fair
    memory = [float(plan.memory.get(name, 0)) for name in plan.names]
    return Placed(
        demand.sites,
        plan.names,
        shares.tolist(),
        row_site,
        row_node,
        per_row,
        plan.moves,
        pinned,
        memory if values is demand.working_set else (),
    )


def _moves(plan: PlanOutput) -> tuple[Move, ...]:
    """None where every site is placed for the first time: all of the picture would be new."""
    if plan.before is None:
        return ()
    return tuple(
        Move(site, source, target)
        for site, source, target in dict.fromkeys(
            (move.site, move.source, move.target) for move in plan.moves
        )
    )
