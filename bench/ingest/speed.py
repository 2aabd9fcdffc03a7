"""How fast logs become counts on disk, beside wc, gzip, zstd, GoAccess and DuckDB.

    make bench NAME=ingest                       made-up logs alone
    TRACES=/srv/traces make bench NAME=ingest    real logs too: a folder with a folder for each set
    GOACCESS=/opt/goaccess-1.11/goaccess ...     where the goaccess on the PATH is old or missing
    SCALE=0.01 ROUNDS=1 ...                      to see that it runs

Figures are left out where something is missing (a program, the real logs). docs/why/bench.md says
what each figure means, and how the start of a process is kept out of all of them.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path

import zstandard

from bench.figures import Figures
from bench.ingest import copytruncate, merge, real, synthetic
from bench.ingest.real import RealLog
from bench.ingest.rivals import GoAccess, goaccess, unpacked_wc, wc
from bench.ingest.rounds import figures_of, middle, on_cores, ratio, time_command
from flex import native_or_python

# Share of the full sizes.
SCALE = float(os.environ.get("SCALE", "1"))
# How often each figure is taken.
ROUNDS = int(os.environ.get("ROUNDS", "5"))
# Lines of an ordinary log.
LINES = int(1_000_000 * SCALE)
# Lines of a long log.
MANY_LINES = int(5_000_000 * SCALE)
# Bytes: room for the logs of all parts at once, on a disk that is memory where there is one.
ROOM = int(6e9 * SCALE)
GOACCESS_FORMATS = {"combined": "COMBINED", "common": "COMMON", "vhost_combined": "VCOMBINED"}

Row = dict[str, float]


def measure() -> Figures:
    rival = goaccess()
    figures: Figures = {
        "engine": native_or_python.name(),
        "goaccess_version": rival.version if rival else "none",
        "rounds": ROUNDS,
        "load_average": os.getloadavg()[0],
    }
    with _folder() as folder:
        figures |= _cpu(folder, rival)
        figures |= _measure_packed(folder / "one.log")
        figures |= _two_cores(folder)
        figures |= _wall(folder)
        figures |= _real(folder, rival)
        figures |= copytruncate.figures(folder, rival)
        figures |= merge.measure_in(folder / "merge", merge.PARTIALS, int(merge.ROWS * SCALE))
    return figures


def _cpu(folder: Path, rival: GoAccess | None) -> Figures:
    """CPU on a million lines: ours, the reference's, GoAccess's, DuckDB's."""
    log = folder / "one.log"
    synthetic.write(log, LINES)
    parts: dict[str, Callable[[], Row]] = {
        "ours": partial(_reading, log),
        "python": partial(_reading, log, python=True),
        "duckdb": partial(_duckdb, log),
        "duckdb files": partial(_duckdb, log, "--files-alone"),
    }
    if rival:
        parts["goaccess"] = partial(_goaccess, rival, log, "VCOMBINED")
    rows = list(_rounds(parts))
    ours = _column(rows, "ours", "cpu")
    figures = middle(
        "lines_per_second", [row["ours"]["lines"] / row["ours"]["wall"] for row in rows]
    )
    figures |= middle(
        "lines_per_cpu_second", [row["ours"]["lines"] / row["ours"]["cpu"] for row in rows]
    )
    figures |= ratio("cpu_vs_duckdb_csv", _column(rows, "duckdb", "cpu"), ours)
    figures |= ratio("cpu_vs_duckdb_csv_files_alone", _column(rows, "duckdb files", "cpu"), ours)
    if rival:
        theirs = _column(rows, "goaccess", "cpu")
        whole = _column(rows, "goaccess", "process_cpu")
        figures |= ratio(f"cpu_vs_goaccess_{rival.figure}", theirs, ours)
        figures |= ratio("python_reference_cpu_vs_goaccess", theirs, _column(rows, "python", "cpu"))
        figures |= ratio("process_cpu_vs_goaccess", whole, _column(rows, "ours", "process_cpu"))
    return figures


def _duckdb(log: Path, *options: str) -> Row:
    with tempfile.TemporaryDirectory(dir=log.parent) as counts, on_cores(1):
        return figures_of("bench.ingest.duck", *options, counts, log)


def _goaccess(rival: GoAccess, log: Path, format_: str) -> Row:
    """Its CPU without what ten lines take it, as ours is without loading libraries; and that of the
    process.
    """
    begin = log.with_name("begin.log")
    with log.open("rb") as file:
        begin.write_bytes(b"".join(islice(file, 10)))
    whole = rival.spend(log, format_).cpu
    return {"cpu": whole - rival.spend(begin, format_).cpu, "process_cpu": whole}


def _measure_packed(log: Path) -> Figures:
    """All CPU of a reading of a packed log, beside that of unpacking it and counting lines."""
    figures: Figures = {}
    for program, suffix in (("gzip", ".gz"), ("zstd", ".zst")):
        if not shutil.which(program):
            _nothing_measured(f"{program} is not installed")
            continue
        packed = log.with_name(log.name + suffix)
        _pack(program, log, packed)
        parts: dict[str, Callable[[], Row]] = {
            "ours": partial(_reading, packed),
            "theirs": partial(_measure_unpacking, program, packed),
        }
        rows = list(_rounds(parts))
        figures |= ratio(
            f"{program}_cpu_vs_{program}_wc",
            _column(rows, "ours", "cpu"),
            _column(rows, "theirs", "cpu"),
        )
        packed.unlink()
    return figures


def _measure_unpacking(program: str, packed: Path) -> Row:
    return {"cpu": unpacked_wc(program, packed).cpu}


def _pack(program: str, log: Path, packed: Path) -> None:
    if program == "gzip":
        time_command("sh", "-c", 'gzip -6 -c "$0" > "$1"', log, packed)
    else:
        with log.open("rb") as plain, packed.open("wb") as file:
            zstandard.ZstdCompressor(level=3).copy_stream(plain, file)


def _two_cores(folder: Path) -> Figures:
    """Two logs that are alike but not the same, on one core, on two, and by two processes with a
    core each.

    The processes share nothing but the machine: what they gain is what its cores, memory and disk
    allow.
    """
    if len(os.sched_getaffinity(0)) < 2:
        return _nothing_measured("there is one core only")
    logs = [folder / "one.log", folder / "other.log"]
    synthetic.write(logs[1], LINES, seed=2)
    parts: dict[str, Callable[[], Row]] = {
        "one": partial(_reading, *logs),
        "two": partial(_reading, *logs, cores=2),
        "apart": partial(_apart, logs),
    }
    rows = list(_rounds(parts))
    logs[1].unlink()
    one = _column(rows, "one", "wall")
    return ratio("two_core_speedup", one, _column(rows, "two", "wall")) | ratio(
        "two_core_ceiling", one, _column(rows, "apart", "wall")
    )


def _apart(logs: Sequence[Path]) -> Row:
    """The longer of two readings at the same time, each in a process and on a core of its own."""

    def alone(core: int, log: Path) -> float:
        os.sched_setaffinity(0, {core})  # of this thread and of what it starts
        return _reading(log)["wall"]

    with ThreadPoolExecutor(2) as pool:
        return {"wall": max(pool.map(alone, sorted(os.sched_getaffinity(0))[:2], logs))}


def _wall(folder: Path) -> Figures:
    """Time on the wall for five million lines, one core, and the memory it takes."""
    log = folder / "many.log"
    synthetic.write(log, MANY_LINES)
    rows = list(_rounds({"ours": partial(_reading, log), "wc": partial(_wc, log)}))
    figures = ratio(
        "wall_vs_wc_synthetic", _column(rows, "ours", "wall"), _column(rows, "wc", "wall")
    )
    figures["synthetic_targets"] = rows[0]["ours"]["rows"]
    figures["scan_peak_mib"] = max(_column(rows, "ours", "peak_mib"))
    log.unlink()
    return figures


def _real(folder: Path, rival: GoAccess | None) -> Figures:
    """Each large set of real logs as one plain log; the figures of all of them together, and of
    each.
    """
    traces = os.environ.get("TRACES")
    if not traces:
        return _nothing_measured("no real logs: TRACES names no folder")
    sets = list(real.logs(Path(traces), folder))
    if not sets:
        return _nothing_measured(
            f"no set of logs in {traces} has {real.LEAST_LINES} lines that FLEX reads"
        )
    figures = _real_cpu(max(sets, key=lambda log: log.path.stat().st_size), rival) if rival else {}
    parts: dict[str, Callable[[], Row]] = {}
    for log in sets:
        parts[f"ours {log.name}"] = partial(_reading, log.path, site=log.site)
        parts[f"wc {log.name}"] = partial(_wc, log.path)
    rows = list(_rounds(parts))
    all_ours: list[float] = []
    all_theirs: list[float] = []
    for row in rows:
        all_ours.append(sum(row[f"ours {log.name}"]["wall"] for log in sets))
        all_theirs.append(sum(row[f"wc {log.name}"]["wall"] for log in sets))
    figures |= ratio("wall_vs_wc_real", all_ours, all_theirs)
    for log in sets:
        ours, theirs = (_column(rows, f"{who} {log.name}", "wall") for who in ("ours", "wc"))
        figures |= ratio(f"wall_vs_wc_{log.name}", ours, theirs)
    return figures


def _real_cpu(log: RealLog, rival: GoAccess) -> Figures:
    """CPU on the largest real log, where GoAccess has a name for its format."""
    if log.format not in GOACCESS_FORMATS:
        return _nothing_measured(f"GoAccess on {log.name}: it has no name for {log.format}")
    theirs = partial(_goaccess, rival, log.path, GOACCESS_FORMATS[log.format])
    rows = list(_rounds({"ours": partial(_reading, log.path, site=log.site), "goaccess": theirs}))
    name = f"cpu_vs_goaccess_{rival.figure}_{log.name}"
    return ratio(name, _column(rows, "goaccess", "cpu"), _column(rows, "ours", "cpu"))


def _reading(*logs: Path, site: str = "", python: bool = False, cores: int = 1) -> Row:
    options = [*(["--python"] if python else []), *(["--site", site] if site else [])]
    with tempfile.TemporaryDirectory(dir=logs[0].parent) as counts, on_cores(cores):
        return figures_of("bench.ingest.reading", *options, counts, *logs)


def _wc(log: Path) -> Row:
    """The time of `wc -l` without that of starting it, as ours is without starting Python."""
    empty = log.with_name("empty.log")
    empty.touch()
    with on_cores(1):
        return {"wall": max(wc(log).wall - min(wc(empty).wall for _ in range(5)), 1e-6)}


def _rounds(parts: dict[str, Callable[[], Row]]) -> Iterator[dict[str, Row]]:
    for number in range(ROUNDS):
        # Whoever comes first is disturbed by other things than whoever comes last.
        names = list(parts)[:: 1 if number % 2 else -1]
        yield {name: parts[name]() for name in names}


def _column(rows: Sequence[dict[str, Row]], who: str, what: str) -> list[float]:
    return [row[who][what] for row in rows]


def _nothing_measured(why: str) -> Figures:
    sys.stderr.write(f"left out: {why}\n")
    return {}


@contextmanager
def _folder() -> Iterator[Path]:
    """In memory where that has room: neither side waits for a disk then."""
    memory = Path("/dev/shm")
    fits = memory.is_dir() and shutil.disk_usage(memory).free > ROOM
    with tempfile.TemporaryDirectory(prefix="flex-bench-", dir=memory if fits else None) as folder:
        yield Path(folder)
