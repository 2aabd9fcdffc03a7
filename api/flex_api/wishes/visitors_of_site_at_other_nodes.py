"""Who still comes to nodes that do not have a site, for the explanation of the site.

Takes a world, the site and the nodes that have it. Asks the doors that can be asked from here.
Returns rows, and the nodes of which nobody knows. Nothing without doors that lead to the site.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TypedDict

from flex_api.facts import other_names_to_route, visitors_at_other_nodes
from flex_api.night import haproxy_pools_and_files, note_strays_of_doors
from flex_api.schemas.strays import StrayRow, stray_row
from flex_api.wiring import World, nodes


class VisitorsElsewhere(TypedDict):
    """As the explanation has it."""

    visitors: list[StrayRow]
    visitors_not_known: list[str]


def visitors_elsewhere(world: World, site: str, here: Collection[str]) -> VisitorsElsewhere:
    settings, store, now = world.settings, world.store, world.time_of_day()
    if not here or not settings.routing.publishing().by_doors([site]):
        return VisitorsElsewhere(visitors=[], visitors_not_known=[])
    note_strays_of_doors.note_strays(settings, store, now)
    names = [site, *other_names_to_route.other_names(settings, [site])[site]]
    found = visitors_at_other_nodes.visitors(store.strays(names), lambda _: site, lambda _: here)
    serving = haproxy_pools_and_files.addresses(nodes(settings, store))
    elsewhere = [node for node in serving if node not in here]
    seen = {one.node for one in found}
    unknown = visitors_at_other_nodes.not_known(store.doors_read(), elsewhere, now)
    return VisitorsElsewhere(
        visitors=[stray_row(one) for one in found],
        visitors_not_known=[node for node in unknown if node not in seen],
    )
