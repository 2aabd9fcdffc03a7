"""Which sites get nodes by a plan beside, or instead of, those that they have.

Takes the partition in force and the one to come. Returns by site its new nodes. Sites that are new,
or only lose nodes, are not among them: nobody has to wait for these.
"""

from __future__ import annotations

import pandas as pd

from flex.frame_schemas import texts


def new_nodes(before: pd.DataFrame, after: pd.DataFrame) -> dict[str, set[str]]:
    known = after[after["site"].isin(before["site"])]
    had = set(zip(texts(before["site"]), texts(before["node"]), strict=True))
    nodes_by_site: dict[str, set[str]] = {}
    for site, node in zip(texts(known["site"]), texts(known["node"]), strict=True):
        if (site, node) not in had:
            nodes_by_site.setdefault(site, set()).add(node)
    return nodes_by_site
