"""The sites on several nodes, by what their requests are spread, and the version of each node's
files: the answer of `flex route show`, for the terminal and programs.

Takes a world and a plan, or what is in force where none is named. Returns an output model. Where
that is asked for, it asks the nodes' HAProxies what they do now.
"""

from __future__ import annotations

from flex.errors import Away
from flex.model.stray_requests import Visitors
from flex_api.facts import visitors_at_other_nodes
from flex_api.night import (
    ask_every_haproxy,
    haproxy_pools_and_files,
    note_strays_of_doors,
    orders_at_doors,
    plan_to_route_by,
    which_haproxies_reload,
)
from flex_api.night.unused_routing import misnamed_sites
from flex_api.night.visitors_at_doors import visitors_elsewhere
from flex_api.schemas.routing import RouteOutput, left_out, pool_row, port_rows
from flex_api.schemas.strays import stray_row
from flex_api.wiring import World

# How many sites with visitors at other nodes are named: those with most requests.
MOST = 100


def route_output(world: World, plan: str = "", *, live: bool = False) -> RouteOutput:
    """Raises Away where nobody of those that were asked answers."""
    settings, store = world.settings, world.store
    which = (
        plan_to_route_by.plans_at_present(settings, store, plan)
        if plan
        else plan_to_route_by.following(settings, store, store.door_order())
    )
    several = (
        which
        if plan
        else plan_to_route_by.plans_of_pools(settings, which, store.door_order(), store.headlines())
    )
    of_all = haproxy_pools_and_files.routing_of(settings, store, several)
    pools = of_all.pools
    wanted = haproxy_pools_and_files.versions(settings, store, pools, which)
    answers = (
        ask_every_haproxy.ask_distributors(
            settings, pools, list(wanted), ask_every_haproxy.known_paths(settings, store, pools)
        )
        if live
        else []
    )
    if answers and not any(each.said for each in answers):
        raise Away(
            "asking HAProxy what it does",
            "; ".join(sorted({each.error for each in answers}))[:500],
            kept="it goes on as it does",
            advice="see that it runs, and that [routing] says where its socket is",
        )
    strays = _visitors(world)
    return RouteOutput(
        on=settings.routing.on,
        items=[pool_row(pool) for pool in pools],
        left_out=left_out(of_all.left_out),
        misnamed=misnamed_sites(settings, store),
        order=ask_every_haproxy.as_order(settings, store),
        nodes=ask_every_haproxy.as_versions(
            wanted,
            ask_every_haproxy.versions_delivered(settings, list(wanted)),
            answers,
            orders_at_doors.door_states(settings, store),
            which_haproxies_reload.nodes_that_reload(settings, store, plan) if plan else (),
        ),
        live=ask_every_haproxy.as_live(answers),
        strays=[stray_row(stray) for stray in strays[:MOST]],
        strays_count=len(strays),
        strays_not_known=_not_known(world),
        ports=port_rows(settings.routing.ports_between_nodes()),
    )


def _visitors(world: World) -> list[Visitors]:
    """Doors that can be asked from here are, once a minute at most."""
    settings, store = world.settings, world.store
    if not settings.routing.leads_to_all:
        return []
    note_strays_of_doors.note_strays(settings, store, world.time_of_day())
    _, partition = store.placement()
    return visitors_elsewhere(settings, store, partition)


def _not_known(world: World) -> list[str]:
    settings, store = world.settings, world.store
    if not settings.routing.leads_to_all:
        return []
    serving = list(haproxy_pools_and_files.addresses(world.nodes))
    return visitors_at_other_nodes.not_known(store.doors_read(), serving, world.time_of_day())
