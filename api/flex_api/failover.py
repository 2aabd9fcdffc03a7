"""A dead node taken out of DNS now: no logs are read, no balance is sought, no limit stands in the way.

In go a world whose lease is held and a node; out comes the plan that was carried out: first the sites that have other
nodes lose the dead one's addresses, then the others get a new node. It is verified on every name server.
"""

from __future__ import annotations

from flex import cycle as cycles
from flex.domain import Cycle
from flex.errors import Held, NoData
from flex.given import Facts
from flex.orders import NodeOrder
from flex.replay import NO_SAMPLE
from flex_api import applying
from flex_api.wiring import World


def take_down(world: World, order: NodeOrder) -> Cycle | None:
    """The plan that was carried out; None where no site was on the node. It is marked as down, whatever comes then."""
    node = order.node
    if world.settings.cluster.mode == "shadow":
        raise Held(
            f"taking {node} out of DNS",
            "the mode is shadow, which never writes to DNS",
            kept="nothing was changed",
            advice="set cluster.mode to review or auto",
        )
    world.store.order_node(order)
    applying.finish(world)
    made = cycles.fail_over(facts(world), world.rules, node, target=world.target, now=world.clock())
    if not made.cycle.moves:
        return None
    world.store.propose(made.cycle, made.placement)
    return applying.carry_out(world, made.cycle)


def facts(world: World) -> Facts:
    found, (base, placement) = world.store.profiles(), world.store.placement()
    if found is None or not base:
        raise NoData(
            "taking a node out of DNS",
            "no partition is in force yet, so no site is on it",
            kept="the node is marked as down; DNS is as it was",
            advice="`flex plan`, then `flex apply`",
        )
    period, profiles, spreads = found
    pins = tuple(pin for pin in world.pins if not pin.excluded)
    return Facts(period, profiles, spreads, NO_SAMPLE, world.nodes, pins, base, placement)
