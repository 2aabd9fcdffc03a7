"""One reading of logs, measured from inside: `python -m bench.ingest.reading [--python] [--site
NAME] COUNTS LOG...`.

Takes logs and an empty folder for their counts. Prints one line of JSON: seconds on the wall,
seconds of CPU, lines, rows, peak memory. It reads as a night does: it finds the format, scans,
sorts, writes and syncs Parquet files, and records segments (in a store in memory).

Each reading has a process of its own. A second reading in the same process would find memory and
tables warm, which no night does. `wall` and `cpu` leave out starting Python and loading the
libraries; `process_cpu` has them.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time

WARM_UP = (
    b'a.example:80 192.0.2.1 - - [20/Nov/2026:12:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "-"\n'
)


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument(
        "--python",
        action="store_true",
        help="the reference, as if the native loops were not installed",
    )
    asked.add_argument("--site", help="of logs that do not name theirs")
    asked.add_argument("counts")
    asked.add_argument("logs", nargs="+")
    given = asked.parse_args()
    if given.python:
        sys.modules["flex_native"] = None  # type: ignore[assignment]  # what Python does where an import must fail
    print(json.dumps(measure(given.logs, Path(given.counts), given.site)))


def measure(logs: list[str], counts: Path, site: str | None) -> dict[str, float]:
    _warm_up()
    started, spent = perf_counter(), process_time()
    lines = read(logs, counts, site)
    return {
        "wall": perf_counter() - started,
        "cpu": process_time() - spent,
        "process_cpu": sum(resource.getrusage(resource.RUSAGE_SELF)[:2]),
        "peak_mib": peak_mib(),
        "lines": lines,
        "rows": rows(counts),
    }


def read(logs: list[str], counts: Path, site: str | None) -> int:
    """How many lines were read."""
    from flex.store import MemoryStore
    from flex_logs_ingest.files.find_and_unpack_logs import Source
    from flex_logs_ingest.reading.read_logs import ingest
    from flex_logs_ingest.scan.site_rules import SiteRule

    reports = ingest(
        [Source("bench", tuple(logs), "node", SiteRule(fixed=site))], MemoryStore(), counts
    )
    if refused := [
        f"{report.path}: {report.outcome}: {report.note}"
        for report in reports
        if report.outcome != "read"
    ]:
        sys.exit("; ".join(refused))
    return sum(number for report in reports for _, number in report.lines)


def rows(counts: Path) -> int:
    """Distinct targets; one that was counted in several readings is one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    keys = ["site", "target"]
    tables = [pq.read_table(path, columns=keys) for path in sorted(counts.glob("*.files.parquet"))]
    return len(pa.concat_tables(tables).group_by(keys).aggregate([]))


def peak_mib() -> float:
    """The memory of this process alone; what getrusage says may be that of the process that started
    it.
    """
    (line,) = (
        line
        for line in Path("/proc/self/status").read_text().splitlines()
        if line.startswith("VmHWM:")
    )
    return int(line.split()[1]) / 1024


def _warm_up() -> None:
    """Whatever is loaded at the first use is loaded now."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "one.log")
        log.write_bytes(WARM_UP)
        read([str(log)], Path(folder, "counts"), None)


if __name__ == "__main__":
    main()
