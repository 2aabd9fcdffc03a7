"""Who asked for what a plan does: people whose wishes it meets, or whose wishes it no longer meets.

Takes a world and a proposal. Returns names. Under four eyes, none of these people may be the only
one to approve the plan, even if nobody ordered the plan itself. Loads and settings files have no
author.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Set

import pandas as pd

from flex.model.audit_chain import Author, Entry
from flex.planning.propose_plan import Proposal
from flex_api.wiring import World

# More wishes than people make between two plans.
MOST = 100_000
# What FLEX itself is called in the record, and also a usual name of the account that it runs as.
ITSELF = Author().name


def wishers(world: World, made: Proposal) -> tuple[str, ...]:
    """In order of names."""
    base, partition = world.store.placement()
    gone, come = _row_differences(partition, made.placement)
    rows = pd.concat([gone, come])
    sites, nodes, left = set(rows["site"]), set(rows["node"]), set(gone["node"])
    found = {
        pin.author
        for pin in world.pins_of_next_plan
        if sites & {pin.site, *pin.together, *pin.apart}
    }
    orders = {order.node: order for order in world.store.node_orders()}
    found |= {
        order.author
        for order in orders.values()
        if order.node in (left if order.state != "active" else nodes)
    }
    for entry in _since(world, base):
        if entry.action.startswith("pin.") and not sites & _sites_of(entry):
            continue
        # The watch takes nodes down, too, and is nobody.
        by_flex = entry.actor == ITSELF and entry.action == "node.order"
        if by_flex and (entry.subject not in orders or orders[entry.subject].author != ITSELF):
            continue
        if made.plan.moves or made.plan.changes:
            found.add(entry.actor)
    return tuple(sorted(found - {""}))


def _row_differences(
    before: pd.DataFrame, after: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows that are there no more, and those that were not there."""
    both = before[["site", "node"]].merge(after[["site", "node"]], how="outer", indicator="side")
    return both[both["side"] == "left_only"], both[both["side"] == "right_only"]


def _since(world: World, base: str) -> Iterator[Entry]:
    """What people wished since the partition in force was planned: it does not know of that."""
    planned = world.store.found_entries(1, action="plan.propose", subject=base) if base else ()
    behind = planned[0].number if planned else 0
    for kind in ("pin", "node"):
        yield from world.store.found_entries(MOST, behind, down=False, action=kind)


def _sites_of(entry: Entry) -> Set[str]:
    """Every site that a wish is about."""
    found = {entry.subject}
    for side in (entry.before, entry.after):
        said = json.loads(side)
        if isinstance(said, dict):
            found |= {site for part in ("together", "apart") for site in said.get(part) or ()}
    return found
