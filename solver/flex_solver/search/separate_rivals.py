"""Places sites so that rivals do not meet, where placing one site after the other fails.

Takes a Problem, rows, and those of them that are decided. Returns rows with other nodes for the
sites whose wishes are not kept, and for the sites that depend on these, wherever that keeps every
wish of theirs. Where it does not, a few wishes to be apart give way, as few as are easily found,
and every site is on as many nodes as it wants. Does not look at loads first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

import numpy as np

from flex.placing import score
from flex.placing.problem import Bools, Floats, Ints, Problem
from flex.wishes import seat_rivals_apart
from flex.wishes.seat_rivals_apart import Guest

# Groups that depend on each other, at most, for which it is tried to leave one of them out. A
# guess.
GROUPS = 200
# Steps of each such try. A guess.
STEPS = 2_000

Nodes = dict[int, tuple[int, ...]]


def separate(problem: Problem, sites: Ints, decided: Ints, rows: Ints) -> Ints:
    """The rows of the sites, in no order. Those decided stay what they are."""
    wrong = _wrong(problem, sites, decided, rows)
    if not len(wrong):
        return rows
    rivals = {site: set(others) for site, others in problem.rivals.items()}
    placed, seen, seated = set(sites.tolist()), set[int](), Nodes()
    order = _Order(problem, np.concatenate([decided, rows]), _nodes_of_rivals(problem, decided))
    for site in wrong.tolist():
        if site not in seen:
            circle = next(seat_rivals_apart.circles([site, *sorted(rivals)], rivals))
            seen.update(circle)
            seated |= _nodes(problem, [member for member in circle if member in placed], order)
    new = [(site, node) for site, nodes in seated.items() for node in nodes]
    others = rows[~np.isin(rows[:, 0], list(seated))]
    return np.concatenate([others, np.array(new, dtype=np.int64).reshape(-1, 2)])


def _wrong(problem: Problem, sites: Ints, decided: Ints, rows: Ints) -> Ints:
    """The sites with another number of rows than they want, and those that meet a rival."""
    count = np.bincount(rows[:, 0], minlength=len(problem.sites))
    wrong = {*sites[count[sites] != problem.replicas[sites]].tolist()}
    if problem.apart:
        nodes_of = _nodes_of_each_site(np.concatenate([rows, decided]), problem.rivals)
        here = set(sites.tolist())
        for site, rivals in problem.rivals.items():
            nodes = nodes_of.get(site, set())
            if site in here and any(nodes & nodes_of.get(rival, set()) for rival in rivals):
                wrong.add(site)
    return np.array(sorted(wrong), dtype=np.int64)


def _nodes_of_each_site(rows: Ints, sites: Mapping[int, Set[int]]) -> dict[int, set[int]]:
    nodes_of: dict[int, set[int]] = {}
    for site, node in rows[np.isin(rows[:, 0], list(sites))].tolist():
        nodes_of.setdefault(site, set()).add(node)
    return nodes_of


def _nodes_of_rivals(problem: Problem, decided: Ints) -> dict[int, set[int]]:
    """For each site, the nodes where a rival is by decision."""
    rivals = problem.rivals
    nodes_of = _nodes_of_each_site(decided, rivals)
    rival_nodes: dict[int, set[int]] = {}
    for site, others in rivals.items():
        for other in others & nodes_of.keys():
            rival_nodes.setdefault(site, set()).update(nodes_of[other])
    return rival_nodes


class _Order:
    """Which nodes a site may be on, the likeliest first: those that hold it, then the emptiest."""

    def __init__(self, problem: Problem, rows: Ints, taken: Mapping[int, Set[int]]) -> None:
        self._problem, self._taken = problem, taken
        total = score.loads(problem, rows)
        self._full: Floats = (total / np.where(problem.open, problem.share, 1.0)[:, None]).max(
            axis=1
        )
        self._by_fullness = np.lexsort((np.arange(len(problem.nodes)), self._full))

    def nodes_for_site(self, site: int, shut: Set[int]) -> tuple[int, ...]:
        problem = self._problem
        first, last = np.searchsorted(problem.old[:, 0], (site, site + 1))
        holds: Bools = np.zeros(len(problem.nodes), dtype=np.bool_)
        holds[problem.old[first:last, 1]] = True
        free: Bools = problem.open.copy()
        free[list(shut)] = False
        ordered = self._by_fullness[np.argsort(~holds[self._by_fullness], kind="stable")]
        return tuple(ordered[free[ordered]].tolist())

    def guest(self, site: int) -> Guest[int]:
        on = self._problem.pinned.get(site, frozenset())
        shut = on | self._problem.barred.get(site, frozenset()) | self._taken.get(site, frozenset())
        return Guest(int(self._problem.replicas[site]), on, self.nodes_for_site(site, shut))

    def anywhere(self, site: int, rivals: Set[int]) -> tuple[int, ...]:
        """As many nodes as it wants, or as are not barred; one at least. Those where a rival is are
        the last.
        """
        on = self._problem.pinned.get(site, frozenset())
        able = self.nodes_for_site(
            site, on | self._problem.barred.get(site, frozenset())
        ) or self.nodes_for_site(site, on)
        wanted = max(1, int(self._problem.replicas[site])) - len(on)
        shut = rivals | self._taken.get(site, frozenset())
        return (*sorted(on), *sorted(able, key=lambda node: node in shut)[: max(0, wanted)])


def _nodes(problem: Problem, circle: Sequence[int], order: _Order) -> Nodes:
    guests, there = {site: order.guest(site) for site in circle}, set(circle)
    groups = [group & there for group in problem.apart if group & there]
    seated = seat_rivals_apart.seat(guests, groups).nodes
    if seated is None and len(groups) <= GROUPS:
        seated = seat_rivals_apart.seat(guests, _separable_groups(guests, groups), STEPS).nodes
    return dict(seated) if seated is not None else _somewhere(problem, circle, order)


def _separable_groups(
    guests: Mapping[int, Guest[int]], groups: Sequence[Set[int]]
) -> list[Set[int]]:
    """Groups that can be kept apart beside each other, the first of them before the others."""
    kept: list[Set[int]] = []
    for group in groups:
        if seat_rivals_apart.seat(guests, [*kept, group], STEPS).nodes is not None:
            kept.append(group)
    return kept


def _somewhere(problem: Problem, circle: Sequence[int], order: _Order) -> Nodes:
    """One after the other, where as few rivals are as can be."""
    seated, rivals = Nodes(), problem.rivals
    for site in sorted(circle, key=lambda member: (member not in problem.pinned, member)):
        there = {node for rival in rivals.get(site, frozenset()) for node in seated.get(rival, ())}
        seated[site] = order.anywhere(site, there)
    return seated
