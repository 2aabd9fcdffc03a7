"""The partition as an integer program: how many sites of each kind each node holds.

Takes a Problem and the kinds of its sites. Returns the cheapest rows for one cost after another;
each cost that was brought down stays down. Does not choose the costs, and does not decide what to
do without an answer: fewest_moves.py does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from threading import Event
from typing import Any, TypeAlias

import numpy as np
import pulp

from flex.placing.problem import Ints, Problem
from flex_solver.bounds import one_node
from flex_solver.bounds.problem_arrays import cluster_of
from flex_solver.exact.run_pulp_with_highs import Effort, NoAnswer, run
from flex_solver.symmetry.site_kinds import Kind, counts_of, rows_of

# A linear expression of PuLP's, which ships no types.
Cost: TypeAlias = Any

# Solvers forgive a violation of about 1e-6 in a constraint, the judge 1e-9 of a share: in these
# units the former is a tenth of the latter.
SHARE = 10_000.0

# Steps in which cold bytes are counted, at most: finer ones would need more digits than HiGHS's
# arithmetic can be trusted with. A guess.
STEPS_OF_COLD = 2**20


@dataclass(frozen=True, slots=True)
class KindCounts:
    """How many of each kind each node holds; `best` when nothing cheaper exists."""

    counts: Mapping[tuple[int, int], int]
    best: bool


@dataclass(frozen=True, slots=True)
class Give:
    """Which rules may be broken, at a cost that can be brought down."""

    band: bool = False
    limits: bool = False
    apart: bool = False
    pins: bool = False


class PartitionProgram:
    """Variables and rules of one Problem. `spent` are moves of sites that are not in the program.

    Answers are no better than those known once they are `unwanted`.
    """

    def __init__(
        self,
        problem: Problem,
        of_kind: tuple[Kind, ...],
        *,
        give: Give = Give(),
        spent: int = 0,
        unwanted: Event | None = None,
    ) -> None:
        self._unwanted = unwanted
        self._problem = problem
        self._kinds = of_kind
        self._nodes: list[int] = np.flatnonzero(problem.open).tolist()
        self._model: Any = pulp.LpProblem("placement", pulp.LpMinimize)  # PuLP ships no types.
        self._give = give
        self._count = {
            (k, n): self._rows_of_kind(k, n) for k in range(len(of_kind)) for n in self._nodes
        }
        self._price = {(k, n): of_kind[k].price_on(n) for k, n in self._count}
        for k, kind in enumerate(of_kind):
            self._model += (
                _sum((self._count[k, n], 1) for n in self._nodes) == len(kind.sites) * kind.replicas
            )
        self._hint: Mapping[str, float] | None = None
        self._worst = self._model.add_variable("worst", 0)
        self._off: list[Any] = []
        self._crowds: list[Any] = []
        self._excess: list[Any] = []
        self._band()
        # A pinned row counts as one that may not leave, and a node can be out of its band where the
        # band gives way.
        if not give.band and not give.pins:
            self._floors()
        self._apart()
        self._limits(spent)

    def worst(self) -> Cost:
        """The largest distance outside the band, in units of SHARE."""
        return _sum([(self._worst, 1)])

    def outside(self, price: float) -> Cost:
        """All distances outside the band; each move counts as if it put `price` outside."""
        return _sum((off, 1) for off in self._off) + _sum(
            (self._count[at], price * moves) for at, (moves, _) in self._price.items() if moves
        )

    def cost_of_crowding(self) -> Cost:
        """How many sites are where others are that they should be apart from."""
        return _sum((crowd, 1) for crowd in self._crowds)

    def overspent(self) -> Cost:
        """The sum over the limits of the part by which each is exceeded, in units of SHARE."""
        return _sum((excess, 1) for excess in self._excess)

    def cost_of_lost_pins(self) -> Cost:
        """The pins that hold, each as a gain."""
        return _sum(
            (self._count[k, n], -1) for k, kind in enumerate(self._kinds) for n in kind.pinned
        )

    def moves(self) -> Cost:
        return _sum((self._count[at], moves) for at, (moves, _) in self._price.items() if moves)

    def cold(self) -> Cost:
        """Cold bytes of the moves, in steps fine enough to tell sites apart."""
        step = max(1, -(-max((kind.price[1] for kind in self._kinds), default=0) // STEPS_OF_COLD))
        return _sum(
            (self._count[at], -(-cold // step)) for at, (_, cold) in self._price.items() if cold
        )

    def any_order(self) -> Cost:
        """A cost that no two partitions are likely to share, the same in every run: it settles what
        else is equal.
        """
        return _sum(
            (self._count[k, n], _weight(self._kinds[k].sites[0], n)) for k, n in self._count
        )

    def start_from(self, rows: Ints) -> None:
        """The next search begins with these rows, which keep every rule."""
        counts = counts_of(self._kinds, rows)
        self._hint = {variable.name: float(counts[at]) for at, variable in self._count.items()}

    def take(self, rows: Ints, *, coldest: bool = False) -> KindCounts:
        """These rows, which keep every rule, have the fewest moves, or cold bytes too: later
        answers have no more.
        """
        self.start_from(rows)
        of_rows = counts_of(self._kinds, rows)
        counts = {at: of_rows[at] for at in self._count}
        held = {self._count[at].name: count for at, count in counts.items()}
        for cost in (self.moves(), self.cold()) if coldest else (self.moves(),):
            self._model += cost <= sum(
                held[variable.name] * each for variable, each in cost.items()
            )
        return KindCounts(counts, best=True)

    def minimise(
        self,
        cost: Cost,
        seconds: float,
        *,
        within: float | None = None,
        nodes: int | None = None,
        polish: bool = False,
    ) -> KindCounts:
        """The cheapest counts, and the promise that later answers cost no more.

        Costs are whole numbers, and met exactly, unless `within` says how far from the least is
        near enough. What `nodes` and `polish` mean is with Effort. Raises Impossible when there is
        nothing to find, NoAnswer when nothing was found in time.
        """
        self._model.setObjective(cost)
        effort = Effort(
            seconds, 0.5 if within is None else within, self._hint, polish, nodes, self._unwanted
        )
        best = run(self._model, effort)
        kind_counts = KindCounts(
            {at: round(variable.value()) for at, variable in self._count.items()}, best
        )
        self._check(kind_counts)
        self._hint = {variable.name: variable.value() for variable in self._model.variables()}
        if cost:
            met = sum(variable.value() * each for variable, each in cost.items())
            self._model += cost <= (round(met) if within is None else met + within)
        return kind_counts

    def open_choices(self, kind_counts: KindCounts) -> int:
        """How many new rows there are, times the nodes each could go to."""
        return sum(kind_counts.counts[at] for at, (moves, _) in self._price.items() if moves) * len(
            self._nodes
        )

    def keep_sources(self, kind_counts: KindCounts) -> None:
        """Have each node keep just the rows that it keeps in `kind_counts`: only where moves go
        stays open.
        """
        for k, kind in enumerate(self._kinds):
            for n in kind.held:
                self._count[k, n].bounds(kind_counts.counts[k, n], kind_counts.counts[k, n])

    def rows(self, kind_counts: KindCounts) -> Ints:
        return rows_of(self._kinds, kind_counts.counts, self._nodes)

    def _rows_of_kind(self, k: int, n: int) -> Any:
        """A pin is held even where its node is barred."""
        kind, count = self._kinds[k], len(self._kinds[k].sites)
        least = count * (n in kind.pinned and not self._give.pins)
        most = count * (n not in kind.barred - kind.pinned)
        return self._model.add_variable(f"x_{k}_{n}", least, most, "Integer")

    def _check(self, kind_counts: KindCounts) -> None:
        """An answer that was cut short may be a fraction of one."""
        for k, kind in enumerate(self._kinds):
            if (
                sum(kind_counts.counts[k, n] for n in self._nodes)
                != len(kind.sites) * kind.replicas
            ):
                raise NoAnswer("the solver's answer is not whole")

    def _band(self) -> None:
        problem = self._problem
        for d in np.flatnonzero(problem.load.sum(axis=0) > 0).tolist():
            for n in self._nodes:
                scale = SHARE / problem.share[n]
                load = _sum(
                    (self._count[k, n], kind.load[d] * scale) for k, kind in enumerate(self._kinds)
                )
                off = self._distance(f"off_{n}_{d}") if self._give.band else 0
                self._model += load - off <= SHARE * (1 + problem.tolerance)
                self._model += load + off >= SHARE * (1 - problem.tolerance)

    def _floors(self) -> None:
        """What one_node.py counts for each node: it follows from the bands, and spares the solver
        finding that out.
        """
        if not self._problem.load.any():
            return
        counts = one_node.counts(self._problem, cluster_of(self._problem))
        every = list(enumerate(self._kinds))
        for place, n in enumerate(self._nodes):
            stay = [(self._count[k, n], 1) for k, kind in every if n in kind.held - kind.barred]
            come = [(self._count[k, n], 1) for k, kind in every if n not in kind.held]
            held = sum(len(kind.sites) for _, kind in every if n in kind.held - kind.barred)
            self._model += _sum(stay) <= held - int(counts.leave[place])
            self._model += _sum(come) >= int(counts.enter[place])
            self._model += _sum(come) - _sum(stay) >= int(counts.touch[place]) - held

    def _distance(self, name: str) -> Any:
        """How far a node is outside the band in one dimension; the worst is at least that."""
        off = self._model.add_variable(name, 0)
        self._off.append(off)
        self._model += off <= self._worst
        return off

    def _apart(self) -> None:
        members: dict[int, list[int]] = defaultdict(list)
        for k, kind in enumerate(self._kinds):
            for group in kind.groups:
                members[group].append(k)
        for group, of_group in sorted(members.items()):
            for n in self._nodes:
                crowd = self._model.add_variable(f"crowd_{group}_{n}", 0) if self._give.apart else 0
                self._crowds += [crowd] if self._give.apart else []
                self._model += _sum((self._count[k, n], 1) for k in of_group) - crowd <= 1

    def _limits(self, spent: int) -> None:
        """Limits are whole numbers: half of one more forgives what arithmetic is off by."""
        limits, prices = self._problem.limits, self._price.items()
        if limits.moves is not None:
            rest = limits.moves - spent
            self._limit("moves", ((self._count[at], moves) for at, (moves, _) in prices), rest)
        if limits.cold_bytes is not None:
            of_all = ((self._count[at], cold) for at, (_, cold) in prices)
            self._limit("cold", of_all, limits.cold_bytes)
        for n in self._nodes if limits.inflow is not None else ():
            of_node = ((self._count[at], cold) for at, (_, cold) in prices if at[1] == n)
            self._limit(f"inflow_{n}", of_node, limits.inflow or 0)

    def _limit(self, name: str, terms: Iterable[tuple[Any, int]], most: int) -> None:
        scale = SHARE / max(1, abs(most))
        excess = self._model.add_variable(f"excess_{name}", 0) if self._give.limits else 0
        self._excess += [excess] if self._give.limits else []
        spent = _sum((count, price * scale) for count, price in terms if price)
        self._model += spent - excess <= (most + 0.5) * scale


def _sum(terms: Iterable[tuple[Any, float]]) -> Cost:
    return pulp.LpAffineExpression(list(terms))


def _weight(site: int, node: int) -> int:
    """Scrambled bits of both (the finaliser of splitmix64), so that sums of few weights hardly ever
    agree.
    """
    mixed = (site << 20 | node) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & 0xFFFFFFFFFFFFFFFF
    return (mixed ^ mixed >> 31) % 2**16
