"""Dead nodes that are still in DNS: how many sites are on each, and what was tried to take them
out.

Takes nodes, sites and attempts. Returns values for pages, metrics and the command line.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from flex.model.dead_node_retries import Attempt
from flex.model.nodes import Node
from flex_api.schemas.nodes_holders_jobs_freezes import DeadRow


@dataclass(frozen=True, slots=True)
class Dead:
    """`tried` is None where nobody tried yet since it was last out of DNS."""

    node: str
    sites: int
    tried: Attempt | None


Counts = Mapping[str, int] | Mapping[Hashable, int]


def dead(
    nodes: Sequence[Node], sites: Counts, attempts: Sequence[Attempt]
) -> tuple[Dead, ...]:
    """Those of the nodes that are down while the partition in force has sites on them."""
    tried = {one.node: one for one in attempts}
    on = {
        node.name: int(sites.get(node.name, 0))
        for node in nodes
        if node.state == "down"
    }
    return tuple(
        Dead(node, count, tried.get(node)) for node, count in on.items() if count
    )


def row(one: Dead) -> DeadRow:
    tried = one.tried
    return DeadRow(
        node=one.node,
        sites=one.sites,
        attempts=tried.count if tried else 0,
        last_attempt=tried.last if tried else None,
        next_attempt=tried.again if tried else None,
        error=tried.error if tried else "",
    )
