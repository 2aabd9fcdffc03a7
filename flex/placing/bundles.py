"""Sites that must stay together, as one site: solvers see this one instead of the group.

Takes a Problem with groups. Returns a Problem without groups, in which each group is one site, a
bundle. A bundle asks as much as its members do, and weighs as much when it moves. It stands where
the first of its members stood, and is called after it and those with it. Returns also the way
back, from rows of bundles to rows of sites. Does not decide anything.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from flex.placing.problem import Bools, Ints, Problem, sort_by_site


@dataclass(frozen=True, slots=True, eq=False)
class Bundles:
    """`problem` asks for bundles; `of[s]` is the bundle that site s of the original one is in."""

    problem: Problem
    of: Ints

    def rows(self, rows: Ints) -> Ints:
        """Rows of bundles as rows of sites, in order."""
        if len(self.of) == len(self.problem.sites):
            return sort_by_site(rows)
        members = np.argsort(self.of, kind="stable")
        first = np.searchsorted(self.of[members], np.arange(len(self.problem.sites) + 1))
        size = np.diff(first)[rows[:, 0]]
        nth = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
        site = members[np.repeat(first[rows[:, 0]], size) + nth]
        return sort_by_site(np.stack([site, np.repeat(rows[:, 1], size)], axis=1))

    def bundle_rows(self, rows: Ints) -> Ints:
        """Rows of sites as rows of bundles. All sites of a group must be on the same nodes."""
        tied = np.stack([self.of[rows[:, 0]], rows[:, 1]], axis=1)
        of_bundles: Ints = np.unique(tied, axis=0)
        return of_bundles


def bundle_groups(problem: Problem) -> Bundles:
    """The problem with one site for each group. `held` is left out: solvers do not need it."""
    if not problem.together:
        return Bundles(problem, np.arange(len(problem.sites)))
    of = np.unique(_first_of_group(problem), return_inverse=True)[1]
    whole, partly = _split_rows_in_force(problem, of, np.bincount(of))
    return Bundles(
        replace(
            problem,
            sites=_names(problem, of),
            replicas=_largest(problem.replicas, of),
            load=np.stack([np.bincount(of, column) for column in problem.load.T], axis=1),
            cold=_sums(problem.cold, of),
            old=whole,
            held=None,
            needs={},
            pinned=_merge(problem.pinned, of),
            barred=_merge(problem.barred, of),
            resting=frozenset(of[sorted(problem.resting)].tolist()),
            apart=tuple(frozenset(of[list(group)].tolist()) for group in problem.apart),
            together=(),
            weight=_sums(_weights(problem), of),
            partly=partly,
        ),
        of,
    )


def _names(problem: Problem, of: Ints) -> tuple[str, ...]:
    members: dict[int, list[str]] = defaultdict(list)
    for site, bundle in enumerate(of.tolist()):
        members[bundle].append(problem.sites[site])
    return tuple(_name(*members[bundle]) for bundle in sorted(members))


def _name(first: str, *others: str) -> str:
    if not others:
        return first
    return f"{first} (with {others[0] if len(others) == 1 else f'{len(others)} others'})"


def ties(problem: Problem) -> dict[int, list[int]]:
    """By site that must be together with others: all sites of its group, itself among them."""
    first = _first_of_group(problem) if problem.together else np.zeros(0, dtype=np.int64)
    of: dict[int, list[int]] = defaultdict(list)
    tied = sorted(frozenset[int]().union(*problem.together))
    for site in tied:
        of[int(first[site])].append(site)
    return {site: of[int(first[site])] for site in tied}


def members(problem: Problem, site: int) -> list[int]:
    return ties(problem).get(site, [site])


def _first_of_group(problem: Problem) -> Ints:
    """For each site, the first of all that it is tied to: groups with a member in common are
    one.
    """
    first = list(range(len(problem.sites)))

    def root(site: int) -> int:
        while first[site] != site:
            site = first[site]
        return site

    for group in problem.together:
        roots = sorted({root(site) for site in group})
        for other in roots[1:]:
            first[other] = roots[0]
    return np.array([root(site) for site in range(len(first))], dtype=np.int64)


def _split_rows_in_force(problem: Problem, of: Ints, size: Ints) -> tuple[Ints, Ints]:
    """The rows that all members of a bundle have, and those that only some have, with what these
    need not move.
    """
    site = problem.old[:, 0]
    keys, row = np.unique(of[site] * len(problem.nodes) + problem.old[:, 1], return_inverse=True)
    rows = np.stack(np.divmod(keys, max(1, len(problem.nodes))), axis=1).astype(np.int64)
    complete: Bools = np.bincount(row, minlength=len(keys)) == size[rows[:, 0]]
    spared = np.stack([_sums(_weights(problem)[site], row), _sums(problem.cold[site], row)], axis=1)
    return rows[complete], np.concatenate([rows, spared], axis=1)[~complete]


def _weights(problem: Problem) -> Ints:
    return np.ones(len(problem.sites), dtype=np.int64) if problem.weight is None else problem.weight


def _sums(values: Ints, of: Ints) -> Ints:
    total = np.zeros(int(of.max(initial=-1)) + 1, dtype=np.int64)
    np.add.at(total, of, values)
    return total


def _largest(values: Ints, of: Ints) -> Ints:
    largest = np.zeros(int(of.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(largest, of, values)
    return largest


def _merge(nodes: Mapping[int, Iterable[int]], of: Ints) -> dict[int, frozenset[int]]:
    merged: dict[int, frozenset[int]] = {}
    for site, wanted in nodes.items():
        bundle = int(of[site])
        merged[bundle] = merged.get(bundle, frozenset()) | frozenset(wanted)
    return merged
