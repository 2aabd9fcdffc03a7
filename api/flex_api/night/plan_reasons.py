"""Why a plan waits, and who caused it.

`why_it_waits` says why a night does not apply the plan that it made. Under four eyes, a night that
somebody runs by hand is no way past the yes of somebody else, which `flex apply` asks for. A night
that a timer runs has no author, and needs none.

`wishers` are the people whose wishes a plan meets, or no longer meets. Under four eyes, none of
them may be the only one to approve the plan, even if nobody ordered the plan itself. Loads and
settings files have no author. Nothing is changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Set

import pandas as pd

from flex.errors import Frozen, Held
from flex.model import limits_and_approvals
from flex.model.audit_chain import Author, Entry
from flex.model.limits_and_approvals import FREEZE
from flex.model.plan import Plan
from flex.planning.propose_plan import Proposal
from flex_api.night import plan_approvals, rules_that_stop_plans
from flex_api.wiring import World

# More wishes than people make between two plans.
MOST = 100_000
# What FLEX itself is called in the record, and also a usual name of the account that it runs as.
ITSELF = Author().name


def why_it_waits(world: World, plan: Plan) -> tuple[int, str]:
    """Return the exit code and why this plan is not applied by itself; the sentence is empty where
    it may be.
    """
    begun = world.store.plans(state="applying")
    if not begun and not plan.changes and not plan.moves:
        return 0, ""
    mode = world.settings.cluster.mode
    if mode == "shadow":
        return 0, f"Shadow mode: plan {plan.id} was made and nothing was written."
    stops = rules_that_stop_plans.stops(world, plan)
    told = limits_and_approvals.join_stops(stops)
    prefix = f"Plan {plan.id} was made and nothing was applied: "
    if FREEZE in {stop.rule for stop in stops}:
        return Frozen.exit_code, f"{prefix}{told}."
    if begun:
        return Held.exit_code, f"{prefix}plan {begun[0].id} is half applied."
    waits = f"Plan {plan.id} waits for approval: "
    lacking = plan_approvals.lacks(world, plan)
    if lacking and (plan.author or mode == "review"):
        more = f"; {told}" if stops else ""
        do = f"`flex approve {plan.id}`, by somebody else; then `flex apply {plan.id}`."
        return Held.exit_code, f"{waits}{lacking}{more}. {do}"
    if mode == "review":
        return Held.exit_code, f"{waits}`flex apply {plan.id}`."
    return (Held.exit_code, f"{waits}{told}.") if stops else (0, "")


def wishers(world: World, proposal: Proposal) -> tuple[str, ...]:
    """Return the people whose wishes the proposal meets, or no longer meets, in order of names."""
    base, partition = world.store.placement()
    gone, come = _row_differences(partition, proposal.placement)
    rows = pd.concat([gone, come])
    sites, nodes, left = set(rows["site"]), set(rows["node"]), set(gone["node"])
    authors = {
        pin.author
        for pin in world.pins_of_next_plan
        if sites & {pin.site, *pin.together, *pin.apart}
    }
    orders = {order.node: order for order in world.store.node_orders()}
    authors |= {
        order.author
        for order in orders.values()
        if order.node in (left if order.state != "active" else nodes)
    }
    for entry in _wish_entries_since(world, base):
        if entry.action.startswith("pin.") and not sites & _sites_of(entry):
            continue
        # The watch takes nodes down, too, and is nobody.
        by_flex = entry.actor == ITSELF and entry.action == "node.order"
        if by_flex and (entry.subject not in orders or orders[entry.subject].author != ITSELF):
            continue
        if proposal.plan.moves or proposal.plan.changes:
            authors.add(entry.actor)
    return tuple(sorted(authors - {""}))


def _row_differences(
    before: pd.DataFrame, after: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows that are there no more, and those that were not there."""
    both = before[["site", "node"]].merge(after[["site", "node"]], how="outer", indicator="side")
    return both[both["side"] == "left_only"], both[both["side"] == "right_only"]


def _wish_entries_since(world: World, base: str) -> Iterator[Entry]:
    """What people wished since the partition in force was planned: it does not know of that."""
    planned = world.store.found_entries(1, action="plan.propose", subject=base) if base else ()
    behind = planned[0].number if planned else 0
    for kind in ("pin", "node"):
        yield from world.store.found_entries(MOST, behind, down=False, action=kind)


def _sites_of(entry: Entry) -> Set[str]:
    """Every site that a wish is about."""
    sites = {entry.subject}
    for side in (entry.before, entry.after):
        wish = json.loads(side)
        if isinstance(wish, dict):
            sites |= {site for part in ("together", "apart") for site in wish.get(part) or ()}
    return sites
