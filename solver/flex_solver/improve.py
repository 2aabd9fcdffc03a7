"""The hot loop of the local search: rows shift and swap between nodes until the band holds and few of them are new.

In go plain integer arrays; out comes the best node found for each item. An item is one replica of one site. Everything
is in integers and the random numbers are written out here, so that every engine gives the same answer, bit for bit.
What the items are, and how hot the search runs, is decided in local.py.

The cost of a placement is its load outside the band, times a weight that grows while there is any and falls while
there is none, plus MOVE and the site's own price for each new row. A change that makes it dearer is taken with a
chance that sinks with the heat (simulated annealing). The best answer is the one with the least load outside the
band, and of those the one with the least cost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from flex import engine

Ints = npt.NDArray[np.int64]

# A fair share in the integer units of loads and bands.
SHARE = 2**36
# What one new row costs: as much as this load outside the band at weight 1.
MOVE = SHARE >> 7
# The weight of load outside the band, in sixteenths; it changes once in so many steps.
FIRST_WEIGHT, LAST_WEIGHT, STEADY = 16, 2**14, 256
# How many entries the table of chances has, and the value of 1 in it.
CHANCES = 4096
UNIT = 1024

MASK = 2**64 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """What can be placed and what that costs; everything is known by its position.

    `site[i]` is the site of item i; items stand in the order of their sites, those of site s from `first_item[s]` on.
    An item of site s asks `load[s, d]`; node n's band is `low[n, d]` to `high[n, d]`. Site s is free of charge on
    `held[first_held[s]:first_held[s + 1]]`; elsewhere an item costs MOVE and `price[s]`.
    Only `movable` items move; they are listed largest first.
    """

    site: Ints
    load: Ints
    low: Ints
    high: Ints
    first_item: Ints
    first_held: Ints
    held: Ints
    price: Ints
    movable: Ints


def reference_improve(items: Items, node: Ints, heat: Ints, chance: Ints, steps: int, seed: int) -> Ints:
    """The best node found for each item after `steps` attempts; `node` is where they start.

    `heat` is the heat of each equal part of the steps, `chance` holds -ln(u) in UNITs for CHANCES equal steps of u.
    """
    return _Search(items, node).run(heat.tolist(), chance.tolist(), steps, seed)


class _Search:
    def __init__(self, items: Items, node: Ints) -> None:
        self.node: list[int] = node.tolist()
        self.site: list[int] = items.site.tolist()
        self.load: list[list[int]] = items.load.tolist()
        self.low: list[list[int]] = items.low.tolist()
        self.high: list[list[int]] = items.high.tolist()
        self.first_item: list[int] = items.first_item.tolist()
        cuts = zip(items.first_held[:-1].tolist(), items.first_held[1:].tolist(), strict=True)
        self.held: list[list[int]] = [items.held[start:end].tolist() for start, end in cuts]
        self.price: list[int] = items.price.tolist()
        self.movable: list[int] = items.movable.tolist()
        self.nodes = len(self.low)
        self.total = [[0] * items.load.shape[1] for _ in self.low]
        for i, n in enumerate(self.node):
            for d, asked in enumerate(self.load[self.site[i]]):
                self.total[n][d] += asked
        self.off = [self._off(n, self.total[n]) for n in range(self.nodes)]
        # The movable items that start on each node, largest first, and the items that are new where they are.
        self.starts: list[list[int]] = [[] for _ in self.low]
        for i in self.movable:
            self.starts[self.node[i]].append(i)
        self.moved: list[int] = []
        self.place_in_moved = [-1] * len(self.node)
        for i in self.movable:
            if self.node[i] not in self.held[self.site[i]]:
                self._list(i)

    def run(self, heat: list[int], chance: list[int], steps: int, seed: int) -> Ints:
        best = self.node.copy()
        if not self.movable or self.nodes < 2 or not heat:
            return np.array(best, dtype=np.int64)
        changed: list[int] = []
        off, cost = sum(self.off), sum(MOVE + self.price[self.site[i]] for i in self.moved)
        best_off, best_cost = off, cost
        weight, state = FIRST_WEIGHT, seed
        for step in range(steps):
            if step % STEADY == 0:
                weight = min(weight + (weight >> 3) + 1, LAST_WEIGHT) if off else max(weight - (weight >> 3) - 1, 1)
            state = (state + 0x9E3779B97F4A7C15) & MASK
            bits = _mix(state)
            state = (state + 0x9E3779B97F4A7C15) & MASK
            more = _mix(state)
            proposal = self._propose(bits, more)
            if proposal is None:
                continue
            i, a, j, b = proposal
            off_change, cost_change = self._change(i, a, j, b)
            dearer = (weight * off_change >> 4) + cost_change
            if dearer > 0 and dearer > heat[step * len(heat) // steps] * chance[more & (CHANCES - 1)] // UNIT:
                continue
            self._do(i, a, j, b)
            changed.append(i)
            if j >= 0:
                changed.append(j)
            off += off_change
            cost += cost_change
            if off < best_off or (off == best_off and cost < best_cost):
                best_off, best_cost = off, cost
                for k in changed:
                    best[k] = self.node[k]
                changed.clear()
        return np.array(best, dtype=np.int64)

    def _propose(self, bits: int, more: int) -> tuple[int, int, int, int] | None:
        """Item i from node a to b, and item j (or -1) from b to a; None where that is no change or not allowed."""
        kind = bits & 7
        if self.moved and kind < 5:
            i = self.moved[_below(len(self.moved), bits >> 8)]
            homes = self.held[self.site[i]]
            b = homes[_below(len(homes), bits >> 24)] if homes and kind < 3 else _below(self.nodes, bits >> 24)
        else:
            i = self.movable[_skewed(len(self.movable), bits >> 8)]
            b = _below(self.nodes, bits >> 24)
        a = self.node[i]
        if a == b or self._is_on(self.site[i], b):
            return None
        if kind in (0, 3, 5, 6):
            return i, a, -1, b
        candidates = self.starts[b]
        if not candidates:
            return None
        j = candidates[_skewed(len(candidates), more >> 16)]
        if self.node[j] != b or self._is_on(self.site[j], a):
            return None
        return i, a, j, b

    def _is_on(self, s: int, n: int) -> bool:
        return n in self.node[self.first_item[s] : self.first_item[s + 1]]

    def _change(self, i: int, a: int, j: int, b: int) -> tuple[int, int]:
        s = self.site[i]
        asked = self.load[s]
        cost = self._cost(s, b) - self._cost(s, a)
        if j >= 0:
            t = self.site[j]
            asked = [x - y for x, y in zip(asked, self.load[t], strict=True)]
            cost += self._cost(t, a) - self._cost(t, b)
        after_a = [x - y for x, y in zip(self.total[a], asked, strict=True)]
        after_b = [x + y for x, y in zip(self.total[b], asked, strict=True)]
        return self._off(a, after_a) + self._off(b, after_b) - self.off[a] - self.off[b], cost

    def _do(self, i: int, a: int, j: int, b: int) -> None:
        self._put(i, a, b)
        if j >= 0:
            self._put(j, b, a)
        self.off[a] = self._off(a, self.total[a])
        self.off[b] = self._off(b, self.total[b])

    def _put(self, i: int, a: int, b: int) -> None:
        s = self.site[i]
        self.node[i] = b
        for d, asked in enumerate(self.load[s]):
            self.total[a][d] -= asked
            self.total[b][d] += asked
        is_new, was_new = b not in self.held[s], self.place_in_moved[i] >= 0
        if is_new and not was_new:
            self._list(i)
        elif was_new and not is_new:
            self._unlist(i)

    def _cost(self, s: int, n: int) -> int:
        return 0 if n in self.held[s] else MOVE + self.price[s]

    def _off(self, n: int, total: list[int]) -> int:
        off = 0
        for low, load, high in zip(self.low[n], total, self.high[n], strict=True):
            if load > high:
                off += load - high
            elif load < low:
                off += low - load
        return off

    def _list(self, i: int) -> None:
        self.place_in_moved[i] = len(self.moved)
        self.moved.append(i)

    def _unlist(self, i: int) -> None:
        """The last of the list takes the place that becomes free."""
        at, last = self.place_in_moved[i], self.moved.pop()
        if last != i:
            self.moved[at] = last
            self.place_in_moved[last] = at
        self.place_in_moved[i] = -1


def _mix(state: int) -> int:
    """The output of splitmix64."""
    state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & MASK
    state = (state ^ state >> 27) * 0x94D049BB133111EB & MASK
    return state ^ state >> 31


def _below(limit: int, bits: int) -> int:
    """A number below the limit from the lowest 31 bits."""
    return (bits & 0x7FFFFFFF) * limit >> 31


def _skewed(limit: int, bits: int) -> int:
    """The same, low numbers more often: the square of an even choice."""
    even = bits & 0x7FFFFFFF
    return (even * even >> 31) * limit >> 31


improve = engine.pick("improve", reference_improve)
