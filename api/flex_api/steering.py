"""The replicated sites of the placement in force, as the pools that HAProxy routes; and the files of each node.

In go the settings and the store, out come values of flex.steer. Nothing is written or sent here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from flex.domain import Node
from flex.errors import BadInput
from flex.ports import Store
from flex.steer import haproxy
from flex.steer.pool import Pool, backend, members
from flex_api.settings import Settings
from flex_api.wiring import nodes

Slots = Mapping[str, Mapping[str, int]]


def pools(settings: Settings, store: Store, slots: Slots | None = None) -> tuple[Pool, ...]:
    """A pool for each site on several nodes that has a host name. `slots` are those of the configuration before."""
    at = addresses(nodes(settings, store))
    names = defaultdict(list)
    for alias, of in settings.ingest.aliases.items():
        names[of].append(alias)
    _, placement = store.placement()
    found = []
    for name, rows in placement.groupby("site"):
        site, here = str(name), [node for node in rows["node"] if node in at]
        if len(here) > 1 and not site.startswith("/"):
            found.append(_pool(settings, site, names[site], {node: at[node] for node in here}, slots or {}))
    return tuple(found)


def _pool(settings: Settings, site: str, aliases: Sequence[str], at: Mapping[str, str], slots: Slots) -> Pool:
    own = settings.routing.of(site)
    limits, policy = settings.routing.limits(own), own.policy or settings.routing.policy
    hosts = tuple(alias for alias in aliases if not alias.startswith("/"))
    return Pool(site, hosts, members(at, slots.get(backend(site))), policy, limits, own.by_query)


def addresses(known: Sequence[Node]) -> dict[str, str]:
    """Where distributors reach each node: its first address."""
    return {node.name: node.addresses[0] for node in known if node.addresses and node.state != "down"}


def files(settings: Settings, store: Store, node: str, before: str = "") -> dict[str, str]:
    """Of one node; `before` is the configuration it has, so that members keep their slots."""
    at = addresses(nodes(settings, store))
    if node not in at:
        raise BadInput(
            f"the routing of {node!r:.100}",
            f"the nodes that serve are {', '.join(at) or 'none'}",
            kept="nothing was written",
            advice="name one of them",
        )
    found = pools(settings, store, haproxy.slots(before))
    return haproxy.files(node, at, found, settings.routing.layout())
