"""The hot loop of the local search: items move until the band holds and few rows are new.

Takes plain integer arrays. Returns the best node found for each item; an item is one replica of one
site. Does not decide which items may move or how hot the search runs: anneal.py does. Everything is
an integer, and the random numbers are computed here, so every engine gives the same answer, bit for
bit.

A partition costs its load outside the band at a weight, OUTSIDE for each node that has any, and the
prices of its new rows. A change that makes it dearer is taken with a chance that sinks with the
heat (simulated annealing). The best answer is the one with the least load outside the band, and of
those the one with the cheapest rows.

Changes are those that shorten a list of moves: an item of a node outside the band goes where it
fits; a moved item goes home, or elsewhere, or home while another of that node goes in its stead;
two moves from one node become one; a chain of two moves becomes one; any item goes anywhere. Some
of them exchange two items.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from flex import native_or_python

Ints = npt.NDArray[np.int64]
Changes = list[tuple[int, int]]

# A fair share in the integer units of loads and bands: fine enough for what the judge forgives.
SHARE = 2**36
# What one new row costs: as much as this load outside the band at weight 1. A guess.
MOVE = SHARE >> 7
# What a node outside the band costs, in addition to its load outside: half a move. A guess.
OUTSIDE = MOVE >> 1
# Entries of the table of chances.
CHANCES = 4096
# The value of 1 in that table.
UNIT = 1024
# The kind of a change is drawn by a number from 0 to 127: each kind takes the numbers below its
# limit that the one before has left, and the rest is any change. The four limits are guesses.
# Below this: an item of a node outside its band goes where it fits.
MEND = 58
# Below this: a moved item goes home, or elsewhere.
RECONSIDER = 77
# Below this: a moved item goes home while another one of that node goes in its stead.
REPLACE = 96
# Below this: two moves become one.
MERGE = 115
# Times of 128 that an item is exchanged for another one in place of moving alone. A guess.
EXCHANGE = 38
# Nodes that are compared for where an item goes. A guess.
FEW = 4
# The same where a moved item goes elsewhere, or for what comes to a node. A
# guess.
SOME = 6

# The bits of a random number.
MASK = 2**64 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """What can be placed and what that costs; everything is known by its position.

    `site[i]` is the site of item i; items stand in the order of their sites, those of site s from
    `first_item[s]` on. An item of site s asks `load[s, d]`; node n's band is `low[n, d]` to
    `high[n, d]`. On `home[first_home[s]: first_home[s + 1]]` it costs what stands at the same
    places of `at_home`, nothing where the row is in force; elsewhere it costs `price[s]`. It may be
    on none of its part of `barred`, nor where one of its `rivals` is. Only `movable` items move.
    """

    site: Ints
    load: Ints
    low: Ints
    high: Ints
    first_item: Ints
    first_home: Ints
    home: Ints
    at_home: Ints
    price: Ints
    first_barred: Ints
    barred: Ints
    first_rival: Ints
    rivals: Ints
    movable: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """The steps in equal parts, each with the heat and the weight of load outside the band, in
    sixteenths, in it.

    `chance` holds -ln(u) in UNITs for CHANCES equal steps of u.
    """

    heat: Ints
    weight: Ints
    chance: Ints
    steps: int
    seed: int


def reference_improve(items: Items, node: Ints, schedule: Schedule) -> Ints:
    """The best node found for each item; `node` is where they start."""
    return _Search(items, node, schedule.seed).run(schedule)


class _Listed:
    """Numbers in any order, of which one can be taken out at once."""

    def __init__(self, count: int) -> None:
        self.members: list[int] = []
        self._place = [-1] * count

    def __contains__(self, member: int) -> bool:
        return self._place[member] >= 0

    def add(self, member: int) -> None:
        self._place[member] = len(self.members)
        self.members.append(member)

    def drop(self, member: int) -> None:
        """The last one takes the place that becomes free."""
        at, last = self._place[member], self.members.pop()
        if last != member:
            self.members[at] = last
            self._place[last] = at
        self._place[member] = -1


class _Lists:
    """Several lists, each number in one of them at most."""

    def __init__(self, lists: int, count: int) -> None:
        self.members: list[list[int]] = [[] for _ in range(lists)]
        self._place = [-1] * count

    def add(self, at: int, member: int) -> None:
        self._place[member] = len(self.members[at])
        self.members[at].append(member)

    def drop(self, at: int, member: int) -> None:
        members = self.members[at]
        place, last = self._place[member], members.pop()
        if last != member:
            members[place] = last
            self._place[last] = place


class _Search:
    def __init__(self, items: Items, node: Ints, seed: int) -> None:
        self.node: list[int] = node.tolist()
        self.site: list[int] = items.site.tolist()
        self.load: list[list[int]] = items.load.tolist()
        self.low: list[list[int]] = items.low.tolist()
        self.high: list[list[int]] = items.high.tolist()
        self.first_item: list[int] = items.first_item.tolist()
        self.homes = _parts(items.first_home, items.home)
        self.at_home = _parts(items.first_home, items.at_home)
        self.price: list[int] = items.price.tolist()
        self.barred = _parts(items.first_barred, items.barred)
        self.rivals = _parts(items.first_rival, items.rivals)
        self.movable: list[int] = items.movable.tolist()
        self.nodes, self.state = len(self.low), seed
        self.total = [[0] * items.load.shape[1] for _ in self.low]
        for i, n in enumerate(self.node):
            self._shift_load(self.site[i], n, 1)
        self.off = [self._outside_load(n, self.total[n]) for n in range(self.nodes)]
        self.outside = _Listed(self.nodes)
        for n in range(self.nodes):
            if self.off[n]:
                self.outside.add(n)
        # The movable items on each node; those that are new where they are; and by the nodes they
        # left.
        self.here = _Lists(self.nodes, len(self.node))
        self.moved = _Listed(len(self.node))
        self.away = _Lists(self.nodes, len(self.node))
        self.left = [-1] * len(self.node)
        for i in self.movable:
            self.here.add(self.node[i], i)
            if self._cost(self.site[i], self.node[i]):
                self._list_as_moved(i, self._free_home(self.site[i]))

    def run(self, schedule: Schedule) -> Ints:
        best = self.node.copy()
        heat = schedule.heat.tolist()
        weight = schedule.weight.tolist()
        chance = schedule.chance.tolist()
        if not self.movable or self.nodes < 2 or not heat:
            return np.array(best, dtype=np.int64)
        changed: list[int] = []
        off = sum(self.off)
        cost = sum(self._cost(self.site[i], self.node[i]) for i in self.moved.members)
        best_off, best_cost = off, cost
        for step in range(schedule.steps):
            part = step * len(heat) // schedule.steps
            changes = self._propose()
            if not changes:
                continue
            undo, off_change, cost_change, nodes_change = self._try(changes)
            dearer = (weight[part] * off_change >> 4) + cost_change + nodes_change * OUTSIDE
            if len(undo) < len(changes) or (
                dearer > 0 and dearer > heat[part] * chance[self._random() & (CHANCES - 1)] // UNIT
            ):
                self._undo(undo)
                continue
            self._keep(undo)
            changed.extend(i for i, _ in changes)
            off += off_change
            cost += cost_change
            if off < best_off or (off == best_off and cost < best_cost):
                best_off, best_cost = off, cost
                for k in changed:
                    best[k] = self.node[k]
                changed.clear()
        return np.array(best, dtype=np.int64)

    def _propose(self) -> Changes:
        """Items and the nodes they go to, one after the other; nothing where there is nothing to
        do.
        """
        kind = self._random() & 127
        if self.outside.members and kind < MEND:
            return self._mend(self._one_of(self.outside.members))
        if self.moved.members and kind < MERGE:
            i = self._one_of(self.moved.members)
            if kind < RECONSIDER:
                return self._reconsider(i)
            return self._replace(i) if kind < REPLACE else self._merge(i)
        return self._anything()

    def _mend(self, n: int) -> Changes:
        over = any(load > high for load, high in zip(self.total[n], self.high[n], strict=True))
        under = any(load < low for load, low in zip(self.total[n], self.low[n], strict=True))
        if over and under:
            over = self._random() & 1 == 0
        if not over:
            return self._fill_node(n)
        if not self.here.members[n]:
            return []
        i = self._one_of(self.here.members[n])
        to = self._best_place(i, SOME)
        if self.left[i] >= 0 and self._random() & 127 < EXCHANGE:
            to = self.left[i]
        return self._perhaps_exchanged(i, n, to)

    def _fill_node(self, n: int) -> Changes:
        """The best of some items elsewhere."""
        best, least = -1, 0
        for _ in range(SOME):
            m = self._random_below(self.nodes)
            if m == n or not self.here.members[m]:
                continue
            i = self._one_of(self.here.members[m])
            load = self.load[self.site[i]]
            worse = (
                self._outside_load(n, _plus(self.total[n], load))
                + self._outside_load(m, _minus(self.total[m], load))
                - self.off[m]
            )
            if best < 0 or worse < least:
                best, least = i, worse
        return [(best, n)] if best >= 0 else []

    def _best_place(self, i: int, tries: int) -> int:
        """The best of some nodes for an item, or -1."""
        best, least = -1, 0
        for _ in range(tries):
            m = self._random_below(self.nodes)
            if m == self.node[i]:
                continue
            worse = (
                self._outside_load(m, _plus(self.total[m], self.load[self.site[i]])) - self.off[m]
            )
            if best < 0 or worse < least:
                best, least = m, worse
        return best

    def _perhaps_exchanged(self, i: int, n: int, to: int) -> Changes:
        if to < 0:
            return []
        if self._random() & 127 < EXCHANGE and self.here.members[to]:
            return [(i, to), (self._one_of(self.here.members[to]), n)]
        return [(i, to)]

    def _reconsider(self, i: int) -> Changes:
        """Home, or to another node."""
        to = self.left[i] if self._random() & 1 else self._best_place(i, FEW)
        return [(i, to)] if to >= 0 else []

    def _replace(self, i: int) -> Changes:
        """Home, while another item of that node goes in its stead."""
        home = self.left[i]
        if home < 0 or not self.here.members[home]:
            return []
        return [(i, home), (self._one_of(self.here.members[home]), self.node[i])]

    def _merge(self, i: int) -> Changes:
        """Two moves become one: those of two items from one node, or from it and from where the
        first went.
        """
        home = self.left[i]
        if home < 0 or not self.here.members[home]:
            return []
        both = self._random() & 1 == 0
        middle = home if both else self.node[i]
        if not self.away.members[middle]:
            return []
        j = self._one_of(self.away.members[middle])
        k = self._one_of(self.here.members[home])
        if j in (i, k):
            return []
        to = self.node[i] if both and self._random() & 1 else self.node[j]
        return [(i, home), (j, middle), (k, to)]

    def _anything(self) -> Changes:
        n, to = self._random_below(self.nodes), self._random_below(self.nodes)
        if n == to or not self.here.members[n]:
            return []
        return self._perhaps_exchanged(self._one_of(self.here.members[n]), n, to)

    def _try(self, changes: Changes) -> tuple[Changes, int, int, int]:
        """What was done, as where each item was; the changes of load outside, of prices and of
        nodes outside.

        Stops at the first change that is none, or not allowed.
        """
        undo: Changes = []
        off, cost, nodes = 0, 0, 0
        for i, to in changes:
            at, s = self.node[i], self.site[i]
            if at == to or not self._may_be_on(s, to):
                break
            undo.append((i, at))
            cost += self._cost(s, to) - self._cost(s, at)
            self._shift_load(s, at, -1)
            self._shift_load(s, to, 1)
            self.node[i] = to
            for n in (at, to):
                before, self.off[n] = self.off[n], self._outside_load(n, self.total[n])
                off += self.off[n] - before
                nodes += (self.off[n] > 0) - (before > 0)
        return undo, off, cost, nodes

    def _undo(self, done: Changes) -> None:
        for i, at in reversed(done):
            s, to = self.site[i], self.node[i]
            self._shift_load(s, to, -1)
            self._shift_load(s, at, 1)
            self.node[i] = at
            self.off[to], self.off[at] = (
                self._outside_load(to, self.total[to]),
                self._outside_load(at, self.total[at]),
            )

    def _keep(self, done: Changes) -> None:
        """Bring the lists in step with what was done. No item is in it twice."""
        for i, at in done:
            to = self.node[i]
            self.here.drop(at, i)
            self.here.add(to, i)
            is_new = self._cost(self.site[i], to) > 0
            if is_new and i not in self.moved:
                self._list_as_moved(i, at)
            elif not is_new and i in self.moved:
                self.moved.drop(i)
                if self.left[i] >= 0:
                    self.away.drop(self.left[i], i)
                self.left[i] = -1
            for n in (at, to):
                if (self.off[n] > 0) != (n in self.outside):
                    (self.outside.add if self.off[n] else self.outside.drop)(n)

    def _list_as_moved(self, i: int, home: int) -> None:
        self.moved.add(i)
        self.left[i] = home
        if home >= 0:
            self.away.add(home, i)

    def _free_home(self, s: int) -> int:
        """The first of the site's homes that it has left, or -1."""
        taken = self.node[self.first_item[s] : self.first_item[s + 1]]
        return next((home for home in self.homes[s] if home not in taken), -1)

    def _may_be_on(self, s: int, n: int) -> bool:
        if n in self.barred[s] or n in self.node[self.first_item[s] : self.first_item[s + 1]]:
            return False
        return not any(
            n in self.node[self.first_item[t] : self.first_item[t + 1]] for t in self.rivals[s]
        )

    def _cost(self, s: int, n: int) -> int:
        return self.at_home[s][self.homes[s].index(n)] if n in self.homes[s] else self.price[s]

    def _outside_load(self, n: int, total: list[int]) -> int:
        off = 0
        for low, load, high in zip(self.low[n], total, self.high[n], strict=True):
            if load > high:
                off += load - high
            elif load < low:
                off += low - load
        return off

    def _shift_load(self, s: int, n: int, times: int) -> None:
        total = self.total[n]
        for d, demand in enumerate(self.load[s]):
            total[d] += times * demand

    def _one_of(self, members: list[int]) -> int:
        return members[self._random_below(len(members))]

    def _random_below(self, limit: int) -> int:
        """A number below the limit from the lowest 31 bits of a random one."""
        return (self._random() & 0x7FFFFFFF) * limit >> 31

    def _random(self) -> int:
        """The next output of splitmix64."""
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        mixed = (self.state ^ self.state >> 30) * 0xBF58476D1CE4E5B9 & MASK
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & MASK
        return mixed ^ mixed >> 31


def _parts(first: Ints, values: Ints) -> list[list[int]]:
    cuts = zip(first[:-1].tolist(), first[1:].tolist(), strict=True)
    return [values[start:end].tolist() for start, end in cuts]


def _plus(total: list[int], load: list[int]) -> list[int]:
    return [x + y for x, y in zip(total, load, strict=True)]


def _minus(total: list[int], load: list[int]) -> list[int]:
    return [x - y for x, y in zip(total, load, strict=True)]


improve = native_or_python.pick("improve", reference_improve)
