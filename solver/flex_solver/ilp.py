"""The partition as an integer program, through PuLP: HiGHS where it is installed, PuLP's own CBC elsewhere.

In go a Problem and the sites to place; out come the cheapest rows for one cost after another, each kept while the
next is brought down. What the costs are, and what to do without an answer, is decided in exact.py.

Sites that cannot be told apart (same load, same cold bytes, same rows and pins) are one kind, and a variable counts
how many of a kind a node holds: otherwise every exchange of twins would be another optimum to search through.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, TypeAlias

import numpy as np
import pulp

from flex.problem import Ints, Problem

# PuLP 4 comes with CBC another way and needs Python 3.12: its reminders are for the day that is our floor.
pulp.set_v4_migration_warnings(False)

HAVE_HIGHS = find_spec("highspy") is not None

# A linear expression of PuLP's, which ships no types.
Cost: TypeAlias = Any

# Solvers forgive a violation of about 1e-6 in a constraint, the judge 1e-9 of a share: in these units
# the former is a tenth of the latter.
SHARE = 10_000.0

# No costs are told apart by more digits than a solver's arithmetic can be trusted with.
STEPS_OF_COLD = 2**20


@dataclass(frozen=True, slots=True)
class Kind:
    """Sites that are the same to a solver: `held` are the open nodes they are on, `pinned` where they must be."""

    sites: tuple[int, ...]
    load: tuple[float, ...]
    cold: int
    replicas: int
    held: frozenset[int]
    pinned: frozenset[int]


@dataclass(frozen=True, slots=True)
class Found:
    """How many of each kind each node holds; `best` when nothing cheaper exists."""

    counts: Mapping[tuple[int, int], int]
    best: bool


class Impossible(Exception):
    """No placement satisfies the program."""


class NoAnswer(Exception):
    """The solver ended without saying anything of use."""


def kinds(problem: Problem, sites: Iterable[int]) -> tuple[Kind, ...]:
    """The sites in groups that cannot be told apart, in the order of their first members."""
    held: dict[int, set[int]] = defaultdict(set)
    for site, node in problem.old.tolist():
        if problem.open[node]:
            held[site].add(node)
    alike: dict[Kind, list[int]] = defaultdict(list)
    for site in sites:
        kind = Kind(
            sites=(),
            load=tuple(problem.load[site].tolist()),
            cold=int(problem.cold[site]),
            replicas=int(problem.replicas[site]),
            held=frozenset(held[site]),
            pinned=problem.pinned.get(site, frozenset()),
        )
        alike[kind].append(site)
    return tuple(replace(kind, sites=tuple(members)) for kind, members in alike.items())


class Program:
    """Variables and rules of one Problem; `relaxed` lets nodes leave the band, at a cost that can be brought down."""

    def __init__(self, problem: Problem, of_kind: tuple[Kind, ...], *, relaxed: bool, highs: bool) -> None:
        self._highs = highs
        self._problem = problem
        self._kinds = of_kind
        self._nodes: list[int] = np.flatnonzero(problem.open).tolist()
        self._model: Any = pulp.LpProblem("placement", pulp.LpMinimize)  # PuLP ships no types.
        self._count = {
            (k, n): self._model.add_variable(
                f"x_{k}_{n}", len(kind.sites) if n in kind.pinned else 0, len(kind.sites), "Integer"
            )
            for k, kind in enumerate(of_kind)
            for n in self._nodes
        }
        for k, kind in enumerate(of_kind):
            self._model += _sum((self._count[k, n], 1) for n in self._nodes) == len(kind.sites) * kind.replicas
        self._hint: Mapping[str, float] | None = None
        self._worst = self._model.add_variable("worst", 0)
        self._off: list[Any] = []
        self._band(relaxed=relaxed)

    def worst(self) -> Cost:
        """The largest distance outside the band, in units of SHARE."""
        return _sum([(self._worst, 1)])

    def outside(self, price: float) -> Cost:
        """All distances outside the band together, each move counting as if it put so much outside."""
        return _sum((off, 1) for off in self._off) + _sum((self._count[k, n], price) for k, n in self._new())

    def moves(self) -> Cost:
        return _sum((self._count[k, n], 1) for k, n in self._new())

    def cold(self) -> Cost:
        """Cold bytes of the moves, in steps fine enough to tell sites apart."""
        step = max(1, -(-max((kind.cold for kind in self._kinds), default=0) // STEPS_OF_COLD))
        return _sum((self._count[k, n], -(-self._kinds[k].cold // step)) for k, n in self._new())

    def any_order(self) -> Cost:
        """A cost that no two placements are likely to share, the same in every run: it settles what else is equal."""
        return _sum((self._count[k, n], _weight(self._kinds[k].sites[0], n)) for k, n in self._count)

    def minimise(self, cost: Cost, seconds: float, *, within: float | None = None) -> Found:
        """The cheapest counts, and the promise that later answers cost no more.

        Costs are whole numbers, and met exactly, unless `within` says how far from the least is near enough.
        Raises Impossible when there is nothing to find, NoAnswer when nothing was found in time.
        """
        self._model.setObjective(cost)
        gap = 0.5 if within is None else within
        best = _run(self._model, _Hinted(self._hint, seconds, gap) if self._highs else _cbc(seconds, gap))
        found = Found({at: round(variable.value() or 0.0) for at, variable in self._count.items()}, best)
        self._check(found)
        self._hint = {variable.name: variable.value() or 0.0 for variable in self._model.variables()}
        if cost:
            self._model += cost <= (round(cost.value()) if within is None else cost.value() + within)
        return found

    def open_choices(self, found: Found) -> int:
        """How many moves there are, times the nodes each could go to."""
        return sum(found.counts[at] for at in self._new()) * len(self._nodes)

    def keep_sources(self, found: Found) -> None:
        """From here on, each node keeps just the rows that it keeps in `found`: only where moves go stays open."""
        for k, kind in enumerate(self._kinds):
            for n in kind.held:
                self._count[k, n].bounds(found.counts[k, n], found.counts[k, n])

    def rows(self, found: Found) -> Ints:
        """The counts as rows of sites. Within a kind, earlier sites take the nodes that hold most of it."""
        rows = []
        for k, kind in enumerate(self._kinds):
            remaining = {n: found.counts[k, n] for n in self._nodes}
            for site in kind.sites:
                fullest = sorted(remaining, key=lambda n: (-remaining[n], n))[: kind.replicas]
                for n in fullest:
                    remaining[n] -= 1
                    rows.append((site, n))
        return np.array(rows, dtype=np.int64).reshape(-1, 2)

    def _check(self, found: Found) -> None:
        """An answer that was cut short may be a fraction of one."""
        for k, kind in enumerate(self._kinds):
            if sum(found.counts[k, n] for n in self._nodes) != len(kind.sites) * kind.replicas:
                raise NoAnswer("the solver's answer is not whole")

    def _new(self) -> list[tuple[int, int]]:
        return [(k, n) for k, n in self._count if n not in self._kinds[k].held]

    def _band(self, *, relaxed: bool) -> None:
        problem = self._problem
        for d in np.flatnonzero(problem.load.sum(axis=0) > 0).tolist():
            for n in self._nodes:
                scale = SHARE / problem.share[n]
                load = _sum((self._count[k, n], kind.load[d] * scale) for k, kind in enumerate(self._kinds))
                off = self._distance(f"off_{n}_{d}") if relaxed else 0
                self._model += load - off <= SHARE * (1 + problem.tolerance)
                self._model += load + off >= SHARE * (1 - problem.tolerance)

    def _distance(self, name: str) -> Any:
        """How far a node is outside the band in one dimension; the worst is at least that."""
        off = self._model.add_variable(name, 0)
        self._off.append(off)
        self._model += off <= self._worst
        return off


def _sum(terms: Iterable[tuple[Any, float]]) -> Cost:
    return pulp.LpAffineExpression(list(terms))


def _weight(site: int, node: int) -> int:
    """Scrambled bits of both (the finaliser of splitmix64), so that sums of few weights hardly ever agree."""
    mixed = (site << 20 | node) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & 0xFFFFFFFFFFFFFFFF
    return (mixed ^ mixed >> 31) % 2**16


def _run(model: Any, solver: Any) -> bool:
    """Whether the answer found is proven to be the best."""
    try:
        model.solve(solver)
    except pulp.PulpSolverError as error:
        raise NoAnswer(str(error)) from error
    if model.status in (pulp.LpStatusInfeasible, pulp.LpStatusUndefined):
        raise Impossible
    if model.sol_status not in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible):
        raise NoAnswer(f"nothing was found in {solver.timeLimit:.0f} s")
    return bool(model.sol_status == pulp.LpSolutionOptimal)


def _cbc(seconds: float, gap: float) -> Any:
    return pulp.PULP_CBC_CMD(msg=False, timeLimit=max(1.0, seconds), gapAbs=gap, gapRel=0.0, threads=1)


class _Hinted(pulp.HiGHS):  # type: ignore[misc]  # PuLP ships no types.
    """HiGHS, started from the answer to the program before."""

    def __init__(self, hint: Mapping[str, float] | None, seconds: float, gap: float) -> None:
        super().__init__(msg=False, timeLimit=max(0.0, seconds), gapAbs=gap, gapRel=0.0, threads=1)
        self._hint = hint

    def callSolver(self, lp: Any) -> None:  # noqa: N802  # PuLP's own name.
        import highspy

        if self._hint is not None:
            start = highspy.HighsSolution()
            # Where nothing costs anything, PuLP adds a variable of its own.
            start.col_value = [self._hint.get(variable.name, 0.0) for variable in lp.variables()]
            lp.solverModel.setSolution(start)
        super().callSolver(lp)
