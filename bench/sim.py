"""The simulator and the predicted load: how fast they are, and how near a sample comes to all
accesses.

    make bench NAME=sim                          twins alone
    TRACES=/srv/traces make bench NAME=sim       real logs too: a folder with a folder for each set

Replaying is compared with libCacheSim (the extra `libcachesim`; without it that figure is left out)
on the same accesses in one run, by CPU time, the best of three each. Predictions are compared with
a replay of all accesses, per node, over memory from 5 to 100 % of the working set, random
placements and sampling rates down to the one that leaves at least 100,000 accesses.
docs/why/bench.md says what each figure means.
"""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import combinations, product
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd

from bench.figures import Figures
from bench.ingest import real, synthetic
from flex import native_or_python
from flex.errors import FlexError
from flex.frame_schemas import PLACEMENT
from flex.model.nodes import Node
from flex.model.predicted_node_loads import Forecast
from flex.placing.problem import Floats, Ints
from flex.prediction.cache_replay import Sample, reference_replay
from flex.prediction.replay_forecast import forecast
from flex.prediction.target_classes import kinds
from flex.sim.access_rules import hash_numbers
from flex.sim.published_trace_figures import PUBLISHED
from flex.sim.trace_twins import twin
from flex.sim.traces import Trace
from flex.store import MemoryStore
from flex_api.simulation.traces_and_solver import trace_of_logs
from flex_logs_ingest.files.find_and_unpack_logs import Source
from flex_logs_ingest.reading.read_logs import ingest
from flex_logs_ingest.scan.site_rules import SiteRule

ACCESSES, TARGETS = 3_000_000, 200_000
TWINS = ("hp-april", "hp-july", "clarknet")
RATES = (1.0, 0.3, 0.1, 0.03, 0.01)
MEMORY = (0.05, 0.1, 0.25, 0.5, 1.0)
LEAST = 100_000
NODES, PLACEMENTS = 4, 6
SITES, MANY_NODES, SAMPLED = 100_000, 256, 2_000_000
LINES, ROUNDS = 1_000_000, 5


def measure() -> Figures:
    figures: Figures = {"engine": native_or_python.name(), "load_average": os.getloadavg()[0]}
    figures |= _speed()
    figures["placement_100k_eval_s"] = _evaluation()
    figures["sample_cost_ratio"] = _sampling()
    found: dict[float, list[tuple[Floats, Floats]]] = {rate: [] for rate in RATES}
    for trace in _traces():
        of_trace = dict(_accuracy(trace))
        for rate, told in of_trace.items():
            found[rate].append(told)
        figures |= _tell(f"_{trace.name}", list(of_trace.values()))
        figures |= _tell(
            f"_sampled_{trace.name}", [told for rate, told in of_trace.items() if rate < 1]
        )
    figures |= _tell("", [told for each in found.values() for told in each])
    figures |= _tell(
        "_sampled", [told for rate, each in found.items() if rate < 1 for told in each]
    )
    return figures


def _tell(of: str, found: list[tuple[Floats, Floats]]) -> Figures:
    """`of` ends the figures' names. At a rate of 1 nothing is left out, so a prediction is what was
    replayed.
    """
    if not found:
        return {}
    off, ranked = (np.concatenate(columns) for columns in zip(*found, strict=True))
    return {
        f"predict_median_points{of}": float(np.median(off)),
        f"predict_p95_points{of}": float(np.percentile(off, 95)),
        f"rank_agreement{of}": float(ranked.mean()) if len(ranked) else 1.0,
        f"pairs{of}": len(ranked),
    }


def _speed() -> Figures:
    target = _zipf(ACCESSES, TARGETS)
    size = np.random.default_rng(2).integers(500, 50_000, TARGETS)
    limit = int(size.sum()) // 10
    columns = target, np.zeros_like(target), size, np.array([limit])
    native = native_or_python.pick("replay", reference_replay)
    ours = _best(3, partial(native, "lru", *columns))
    fewer = ACCESSES // 10
    few = target[:fewer], columns[1][:fewer], size, columns[3]
    slow, fast = (
        _best(1, partial(reference_replay, "lru", *few)),
        _best(3, partial(native, "lru", *few)),
    )
    figures: Figures = {
        "replay_accesses_per_second": ACCESSES / ours,
        "replay_vs_reference": slow / fast,
    }
    theirs = _libcachesim(target, size, limit)
    if theirs:
        seconds, misses = theirs
        figures["replay_vs_libcachesim"] = seconds / ours
        figures["misses_differ_from_libcachesim"] = abs(misses - int(native("lru", *columns)[1][0]))
    return figures


def _libcachesim(target: Ints, size: Ints, limit: int) -> tuple[float, int] | None:
    """Its CPU time and its misses, over the same accesses in its own binary format; None where it
    is not installed.
    """
    try:
        library = importlib.import_module("libcachesim")
    except ImportError:
        return None
    rows = np.zeros(
        len(target), dtype=[("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")]
    )
    rows["time"], rows["id"], rows["size"] = (
        np.arange(len(target)) // 1000,
        target + 1,
        size[target],
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.oracleGeneral.bin")
        rows.tofile(path)
        best, ratio = float("inf"), 0.0
        for _ in range(3):
            reader = library.TraceReader(str(path), library.TraceType.ORACLE_GENERAL_TRACE)
            cache = library.LRU(cache_size=limit)
            started = process_time()
            ratio = cache.process_trace(reader)[0]
            best = min(best, process_time() - started)
    return best, round(ratio * len(target))


def _evaluation() -> float:
    """Seconds of CPU for the forecast of one placement."""
    random = np.random.default_rng(4)
    targets = 10 * SITES
    sample = Sample(
        sites=tuple(f"s{site:06}" for site in range(SITES)),
        site=np.arange(targets) % SITES,
        size=random.integers(500, 50_000, targets),
        target=_zipf(SAMPLED, targets),
        time=np.arange(SAMPLED),
        rate=0.1,
    )
    # As many targets again nine times were left out.
    times = np.tile(np.bincount(sample.target, minlength=targets), 10)
    every = kinds(
        np.tile(sample.site, 10)[times > 0], times[times > 0], np.tile(sample.size, 10)[times > 0]
    )
    sample = replace(sample, totals=every)
    nodes = [Node(f"n{n:03}", (), 64 * 2**20) for n in range(MANY_NODES)]
    placement = PLACEMENT.from_columns(
        {
            "site": list(sample.sites),
            "node": [nodes[site % MANY_NODES].name for site in range(SITES)],
        }
    )
    return _best(3, lambda: forecast(sample, placement, nodes, policy="measured"))


def _sampling() -> float:
    """What keeping the sample adds to reading a night's log, as a share of the CPU that reading
    takes without it.
    """
    spent = dict.fromkeys((SAMPLED, 0), float("inf"))
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "access.log")
        synthetic.write(log, LINES)
        for number, limit in product(range(ROUNDS), spent):
            spent[limit] = min(
                spent[limit],
                _best(1, partial(_read, log, Path(folder, f"{number}-{limit}"), limit)),
            )
    return spent[SAMPLED] / spent[0] - 1


def _read(log: Path, counts: Path, limit: int) -> None:
    ingest(
        [Source("bench", (str(log),), "node", SiteRule())],
        MemoryStore(),
        counts,
        sample_limit=limit,
    )


def _traces() -> Iterator[Trace]:
    yield from (_with_sites(twin(PUBLISHED[name])) for name in TWINS)
    if "TRACES" not in os.environ:
        return
    with tempfile.TemporaryDirectory() as folder:
        for log in real.logs(Path(os.environ["TRACES"]), Path(folder)):
            try:
                trace = trace_of_logs([log.path], format_=log.format)
            except FlexError:
                continue
            if len(trace.target) >= LEAST and len(trace.sites) >= 2 * NODES:
                yield replace(trace, name=log.name)


def _with_sites(trace: Trace) -> Trace:
    """A trace of one site is cut into forty by a hash of the target."""
    if len(trace.sites) > 1:
        return trace
    site = hash_numbers(np.arange(len(trace.size))) % 40
    return replace(trace, site=site, sites=tuple(f"part-{n}" for n in range(40)))


def _accuracy(trace: Trace) -> Iterator[tuple[float, tuple[Floats, Floats]]]:
    """By rate, points between predicted and replayed miss ratio, per node; and whether each pair of
    placements ranks alike.
    """
    whole = Sample(
        trace.sites, trace.site, trace.size, trace.target, np.arange(len(trace.target)), 1.0
    )
    samples = [
        sample for sample in (_sample(whole, rate) for rate in RATES) if len(sample.target) >= LEAST
    ]
    off: dict[float, list[float]] = {sample.rate: [] for sample in samples}
    agree: dict[float, list[bool]] = {sample.rate: [] for sample in samples}
    for share in MEMORY:
        nodes = [Node(f"n{n}", (), int(trace.working_set() * share / NODES)) for n in range(NODES)]
        placements = [_random_placement(trace, seed) for seed in range(PLACEMENTS)]
        true = [forecast(whole, placement, nodes, policy="replayed") for placement in placements]
        for sample in samples:
            said = [
                forecast(sample, placement, nodes, policy="predicted") for placement in placements
            ]
            off[sample.rate] += [
                point
                for one, other in zip(said, true, strict=True)
                for point in _points(one, other)
            ]
            agree[sample.rate] += list(_ranks(said, true))
    for rate, points in off.items():
        yield rate, (np.array(points), np.array(agree[rate], dtype=np.float64))


def _sample(whole: Sample, rate: float) -> Sample:
    """All accesses to the targets that a hash chooses, with the totals of all targets, as the
    ingest keeps them.
    """
    chosen = hash_numbers(np.arange(len(whole.size)) + 12_345) < rate * 2**63
    kept = chosen[whole.target]
    times = np.bincount(whole.target, minlength=len(whole.size))
    totals = (
        kinds(whole.site[times > 0], times[times > 0], whole.size[times > 0]) if rate < 1 else None
    )
    return replace(
        whole, target=whole.target[kept], time=whole.time[kept], rate=rate, totals=totals
    )


def _points(said: Forecast, true: Forecast) -> Iterator[float]:
    for one, other in zip(said.nodes, true.nodes, strict=True):
        if one.requests and other.requests:
            yield 100 * abs(one.misses / one.requests - other.misses / other.requests)


def _ranks(said: list[Forecast], true: list[Forecast]) -> Iterator[bool]:
    for a, b in combinations(range(len(true)), 2):
        if abs(true[a].throughput / true[b].throughput - 1) > 0.02:
            yield (said[a].throughput > said[b].throughput) == (
                true[a].throughput > true[b].throughput
            )


def _random_placement(trace: Trace, seed: int) -> pd.DataFrame:
    node = np.random.default_rng(seed).integers(0, NODES, len(trace.sites))
    return PLACEMENT.from_columns(
        {"site": list(trace.sites), "node": [f"n{n}" for n in node.tolist()]}
    )


def _zipf(count: int, targets: int) -> Ints:
    chance = 1.0 / np.arange(1, targets + 1)
    return np.random.default_rng(1).choice(targets, count, p=chance / chance.sum())


def _best(times: int, work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(times):
        started = process_time()
        work()
        best = min(best, process_time() - started)
    return best
