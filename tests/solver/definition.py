"""The fewest moves of any balanced placement, by an integer program that is the definition written
out.

In goes a Problem; out comes a placement with the fewest moves, of those with the fewest cold bytes,
or none. This is what solvers are held to, so it knows nothing of them: one yes or no for each site
and node, one row for each rule of flex/placing/problem.py. HiGHS gets it as it is, without a
presolve, and sees bands that are wider than the judge's by more than it forgives: what it rules out
is ruled out. Each point that it finds is looked at here in fractions, which is what floats are, and
one that is outside a band after all is taken away, alone, before HiGHS is asked again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

import highspy
import numpy as np

from flex.placing.problem import Problem

# A node on the edge of its band is inside it: the judge forgives a billionth, as loads are sums of
# floats.
FORGIVEN = Fraction(1, 10**9)
# How much wider the bands are for HiGHS, in shares.
WIDER = 1e-6
# What HiGHS forgives in a row of its program.
HIGHS_FORGIVES = 1e-7
# More points outside the band than this one after the other: the problem is not one to be decided
# so.
TRIES = 200

Row = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Fewest:
    """The best placement by definition: its moves, its cold bytes and its rows."""

    moves: int
    cold: int
    rows: tuple[Row, ...]


@dataclass(slots=True)
class _Rules:
    """Sums of yeses, each with the least and the most that it may be."""

    sums: list[tuple[float, float, dict[int, float]]] = field(default_factory=list)

    def add(self, least: float, most: float, terms: dict[int, float]) -> None:
        self.sums.append((least, most, terms))


def fewest(problem: Problem) -> Fewest | None:
    """None where no placement is balanced, keeps every wish and stays within the limits."""
    return _Definition(problem).fewest()


def fewest_cold_bytes(problem: Problem) -> int | None:
    """However many moves they take."""
    return _Definition(problem).fewest_cold_bytes()


def fewest_pins_taken_back(problem: Problem) -> int | None:
    """How many rows that pins ask for any balanced placement is without."""
    return _Definition(replace(problem, pinned={})).without(problem.pinned)


class _Definition:
    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.count = len(problem.nodes)
        old = {(site, node) for site, node in problem.old.tolist()}
        self.every = [
            (site, node) for site in range(len(problem.sites)) for node in range(self.count)
        ]
        self.moves = [int(row not in old) for row in self.every]
        self.cold = [
            int(problem.cold[site]) * int((site, node) not in old) for site, node in self.every
        ]

    def fewest(self) -> Fewest | None:
        rules = self._rules()
        found = self._least(rules, self.moves)
        if found is None:
            return None
        moves = self._sum(found, self.moves)
        rules.add(0.0, moves + 0.5, {at: float(cost) for at, cost in enumerate(self.moves) if cost})
        coldest = self._least(rules, self.cold)
        assert coldest is not None, "what was found is still there"
        assert self._sum(coldest, self.moves) == moves, (
            "no point that was found later has fewer moves"
        )
        rows = tuple(divmod(at, self.count) for at in coldest)
        return Fewest(moves, self._sum(coldest, self.cold), rows)

    def fewest_cold_bytes(self) -> int | None:
        found = self._least(self._rules(), self.cold)
        return None if found is None else self._sum(found, self.cold)

    def without(self, pinned: Mapping[int, frozenset[int]]) -> int | None:
        there = [-int(node in pinned.get(site, ())) for site, node in self.every]
        found = self._least(self._rules(), there)
        return None if found is None else self._sum(found, there) - sum(there)

    def _sum(self, chosen: list[int], costs: list[int]) -> int:
        return sum(costs[at] for at in chosen)

    def _at(self, site: int, node: int) -> int:
        return site * self.count + node

    def _rules(self) -> _Rules:
        rules = _Rules()
        self._counts(rules)
        self._nodes(rules)
        self._company(rules)
        self._limits(rules)
        self._bands(rules)
        return rules

    def _counts(self, rules: _Rules) -> None:
        for site, wanted in enumerate(self.problem.replicas.tolist()):
            rules.add(wanted, wanted, {self._at(site, node): 1.0 for node in range(self.count)})

    def _nodes(self, rules: _Rules) -> None:
        """Where each site must be, and where it may not be."""
        problem = self.problem
        for site in range(len(problem.sites)):
            closed = {node for node in range(self.count) if not problem.open[node]}
            for node in closed | problem.barred.get(site, frozenset()):
                rules.add(0, 0, {self._at(site, node): 1.0})
            for node in problem.pinned.get(site, frozenset()):
                rules.add(1, 1, {self._at(site, node): 1.0})

    def _company(self, rules: _Rules) -> None:
        problem = self.problem
        for node in range(self.count):
            for group in problem.apart:
                rules.add(0, 1, {self._at(site, node): 1.0 for site in group})
            for group in problem.together:
                first, *others = sorted(group)
                for other in others:
                    rules.add(0, 0, {self._at(first, node): 1.0, self._at(other, node): -1.0})

    def _limits(self, rules: _Rules) -> None:
        """All whole numbers: half of one more is none more."""
        limits, every = self.problem.limits, range(len(self.moves))
        if limits.moves is not None:
            rules.add(0, limits.moves + 0.5, {at: float(self.moves[at]) for at in every})
        if limits.cold_bytes is not None:
            rules.add(0, limits.cold_bytes + 0.5, {at: float(self.cold[at]) for at in every})
        for node in range(self.count) if limits.inflow is not None else ():
            rules.add(
                0,
                (limits.inflow or 0) + 0.5,
                {at: float(self.cold[at]) for at in every[node :: self.count]},
            )

    def _bands(self, rules: _Rules) -> None:
        problem = self.problem
        for node, dimension in self._seen():
            share, tolerance = float(problem.share[node]), problem.tolerance + WIDER
            terms = {
                self._at(site, node): float(problem.load[site, dimension]) / share
                for site in range(len(problem.sites))
                if problem.load[site, dimension] > 0
            }
            rules.add(1 - tolerance, 1 + tolerance, terms)

    def _seen(self) -> Iterator[tuple[int, int]]:
        """The open nodes, in the dimensions that carry load."""
        problem = self.problem
        for node in np.flatnonzero(problem.open).tolist():
            for dimension in range(len(problem.dimensions)):
                if problem.load[:, dimension].sum() > 0:
                    yield node, dimension

    def _is_within(self, chosen: list[int]) -> bool:
        """Whether each node is in its band, in whole numbers."""
        problem = self.problem
        for node, dimension in self._seen():
            sites = [at // self.count for at in chosen if at % self.count == node]
            load = sum(
                (Fraction(float(problem.load[site, dimension])) for site in sites), Fraction(0)
            )
            share = Fraction(float(problem.share[node]))
            if abs(load - share) > (Fraction(problem.tolerance) + FORGIVEN) * share:
                return False
        return True

    def _least(self, rules: _Rules, costs: list[int]) -> list[int] | None:
        """The places of the yeses in the cheapest placement; what turns out not to be one is ruled
        out for good.
        """
        for _ in range(TRIES):
            chosen = _solved(rules, costs)
            if chosen is None or self._is_within(chosen):
                return chosen
            yes = set(chosen)
            terms = {at: 1.0 if at in yes else -1.0 for at in range(len(costs))}
            rules.add(-float(len(costs)), len(yes) - 1, terms)
        raise AssertionError("too many placements on the very edge of the band")


def _solved(rules: _Rules, costs: list[int]) -> list[int] | None:
    """Raises AssertionError where HiGHS ends without a word: a verdict that is none must not pass
    for one.
    """
    if not costs:
        return None if any(least > 0 or most < 0 for least, most, _ in rules.sums) else []
    highs = highspy.Highs()  # type: ignore[no-untyped-call]  # highspy ships few types.
    highs.silent()
    options: dict[str, float | int | str] = {
        "threads": 1,
        "presolve": "off",
        "mip_rel_gap": 0.0,
        "mip_abs_gap": 0.5,
        "mip_feasibility_tolerance": HIGHS_FORGIVES,
    }
    for name, value in options.items():
        highs.setOptionValue(name, value)
    highs.passModel(_model(rules, costs))
    highs.run()
    status = highs.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return None
    assert status == highspy.HighsModelStatus.kOptimal, status
    return [at for at, value in enumerate(highs.getSolution().col_value) if value > 0.5]


def _model(rules: _Rules, costs: list[int]) -> highspy.HighsLp:
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = len(costs), len(rules.sums)
    model.col_cost_ = np.array(costs, dtype=np.float64)
    model.col_lower_, model.col_upper_ = np.zeros(len(costs)), np.ones(len(costs))
    model.integrality_ = [highspy.HighsVarType.kInteger] * len(costs)
    model.row_lower_ = np.array([least for least, _, _ in rules.sums], dtype=np.float64)
    model.row_upper_ = np.array([most for _, most, _ in rules.sums], dtype=np.float64)
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = np.cumsum([0, *(len(terms) for _, _, terms in rules.sums)]).astype(
        np.int32
    )
    model.a_matrix_.index_ = np.array(
        [at for _, _, terms in rules.sums for at in terms], dtype=np.int32
    )
    model.a_matrix_.value_ = np.array(
        [of for _, _, terms in rules.sums for of in terms.values()], dtype=np.float64
    )
    return model
