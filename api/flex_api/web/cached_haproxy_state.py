"""What the HAProxy of each node says, for pages, the API and metrics alike. It is asked again after
some seconds, no matter how many look. What their doors counted is kept in the store.
"""

from __future__ import annotations

from flex_api.night import ask_every_haproxy, haproxy_pools_and_files, note_strays_of_doors
from flex_api.night.ask_every_haproxy import HaproxyAnswer
from flex_api.web.cached_routing import routing_of
from flex_api.web.request_context import Desk
from flex_api.wiring import nodes

# Seconds for which an answer is good: shorter than between two scrapes.
GOOD = 5.0


def distributors(desk: Desk) -> list[HaproxyAnswer]:
    """A value for each node, or for this machine alone; none where routing is off. One that is
    silent says why.
    """
    if not desk.settings.routing.on:
        return []
    return desk.views.lately("distributors", GOOD, lambda: _ask(desk))


def _ask(desk: Desk) -> list[HaproxyAnswer]:
    settings, store = desk.settings, desk.house.store
    note_strays_of_doors.note_strays(settings, store, desk.now)
    pools = routing_of(desk).routed.pools
    paths = desk.views.get_or_make(
        "routed-paths", lambda: ask_every_haproxy.known_paths(settings, store, pools)
    )
    return ask_every_haproxy.ask_distributors(
        settings, pools, list(haproxy_pools_and_files.addresses(nodes(settings, store))), paths
    )
