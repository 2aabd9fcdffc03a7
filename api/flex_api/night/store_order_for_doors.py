"""Orders all doors to go by a plan.

Takes the settings and the store. The order is in the store before any node can hear of it; how
nodes hear of it is told elsewhere. Does not write any file.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime

from flex.model.orders_to_doors import DoorOrder
from flex.partition import new_nodes
from flex.routing.haproxy_frontends import Doors
from flex.store import Store
from flex_api.night import make_host_maps
from flex_api.night.plan_to_route_by import Between, plans_at_present
from flex_api.settings.file import Settings
from flex_api.wiring import nodes, refuse_lost


def order(
    settings: Settings,
    store: Store,
    coming: str = "",
    waiting: Collection[str] | None = None,
    held: Collection[str] | None = None,
    led_on: Collection[str] = (),
) -> DoorOrder | None:
    """By what all doors are to go from now on: the plan that is coming, or what is in force. None
    where there are no doors for all sites, or nothing for them to go by.

    Sites that are `waiting` are led as before that plan. With None it is those that were waiting
    when doors were last ordered to go by the same plan; first, of a plan that makes before it
    breaks, all that get nodes. Requests for the sites that are `held` wait at doors; with None it
    is those for which they wait by the last order, while the plan is the same. Of sites with one
    writer those that are `led_on` get their new nodes, and all others keep the ones they have.

    Raises LostLease where the step that asks holds the lease no more.
    """
    # Other clusters need not read all plans to hear that.
    if not settings.routing.leads_to_all:
        return None
    refuse_lost(store)
    while True:
        last = store.door_order()
        which = plans_at_present(settings, store, coming)
        if not has_doors(settings, which):
            return None
        if doors_ordered(settings, store, which, last, waiting, held, led_on):
            return store.door_order()


def doors_ordered(
    settings: Settings,
    store: Store,
    which: Between,
    last: DoorOrder | None,
    waiting: Collection[str] | None = None,
    held: Collection[str] | None = None,
    led_on: Collection[str] = (),
) -> Doors | None:
    """Ordered by what was asked for behind the order `last`. None where there is another one by
    now: then it is to be asked for again.
    """
    wanted = _wanted_maps(settings, store, which, last, waiting, held, led_on)
    return make_host_maps.doors_ordered(settings, store, wanted, last, datetime.now(UTC))


def doors_to_be(settings: Settings, store: Store, which: Between) -> Doors | None:
    """As they would be ordered; nothing is. None where there are no doors for all sites."""
    if not has_doors(settings, which):
        return None
    wanted = _wanted_maps(settings, store, which, store.door_order())
    return make_host_maps.doors(settings, store, wanted)


def has_doors(settings: Settings, which: Between) -> bool:
    """Not where routing is off or HAProxy is to know replicated sites alone, and where no partition
    is in force.
    """
    return settings.routing.leads_to_all and bool(which.doors)


def _wanted_maps(
    settings: Settings,
    store: Store,
    which: Between,
    last: DoorOrder | None,
    waiting: Collection[str] | None = None,
    held: Collection[str] | None = None,
    led_on: Collection[str] = (),
) -> make_host_maps.PartitionForMaps:
    known = nodes(settings, store)
    serving = [node.name for node in known if node.addresses and node.is_serving]
    is_coming = which.doors != store.in_force()
    if not is_coming:
        # Nothing waits any more once its partition is in force.
        waiting = held = ()
    if waiting is None:
        waiting = waiting_of(store, which.doors, last)
    if held is None:
        held = last.held if last and last.plan == which.doors else ()
    if is_coming:
        # Nobody is led on while what is under way at the old node may still end.
        waiting = {*waiting, *held}
    return make_host_maps.PartitionForMaps(
        known,
        serving,
        which.doors,
        coming=is_coming,
        decides=not which.ordered,
        waiting=frozenset(waiting),
        held=frozenset(held),
        led_on=frozenset(led_on),
    )


def waiting_of(store: Store, coming: str, last: DoorOrder | None = None) -> frozenset[str]:
    """The sites that are led as before this plan, by the `last` order or the newest."""
    last = last or store.door_order()
    if last and last.plan == coming:
        return last.waiting
    return frozenset(_waiting_at_first(store, coming))


def _waiting_at_first(store: Store, coming: str) -> Collection[str]:
    """The sites whose visitors are led to new nodes only when their wave begins."""
    plan = store.plan(coming)
    if plan.state != "applying" or plan.moving_ttl is None:
        return ()
    _, in_force = store.placement()
    return new_nodes(in_force, store.placement_of(coming))
