"""What visitors of the routing bench ask for: popularity by Zipf's law, one hot target, twins of
published logs, and real logs.

Takes the number of nodes, and a folder for logs. Returns Cases: each is a Trace, and how much of it
a node's memory holds. Does not send requests.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from bench.ingest import real
from flex.errors import FlexError
from flex.placing.problem import Floats, Ints
from flex.sim.published_trace_figures import PUBLISHED
from flex.sim.trace_twins import twin
from flex.sim.traces import Trace, first
from flex_api.simulation.traces_and_solver import trace_of_logs

TARGETS, ACCESSES = 3_000, 400_000
SKEW, MEAN, SPREAD = 0.9, 16_384, 1.0
HOT = 0.3
TWINS = ("hp-april", "clarknet")
LEAST = 20_000


@dataclass(frozen=True, slots=True)
class Case:
    """A trace, how many bytes a node has for it, and in how many parts of it each policy takes a
    turn.
    """

    name: str
    trace: Trace
    memory: int
    turns: int = 2

    @property
    def quicker(self) -> float:
        """How many times as quick its origins are: where answers are larger, as many are answered
        in a second.
        """
        asked = self.trace.frequency()
        return max(1.0, float(asked @ self.trace.size) / int(asked.sum()) / MEAN)

    @property
    def large(self) -> float:
        """The bytes of an answer, weighed by its bytes: what a node is busy with, if it is busy."""
        bytes_of = self.trace.frequency() * self.trace.size
        return float(bytes_of @ self.trace.size) / float(bytes_of.sum())


def zipf() -> Trace:
    chance = 1.0 / np.arange(1, TARGETS + 1) ** SKEW
    return _trace(
        "zipf", np.random.default_rng(1).choice(TARGETS, ACCESSES, p=chance / chance.sum())
    )


def hot() -> Trace:
    """30 % of all requests are for one target."""
    random, plain = np.random.default_rng(2), zipf()
    return replace(
        plain, name="hot", target=np.where(random.random(ACCESSES) < HOT, TARGETS - 1, plain.target)
    )


def made_up(nodes: int) -> Iterator[Case]:
    """A working set is four times what a node remembers, but for the one that fits into every
    node's memory.
    """
    for trace in (zipf(), hot()):
        yield Case(trace.name, trace, trace.working_set() // 4)
    yield Case("fits", replace(zipf(), name="fits"), 2 * zipf().working_set())
    for name in TWINS:
        trace = first(twin(PUBLISHED[name]), ACCESSES)
        yield Case(name, trace, trace.working_set() // nodes)


def logs(folder: Path, nodes: int, only: Container[str] | None = None) -> Iterator[Case]:
    """Real ones with enough accesses, all their sites as one; or only these of them. Whatever the
    share of a node, it has room for its largest target beside others: one that never fits is read
    at each request, whoever is asked.
    """
    with TemporaryDirectory() as scratch:
        for log in real.logs(folder, Path(scratch), only):
            try:
                trace = trace_of_logs([log.path], format_=log.format)
            except FlexError:
                continue
            if len(trace.target) >= LEAST:
                memory = max(trace.working_set() // nodes, 2 * int(trace.size.max()))
                yield Case(log.name, first(trace, ACCESSES), memory, turns=3)


def _trace(name: str, target: Ints) -> Trace:
    size = _sizes(np.random.default_rng(7))
    return Trace(name, target.astype(np.int64), size, np.zeros(TARGETS, dtype=np.int64), (name,))


def _sizes(random: np.random.Generator) -> Ints:
    middle = np.log(MEAN) - SPREAD**2 / 2
    drawn: Floats = np.exp(middle + SPREAD * random.standard_normal(TARGETS))
    return np.clip(drawn, 256, 500_000).astype(np.int64)
