"""The first step of a night: nodes that are down and still in DNS are taken out.

Takes a world whose lease is held, and the steps of its run. Returns whether that succeeded. Sites
that leave a dead node do not count towards the limits of the night.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from flex.errors import BadInput, DnsError, Infeasible, PartlyApplied, Unverified
from flex.model.drains_and_freezes import NodeOrder
from flex_api.in_words import amounts
from flex_api.night import failover, failover_attempts, pending_failovers
from flex_api.night.failover import Taken
from flex_api.night.record_stages import Steps
from flex_api.wiring import World


def cleared(
    world: World, step: Steps, force: Collection[str] = (), *, is_last: bool = False
) -> bool:
    """Whether none failed of those that somebody, or the health watch, found dead. What fails is
    said, and the first thing that fails in the last attempt stops the night.
    """
    failed = [
        order
        for order in pending_failovers.orders_to_retry(world)
        if not _is_out(world, step, order, force, is_last=is_last)
    ]
    return not failed


def _is_out(
    world: World, step: Steps, order: NodeOrder, force: Collection[str], *, is_last: bool
) -> bool:
    node = order.node
    if pending_failovers.is_withdrawn(world, order):
        return True
    if reason := pending_failovers.held_back(world, order, force):
        world.say(f"{node} is down and still in DNS, and {reason}.")
        return True
    try:
        taken = step(
            f"node {node} down",
            partial(
                failover.take_down, world, order, tell=partial(_say, world, node), is_given=True
            ),
            _said_of,
        )
    except Unverified as error:
        # The night's own plan asks the name servers again.
        world.say(f"Not every server agrees: {error}.")
        return True
    except (DnsError, PartlyApplied, Infeasible, BadInput) as error:
        if is_last:
            raise
        world.say(f"{node} is down and could not be taken out of DNS: {error}")
        return False
    _say(world, node, taken)
    return True


def _say(world: World, node: str, taken: Taken) -> None:
    if taken.plan:
        world.say(f"{node} was down and {taken.outcome} by plan {taken.plan.id}.")
    if sentence := failover_attempts.left_in_words(node, taken.left, taken.staying):
        world.say(f"{sentence}.")


def _said_of(taken: Taken) -> str:
    parts = [f"{taken.outcome} by plan {taken.plan.id}"] if taken.plan else []
    if taken.left or not (taken.plan or taken.staying):
        parts.append(f"{amounts.count(len(taken.left), 'name')} left to others")
    if taken.staying:
        sites = amounts.count(len(taken.staying), "site")
        parts.append(f"{sites} left with their content")
    return ", ".join(parts)
