"""Routes requests by a plan that is about to be in DNS, or by the partition in force.

Takes the id of the plan that is coming, if any. Returns the nodes that FLEX carried their files to,
and reports which nodes were changed and which were not. Does not stop DNS: a node without a site's
pool answers its visitors itself.
"""

from __future__ import annotations

from collections.abc import Callable

from flex.errors import FlexError, LostLease
from flex_api.in_words import amounts
from flex_api.night import deliver_haproxy_files, store_order_for_doors
from flex_api.wiring import World


def reroute(
    world: World, coming: str = "", say: Callable[[str], None] | None = None
) -> frozenset[str]:
    """Have requests routed by a plan that is about to be in DNS, or by the partition in force. The
    nodes that their files were carried to: those that fetch them say themselves what they go by.

    What fails is said, and DNS goes on: a node without a site's pool answers its visitors itself.
    """
    routing, say = world.settings.routing, say or world.say
    if not routing.delivers:
        # Nodes that follow or fetch hear of it by themselves.
        order_doors(world, coming, say)
    # Most clusters deliver nothing, and what delivers takes a while to load.
    if not routing.delivers:
        return frozenset()
    try:
        done = deliver_haproxy_files.deliver(world.settings, world.store, coming)
    except FlexError as error:
        say(f"Routing is as before: {error.asked}: {error.answer}.")
        return frozenset()
    for each in done:
        if each.error:
            say(f"The routing of {each.node} is as before: {each.error}.")
    carried = bool(routing.deliver_command)
    if (changed := sum(each.changed for each in done)) or coming:
        nodes, ahead = amounts.count(changed, "node"), " ahead of DNS" if coming else ""
        say(
            f"Routing was changed{ahead} on {nodes}."
            if carried
            else f"HAProxy's files of {nodes} were written{ahead}."
        )
    return frozenset(each.node for each in done if carried and not each.error)


def order_doors(world: World, coming: str = "", say: Callable[[str], None] | None = None) -> None:
    """Order doors for all sites, where there are any, to go by a plan that is coming or by what is
    in force. What fails is said: a dead node leaves DNS all the same.
    """
    try:
        store_order_for_doors.order(world.settings, world.store, coming)
    except LostLease:
        raise
    except FlexError as error:
        (say or world.say)(f"Doors lead as before: {error.asked}: {error.answer}.")
