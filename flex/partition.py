"""A partition, or another table with a row for each site: what is asked of its rows everywhere.

Takes tables of PLACEMENT, or others with a column `site`. Returns tables, or plain values.
"""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd

from flex.frame_schemas import PLACEMENT, texts


def site_node_pairs(partition: pd.DataFrame) -> list[tuple[str, str]]:
    return list(zip(texts(partition["site"]), texts(partition["node"]), strict=True))


def nodes_by_site(partition: pd.DataFrame) -> dict[str, list[str]]:
    """In the order of the rows: of a PLACEMENT, both sites and nodes are sorted."""
    nodes: dict[str, list[str]] = {}
    for site, node in site_node_pairs(partition):
        nodes.setdefault(site, []).append(node)
    return nodes


def new_nodes(before: pd.DataFrame, after: pd.DataFrame) -> dict[str, set[str]]:
    """By site the nodes that it gets beside, or instead of, those that it has.

    Sites that are new, or only lose nodes, are not among them: nobody has to wait for these.
    """
    had = set(site_node_pairs(before))
    nodes: dict[str, set[str]] = {}
    for site, node in site_node_pairs(rows_of_sites(after, sites_in(before))):
        if (site, node) not in had:
            nodes.setdefault(site, set()).add(node)
    return nodes


def sites_in(table: pd.DataFrame) -> set[str]:
    return set(texts(table["site"]))


def rows_of_sites(table: pd.DataFrame, sites: Collection[str]) -> pd.DataFrame:
    return table[table["site"].isin(list(sites))].reset_index(drop=True)


def rows_of_other_sites(table: pd.DataFrame, sites: Collection[str]) -> pd.DataFrame:
    return table[~table["site"].isin(list(sites))].reset_index(drop=True)


def rows_on_nodes(partition: pd.DataFrame, nodes: Collection[str]) -> pd.DataFrame:
    return partition[partition["node"].isin(list(nodes))].reset_index(drop=True)


def join_partitions(*partitions: pd.DataFrame) -> pd.DataFrame:
    """Raises BadTable where two of them have the same site on the same node."""
    return PLACEMENT.make(pd.concat(partitions, ignore_index=True))
