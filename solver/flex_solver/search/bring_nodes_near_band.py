"""Brings nodes that are far from their bands near, one move at a time.

Takes a partition. Returns one in which no node is far outside its band, as far as single moves go:
a search starts from it. Does not count moves. The node that is farthest gives or takes the row
whose move puts the most load back into the bands of both its nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from flex.placing.problem import Bools, Ints
from flex_solver.search.local_search_loop import SHARE
from flex_solver.search.partition_in_integers import Placed, load_off_band
from flex_solver.search.where_items_may_be import may_be_on

# Load outside its band with which a node is far off: a quarter of a share. A guess.
FAR = SHARE >> 2
# The least load that a move must bring back to be worth it: a thousandth of a share. A guess.
LEAST = SHARE >> 10
# Moves that are looked at, the best first, where wishes forbid one. A guess.
LIKELY = 20
# Moves for each node, at most. A guess.
MOST_MOVES = 200


def bring_nodes_near(placed: Placed) -> Placed:
    work = _Work(placed, placed.node.copy(), placed.totals())
    given_up = np.zeros(len(work.totals), dtype=np.bool_)
    for _ in range(MOST_MOVES * len(given_up)):
        left = np.where(given_up, 0, work.outside_load(slice(None), work.totals))
        farthest = int(left.argmax())
        if left[farthest] <= FAR:
            break
        given_up[farthest] = not work.relieve(farthest)
    return replace(placed, node=work.node)


@dataclass(slots=True, eq=False)
class _Work:
    """Which item is on which `node`, and the nodes' `totals`, while items move."""

    placed: Placed
    node: Ints
    totals: Ints

    def outside_load(self, nodes: Ints | int | slice, totals: Ints) -> Ints:
        return load_off_band(self.placed.items, nodes, totals)

    def relieve(self, n: int) -> bool:
        """Make the best move of the node that wishes allow, if there is one."""
        items = self.placed.items
        for i, to in self._likely(n):
            if may_be_on(items, self.node, int(items.site[i]), to):
                load = items.load[items.site[i]]
                self.totals[self.node[i]] -= load
                self.totals[to] += load
                self.node[i] = to
                return True
        return False

    def _likely(self, n: int) -> Iterator[tuple[int, int]]:
        movable = self.placed.items.movable
        here: Bools = self.node[movable] == n
        moves = self._moves_from_node(n, movable[here]), self._moves_to_node(n, movable[~here])
        item, to, gain = (np.concatenate(both) for both in zip(*moves, strict=True))
        for best in np.argsort(-gain, kind="stable")[:LIKELY].tolist():
            if gain[best] >= LEAST:
                yield int(item[best]), int(to[best])

    def _moves_from_node(self, n: int, here: Ints) -> tuple[Ints, Ints, Ints]:
        """For each item on the node the best node to go to."""
        items = self.placed.items
        load = items.load[items.site[here]]
        there = self.outside_load(slice(None), self.totals + load[:, None, :]) - self.outside_load(
            slice(None), self.totals
        )
        there[:, n] = np.iinfo(np.int64).max
        to = there.argmin(axis=1)
        gain = (
            self.outside_load(n, self.totals[n])
            - self.outside_load(n, self.totals[n] - load)
            - there[np.arange(len(here)), to]
        )
        return here, to, gain

    def _moves_to_node(self, n: int, others: Ints) -> tuple[Ints, Ints, Ints]:
        items = self.placed.items
        load, at = items.load[items.site[others]], self.node[others]
        gain = self.outside_load(n, self.totals[n]) - self.outside_load(n, self.totals[n] + load)
        gain += self.outside_load(at, self.totals[at]) - self.outside_load(
            at, self.totals[at] - load
        )
        return others, np.full(len(others), n), gain
