"""Tonight's part of a plan that is larger than one night may be: the moves that are worth most,
within the limits.

Takes a Problem, the rows to have in the end, and the limits. Returns the rows for tonight, on the
way to those in the end. Does not make the worst node worse than it is in the partition in force.

A site switches with all its rows, and sites that must be together switch together. Moves for wishes
come before moves for balance, and among them first the wishes for which tomorrow is too late. A
site that must leave a node tonight leaves it, whatever the limits say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field

import numpy as np

from flex.model.limits_and_approvals import Limits
from flex.placing import score
from flex.placing.problem import Bools, Floats, Ints, Problem, sort_by_site

# The largest changes for balance are looked at, so many at most: a night makes a few of them.
MOST = 2_000
# Urgent wishes, other wishes, balance.
TURNS = (0, 1, 2)


@dataclass(slots=True, eq=False)
class _Spent:
    """What of the limits the moves so far take."""

    limits: Limits
    sites: int
    moved: int = 0
    cold: int = 0
    inflow: dict[int, int] = field(default_factory=dict)

    def takes(self, unit: _Unit) -> bool:
        share = (
            (self.moved + unit.moved) / max(self.sites, 1)
            if self.sites >= self.limits.share_from
            else 0.0
        )
        return (
            self.moved + unit.moved <= self.limits.moved_sites
            and share <= self.limits.moved_share
            and self.cold + unit.cold <= self.limits.cold_bytes
            and all(self.inflow.get(node, 0) + 1 <= self.limits.inflow for node in unit.targets)
        )

    def exceeded_limits(self, nodes: Sequence[str]) -> Iterator[tuple[str, str, str]]:
        limits, share = self.limits, self.moved / max(self.sites, 1)
        if self.moved > limits.moved_sites:
            yield "safety.max_moved_sites", f"{limits.moved_sites}", f"{self.moved}"
        if self.sites >= limits.share_from and share > limits.moved_share:
            yield ("safety.max_moved_sites_ratio", f"{limits.moved_share:g}", f"{share:.2g}")
        if self.cold > limits.cold_bytes:
            yield (
                "safety.max_moved_working_set",
                f"{limits.cold_bytes} bytes",
                f"{self.cold} bytes",
            )
        fullest, most = max(self.inflow.items(), key=lambda pair: pair[1], default=(0, 0))
        if most > limits.inflow:
            yield ("safety.max_inflow_per_node", f"{limits.inflow}", f"{most} to {nodes[fullest]}")

    def spend(self, unit: _Unit) -> None:
        self.moved += unit.moved
        self.cold += unit.cold
        for node in unit.targets:
            self.inflow[node] = self.inflow.get(node, 0) + 1


@dataclass(frozen=True, slots=True, eq=False)
class _Unit:
    """Sites that switch together: what they leave and what they come to, and what of that counts as
    moving.

    `targets` are the nodes of new rows that take the place of old ones: a site that was nowhere
    moves away from none.
    """

    sites: tuple[int, ...]
    out: Ints
    into: Ints
    moved: int
    cold: int
    targets: tuple[int, ...]
    wished: bool
    due: bool
    urgent: bool

    @property
    def turn(self) -> int:
        """In which turn it is looked at."""
        return 0 if self.urgent and self.wished else 1 if self.wished else 2

    @property
    def changes(self) -> int:
        """Where it only gives nodes up, each of these is one."""
        return len(self.into) or len(self.out)


def first(
    problem: Problem,
    rows: Ints,
    limits: Limits,
    due: Set[int] = frozenset(),
    urgent: Set[int] = frozenset(),
) -> tuple[Ints, int]:
    """The rows to have tonight, and how many moves are left for later: none where all of them are
    within the limits.

    `due` nodes are left tonight; wishes for `urgent` sites go before others.
    """
    units = _units(problem, rows, due, urgent)
    spent = _Spent(limits, len(problem.sites))
    if not len(problem.old) or _all_taken(units, _Spent(limits, len(problem.sites))):
        return rows, 0
    chosen = _choose(problem, units, spent)
    chosen_groups = {unit.sites for unit in chosen}
    return _switch(problem, chosen), sum(
        unit.changes for unit in units if unit.sites not in chosen_groups
    )


def exceeded_limits(
    problem: Problem, rows: Ints, limits: Limits
) -> tuple[tuple[str, str, str], ...]:
    """The limits that all moves in one night would be over: by its rule, what each allows and what
    they would take.
    """
    all_of_it = _Spent(limits, len(problem.sites))
    for unit in _units(problem, rows, frozenset(), frozenset()):
        all_of_it.spend(unit)
    return tuple(all_of_it.exceeded_limits(problem.nodes))


def _all_taken(units: list[_Unit], spent: _Spent) -> bool:
    for unit in units:
        if not spent.takes(unit):
            return False
        spent.spend(unit)
    return True


def _choose(problem: Problem, units: list[_Unit], spent: _Spent) -> list[_Unit]:
    """Those that must go; then those wished for, the urgent ones first; then all others: the one
    worth most first.
    """
    chosen = [unit for unit in units if unit.due or not unit.moved]
    for unit in chosen:
        spent.spend(unit)
    away = score.deviation(problem, problem.old) + sum(_change(problem, unit) for unit in chosen)
    kept = len(chosen)
    least = max(_worst(away), _worst(score.deviation(problem, problem.old)))
    for turn in TURNS:
        wished = turn != TURNS[-1]
        waiting = _Waiting(
            problem, [unit for unit in units if not unit.due and unit.moved and unit.turn == turn]
        )
        while best := waiting.take_best(away, spent, chosen, wished):
            chosen.append(best)
            spent.spend(best)
            away = away + _change(problem, best)
            if wished or _worst(away) <= least + score.ROUNDING:
                kept = len(chosen)
    return chosen[:kept]


class _Waiting:
    """The largest of some units, and what each would bring back towards the fair shares."""

    def __init__(self, problem: Problem, units: list[_Unit]) -> None:
        self._problem = problem
        self._units = units = _largest(problem, units)
        parts = [_parts(problem, unit) for unit in units]
        dimensions = problem.load.shape[1]
        self._of = np.repeat(np.arange(len(units)), [len(nodes) * dimensions for nodes, _ in parts])
        self._node = np.concatenate([nodes for nodes, _ in parts] or [problem.old[:0, 0]])
        self._change = np.concatenate([change for _, change in parts] or [problem.load[:0]])
        self._left = np.ones(len(units), dtype=np.bool_)

    def take_best(
        self, away: Floats, spent: _Spent, chosen: list[_Unit], wished: bool
    ) -> _Unit | None:
        """The one that brings most back; of those for balance, only one that brings something."""
        gains = self._gains(away)
        able = self._left if wished else self._left & (gains > 0)
        for place in np.argsort(-gains, kind="stable").tolist():
            unit: _Unit = self._units[place]
            if able[place] and spent.takes(unit) and _meets_nobody(self._problem, unit, chosen):
                self._left[place] = False
                return unit
        return None

    def _gains(self, away: Floats) -> Floats:
        before, after = away[self._node], away[self._node] + self._change
        return self._sums(before**2) - self._sums(after**2)

    def _sums(self, squares: Floats) -> Floats:
        return np.bincount(self._of, squares.ravel(), len(self._units)).astype(float)


def _largest(problem: Problem, units: list[_Unit]) -> list[_Unit]:
    if len(units) <= MOST:
        return units
    return sorted(units, key=lambda unit: -float(problem.load[list(unit.sites)].max()))[:MOST]


def _parts(problem: Problem, unit: _Unit) -> tuple[Ints, Floats]:
    """The nodes that the unit changes, and by how much beside their fair shares."""
    every = np.concatenate([unit.out, unit.into])
    sign = np.repeat([-1.0, 1.0], [len(unit.out), len(unit.into)])
    nodes, place = np.unique(every[:, 1], return_inverse=True)
    change = np.zeros((len(nodes), problem.load.shape[1]))
    np.add.at(change, place, sign[:, None] * problem.load[every[:, 0]])
    scale = np.where(problem.open, problem.share, 100.0)
    return nodes, change / scale[nodes, None]


def _change(problem: Problem, unit: _Unit) -> Floats:
    nodes, part = _parts(problem, unit)
    whole: Floats = np.zeros((len(problem.nodes), problem.load.shape[1]))
    whole[nodes] = part
    return whole


def _worst(away: Floats) -> float:
    return float(np.abs(away).max(initial=0.0))


def _meets_nobody(problem: Problem, unit: _Unit, chosen: list[_Unit]) -> bool:
    """Whether no site that it is kept apart from is still where it goes."""
    rivals = problem.rivals
    foes = {rival for site in unit.sites for rival in rivals.get(site, frozenset())}
    if not foes:
        return True
    gone = {site for other in chosen for site in other.sites}
    there = {tuple(row) for row in problem.old.tolist() if row[0] in foes - gone}
    there |= {tuple(row) for other in chosen for row in other.into.tolist() if row[0] in foes}
    return not any((foe, node) in there for node in unit.into[:, 1].tolist() for foe in foes)


def _switch(problem: Problem, chosen: list[_Unit]) -> Ints:
    out = {tuple(row) for unit in chosen for row in unit.out.tolist()}
    kept = [row for row in problem.old.tolist() if tuple(row) not in out]
    into = [row for unit in chosen for row in unit.into.tolist()]
    return sort_by_site(np.array([*kept, *into], dtype=np.int64).reshape(-1, 2))


def _units(problem: Problem, rows: Ints, due: Set[int], urgent: Set[int]) -> list[_Unit]:
    out = _group_nodes_by_site(score.rows_given_up(problem, rows))
    into = _group_nodes_by_site(score.new_rows(problem, rows))
    broken = _sites_with_broken_wishes(problem)
    groups = _groups(problem, sorted({*out, *into}))
    return [_unit(problem, sorted(group), out, into, broken, due, urgent) for group in groups]


def _unit(
    problem: Problem,
    sites: list[int],
    out: dict[int, list[int]],
    into: dict[int, list[int]],
    broken: set[int],
    due: Set[int],
    urgent: Set[int],
) -> _Unit:
    # As many new rows as old ones are given up take their place; the others are replicas that come
    # on top.
    targets = [
        (site, node) for site in sites for node in into.get(site, [])[: len(out.get(site, []))]
    ]
    left = [(site, node) for site in sites for node in out.get(site, [])]
    return _Unit(
        sites=tuple(sites),
        out=np.array(left, dtype=np.int64).reshape(-1, 2),
        into=np.array([(s, n) for s in sites for n in into.get(s, [])], dtype=np.int64).reshape(
            -1, 2
        ),
        moved=sum(1 for site in sites if out.get(site)),
        cold=sum(int(problem.cold[site]) for site, _ in targets),
        targets=tuple(node for _, node in targets),
        wished=any(site in broken for site in sites),
        due=any(node in due for _, node in left),
        urgent=any(site in urgent for site in sites),
    )


def _group_nodes_by_site(rows: Ints) -> dict[int, list[int]]:
    nodes_by_site: dict[int, list[int]] = {}
    for site, node in rows.tolist():
        nodes_by_site.setdefault(site, []).append(node)
    return nodes_by_site


def _groups(problem: Problem, changed: list[int]) -> list[set[int]]:
    """The changed sites; those of a group of `together`, and of groups that have one in common, as
    one.
    """
    of: dict[int, set[int]] = {site: {site} for site in changed}
    for group in problem.together:
        ours = [site for site in group if site in of]
        whole = set().union(*(of[site] for site in ours)) if ours else set[int]()
        for site in whole:
            of[site] = whole
    return list({id(group): group for group in of.values()}.values())


def _sites_with_broken_wishes(problem: Problem) -> set[int]:
    """The sites of which a wish is not kept where they are."""
    old = problem.old
    count = np.bincount(old[:, 0], minlength=len(problem.sites))
    wrong: Bools = (count > 0) & (count != problem.replicas)
    sites = set(np.flatnonzero(wrong).tolist()) | set(old[~problem.open[old[:, 1]], 0].tolist())
    there = {tuple(row) for row in old.tolist()} if problem.pinned or problem.barred else set()
    for site, nodes in problem.pinned.items():
        if any((site, node) not in there for node in nodes):
            sites.add(site)
    for site, nodes in problem.barred.items():
        if any((site, node) in there for node in nodes):
            sites.add(site)
    return sites | {site for group in (*problem.apart, *problem.together) for site in group}
