"""Whether doors lead to what is in force, and the doors of all nodes go by that: beside DNS, the
other half of what tells visitors where sites are.

Takes the world. Returns what was ordered last, how many names it leads elsewhere, and who does not
go by it. Changes nothing.
"""

from __future__ import annotations

from flex.routing import host_to_node_maps
from flex_api.night import make_host_maps
from flex_api.night.doors_behind_order import is_known, who_has_not_heard
from flex_api.night.make_host_maps import PartitionForMaps
from flex_api.schemas.verbs_output import DoorsVerified
from flex_api.wiring import World

# Seconds. A node that is well hears of an order within tens of milliseconds.
PATIENCE = 2.0


def verify_doors(world: World, patience: float = PATIENCE) -> DoorsVerified | None:
    """None without doors for all sites, and before the first order."""
    routing, store = world.settings.routing, world.store
    last = store.door_order() if routing.leads_to_all else None
    if last is None:
        return None
    return DoorsVerified(
        order=last.number,
        plan=last.plan,
        differ=_names_led_elsewhere(world),
        known=is_known(world),
        unheard=who_has_not_heard(world, last.number, patience),
    )


def _names_led_elsewhere(world: World) -> int:
    """Than the partition in force says, as far as its nodes serve."""
    store = world.store
    serving = [node.name for node in world.nodes if node.addresses and node.is_serving]
    wanted = PartitionForMaps(world.nodes, serving, store.in_force(), coming=False, decides=False)
    owners = make_host_maps.doors(world.settings, store, wanted).owners
    meant = _backend_by_name(owners.large, owners.moved)
    led = _backend_by_name(store.large_map(), store.moved_map())
    return sum(led.get(name) != meant.get(name) for name in led.keys() | meant.keys())


def _backend_by_name(large: str, moved: str) -> dict[str, str]:
    both = host_to_node_maps.read(large) | host_to_node_maps.read(moved)
    return {name: to for name, to in both.items() if to != host_to_node_maps.NOBODY}
