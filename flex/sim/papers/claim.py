"""What a paper claims, beside what the simulator finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from flex.sim.cluster import Cluster
from flex.sim.fitted import twin
from flex.sim.published import PUBLISHED
from flex.sim.simulate import Result, simulate
from flex.sim.traces import Trace, first

HOLDS, MISSES, OPEN = "holds", "does not come out", "cannot be told"

# The nodes of each site of the first trace, in a cluster that balances what the second one asked.
Solve = Callable[[Trace, Trace, Cluster], Sequence[Sequence[int]]]


@dataclass(frozen=True, slots=True)
class Claim:
    """`verdict` is one of HOLDS, MISSES and OPEN; `reason` is what was found where a claim does not hold."""

    paper: str
    claim: str
    published: str
    measured: str
    verdict: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Point:
    """One simulation of an experiment, for tables and pictures: `x` is what was varied."""

    picture: str
    line: str
    x: float
    result: Result


@dataclass(frozen=True, slots=True)
class Outcome:
    claims: tuple[Claim, ...]
    points: tuple[Point, ...]


class Lab:
    """Twins, each made once, and what is simulated with them. `most` cuts traces short, to try things out."""

    def __init__(self, solve: Solve, told: Callable[[str], None], most: int | None = None) -> None:
        self._solve, self._told, self._most = solve, told, most
        self._twins: dict[str, Trace] = {}
        self.points: list[Point] = []

    def twin(self, name: str) -> Trace:
        if name not in self._twins:
            made = twin(PUBLISHED[name])
            self._twins[name] = made if self._most is None else first(made, self._most)
        return self._twins[name]

    def run(
        self, trace: Trace, cluster: Cluster, policy: str, *, before: Trace | None = None, picture: str, x: float
    ) -> Result:
        """`before` is the trace whose traffic a placement is made for; else it is the trace itself."""
        self._told(f"{picture}: {policy} at {x:g}")
        result = simulate(trace, cluster, policy, lambda asked, nodes: self._solve(asked, before or asked, nodes))
        self.points.append(Point(picture, policy, x, result))
        return result


def because(claims: Sequence[Claim], reason: str) -> list[Claim]:
    """The same claims; those that do not come out say why, unless they do already."""
    return [replace(c, reason=reason) if c.verdict == MISSES and not c.reason else c for c in claims]


def verdict(holds: bool) -> str:
    return HOLDS if holds else MISSES


def percent(low: float, high: float) -> str:
    """`50 to 100 %` of shares."""
    return f"{100 * low:.0f} to {100 * high:.0f} %"


def span(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


def within(values: Sequence[float], low: float, high: float) -> bool:
    """All of them, as figures are printed: to a whole per cent."""
    return all(round(low, 2) <= round(value, 2) <= round(high, 2) for value in values)
