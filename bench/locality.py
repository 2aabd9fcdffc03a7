"""How near the model of twins' locality comes to real logs: miss ratios under LRU, memory from 1 to
100 % of the working set.

    TRACES=/srv/traces make bench NAME=locality     a folder with a folder for each set of logs

Each set is fitted to every second size of memory and held against the others. Figures of ten sets
that are drawn by a hash of their names end in `_drawn`.
`usual` is the median over the sets, which twins have where nothing tells more. Without TRACES, one
night of the made-up cluster is fitted.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np

from bench.figures import Figures
from bench.ingest import real
from flex.errors import FlexError
from flex.sim import made_up_cluster
from flex.sim.fit_locality import MEMORY, MOST_ACCESSES, FittedLocality, fit_lives, fit_locality
from flex.sim.traces import Trace, first, trace_from_sample
from flex_api.simulation.traces_and_solver import trace_of_logs

# Below so many accesses, or files, one file more or less is a point of the miss ratio.
LEAST_ACCESSES = 1000
LEAST_FILES = 30
# Sets whose figures count as usual: a day or more of a server, not a sample of one.
USUAL_ACCESSES = 10_000
DRAWN = 10


def measure() -> Figures:
    figures: Figures = {"load_average": os.getloadavg()[0]}
    found, lives = {}, {}
    for trace in _traces():
        found[trace.name] = _fitted(trace)
        lives[trace.name] = fit_lives(trace)
    every = list(found.values())
    long = [one for one in every if one.accesses >= USUAL_ACCESSES]
    drawn = [found[name] for name in _drawn(list(found))]
    figures |= _lives(lives)
    figures |= _tell("", every) | _tell("_drawn", drawn) | _usual(long or every)
    for name, one in found.items():
        figures |= _tell(f"_{name}", [one])
    return figures


@dataclass(frozen=True, slots=True)
class Measured:
    """A set of logs: its locality, and how long those accesses took to come that it was fitted
    to.
    """

    fitted: FittedLocality
    accesses: int
    seconds: float


def _fitted(trace: Trace) -> Measured:
    fitted = fit_locality(trace, memory=MEMORY[::2], held_out=MEMORY[1::2])
    time = first(trace, MOST_ACCESSES).time
    return Measured(fitted, len(trace.target), float(time[-1] - time[0]))


def _drawn(names: Sequence[str]) -> list[str]:
    """The same ten on every machine."""
    return sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest())[:DRAWN]


def _tell(of: str, found: Sequence[Measured]) -> Figures:
    off = np.concatenate([np.array(one.fitted.points_off) for one in found])
    without = np.concatenate([np.array(one.fitted.points_off_independent) for one in found])
    return {
        f"points_off_median{of}": float(np.median(off)),
        f"points_off_p95{of}": float(np.percentile(off, 95)),
        f"independent_points_off_median{of}": float(np.median(without)),
        f"independent_points_off_p95{of}": float(np.percentile(without, 95)),
    }


def _lives(lives: Mapping[str, tuple[float, float]]) -> Figures:
    """How much shorter rare files live, of each set: a long one tells most."""
    return {
        f"{name}_{of}": value
        for of, (shorter, fade) in lives.items()
        for name, value in (("lives_shorter", shorter), ("lives_fade", fade))
    }


def _usual(found: Sequence[Measured]) -> Figures:
    figures: Figures = {"sets_that_count_as_usual": len(found)}
    usual: dict[str, list[float]] = {
        field: [getattr(one.fitted.locality, field) for one in found]
        for field in ("repeats", "spread", "life")
    }
    usual["gap_seconds"] = [one.fitted.locality.gap * one.seconds for one in found]
    for field, values in usual.items():
        low, middle, high = np.percentile(values, (25, 50, 75)).tolist()
        figures |= {f"usual_{field}_p25": low, f"usual_{field}": middle, f"usual_{field}_p75": high}
    return figures


def _traces() -> Iterator[Trace]:
    if "TRACES" not in os.environ:
        yield _night()
        return
    with tempfile.TemporaryDirectory() as folder:
        for log in real.logs(Path(os.environ["TRACES"]), Path(folder), least=LEAST_ACCESSES):
            try:
                trace = trace_of_logs([log.path], format_=log.format)
            except FlexError:
                continue
            files = np.count_nonzero(trace.frequency())
            if len(trace.target) >= LEAST_ACCESSES and files >= LEAST_FILES:
                yield trace


def _night() -> Trace:
    random = np.random.default_rng(7)
    hosting = made_up_cluster.hosting(random, "hosting.example")
    asked = made_up_cluster.night(hosting, date(2026, 1, 5), 50_000, random)
    return trace_from_sample("night", made_up_cluster.sample(hosting, asked))
