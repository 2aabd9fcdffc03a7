"""Sites that cannot be told apart, as one kind.

Takes a Problem and sites. Returns their kinds, and turns the number of sites of each kind on each
node back into rows. Does not look at names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from flex.placing.problem import Ints, Problem

# What a new row costs, in moves and cold bytes.
Price = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Kind:
    """Sites that are the same to a solver: `held` are the open nodes they are on, `pinned` where
    they must be, `barred` where they may not be. A new row costs `price`, or what `partly` says;
    `groups` keep apart from others.
    """

    sites: tuple[int, ...]
    load: tuple[float, ...]
    price: Price
    replicas: int
    held: frozenset[int]
    pinned: frozenset[int]
    barred: frozenset[int]
    partly: frozenset[tuple[int, Price]]
    groups: frozenset[int]

    def price_on(self, node: int) -> Price:
        """What a row on the node costs; nothing where it is in force."""
        return (0, 0) if node in self.held else dict(self.partly).get(node, self.price)


def kinds(problem: Problem, sites: Sequence[int]) -> tuple[Kind, ...]:
    """The sites by kind, in the order of their first members."""
    held = _nodes_in_force(problem, sites)
    partly = _partly(problem)
    groups = _groups(problem)
    weight = np.ones_like(problem.cold) if problem.weight is None else problem.weight
    alike: dict[Kind, list[int]] = defaultdict(list)
    for site in sites:
        whole = (int(weight[site]), int(problem.cold[site]))
        kind = Kind(
            sites=(),
            load=tuple(problem.load[site].tolist()),
            price=whole,
            replicas=int(problem.replicas[site]),
            held=frozenset(held[site]),
            pinned=problem.pinned.get(site, frozenset()),
            barred=problem.barred.get(site, frozenset()),
            partly=frozenset(
                (node, (whole[0] - moves, whole[1] - cold)) for node, moves, cold in partly[site]
            ),
            groups=frozenset(groups[site]),
        )
        alike[kind].append(site)
    return tuple(replace(kind, sites=tuple(members)) for kind, members in alike.items())


def rows_of(
    of_kind: tuple[Kind, ...], counts: Mapping[tuple[int, int], int], nodes: list[int]
) -> Ints:
    """Counts as rows of sites: within a kind, earlier sites take earlier nodes, or those that hold
    most of it.
    """
    rows: list[tuple[int, int]] = []
    for k, kind in enumerate(of_kind):
        remaining = {n: counts[k, n] for n in nodes if counts[k, n]}
        if kind.replicas == 1:
            rows.extend(
                zip(
                    kind.sites,
                    (n for n, count in remaining.items() for _ in range(count)),
                    strict=True,
                )
            )
            continue
        for site in kind.sites:
            fullest = sorted(remaining, key=lambda n: (-remaining[n], n))[: kind.replicas]
            for n in fullest:
                remaining[n] -= 1
                rows.append((site, n))
    return np.array(rows, dtype=np.int64).reshape(-1, 2)


def counts_of(of_kind: tuple[Kind, ...], rows: Ints) -> dict[tuple[int, int], int]:
    """Rows of sites as counts; sites of no kind are left out."""
    kind_of = {site: k for k, kind in enumerate(of_kind) for site in kind.sites}
    counts: dict[tuple[int, int], int] = defaultdict(int)
    for site, node in rows.tolist():
        if site in kind_of:
            counts[kind_of[site], node] += 1
    return counts


def _nodes_in_force(problem: Problem, sites: Sequence[int]) -> dict[int, set[int]]:
    nodes: dict[int, set[int]] = defaultdict(set)
    held = problem.open[problem.old[:, 1]] & np.isin(problem.old[:, 0], sites)
    for site, node in problem.old[held].tolist():
        nodes[site].add(node)
    return nodes


def _partly(problem: Problem) -> dict[int, list[tuple[int, int, int]]]:
    partial_prices: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for site, node, moves, cold in () if problem.partly is None else problem.partly.tolist():
        partial_prices[site].append((node, moves, cold))
    return partial_prices


def _groups(problem: Problem) -> dict[int, set[int]]:
    groups: dict[int, set[int]] = defaultdict(set)
    for number, group in enumerate(problem.apart):
        for site in group:
            groups[site].add(number)
    return groups
