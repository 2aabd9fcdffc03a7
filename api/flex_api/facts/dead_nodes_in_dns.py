"""Dead nodes that are still in DNS: how many sites are on each, and what was tried to take them
out.

Takes nodes, sites, attempts and the store of plans. Returns values for pages, metrics and the
command line. Does not ask DNS: the journal says what a half-applied plan has done there.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

from flex.model.nodes import Node
from flex.model.plan import Plan
from flex.model.retry_schedule import Attempt
from flex.placing import failover
from flex.store import Store
from flex.zones.marker import site_name
from flex.zones.records_of_partition import name_of
from flex_api.schemas.nodes_and_jobs import DeadRow


@dataclass(frozen=True, slots=True)
class Dead:
    """`tried` is None where nobody tried yet since it was last out of DNS. `held_back` says why
    nobody tries again by itself; empty where somebody does.
    """

    node: str
    sites: int
    tried: Attempt | None
    held_back: str = ""


Counts = Mapping[str, int] | Mapping[Hashable, int]


def dead(
    nodes: Sequence[Node],
    sites: Counts,
    attempts: Sequence[Attempt],
    store: Store,
    held_back: Callable[[str], str] = lambda _: "",
) -> tuple[Dead, ...]:
    """Those of the nodes that are down while the partition in force has sites on them, but for
    sites that a half-applied plan took out of DNS already. `held_back` says it of a node, where
    anybody asks.
    """
    if all(node.is_serving for node in nodes):
        return ()
    out = _sites_out(store)
    tried = {attempt.node: attempt for attempt in attempts}
    on = {
        node.name: int(sites.get(node.name, 0)) - len(out.get(node.name, ()))
        for node in nodes
        if node.state == "down"
    }
    return tuple(
        Dead(node, count, tried.get(node), held_back(node))
        for node, count in on.items()
        if count > 0
    )


def _sites_out(store: Store) -> dict[str, set[str]]:
    """By the node that they were on, the sites that plans on their way took off it in DNS."""
    out: dict[str, set[str]] = {}
    for plan in store.plans(state="applying"):
        if plan.quality.solver == failover.SOLVER:
            done = _names_done(plan, store)
            for move in plan.moves:
                if move.source and name_of(move.site) in done:
                    out.setdefault(move.source, set()).add(move.site)
    return out


def _names_done(plan: Plan, store: Store) -> set[str]:
    """Those of which every change is made."""
    changes_made: dict[str, set[int]] = {}
    for row in store.journal(plan.id).rows():
        if row.state == "done":
            changes_made.setdefault(row.zone, set()).update(row.changes)
    done, open_names = set[str](), set[str]()
    for zone_plan in plan.zone_plans:
        for place, change in enumerate(zone_plan.changes):
            is_made = place in changes_made.get(zone_plan.zone, ())
            name = site_name(zone_plan.zone, change.name)
            (done if is_made else open_names).add(name)
    return done - open_names


def row(dead_node: Dead) -> DeadRow:
    tried = dead_node.tried
    return DeadRow(
        node=dead_node.node,
        sites=dead_node.sites,
        attempts=tried.count if tried else 0,
        last_attempt=tried.last if tried else None,
        next_attempt=tried.again if tried and not dead_node.held_back else None,
        error=tried.error if tried else "",
        held_back=dead_node.held_back,
    )
