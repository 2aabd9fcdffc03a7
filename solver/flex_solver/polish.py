"""A placement without the moves that the band does not need.

In goes a placement; out comes one with no more load outside the band and no dearer, the dearest moves given up first.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flex.problem import Ints
from flex_solver.improve import Items
from flex_solver.placed import Placed, may_be_on, outside


def polished(found: Placed) -> Placed:
    items, node, total = found.items, found.node.copy(), found.totals()
    while any(_goes_home(items, node, total, i) for i in _new_ones(replace(found, node=node))):
        pass
    return replace(found, node=node)


def _new_ones(found: Placed) -> list[int]:
    """Movable items that cost something where they are, the dearest first."""
    movable = found.items.movable
    cost = found.costs()[movable]
    new = movable[cost > 0]
    dearest_first: list[int] = new[np.lexsort((new, -cost[cost > 0]))].tolist()
    return dearest_first


def _goes_home(items: Items, node: Ints, total: Ints, i: int) -> bool:
    """Put the item where its site is in force, if that leaves no more load outside the band; whether it did."""
    site, here = int(items.site[i]), int(node[i])
    places = slice(items.first_home[site], items.first_home[site + 1])
    for home in items.home[places][items.at_home[places] == 0].tolist():
        both = [here, home]
        after = total[both] + np.stack([-items.load[site], items.load[site]])
        if may_be_on(items, node, site, home) and outside(items, both, after) <= outside(items, both, total[both]):
            total[both], node[i] = after, home
            return True
    return False
