"""Which node owns which host name by a partition.

Takes the settings and a partition. Returns nodes by name, or by site. Changes nothing, and does not
know what the doors were ordered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from zlib import crc32

import pandas as pd

from flex.frame_schemas import texts
from flex.partition import nodes_by_site, rows_on_nodes, site_node_pairs, sites_in
from flex.routing.member_pools import is_host
from flex_api.facts import other_names_to_route
from flex_api.settings.file import Settings


def owners_of_names(
    settings: Settings, partition: pd.DataFrame, serving: Collection[str]
) -> dict[str, str]:
    """By host name the node that answers for it. Where a site has several nodes, a hash of the
    site says which it is, so that all doors mean the same.

    A name whose site is on no node that serves is left out, and so are sites that are published by
    DNS alone, and what no host can be called.
    """
    here = rows_on_nodes(partition, serving)
    owner = node_of_sites(here)
    led = settings.routing.publishing().sites_led_by_doors(owner)
    names = other_names_to_route.other_names(settings, led)
    by_name: dict[str, str] = {}
    for site in led:
        node = owner[site]
        if is_host(site):
            by_name[site] = node
        # Each of these is one that a host can have.
        for name in names[site]:
            by_name[name] = node
    return by_name


def others_of_names(
    settings: Settings, partition: pd.DataFrame, serving: Collection[str]
) -> dict[str, list[str]]:
    """By host name the nodes that answer for it where its owner is away: of sites that several
    nodes have, where only these have the content. Each site has an order of its own.

    A site with one writer has none.
    """
    routing = settings.routing
    if routing.content == "everywhere":
        return {}
    here = rows_on_nodes(partition, serving)
    several = here[here["site"].duplicated(keep=False)]
    nodes_of = {site: sorted(nodes) for site, nodes in nodes_by_site(several).items()}
    every = routing.publishing().sites_led_by_doors(sites_in(here))
    led = every & nodes_of.keys()
    by_name: dict[str, list[str]] = {}
    for name, site in names_of(settings, led - routing.stateful_of(led)).items():
        # What is called so is a site of its own.
        is_another = name != site and name in every
        if is_host(name) and not is_another:
            nodes = nodes_of[site]
            first = _turn(site, len(nodes))
            by_name[name] = nodes[first + 1 :] + nodes[:first]
    return by_name


def names_of(settings: Settings, sites: Collection[str]) -> dict[str, str]:
    """By host name the site, of these sites: each by itself, and by its other names."""
    site_of = {site: site for site in sites}
    for site, names in other_names_to_route.other_names(settings, sites).items():
        site_of |= dict.fromkeys(names, site)
    return site_of


def node_of_sites(here: pd.DataFrame) -> dict[str, str]:
    """By site the one node that owns its names, of those that it has in this partition. Most sites
    are on one node: only the rows of the others are looked at one by one.
    """
    on_several = here["site"].duplicated(keep=False)
    alone, several = here[~on_several], here[on_several]
    owner = dict(site_node_pairs(alone))
    counts = Counter(texts(several["site"]))
    turn: Counter[str] = Counter()
    for site, node in sorted(site_node_pairs(several)):
        if turn[site] == _turn(site, counts[site]):
            owner[site] = node
        turn[site] += 1
    return owner


def _turn(site: str, nodes: int) -> int:
    """Which of so many nodes owns the names of a site."""
    return crc32(site.encode()) % nodes
