"""From which node to which each site goes by a plan.

Takes the partition in force and the one to come. Returns routes. Sites that are new come from
nowhere, and are not among them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import pandas as pd

from flex.table_schemas import texts


@dataclass(frozen=True, slots=True)
class Route:
    """`site` gets the node `target`, with what it needs from the node `source`, which has it."""

    site: str
    source: str
    target: str


def routes(
    before: pd.DataFrame, after: pd.DataFrame, serving: Collection[str]
) -> list[Route]:
    """In order of sites. What a site needs comes from a node that it leaves, where one of those is
    `serving`, and else from one that it keeps; a site that is on no serving node brings nothing.
    """
    had, gets = _nodes_by_site(before), _nodes_by_site(after)
    found: list[Route] = []
    for site in sorted(had.keys() & gets.keys()):
        found += _routes_of(site, had[site], gets[site], serving)
    return found


def _routes_of(
    site: str, had: set[str], gets: set[str], serving: Collection[str]
) -> Iterator[Route]:
    left = sorted(node for node in had - gets if node in serving)
    kept = sorted(node for node in had & gets if node in serving)
    sources = left or kept
    for at, target in enumerate(sorted(gets - had)):
        if sources:
            yield Route(site, sources[at % len(sources)], target)


def _nodes_by_site(partition: pd.DataFrame) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for site, node in zip(
        texts(partition["site"]), texts(partition["node"]), strict=True
    ):
        found.setdefault(site, set()).add(node)
    return found
