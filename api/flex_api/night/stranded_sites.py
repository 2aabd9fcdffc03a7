"""Which sites of dead nodes stay there, as no other node has what they need.

Takes the settings, the store and a partition. Returns ContentOfDeadNodes. Asks no node: where the
content of a site is, is what the settings say, and which node doors lead its visitors to.

`move.failover` says it of a site. By itself it is so where the site has one writer, where each node
has the content of its own sites alone, and where commands copy the content when the site moves.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pandas as pd

from flex.model.nodes import Node
from flex.model.site_moves import Stage
from flex.model.stranded_sites import NO_CONTENT, ContentOfDeadNodes, LeftAtNode
from flex.model.wish import Pin
from flex.partition import nodes_by_site, rows_of_sites, rows_on_nodes, sites_in
from flex.store import Store
from flex_api.moving.hook_commands import hooks_of_sites
from flex_api.night import owners_by_partition, writer_nodes
from flex_api.settings.file import Settings
from flex_api.wiring import World

# The stages whose commands bring content; those of others bring what can be made anew.
COPYING: tuple[Stage, ...] = ("copy", "final copy")
ONE_WRITER = "it has one writer, `stateful` in [routing]"
OWN_SITES = 'each node has the content of its own sites alone, routing.content = "owner"'
COPIED = "commands copy its content when it moves, [[move.hook]]"
AS_SET = 'move.failover = "copy"'


def find(
    settings: Settings,
    store: Store,
    nodes: Sequence[Node],
    pins: Sequence[Pin],
    partition: pd.DataFrame,
    plan: str,
) -> ContentOfDeadNodes:
    """It is the partition of `plan`. Where somebody ordered that the sites of a node go without
    their content, that node keeps none.
    """
    goes = {order.node for order in store.node_orders() if order.without_content}
    dead = {node.name for node in nodes if node.state == "down"} - goes
    if not dead:
        return NO_CONTENT
    serving = {node.name for node in nodes if node.is_serving}
    writers = _writers(settings, store, partition, plan)
    at = _nodes_of(partition, dead, writers)
    reasons = why_content_is_at_nodes(settings, pins, at)
    away: dict[str, LeftAtNode] = {}
    elsewhere: set[str] = set()
    for site, why in reasons.items():
        having = [writers[site]] if site in writers else at[site]
        if not serving.isdisjoint(having):
            elsewhere.add(site)
        elif there := dead.intersection(having):
            away[site] = LeftAtNode(min(there), why)
    return ContentOfDeadNodes(away, frozenset(elsewhere))


def find_in_force(world: World, nodes: Sequence[Node]) -> ContentOfDeadNodes:
    """The same of the partition in force, with nodes as they are or might be."""
    if all(node.is_serving for node in nodes):
        return NO_CONTENT
    base, partition = world.store.placement()
    return find(world.settings, world.store, nodes, world.pins, partition, base)


def why_content_is_at_nodes(
    settings: Settings, pins: Sequence[Pin], sites: Collection[str]
) -> dict[str, str]:
    """Those of the sites that only a node with their content can serve, each with the reason."""
    ways = settings.move.failover_of(sites)
    one_writer = settings.routing.stateful_of(sites)
    own_sites = settings.routing.content == "owner"
    hooks = hooks_of_sites(settings, lambda: pins)
    reasons: dict[str, str] = {}
    for site in sites:
        if ways[site] == "always":
            continue
        if site in one_writer:
            reasons[site] = ONE_WRITER
        elif own_sites:
            reasons[site] = OWN_SITES
        elif hooks.site_hooks_in(site, COPYING):
            reasons[site] = COPIED
        elif ways[site] == "copy":
            reasons[site] = AS_SET
    return reasons


def _writers(
    settings: Settings, store: Store, partition: pd.DataFrame, plan: str
) -> dict[str, str]:
    """By site with one writer the node that is it: the one that doors lead to, else the owner by
    the partition. What another node has of such a site is older.
    """
    if not settings.routing.has_stateful:
        return {}
    owners = owners_by_partition.node_of_sites(partition)
    led = settings.routing.publishing().sites_led_by_doors(owners)
    sites = settings.routing.stateful_of(led)
    now = writer_nodes.writers_by_order(settings, store, sites, plan)
    return {site: now.get(site, owners[site]) for site in sites}


def _nodes_of(
    partition: pd.DataFrame, dead: Collection[str], writers: Mapping[str, str]
) -> dict[str, list[str]]:
    """The nodes of the sites that are on a dead one, or whose writer is dead."""
    on_dead = sites_in(rows_on_nodes(partition, dead))
    on_dead |= {site for site, node in writers.items() if node in dead}
    return nodes_by_site(rows_of_sites(partition, on_dead))
