"""What the simulator gets from outside the core: traces of real logs, and partitions by the real
solver.

The clients of the accesses in logs, for policies that send a client where the cache of its resolver
does. The scan that counts logs keeps no clients, so this one reads the lines again. It reads
formats whose lines begin with the client, or with the virtual host and then the client.
"""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd

import flex_solver
from flex.errors import BadInput, FlexError, NoData, Unknown
from flex.frame_schemas import FILES, HOURS, PLACEMENT
from flex.model.nodes import Node
from flex.model.period import Period
from flex.placing.problem import Budget, build
from flex.prediction.cache_replay import Ints
from flex.sim.published_trace_figures import PUBLISHED
from flex.sim.simulated_clusters import SimulatedCluster
from flex.sim.trace_twins import twin
from flex.sim.traces import Trace, trace_from_sample
from flex.store import MemoryStore, Store
from flex.traffic import rate_and_working_set
from flex_logs_ingest.counts.add_up_hours_and_sample import sample_of
from flex_logs_ingest.files.find_and_unpack_logs import Log, Source, Unusable
from flex_logs_ingest.formats import detect, layout_of
from flex_logs_ingest.lines.field_cutter import HEADING, extractor
from flex_logs_ingest.lines.field_meanings import STATUSES, method_and_path, number, seconds
from flex_logs_ingest.lines.layout import Layout
from flex_logs_ingest.reading.read_logs import ingest
from flex_logs_ingest.scan.site_rules import SiteRule

# Bytes at a log's beginning that tell its format. A guess.
_LOOK = 2**16


def clients_of_logs(paths: Sequence[Path], format_: str, times: Ints) -> Ints | None:
    """The client of each access, of which `times` are the seconds; None where lines do not say it
    in a known place, or these are not the accesses of these logs.
    """
    who, when = array("q"), array("q")
    known: dict[bytes, int] = {}
    for path in paths:
        layout = layout_of(_format(path) if format_ == "auto" else format_)
        place = _place(layout)
        if place is None:
            return None
        for line, time in _answers(path, layout):
            who.append(known.setdefault(line.split(b" ", place + 1)[place], len(known)))
            when.append(time)
    moments = np.asarray(when, dtype=np.int64)
    order = np.argsort(moments, kind="stable")
    return np.asarray(who, dtype=np.int64)[order] if np.array_equal(moments[order], times) else None


def _format(path: Path) -> str:
    with Log(str(path)) as log:
        return detect(log.read(_LOOK))


def _place(layout: Layout) -> int | None:
    """Which word of a line the client is."""
    fields = [op.field for op in layout.ops[:2]]
    if (
        layout.kind != "fields"
        or layout.start
        or any(op.literal != b" " for op in layout.ops[: len(fields) - 1])
    ):
        return None
    if fields[0] is None:
        return 0
    return 1 if fields == ["vhost", None] else None


def _answers(path: Path, layout: Layout) -> Iterator[tuple[bytes, int]]:
    """Lines that the scan counts as answered from a file, with their times."""
    extract = extractor(layout)
    for line in _lines(path):
        texts = extract(line.rstrip(b"\r"))
        if texts is None or texts is HEADING:
            continue
        _, when, request, status, sent = texts
        time, known = seconds(when), number(sent) is not None and status in STATUSES
        if (
            time is not None
            and known
            and status[:1] in (b"2", b"3")
            and method_and_path(request) is not None
        ):
            yield line, time


def _lines(path: Path) -> Iterator[bytes]:
    rest = b""
    with Log(str(path)) as log:
        for chunk in log.chunks():
            *whole, rest = (rest + chunk).split(b"\n")
            yield from whole
    if rest:
        yield rest


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


def trace_of_twin(name: str) -> Trace:
    if name not in PUBLISHED:
        raise Unknown(
            f"the twin {name}",
            "there is none with that name",
            kept="nothing was simulated",
            advice=f"take one of {', '.join(PUBLISHED)}",
        )
    return twin(PUBLISHED[name])


def trace_of_own_logs(store: Store, folder: Path, period: Period, most: int) -> tuple[Trace, float]:
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
    return trace_from_sample("our own logs", sample), sample.rate


def trace_of_logs(
    paths: Sequence[Path], *, format_: str = "auto", by_directory: bool = True
) -> Trace:
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
    who = clients_of_logs(paths, format_, sample.time) if len(sample.target) else None
    return trace_from_sample(name, sample, who)


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


def place_by_solver(
    trace: Trace,
    before: Trace,
    cluster: SimulatedCluster,
    *,
    replicate_above: float = REPLICATE_ABOVE,
) -> list[list[int]]:
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
        replicate_above=replicate_above,
    )
    solution = flex_solver.SOLVERS["auto"](problem, Budget(_STEPS))
    placement: dict[str, list[int]] = {}
    for site, node in solution.rows.tolist():
        placement.setdefault(problem.sites[site], []).append(node)
    return [placement.get(name, [place % len(nodes)]) for place, name in enumerate(trace.sites)]


def _machines(cluster: SimulatedCluster) -> list[tuple[int, tuple[int, int]]]:
    return list(enumerate(zip(cluster.ram, cluster.speeds, strict=True)))


def _tables(trace: Trace) -> tuple[pd.DataFrame, pd.DataFrame]:
    targets = np.flatnonzero(trace.frequency())
    requests, size = trace.frequency()[targets], trace.size[targets]
    site = np.array(trace.sites, dtype=object)[trace.site[targets]]
    files = {
        "site": site, "target": targets.astype(str), "requests": requests, "bytes": requests * size,
        "size": size, "last": np.zeros_like(targets),
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
