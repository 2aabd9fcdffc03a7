"""Dead nodes that are not out of DNS yet: which they are, and what keeps the next attempt back.

Takes a world. Returns the orders that are not carried out. Does not carry them out.
"""

from __future__ import annotations

from collections.abc import Collection

from flex.model.drains_and_freezes import NodeOrder
from flex.model.limits_and_approvals import FREEZE
from flex.placing import failover
from flex_api.night import freezes
from flex_api.wiring import World


def orders_to_retry(world: World) -> tuple[NodeOrder, ...]:
    """The orders for nodes that are down while the partition in force has sites on them, or while a
    plan that takes them out is half applied. Whoever gave the order, and whatever became of it,
    somebody has to go on.
    """
    down = {node.name for node in world.nodes if node.state == "down"}
    if not down:
        return ()
    still = down & (set(world.store.placement()[1]["node"].unique()) | _half_out(world))
    return tuple(order for order in world.store.node_orders() if order.node in still)


def is_withdrawn(world: World, order: NodeOrder) -> bool:
    """Whether somebody said otherwise since it was read."""
    return order not in world.store.node_orders()


def _half_out(world: World) -> set[str]:
    begun = [
        plan
        for plan in world.store.plans(state="applying")
        if plan.quality.solver == failover.SOLVER
    ]
    return {move.source for plan in begun for move in plan.moves if move.source}


def why_held_back(world: World, node: str) -> str:
    """Why nobody tries by itself to take the node out of DNS; empty where somebody does."""
    orders = [order for order in world.store.node_orders() if order.node == node]
    return held_back(world, orders[0]) if orders else ""


def held_back(world: World, order: NodeOrder, force: Collection[str] = ()) -> str:
    """Why the order is not carried out by itself; empty where it is. Who gave it while changes were
    frozen meant it.
    """
    if world.settings.cluster.mode == "shadow":
        return "the mode is shadow"
    freeze = freezes.freeze_in_force(world)
    if freeze is None or FREEZE in force or (order.given and order.given >= freeze.since):
        return ""
    return "changes are frozen"
