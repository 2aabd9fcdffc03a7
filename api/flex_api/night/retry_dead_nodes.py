"""Dead nodes that are not out of DNS yet: which they are, what was tried, and when the next attempt
may be.

Takes a world. Returns the orders that are not carried out. Changes nothing but the record of
attempts, which pages, metrics and mails read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress

from flex.errors import FlexError, Unverified
from flex.in_words import first_few
from flex.model import dead_node_retries
from flex.model.dead_node_retries import Attempt
from flex.model.operator_orders import NodeOrder
from flex.placing import failover
from flex_api.night import freezing
from flex_api.wiring import World


def orders_to_retry(world: World) -> tuple[NodeOrder, ...]:
    """The orders for nodes that are down while the placement in force has sites on them, or while a
    plan that takes them out is half applied. Whoever gave the order, and whatever became of it,
    somebody has to go on.
    """
    down = {node.name for node in world.nodes if node.state == "down"}
    if not down:
        return ()
    still = down & (_in_force(world) | _half_out(world))
    return tuple(order for order in world.store.node_orders() if order.node in still)


def _in_force(world: World) -> set[str]:
    return set(world.store.placement()[1]["node"].unique())


def _half_out(world: World) -> set[str]:
    begun = [
        one
        for one in world.store.plans(state="applying")
        if one.quality.solver == failover.SOLVER
    ]
    return {move.source for one in begun for move in one.moves if move.source}


def held_back(world: World, order: NodeOrder, force: Collection[str] = ()) -> str:
    """Why the order is not carried out by itself; empty where it is. Who gave it while changes were
    frozen meant it.
    """
    if world.settings.cluster.mode == "shadow":
        return "the mode is shadow"
    freeze = freezing.frozen(world)
    if (
        freeze is None
        or freezing.RULE in force
        or (order.given and order.given >= freeze.since)
    ):
        return ""
    return "changes are frozen"


def last(world: World, node: str) -> Attempt | None:
    return next((one for one in world.store.attempts() if one.node == node), None)


@contextmanager
def note_failure(world: World, node: str) -> Iterator[None]:
    """What goes wrong in here is written down as one more attempt, and goes on."""
    try:
        yield
    except Unverified:
        # It is out; who answers otherwise is late.
        forget(world, node)
        raise
    except FlexError as error:
        # A database that is away is said by the error itself.
        with suppress(FlexError):
            _store_failure(world, node, str(error))
        raise


def note_left(world: World, node: str, left: Mapping[str, str]) -> None:
    """After one that went well: all are out, or some are not ours to change and are looked at
    again, ever later.
    """
    if node in _in_force(world):
        names = (
            first_few([f"{name} ({why})" for name, why in left.items()])
            or "some of its sites"
        )
        _store_failure(world, node, f"not FLEX's to change, and on it still: {names}")
    else:
        forget(world, node)


def forget(world: World, node: str) -> None:
    if last(world, node):
        world.store.drop_attempt(node)


def _store_failure(world: World, node: str, error: str) -> None:
    world.store.put_attempt(
        dead_node_retries.after_failure(
            last(world, node), node, world.time_of_day(), error
        )
    )
