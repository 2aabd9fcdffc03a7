"""Which sites have other nodes in one partition than in another.

Takes two partitions. Returns an object that lists their differences, a page at a time or whole.
Does not make rows that nobody looks at: in a large cluster there are many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from flex.model.plan_summary import Headline, headline
from flex.partition import nodes_by_site, rows_of_sites
from flex.store import Store
from flex_api.schemas.what_if_output import DiffRow


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """`names` are the sites that differ, in order; `rows` of both partitions are those of these
    sites alone.
    """

    ids: tuple[str, str]
    worst: tuple[float, float]
    sites: int
    names: tuple[str, ...]
    rows: tuple[pd.DataFrame, pd.DataFrame]

    def sites_on_node(self, node: str) -> tuple[str, ...]:
        """Those that one of the two partitions has on the node."""
        there = {site for table in self.rows for site in table.loc[table["node"] == node, "site"]}
        return tuple(name for name in self.names if name in there)

    def fields(self) -> dict[str, Any]:
        """The fields of the whole difference. Any: the fields of an output."""
        (first, second), (first_worst, second_worst) = self.ids, self.worst
        return {
            "one": first,
            "other": second,
            "sites": self.sites,
            "one_worst_ratio": first_worst,
            "other_worst_ratio": second_worst,
        }

    def rows_of(self, names: Sequence[str]) -> list[DiffRow]:
        first, second = (nodes_by_site(rows_of_sites(table, names)) for table in self.rows)
        return [
            DiffRow(site=name, one=first.get(name, []), other=second.get(name, []))
            for name in names
        ]


def head(store: Store, plan: str) -> Headline:
    """The head of a plan, by its id or an unambiguous beginning of it. Raises Unknown."""
    return store.headline(plan) or headline(store.plan(plan))


def difference(
    plan: Headline, other: Headline, tables: tuple[pd.DataFrame, pd.DataFrame]
) -> Difference:
    """The difference between the partitions of two plans, which are in the tables."""
    both = pd.concat(tables, ignore_index=True)
    codes, sites = pd.factorize(both["site"])
    differs = np.zeros(len(sites), dtype=bool)
    # Who has the same nodes in both has each of its rows twice.
    differs[codes[~both.duplicated(keep=False)]] = True
    first, second = np.split(differs[codes], [len(tables[0])])
    return Difference(
        (plan.id, other.id),
        (plan.worst, other.worst),
        len(sites),
        tuple(sorted(sites[differs].tolist())),
        (tables[0][first], tables[1][second]),
    )
