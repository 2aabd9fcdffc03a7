"""What has changed since a plan was made: nodes, their addresses, and wishes that it does not meet.
For a rollback and a move by hand, every wish counts.

Takes the world and a plan that waits. Returns the rules against approving and applying it. Does not
say whether another partition is in force: plan_approvals.py refuses that, and
nobody can override it.
"""

from __future__ import annotations

from collections.abc import Iterator

from flex.model.limits_and_approvals import Stop
from flex.model.plan import Plan
from flex.planning.given_partition import BY_HAND, ROLLBACK
from flex.site_names_in_words import first_few
from flex.wishes import suspended_wishes
from flex.zones.zone_changes import ADDRESSES
from flex_api.wiring import World

BASE = "plan.base"
RULES = NODES, ADDRESSED, WISHES = "plan.nodes", "plan.addresses", "plan.wishes"
LIMIT = "as when the plan was made"
# How many entries of the record are looked at in one go.
_ENTRIES = 1000


def stop_if_overtaken(plan: Plan, in_force: str) -> Iterator[Stop]:
    """Where another partition came into force since the plan was made."""
    if in_force != plan.base:
        reason = "it was made from another partition than the one in force"
        yield Stop(
            BASE,
            plan.base or "nothing",
            f"{in_force or 'nothing'} is in force",
            reason,
            "a new plan: flex plan",
        )


def stops(world: World, plan: Plan) -> Iterator[Stop]:
    yield from _nodes(world, plan)
    yield from _addresses(world, plan)
    yield from _wishes(world, plan)


def _nodes(world: World, plan: Plan) -> Iterator[Stop]:
    states = {node.name: node.state for node in world.nodes}
    targets = {move.target for move in plan.moves if move.target}
    if inactive_nodes := sorted(
        f"{name} is {states.get(name, 'removed')}"
        for name in targets
        if states.get(name) != "active"
    ):
        yield Stop(
            NODES,
            LIMIT,
            first_few(inactive_nodes),
            "it moves sites to nodes that take none any more",
        )


def _addresses(world: World, plan: Plan) -> Iterator[Stop]:
    ours = {address for node in world.nodes for address in node.addresses}
    changes = (
        change
        for zone_plan in plan.zone_plans
        for change in zone_plan.changes
        if change.type in ADDRESSES and change.after
    )
    if unknown_addresses := sorted(
        {value for change in changes if change.after for value in change.after.values} - ours
    ):
        yield Stop(
            ADDRESSED,
            LIMIT,
            first_few(unknown_addresses),
            "it would announce addresses that no node has any more",
        )


def _wishes(world: World, plan: Plan) -> Iterator[Stop]:
    """The wishes that were made after the plan, or hold otherwise than they did: one may have
    begun, ended or gone.

    A way back was made without asking what anybody wishes, and so was a move that somebody ordered:
    every wish counts.
    """
    back = plan.quality.solver in (ROLLBACK, BY_HAND)
    newer = set[str]() if back else _wished_since(world, plan) | _begun_or_ended(world, plan)
    pins = [pin for pin in world.pins_of_next_plan if back or pin.site in newer]
    if not pins or not plan.moves:
        return
    before, after = (
        suspended_wishes.places(pins, table)
        for table in (world.store.placement()[1], world.store.placement_of(plan.id))
    )
    if sites := [pin.site for pin in pins if suspended_wishes.is_against_wish(pin, before, after)]:
        yield Stop(
            WISHES,
            LIMIT,
            first_few(sites),
            f"it moves sites against wishes that {'hold' if back else 'are newer'}",
        )


def _begun_or_ended(world: World, plan: Plan) -> set[str]:
    now = world.clock()
    ends = ((pin.site, end) for pin in world.store.pins() for end in (pin.since, pin.until))
    return {site for site, end in ends if end and plan.created < end <= now}


def _wished_since(world: World, plan: Plan) -> set[str]:
    """By the order of the record: clocks say nothing, and plans may be made for another day.

    None of a plan that is older than the record.
    """
    sites, behind = set[str](), None
    while entries := world.store.found_entries(_ENTRIES, behind):
        for entry in entries:
            if (entry.action, entry.subject) == ("plan.propose", plan.id):
                return sites
            if entry.action in ("pin.put", "pin.drop"):
                sites.add(entry.subject)
        behind = entries[-1].number
    return set()
