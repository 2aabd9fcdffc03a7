"""What the simulator gets from outside the core: traces of real logs, and partitions by the real
solver.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd

import flex_solver
from flex.errors import BadInput, FlexError, NoData, Unknown
from flex.model.nodes import Node
from flex.model.period import Period
from flex.placing.problem import Budget, build
from flex.ports import Store
from flex.sim.published_trace_figures import PUBLISHED
from flex.sim.simulated_clusters import SimulatedCluster
from flex.sim.traces import Trace, of_sample
from flex.sim.twins_of_published_traces import twin
from flex.store import MemoryStore
from flex.table_schemas import FILES, HOURS, PLACEMENT
from flex.traffic import rate_and_working_set
from flex_api.simulation import clients_in_logs
from flex_logs_ingest.counts.add_up_hours_and_sample import sample_of
from flex_logs_ingest.files.find_and_unpack_logs import Log, Source, Unusable
from flex_logs_ingest.reading.read_logs import ingest
from flex_logs_ingest.scan.site_rules import SiteRule

# How far a node's load may be from its fair share: a new installation's value.
TOLERANCE = 0.05
# The part of a node's load above which a site gets replicas: a new installation's value.
REPLICATE_ABOVE = 0.6
# Steps of the solver's budget. A guess.
_STEPS = 50_000
# Bytes of a tar archive's first header, and what stands where in it (POSIX.1-1988, ustar).
_HEADER = 512
# Bytes before the magic in it.
_MAGIC_AT = 257
_MAGIC = b"ustar"
# Accesses that are kept of the logs. A guess.
_MOST = 20_000_000
_EVER = Period(datetime(1980, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC))


def of_twin(name: str) -> Trace:
    if name not in PUBLISHED:
        raise Unknown(
            f"the twin {name}",
            "there is none with that name",
            kept="nothing was simulated",
            advice=f"take one of {', '.join(PUBLISHED)}",
        )
    return twin(PUBLISHED[name])


def of_own_logs(store: Store, folder: Path, period: Period, most: int) -> tuple[Trace, float]:
    """The kept accesses of a period, and which share of the targets they hold. Raises Unknown where
    there is none.
    """
    sample = sample_of(store, folder, period, most)
    if not len(sample.target):
        raise Unknown(
            f"the accesses of {period}",
            "none of them was kept",
            kept="nothing was simulated",
            advice="read the logs of that day first, or name a twin",
        )
    return of_sample("our own logs", sample), sample.rate


def of_logs(paths: Sequence[Path], *, format_: str = "auto", by_directory: bool = True) -> Trace:
    """All accesses of the logs; sites are the first directories of the paths, or the virtual
    hosts.
    """
    rule = SiteRule(directory=by_directory)
    files = tuple(str(path) for path in paths)
    _refuse_archives(files)
    with tempfile.TemporaryDirectory(prefix="flex-simulate-") as folder:
        store = MemoryStore()
        source = Source("simulated", (), "node", rule, format_, files=files)
        try:
            ingest([source], store, Path(folder), sample_limit=_MOST)
        except NoData as error:
            raise _unread(NoData, files, error.answer) from error
        sample = sample_of(store, Path(folder), _EVER, _MOST)
    name = paths[0].name if len(paths) == 1 else f"{len(paths)} logs"
    who = clients_in_logs.of_logs(paths, format_, sample.time) if len(sample.target) else None
    return of_sample(name, sample, who)


def _refuse_archives(files: Sequence[str]) -> None:
    for file in files:
        # A pipe is read once, and not here.
        if Path(file).is_file() and _begins_as_tar(file):
            raise _unread(BadInput, [file], "it is a tar archive, and no log")


def _begins_as_tar(file: str) -> bool:
    """Whatever it is compressed by."""
    try:
        with Log(file) as log:
            return bytes(log.read(_HEADER))[_MAGIC_AT:].startswith(_MAGIC)
    except Unusable:
        return False


def _unread(kind: type[FlexError], files: Sequence[str], answer: str) -> FlexError:
    return kind(
        f"reading {', '.join(files[:3])}",
        answer,
        kept="nothing was simulated",
        advice="name access logs with --logs, unpacked or each compressed by itself, "
        "and how their lines are written "
        "with --format: a name, or the server's directive",
    )


def place_by_solver(asked: Trace, before: Trace, cluster: SimulatedCluster) -> list[list[int]]:
    """The nodes of each site of the trace asked, when the solver balances what the trace before
    asked for.

    A site that the trace before says nothing about goes to one node, whichever is next.
    """
    nodes = [
        Node(f"n{n:04}", (), ram, capacity=speed / 100) for n, (ram, speed) in _machines(cluster)
    ]
    files, hours = _tables(before)
    profiles = rate_and_working_set.profiles(files, hours)
    spreads = rate_and_working_set.spreads(files, set(profiles["site"]), len(nodes))
    problem = build(
        profiles,
        spreads,
        nodes,
        (),
        PLACEMENT.empty(),
        tolerance=TOLERANCE,
        replicate_above=REPLICATE_ABOVE,
    )
    solution = flex_solver.SOLVERS["auto"](problem, Budget(_STEPS))
    found: dict[str, list[int]] = {}
    for site, node in solution.rows.tolist():
        found.setdefault(problem.sites[site], []).append(node)
    return [found.get(name, [place % len(nodes)]) for place, name in enumerate(asked.sites)]


def _machines(cluster: SimulatedCluster) -> list[tuple[int, tuple[int, int]]]:
    return list(enumerate(zip(cluster.ram, cluster.speeds, strict=True)))


def _tables(trace: Trace) -> tuple[pd.DataFrame, pd.DataFrame]:
    asked = np.flatnonzero(trace.frequency())
    requests, size = trace.frequency()[asked], trace.size[asked]
    site = np.array(trace.sites, dtype=object)[trace.site[asked]]
    files = {
        "site": site, "target": asked.astype(str), "requests": requests, "bytes": requests * size,
        "size": size, "last": np.zeros_like(asked),
    }  # fmt: skip
    hours = (
        pd.DataFrame(files)
        .groupby("site", as_index=False)[["requests", "bytes"]]
        .sum()
        .assign(hour=0)
    )
    return FILES.from_columns(files), HOURS.from_columns(
        {name: hours[name].to_numpy() for name in HOURS.earlier}
    )
