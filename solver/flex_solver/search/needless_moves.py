"""Takes back the moves that the band does not need.

Takes a partition. Returns one with no more load outside the band and no dearer rows; the dearest
moves are given up first. Does not move anything anew. Where the band cannot hold, moves are also
given up that put less load back than they are worth.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from flex.placing.problem import Ints
from flex_solver.search.local_search_loop import MOVE, SHARE, Items
from flex_solver.search.partition_in_integers import Placed, load_off_band, outside
from flex_solver.search.where_items_may_be import homes_of, may_be_on


def drop_needless_moves(placed: Placed) -> Placed:
    return _send_items_home(placed, _Worth(0, 0))


def drop_small_moves(placed: Placed, worth: float) -> Placed:
    """Without moves that put less than so much of a share back, as long as no node gets farther off
    than the worst.
    """
    totals = placed.totals()
    worst = int(load_off_band(placed.items, slice(None), totals).max())
    return _send_items_home(placed, _Worth(round(worth * SHARE), worst)) if worst else placed


@dataclass(frozen=True, slots=True)
class _Worth:
    """What load a move is worth, and how much a node may be outside the band for it."""

    load: int
    most: int

    def scale_to_site(self, items: Items, site: int) -> _Worth:
        """A row of the site may be several moves."""
        return replace(self, load=self.load * int(items.price[site]) // MOVE)


def _send_items_home(placed: Placed, worth: _Worth) -> Placed:
    """One after the other, and again as long as any goes: each makes room for others."""
    items, node, total = placed.items, placed.node.copy(), placed.totals()
    new, left = _new_ones(placed), 0
    while len(new) != left:
        left = len(new)
        new = [i for i in new if not _goes_home(items, node, total, i, worth)]
    return replace(placed, node=node)


def _new_ones(placed: Placed) -> list[int]:
    """Movable items that cost something where they are, the dearest first."""
    movable = placed.items.movable
    cost = placed.costs()[movable]
    new = movable[cost > 0]
    dearest_first: list[int] = new[np.lexsort((new, -cost[cost > 0]))].tolist()
    return dearest_first


def _goes_home(items: Items, node: Ints, total: Ints, i: int, worth: _Worth) -> bool:
    """Put the item where its site is in force, if what that leaves outside the band is less;
    whether it did.
    """
    site, here = int(items.site[i]), int(node[i])
    for home in homes_of(items, site):
        both = [here, home]
        after = total[both] + np.stack([-items.load[site], items.load[site]])
        if may_be_on(items, node, site, home) and _is_no_loss(
            items, both, (total[both], after), worth.scale_to_site(items, site)
        ):
            total[both], node[i] = after, home
            return True
    return False


def _is_no_loss(items: Items, both: list[int], loads: tuple[Ints, Ints], worth: _Worth) -> bool:
    before, after = loads
    more = outside(items, both, after) - outside(items, both, before)
    if more <= 0 or not worth.load:
        return more <= 0
    return more < worth.load and int(load_off_band(items, both, after).max()) <= worth.most
