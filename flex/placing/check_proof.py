"""Checks a proof that no balanced partition has fewer moves. Imports nothing of FLEX.

Takes a statement (what the solver was asked), a certificate, and what was found, as JSON. Returns
the number of moves that is proven to be needed. Raises NotProven where the claim is not proven.
Does not search. All numbers are whole, and every rounding makes the bound smaller.

The proof. Sites that stay together count as one site here, a bundle, which moves as often as its
members do. Each bundle has a price. A node that loses a row of it pays the price; a node that gets
a new row pays the moves which that row takes, less the price. A bundle that is to be on k nodes,
and may stay on h of those that it is on, gets k - h more new rows than it gives up. So the moves of
any partition are the sum of price times k - h over all bundles, and what all nodes pay. Prices lie
between nothing and the least that a new row takes. So no node pays less than nothing.

The certificate says of some nodes that they pay more, and the checker proves it. A vector v weighs
the resources. The changes of a node must bring its load into the band, so they weigh as much as the
nearest edge at least: the base. What the node pays is at least the base, plus the reduced cost of
each of its changes: its cost, less v times its load. A set of changes that costs less than claimed
has reduced costs below the claim less the base. The checker looks at each such set, and refuses
where one of them brings the node into its band.

Bundles without a name are small, and looked at together: so many cost at least so many times the
least cost, and bring at most so many times the largest load.
"""

from __future__ import annotations

import json
import sys
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

FORMAT = 1
# Loads are counted in parts of a mean node's share. Each is off by half a part at most.
SHARE = 10**10
# Prices and payments are counted in parts of a move.
MOVE = 10**6
# Vectors are counted in parts of a move for each share.
WEIGHT = 10**5
# Costs are counted in parts of a move: a price times FINE, or a weight times a load.
FINE = SHARE * WEIGHT // MOVE
# The judge forgives such a part of a node's share at the edge of the band.
FORGIVEN = 10**9
MOST = 4 * 10**18  # The largest number in an array, which has 63 bits.
# Small sites, at most, that one node is looked at with at a time.
MOST_SMALL = 40
# Sets of changes that one more is looked for, for one node, before the checker gives up.
PATIENCE = 100_000

Json = Mapping[str, Any]


class NotProven(Exception):
    """What is claimed is not proven."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """Sites that must be together, and what is asked of them as one."""

    sites: tuple[int, ...]
    replicas: int
    load: tuple[int, ...]
    pinned: frozenset[int]
    barred: frozenset[int]
    held: Mapping[int, int]

    def may_be(self, node: int) -> bool:
        filled = len(self.pinned) >= self.replicas and node not in self.pinned
        return node not in self.barred and not filled

    def moves_to(self, node: int) -> int:
        """How many moves a row on the node is: one for each member that is not there."""
        return len(self.sites) - self.held.get(node, 0)

    def nodes_at_first(self) -> tuple[frozenset[int], frozenset[int]]:
        """The nodes where it is and may stay, and those that it must come to."""
        there = {n for n in self.held if self.moves_to(n) == 0 and self.may_be(n)}
        return frozenset(there), frozenset(self.pinned - there)

    @property
    def least(self) -> int:
        """The least that a new row takes."""
        every = [len(self.sites), *map(self.moves_to, self.held)]
        return min(moves for moves in every if moves)


def _refuse_broken(numbers: Iterable[object], least: int = 0) -> None:
    """No float is trusted, and nothing is less than nothing."""
    if not all(isinstance(number, int) and number >= least for number in numbers):
        raise NotProven("a number is not whole, or less than nothing")


class Statement:
    """What was asked, with bundles in place of sites."""

    def __init__(self, statement: Json) -> None:
        if statement["format"] != FORMAT:
            raise NotProven(f"format {statement['format']} is not known, only {FORMAT}")
        self.said = statement
        self.load = [sizes for sizes in statement["load"] if any(sizes)]
        self.replicas: list[int] = statement["replicas"]
        for sizes in (statement["share"], [statement["tolerance"]], self.replicas, *self.load):
            _refuse_broken(sizes)
        self.nodes = [n for n, is_open in enumerate(statement["open"]) if is_open]
        self.old = frozenset(zip(statement["old"][0], statement["old"][1], strict=True))
        self.pinned = {int(s): frozenset(some) for s, some in statement["pinned"].items()}
        self.barred = {int(s): frozenset(some) for s, some in statement["barred"].items()}
        closed = frozenset(range(len(statement["open"]))) - frozenset(self.nodes)
        self.bundles = self._bundle_sites(closed)
        self.of = {site: b for b, bundle in enumerate(self.bundles) for site in bundle.sites}
        self.apart = [[self.of[site] for site in group] for group in statement["apart"]]
        if any(len(set(group)) < len(group) for group in self.apart):
            raise NotProven("sites are to be together and apart at once")
        rounding = (sum(self.replicas) + 1) // 2 + len(self.replicas)
        self.band = {n: self._band(n, rounding) for n in self.nodes}

    def _band(self, node: int, rounding: int) -> tuple[int, int]:
        """What a node may carry, wider by what rounding may hide."""
        share, tolerance = self.said["share"][node], self.said["tolerance"]
        reach = share * tolerance // SHARE + share // FORGIVEN + rounding + 3
        return share - reach, share + reach

    def _bundle_sites(self, closed: frozenset[int]) -> list[Bundle]:
        first = list(range(len(self.replicas)))

        def root(site: int) -> int:
            while first[site] != site:
                site = first[site]
            return site

        for group in self.said["together"]:
            for site in group:
                first[root(site)] = root(group[0])
        members: dict[int, list[int]] = defaultdict(list)
        for site in range(len(first)):
            members[root(site)].append(site)
        nodes: dict[int, list[int]] = defaultdict(list)
        for site, node in self.old:
            nodes[site].append(node)
        return [self._bundle(some, nodes, closed) for some in members.values()]

    def _bundle(
        self, sites: list[int], nodes: Mapping[int, list[int]], closed: frozenset[int]
    ) -> Bundle:
        if len({self.replicas[site] for site in sites}) > 1:
            raise NotProven("sites that are to be together have other numbers of rows")
        none = frozenset[int]()
        pinned = none.union(*(self.pinned.get(site, none) for site in sites))
        barred = closed.union(*(self.barred.get(site, none) for site in sites))
        held = Counter(node for site in sites for node in nodes.get(site, ()))
        load = tuple(sum(sizes[site] for site in sites) for sizes in self.load)
        return Bundle(tuple(sites), self.replicas[sites[0]], load, pinned, barred, held)


class _Proof:
    """A certificate beside the statement that it is about."""

    def __init__(self, statement: Statement, certificate: Json) -> None:
        self.statement = statement
        self.claims = {int(n): claim for n, claim in certificate["nodes"].items()}
        (sites, prices), rest = certificate["prices"], certificate["rest"]
        _refuse_broken([*prices, rest, certificate["bound"]])
        named = zip(sites, prices, strict=True)
        self.named = {statement.of[site]: price for site, price in named}
        at_rest = [bundle.least * rest for bundle in statement.bundles]
        self.prices = [self.named.get(b, price) for b, price in enumerate(at_rest)]
        both = zip(self.prices, statement.bundles, strict=True)
        if any(price > bundle.least * MOVE for price, bundle in both):
            raise NotProven("a price is more than all moves of a new row")
        self.base = [bundle.nodes_at_first() for bundle in statement.bundles]
        # Groups of which each member has a name: no small bundle changes how many are there.
        self.groups: dict[int, list[int]] = defaultdict(list)
        for g, group in enumerate(statement.apart):
            for b in group if self.named.keys() >= set(group) else ():
                self.groups[b].append(g)
        small = [b for b in range(len(self.prices)) if b not in self.named]
        loads = [statement.bundles[b].load for b in small]
        self.small = [max(sizes) for sizes in zip(*loads, strict=True)]
        rests = [statement.bundles[b].least * MOVE - self.prices[b] for b in small]
        halves = [*rests, *(self.prices[b] for b in small)]
        self.small_cost = min(halves, default=0) * FINE

    def least_moves(self) -> int:
        """What all sites and all nodes pay at least, in whole moves."""
        statement, total = self.statement, 0
        load = {n: [0] * len(statement.load) for n in statement.nodes}
        crowds: dict[int, Counter[int]] = defaultdict(Counter)
        for b, (there, coming) in enumerate(self.base):
            bundle, price = statement.bundles[b], self.prices[b]
            total += price * (bundle.replicas - len(there))
            total += sum(bundle.moves_to(n) * MOVE - price for n in coming)
            for n in there | coming:
                crowds[n].update(self.groups.get(b, ()))
                load[n] = [x + size for x, size in zip(load[n], bundle.load, strict=True)]
        if not self.claims.keys() <= load.keys():
            raise NotProven("it speaks of a node that takes no sites")
        for n, claim in self.claims.items():
            total += _Node(self, n, load[n], crowds[n], claim).payment()
        return -(-total // MOVE)


class _Node:
    """What is claimed of one node, and its changes in the order of their reduced costs.

    Those with a reduced cost below zero are `made` at first. What is looked at is which others are
    made, and which of these are not: the `flips`.
    """

    def __init__(
        self, proof: _Proof, node: int, load: list[int], crowd: Counter[int], claim: Json
    ) -> None:
        self.proof, self.node, self.crowd = proof, node, crowd
        self.patience = PATIENCE
        self.pays, self.v = claim["pays"], claim["v"]
        self.alpha = {int(g): one for g, one in claim.get("apart", {}).items()}
        known = {g for some in proof.groups.values() for g in some}
        _refuse_broken([self.pays, *self.alpha.values()])
        _refuse_broken(self.v, -MOST)
        if len(self.v) != len(load) or not load or self.alpha.keys() - known:
            raise NotProven(f"the vector of node {node} is none")
        least, most = proof.statement.band[node]
        self.low, self.high = ([x - size for size in load] for x in (least, most))
        changes = sorted(self._changes(), key=lambda one: (abs(one[0]), one[3]))
        self.given = sum(min(0, reduced) for reduced, _, _, _ in changes)
        self.made = [(sign, b) for reduced, _, sign, b in changes if reduced < 0]
        self.flips = [(sign if r >= 0 else -sign, b) for r, _, sign, b in changes]
        self.reduced = [abs(reduced) for reduced, _, _, _ in changes]
        self.first_cost = sum(cost for reduced, cost, _, _ in changes if reduced < 0)
        costs = [cost if reduced >= 0 else -cost for reduced, cost, _, _ in changes]
        sizes = [one.load for one in proof.statement.bundles]
        resources = range(len(load))
        loads = [[sign * sizes[b][d] for sign, b in self.flips] for d in resources]
        of_made = [[sign * sizes[b][d] for sign, b in self.made] for d in resources]
        self.first_load = [sum(column) for column in of_made]
        if any(abs(x) > MOST for column in (*loads, costs) for x in column):
            raise NotProven("its numbers are too large")
        self.loads = [np.array(column, dtype=np.int64) for column in loads]
        self.costs = np.array(costs, dtype=np.int64)
        # Few changes bring what is wanted of the first resource: they are found by their order.
        self.by_first = np.argsort(self.loads[0], kind="stable")
        self.first_sizes = self.loads[0][self.by_first]

    def _changes(self) -> list[tuple[int, int, int, int]]:
        """Bundles with names that may leave or come: reduced cost, cost, sign and bundle."""
        changes, proof, node = list[tuple[int, int, int, int]](), self.proof, self.node
        for b, price in proof.named.items():
            bundle, (there, coming) = proof.statement.bundles[b], proof.base[b]
            stays = node in coming or (node in there and node in bundle.pinned)
            if stays or not bundle.may_be(node):
                continue
            sign, cost = -1, price
            if node not in there:
                sign, cost = 1, bundle.moves_to(node) * MOVE - price
            apart = sum(self.alpha.get(g, 0) for g in proof.groups.get(b, ())) * FINE
            weight = sum(x * size for x, size in zip(self.v, bundle.load, strict=True))
            changes.append((cost * FINE - sign * (weight - apart), cost * FINE, sign, b))
        return changes

    def payment(self) -> int:
        """What the node pays at least, if that is what the certificate claims."""
        proof, base = self.proof, 0
        for x, low, high in zip(self.v, self.low, self.high, strict=True):
            base += x * (low if x > 0 else high)
        base += sum(a * FINE * (self.crowd[g] - 1) for g, a in self.alpha.items())
        gap = self.pays * FINE - base - self.given
        worth = [abs(x) * size for x, size in zip(self.v, proof.small, strict=False)]
        slope = proof.small_cost - sum(worth)
        if proof.small and slope < 0:
            raise NotProven(f"small sites may pay for coming to node {self.node}")
        for small in range(MOST_SMALL):
            if small * slope >= gap or (small and not proof.small):
                return int(self.pays)
            limit = self.pays * FINE - small * proof.small_cost
            if self._is_within_reach(small, gap - small * slope, limit):
                raise NotProven(f"node {self.node} may pay less than {self.pays}")
        raise NotProven(f"too many small sites may come to node {self.node}")

    def _is_within_reach(self, small: int, gap: int, limit: int) -> bool:
        """Whether changes with reduced costs below the gap, which cost less than the limit, bring
        the node into its band, with the help of so many small sites.
        """
        reach = [small * size for size in self.proof.small] or [0] * len(self.v)
        low = [x - size for x, size in zip(self.low, reach, strict=True)]
        high = [x + size for x, size in zip(self.high, reach, strict=True)]
        if max(map(abs, (*low, *high, limit))) > MOST:
            raise NotProven("its numbers are too large")
        edges = zip(low, self.first_load, high, strict=True)
        is_in = all(a <= x <= b for a, x, b in edges) and self.first_cost < limit
        if is_in and self._is_apart(()):
            return True
        stack = [(0, gap, self.first_cost, self.first_load, list[int]())]
        while stack:
            start, left, cost, load, chosen = stack.pop()
            self.patience -= 1
            if self.patience < 0:
                raise NotProven("too many sets of changes would have to be looked at")
            end = bisect_left(self.reduced, left, lo=start)
            wanted = [(a - x, b - x) for a, b, x in zip(low, high, load, strict=True)]
            fitting = self._fitting(wanted, start, end, limit - cost)
            if any(self._is_apart([*chosen, last]) for last in fitting):
                return True
            for j in range(start, end):
                more = left - self.reduced[j]
                if j + 1 >= len(self.reduced) or self.reduced[j + 1] >= more:
                    break  # Reduced costs rise: from here on no second change has room.
                moved = [int(sizes[j]) for sizes in self.loads]
                after = [x + size for x, size in zip(load, moved, strict=True)]
                spent = cost + int(self.costs[j])
                stack.append((j + 1, more, spent, after, [*chosen, j]))
        return False

    def _fitting(
        self, wanted: list[tuple[int, int]], start: int, end: int, limit: int
    ) -> list[int]:
        """The changes from `start` to `end` that bring what is wanted for less than the limit."""
        ends = np.searchsorted(self.first_sizes, [wanted[0][0], wanted[0][1] + 1])
        able = self.by_first[ends[0] : ends[1]]
        able = able[(able >= start) & (able < end)]
        for column, (least, most) in zip(self.loads[1:], wanted[1:], strict=True):
            if not len(able):
                break
            able = able[(column[able] >= least) & (column[able] <= most)]
        positions: list[int] = able[self.costs[able] < limit].tolist()
        return positions

    def _is_apart(self, chosen: Iterable[int]) -> bool:
        """Whether no two sites that are to be apart are on the node then."""
        count = Counter(self.crowd)
        for sign, b in (*self.made, *(self.flips[j] for j in chosen)):
            for g in self.proof.groups.get(b, ()):
                count[g] += sign
        return all(some <= 1 for some in count.values())


def _moves(statement: Statement, answer: Json) -> int:
    """How many moves the answer is. Raises NotProven where it breaks a rule or is not balanced."""
    new = frozenset((site, node) for site, node in answer["new"])
    gone = frozenset((site, node) for site, node in answer["gone"])
    if new & statement.old or not gone <= statement.old:
        raise NotProven("what moves is not what was in force")
    rows = statement.old - gone | new
    if Counter(site for site, _ in rows) != Counter(dict(enumerate(statement.replicas))):
        raise NotProven("a site is not on as many nodes as is asked")
    held: dict[int, set[int]] = defaultdict(set)
    load = {n: [0] * len(statement.load) for n in statement.nodes}
    for site, node in rows:
        held[site].add(node)
        if node not in load or node in statement.barred.get(site, ()):
            raise NotProven("a site is on a node where it may not be")
        for d, sizes in enumerate(statement.load):
            load[node][d] += sizes[site]
    if any(not some <= held[site] for site, some in statement.pinned.items()):
        raise NotProven("a pin is not kept")
    for group in statement.said["apart"]:
        nodes = [node for site in group for node in held[site]]
        if len(set(nodes)) < len(nodes):
            raise NotProven("sites that are to be apart share a node")
    for bundle in statement.bundles:
        if len({frozenset(held[site]) for site in bundle.sites}) > 1:
            raise NotProven("sites that are to be together are not")
    for node, (least, most) in statement.band.items():
        if any(not least <= size <= most for size in load[node]):
            raise NotProven(f"node {node} is outside the band")
    return len(new)


def needed_moves(statement: Statement, certificate: Json) -> int:
    """How many moves are needed at least, if that is proven. Raises NotProven."""
    claim = int(certificate["bound"])
    if (proven := _Proof(statement, certificate).least_moves()) < claim:
        raise NotProven(f"it claims {claim} moves, and proves {proven}")
    return claim


def check(proof: Json) -> tuple[int, int]:
    """The moves of the partition, and how many are needed. Raises NotProven."""
    statement = Statement(proof["statement"])
    needed = needed_moves(statement, proof["certificate"])
    moves = _moves(statement, proof["answer"])
    if moves < needed:
        raise NotProven(f"{needed} moves would be needed, and {moves} do")
    return moves, needed


if __name__ == "__main__":
    try:
        check(json.load(sys.stdin))
    except NotProven as error:
        sys.exit(f"not proven: {error}")
