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
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

import numpy as np

from bench.figures import Figures
from bench.ingest import real
from flex.errors import FlexError
from flex.sim import made_up_cluster
from flex.sim.fit_locality import MEMORY, FittedLocality, fit_locality
from flex.sim.traces import Trace, trace_from_sample
from flex_api.simulation.traces_and_solver import trace_of_logs

# Below so many accesses, or files, one file more or less is a point of the miss ratio.
LEAST_ACCESSES = 1000
LEAST_FILES = 30
# Sets whose figures count as usual: a day or more of a server, not a sample of one.
USUAL_ACCESSES = 10_000
DRAWN = 10


def measure() -> Figures:
    figures: Figures = {"load_average": os.getloadavg()[0]}
    found = {trace.name: _fitted(trace) for trace in _traces()}
    long = [fitted for fitted, accesses in found.values() if accesses >= USUAL_ACCESSES]
    every = [fitted for fitted, _ in found.values()]
    drawn = [found[name][0] for name in _drawn(list(found))]
    figures |= _tell("", every) | _tell("_drawn", drawn) | _usual(long or every)
    for name, (fitted, _) in found.items():
        figures |= _tell(f"_{name}", [fitted])
    return figures


def _fitted(trace: Trace) -> tuple[FittedLocality, int]:
    fitted = fit_locality(trace, memory=MEMORY[::2], held_out=MEMORY[1::2])
    return fitted, len(trace.target)


def _drawn(names: Sequence[str]) -> list[str]:
    """The same ten on every machine."""
    return sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest())[:DRAWN]


def _tell(of: str, found: Sequence[FittedLocality]) -> Figures:
    off = np.concatenate([np.array(fitted.points_off) for fitted in found])
    without = np.concatenate([np.array(fitted.points_off_independent) for fitted in found])
    return {
        f"points_off_median{of}": float(np.median(off)),
        f"points_off_p95{of}": float(np.percentile(off, 95)),
        f"independent_points_off_median{of}": float(np.median(without)),
        f"independent_points_off_p95{of}": float(np.percentile(without, 95)),
    }


def _usual(found: Sequence[FittedLocality]) -> Figures:
    figures: Figures = {"sets_that_count_as_usual": len(found)}
    for field in ("repeats", "gap", "spread", "life"):
        values = [getattr(fitted.locality, field) for fitted in found]
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
