"""From which node to which each site goes by a plan.

Takes the moves of a plan, and the partition in force. Returns routes. Sites that are new come from
nowhere, and are not among them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import pandas as pd

from flex.model.plan import Move
from flex.partition import nodes_by_site, rows_of_sites, rows_on_nodes


@dataclass(frozen=True, slots=True)
class Route:
    """`site` gets the node `target`, with what it needs from the node `source`, which has it."""

    site: str
    source: str
    target: str


def routes(moves: Sequence[Move], before: pd.DataFrame, serving: Collection[str]) -> list[Route]:
    """In order of sites. What a site needs comes from a node that it leaves, where one of those is
    `serving`, and else from one that it keeps; a site that is on no serving node brings nothing.
    """
    left: dict[str, list[str]] = {}
    for move in moves:
        if move.source in serving:
            left.setdefault(move.site, []).append(str(move.source))
    kept = _serving_nodes(before, {move.site for move in moves}, serving)
    site_routes: list[Route] = []
    coming: dict[str, int] = {}
    for move in sorted(moves, key=lambda move: (move.site, move.target or "")):
        sources = sorted(set(left.get(move.site, ()))) or kept.get(move.site, [])
        if move.target and sources:
            at = coming.get(move.site, 0)
            coming[move.site] = at + 1
            site_routes.append(Route(move.site, sources[at % len(sources)], move.target))
    return site_routes


def _serving_nodes(
    partition: pd.DataFrame, sites: Collection[str], serving: Collection[str]
) -> dict[str, list[str]]:
    nodes = nodes_by_site(rows_on_nodes(rows_of_sites(partition, sites), serving))
    return {site: sorted(site_nodes) for site, site_nodes in nodes.items()}
