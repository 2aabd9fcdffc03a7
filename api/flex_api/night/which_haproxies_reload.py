"""Which nodes' HAProxies will read their configuration anew for a plan, told before it happens.

Takes the settings, the store and a plan. Returns the nodes, by comparing the files that they are to
have now with those of the plan. Most plans need no reload: names, owners and members that leave are
commands to a running HAProxy. A site that comes to one node more, or is no longer on several, is
structure. Tells no HAProxy, and gives no member a slot.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

from flex.errors import FlexError
from flex.routing.haproxy_commands import change
from flex.site_names_in_words import first_few
from flex.store import Store
from flex_api.in_words import amounts
from flex_api.night import (
    haproxy_pools_and_files,
    make_host_maps,
    plan_to_route_by,
    store_order_for_doors,
)
from flex_api.night.haproxy_pools_and_files import Maker
from flex_api.night.plan_to_route_by import Between
from flex_api.settings.file import Settings
from flex_api.wiring import World, nodes


def nodes_that_reload(settings: Settings, store: Store, plan: str) -> tuple[str, ...]:
    """None of them where routing is off."""
    if not settings.routing.on:
        return ()
    last = store.door_order()
    now = plan_to_route_by.plans_at_present(settings, store)
    several = plan_to_route_by.plans_of_pools(settings, now, last, store.headlines())
    of_now = _maker(settings, store, now, several)
    then = plan_to_route_by.plans_at_present(settings, store, plan)
    of_plan = _maker(settings, store, then, then)
    folder = settings.routing.directory
    return tuple(
        node
        for node in haproxy_pools_and_files.addresses(nodes(settings, store))
        if change(of_now(node), of_plan(node), folder).reload
    )


def _maker(settings: Settings, store: Store, which: Between, several: Between) -> Maker:
    """Without the owners of names: these never take a reload, and there may be a million."""
    known = nodes(settings, store)
    routed = haproxy_pools_and_files.routing_of(settings, store, several)
    doors = (
        make_host_maps.doors_without_owners(settings, known)
        if store_order_for_doors.has_doors(settings, which)
        else None
    )
    at = haproxy_pools_and_files.ways_to_nodes(settings, store, which, known)
    return Maker(at, routed.pools, settings.layout(), doors)


def tell_of_reloads(world: World, plan: str) -> None:
    """What cannot be found out is not said: whoever changes the routing hears of it then."""
    reloading: Sequence[str] = ()
    with suppress(FlexError):
        reloading = nodes_that_reload(world.settings, world.store, plan)
    if reloading:
        world.say(f"{reload_in_words(reloading, world.settings.routing.hard_stop_after)}.")


def reload_in_words(reloading: Sequence[str], hard_stop_after: timedelta) -> str:
    return (
        f"HAProxy reloads on {first_few(reloading)}, as more changes there than commands can "
        f"change. What is under way has {amounts.span(hard_stop_after)} to end"
    )
