"""Names in [routing] that have no effect: a site or a node that does not exist, or a node that does
not serve the site.

Takes the settings and the store. Returns a line for each. Does not refuse anything: a site may be
named before it exists.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from flex.partition import nodes_by_site, rows_of_sites
from flex.store import Store
from flex_api.settings.file import Settings
from flex_api.settings.routing_and_warming import RoutedSite
from flex_api.wiring import nodes

# Names that a message lists; the others are only counted. A guess.
_MOST = 20


def misnamed_sites(settings: Settings, store: Store) -> list[str]:
    if not settings.routing.site:
        return []
    _, partition = store.placement()
    named = [routed_site.name for routed_site in settings.routing.site]
    serving = nodes_by_site(rows_of_sites(partition, named))
    known = {node.name for node in nodes(settings, store)}
    lines: list[str] = []
    for routed_site in settings.routing.site:
        lines += _site_faults(
            routed_site,
            known,
            serving if len(partition) else {routed_site.name: routed_site.dynamic},
        )
    more = len(lines) - _MOST
    return [*lines[:_MOST], *([f"and {more} more of the kind"] if more > 0 else [])]


def _site_faults(
    routed_site: RoutedSite, known: Collection[str], serving: Mapping[str, Collection[str]]
) -> Iterator[str]:
    if routed_site.name not in serving:
        yield f"[[routing.site]] {routed_site.name}: no site of that name is on any node"
    for node in routed_site.dynamic:
        if node not in known:
            yield (
                f"[[routing.site]] {routed_site.name}: dynamic names {node}, and there is "
                "no node of that name"
            )
        elif node not in serving.get(routed_site.name, [node]):
            yield (
                f"[[routing.site]] {routed_site.name}: dynamic names {node}, "
                "which does not serve it"
            )
