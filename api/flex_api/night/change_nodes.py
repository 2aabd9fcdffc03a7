"""Nodes are added, changed, drained and removed here: the command line and the REST API both call
this.

Takes a world and what somebody wants of a node. Returns sentences on what follows from it. Does not
touch the settings file: what people order for a node takes precedence over what the file says.
"""

from __future__ import annotations

from dataclasses import replace

from flex.errors import BadInput, Held
from flex.model.drains_and_freezes import NodeOrder, OrderState
from flex.model.nodes import Node, NodeState
from flex.wishes import suspended_wishes
from flex.wishes.pins_for_solvers import unknown_node
from flex_api.in_words import amounts
from flex_api.night import route_requests_by_plan
from flex_api.settings.whole_settings import NodeSection
from flex_api.wiring import World

CHECKED = "it was checked, and nothing was changed"


def order(world: World, wanted: NodeOrder, *, dry_run: bool = False) -> list[str]:
    """Put a node into a state, from the next plan on; which pins that suspends. Raises Unknown or
    BadInput.
    """
    node = find(world, wanted.node)
    if wanted.deadline and wanted.deadline <= world.time_of_day():
        raise BadInput(
            f"draining {wanted.node}",
            "the deadline is in the past",
            advice="give a later one, or none",
        )
    if wanted.state == node.state == "active":
        return [f"{node.name} is in service already; nothing was changed"]
    if wanted.state != "active":
        refuse_last(world, wanted.node)
    notes = (
        [] if wanted.state == "removed" else pins_stopped(world, replace(node, state=wanted.state))
    )
    if dry_run:
        return [*notes, CHECKED]
    with world.store.together():
        world.store.order_node(wanted)
        # Whatever was tried before is over.
        world.store.drop_attempt(wanted.node)
    if wanted.state == "active":
        # Doors lead to it again what no failover has moved.
        route_requests_by_plan.order_doors(world)
    return notes


def put(world: World, node: Node, *, dry_run: bool = False) -> list[str]:
    """Add a node, or give one another memory, capacity or addresses, from the next plan on."""
    taken = {
        address: other.name
        for other in world.nodes
        if other.name != node.name
        for address in other.addresses
    }
    if twice := [address for address in node.addresses if address in taken]:
        raise _bad(
            node.name,
            f"{twice[0]} is an address of {taken[twice[0]]}",
            "give it an address of its own",
        )
    if dry_run:
        return [CHECKED]
    with world.store.together():
        orders = {order.node: order.state for order in world.store.node_orders()}
        world.store.put_node(node)
        if orders.get(node.name) == "removed":
            world.store.order_node(NodeOrder(node.name, "active", given=world.time_of_day()))
    return []


def add(world: World, node: Node, *, dry_run: bool = False) -> list[str]:
    """Add a node that was `checked`. Raises BadInput for a name that is taken."""
    if taken := [
        other.name for other in world.nodes if other.name.casefold() == node.name.casefold()
    ]:
        raise _bad(
            node.name,
            f"there is a node {taken[0]}",
            "`flex nodes set` changes it; or take another name",
        )
    return put(world, node, dry_run=dry_run)


def remove(world: World, wanted: NodeOrder, *, dry_run: bool = False) -> list[str]:
    """Forget a node that serves nothing any more. Raises Held while sites are on it."""
    find(world, wanted.node)
    _, partition = world.store.placement()
    there = int((partition["node"] == wanted.node).sum())
    if there:
        raise Held(
            f"removing the node {wanted.node}",
            f"{amounts.count(there, 'site')} of the partition in force are on it",
            advice=f"`flex nodes drain {wanted.node}` first, or `flex nodes down "
            f"{wanted.node}` if it is dead",
        )
    with world.store.together():
        notes = order(world, replace(wanted, state="removed"), dry_run=dry_run)
        if not dry_run:
            world.store.drop_node(wanted.node)
    return notes


def find(world: World, name: str) -> Node:
    """Raises Unknown for a node that nobody has."""
    nodes = {node.name: node for node in world.nodes}
    if name not in nodes:
        raise unknown_node(name, tuple(nodes))
    return nodes[name]


def check_node(name: str, addresses: tuple[str, ...], ram: int | str, capacity: float) -> Node:
    """As the settings would have it. Raises ValueError, saying which of them is none."""
    section = NodeSection.model_validate(
        {"name": name, "addresses": addresses, "ram": ram, "capacity": capacity}
    )
    return Node(section.name, section.addresses, section.ram, section.capacity)


def node_in_state(node: Node, state: OrderState) -> Node:
    """Return the node as plans see it in the state: one that is removed takes no sites, as one
    that is down.
    """
    return replace(node, state="down" if state == "removed" else state)


def pins_stopped(world: World, changed: Node) -> list[str]:
    """What becomes of the pins that name the node, or that need as many nodes as there were."""
    pins = world.pins_of_next_plan
    after = [changed if node.name == changed.name else node for node in world.nodes]
    sites = {pin.site for pin in pins}
    before, then = (
        suspended_wishes.possible(pins, sites, nodes).suspended for nodes in (world.nodes, after)
    )
    return [f"a pin is suspended from the next plan on: {pin}" for pin in then if pin not in before]


def stopped_by(world: World, name: str, state: NodeState) -> list[str]:
    return pins_stopped(world, replace(find(world, name), state=state))


def refuse_last(world: World, name: str) -> None:
    if not [node.name for node in world.nodes if node.takes_sites and node.name != name]:
        raise BadInput(
            f"taking {name} out of service",
            "no other node is active, so its sites would have nowhere to go",
            advice="add a node first, or take one back: `flex nodes undrain NODE`, "
            "`flex nodes up NODE`",
        )


def _bad(name: str, answer: str, advice: str) -> BadInput:
    return BadInput(f"the node {name!r}", answer, advice=advice)
