"""Where experiments get their traces, and what is simulated with them.

A lab has twins of the papers' traces under assumptions of what was not published
(assumptions.py); or, where it is given one, a real trace in place of each of them. Then memory
shrinks or grows with the working set, so that a node holds the share of it that the paper's node
held.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from flex.sim.papers.assumptions import PLAIN, Assumptions
from flex.sim.papers.calibration import calibrated_twin
from flex.sim.papers.claim import WORSE, Claim, Tried, because, untold
from flex.sim.published_trace_figures import PUBLISHED
from flex.sim.simulate import Adjust, Result, simulate
from flex.sim.simulated_clusters import SimulatedCluster
from flex.sim.trace_twins import MB, twin
from flex.sim.traces import Trace, days, first

# The nodes of each site of the first trace, in a cluster that balances what the second one asked.
Solve = Callable[[Trace, Trace, SimulatedCluster], Sequence[Sequence[int]]]
# With fewer accesses the largest clusters have all of them under way at once. A guess.
FEWEST_ACCESSES = 1000
# As many as the largest cluster of the LARD paper has nodes: with fewer files some have nothing
# to do.
FEWEST_FILES = 16


@dataclass(frozen=True, slots=True)
class Simulated:
    """One simulation of an experiment, for tables and pictures: `x` is what was varied. Where nodes
    end each at a time of their own (`apart`), what a node serves is drawn too.
    """

    picture: str
    line: str
    x: float
    result: Result
    apart: bool = False


class Lab:
    """Traces, each made once. `most` cuts them short, to try things out; `real` stands in for all
    of them. Where it does not `explain`, no reason is put to the test.
    """

    def __init__(
        self,
        solve: Solve,
        told: Callable[[str], None],
        most: int | None = None,
        real: Trace | None = None,
        *,
        assumed: Assumptions = PLAIN,
        explains: bool = True,
    ) -> None:
        self._solve, self._told, self._most = solve, told, most
        self.assumed, self._explains = assumed, explains
        self.real = None if real is None else self._cut(real)
        self._days = [] if self.real is None else days(self.real)
        self._traces: dict[str, Trace] = {}
        # For traces that stand in for another: their working set over the other's.
        self._scale: dict[str, float] = {}
        self.points: list[Simulated] = []

    def twin(self, name: str) -> Trace:
        return self.take(
            name,
            lambda: calibrated_twin(name) if self.assumed.calibrated else twin(PUBLISHED[name]),
            PUBLISHED[name].working_set,
        )

    def take(self, name: str, make_trace: Callable[[], Trace], working_set: float) -> Trace:
        """What is made up of so many megabytes, or the real trace in its place."""
        if name not in self._traces:
            self._traces[name] = (
                self._cut(make_trace()) if self.real is None else self._stand_in(name, working_set)
            )
        return self._traces[name]

    def months(self, names: Sequence[str]) -> Sequence[str]:
        """A real trace is one of them."""
        return names if self.real is None else names[:1]

    def days(self, names: Sequence[str]) -> Sequence[str]:
        """As many as a real trace has."""
        return names if self.real is None else names[: len(self._days)]

    def other_twin(self, name: str, **how: Any) -> Trace:
        """The twin with something other than is usual: what `calibrated_twin` takes."""
        return self._cut(calibrated_twin(name, **how))

    def because(
        self, claims: Sequence[Claim], reason: str, tried: Callable[[], Tried] = tuple
    ) -> list[Claim]:
        """Why claims do not come out: of a twin a reason and its test, of a real trace what it is.
        Where a trace tells nothing, no claim comes out, nor fails to.
        """
        if nothing := self._nothing_told():
            return untold(claims, nothing)
        if self.real is not None:
            return because(claims, _about(self.real))
        missing = any(claim.verdict == WORSE for claim in claims)
        return because(claims, reason, tried() if missing and self._explains else ())

    def leave_open(
        self, claims: Sequence[Claim], reason: str, tried: Callable[[], Tried]
    ) -> list[Claim]:
        """Claims that hang on what is not published, as the experiment shows: what is measured is
        told, and judges nothing. A real trace does not help, as it says nothing of the machines.
        """
        if nothing := self._nothing_told():
            return untold(claims, nothing)
        if self.real is not None:
            return untold(claims, f"{reason}; {_about(self.real)}")
        return untold(claims, reason, tried() if self._explains else ())

    def _nothing_told(self) -> str:
        if self.real is not None:
            return _nothing_of(self.real)
        short = self._most is not None and self._most < FEWEST_ACCESSES
        return (
            f"twins were cut to {self._most} accesses; {FEWEST_ACCESSES:,} are the fewest that tell"
            if short
            else ""
        )

    def run(
        self,
        trace: Trace,
        cluster: SimulatedCluster,
        policy: str,
        *,
        before: Trace | None = None,
        warm: bool = False,
        adjust: Adjust = lambda routing: routing,
        picture: str,
        x: float,
    ) -> Result:
        """`before` is the trace whose traffic a partition is made for; else it is the trace
        itself. `adjust` gives its rules other settings.
        """
        result = self.aside(trace, cluster, policy, before=before, warm=warm, adjust=adjust)
        self.points.append(Simulated(picture, policy, x, result, cluster.serial))
        return result

    def aside(
        self,
        trace: Trace,
        cluster: SimulatedCluster,
        policy: str,
        *,
        before: Trace | None = None,
        warm: bool = False,
        adjust: Adjust = lambda routing: routing,
    ) -> Result:
        """As `run`, and in no picture."""
        self._told(f"{trace.name}: {policy} on {cluster.nodes} nodes")
        scale = self._scale.get(trace.name, 1.0)
        scaled = replace(cluster, ram=tuple(int(ram * scale) for ram in cluster.ram))
        return simulate(
            trace,
            scaled,
            policy,
            lambda own_trace, nodes: self._solve(own_trace, before or own_trace, nodes),
            warm=warm and self.assumed.calibrated,
            adjust=adjust,
        )

    def _cut(self, trace: Trace) -> Trace:
        return trace if self._most is None else first(trace, self._most)

    def _stand_in(self, name: str, working_set: float) -> Trace:
        assert self.real is not None
        number = int(name[-1]) - 1 if name.startswith("hp-day-") else None
        trace = self.real if number is None or number >= len(self._days) else self._days[number]
        named = replace(trace, name=f"{self.real.name} as {name}")
        self._scale[named.name] = named.working_set() / (working_set * MB)
        return named


def make_files(name: str, files: int, mb: int, *, accesses: int, skew: float) -> Trace:
    """Made up from what a paper says in words: files of so many megabytes in all, asked for by
    Zipf's law with `skew`.
    """
    random = np.random.default_rng(5)
    size = random.lognormal(0, 1.3, files)
    chance = np.arange(1, files + 1) ** -skew
    target = random.choice(files, accesses, p=chance / chance.sum())
    whole = (size * mb * MB / size.sum()).astype(np.int64)
    return Trace(name, target, whole, np.zeros(files, dtype=np.int64), (name,))


def _nothing_of(trace: Trace) -> str:
    """Why no policy can do better than another with it; "" where one can."""
    frequency = trace.frequency()
    files = int(np.count_nonzero((frequency > 0) & (trace.size > 0)))
    if not files:
        return "no answer has a byte, so nothing takes time"
    if len(trace.target) < FEWEST_ACCESSES:
        return (
            f"too short a trace: {len(trace.target):,} accesses, "
            f"{FEWEST_ACCESSES:,} are the fewest that tell"
        )
    if files < FEWEST_FILES:
        return f"too few files: {files}, {FEWEST_FILES} are the fewest that tell"
    return "" if frequency.max() > 1 else "no file is asked for twice, so no memory helps"


def _about(trace: Trace) -> str:
    frequency = trace.frequency()
    order = np.argsort(-frequency, kind="stable")
    answered, held = np.cumsum(frequency[order]), np.cumsum(trace.size[order])
    for_most = held[np.searchsorted(answered, 0.97 * answered[-1])] / max(trace.working_set(), 1)
    return (
        f"another server's traffic: {len(trace.target):,} accesses to "
        f"{np.count_nonzero(frequency):,} files of "
        f"{trace.working_set() / MB:,.1f} MB in {len(trace.sites)} sites; 97 % of "
        "them are answered from "
        f"{for_most:.0%} of the bytes"
    )
