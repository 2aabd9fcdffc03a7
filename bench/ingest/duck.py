"""The same counts from DuckDB, measured from inside: `python -m bench.ingest.duck [--files-alone]
OUT LOG`.

Takes a log in vhost_combined and an empty folder. Returns the three Parquet files of a reading and
one line of JSON, as reading.py gives it: rows sorted by day, site and target; the hours of each
site with answers of every status; and the accesses in the order of the log, each with its second
and its target. The target is a hash here, where ours has the row.

Does not do what DuckDB has no words for: one spelling for each target, levels of a sample, classes
of lines, exactly once. It keeps lines apart that its dialect of CSV refuses, as a reading does, and
with them some lines next to them. With `--files-alone` only the first file is asked for, in one
query without a table of lines in between.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from time import perf_counter, process_time

import duckdb

from bench.ingest.reading import peak_mib

COLUMNS = (
    "host",
    "client",
    "ident",
    "user",
    "time",
    "zone",
    "request",
    "status",
    "sent",
    "referer",
    "agent",
)
LINES = f"""
    select split_part(host, ':', 1) as site,
    split_part(split_part(request, ' ', 2), '?', 1) as target, status,
        try_cast(sent as bigint) as sent, try_strptime(time, '[%d/%b/%Y:%H:%M:%S') as time
    from read_csv('$log', delim = ' ', quote = '"', escape = '\\', header = false,
    auto_detect = false,
        columns = {{{", ".join(f"'{name}': 'varchar'" for name in COLUMNS)}}},
        strict_mode = false, store_rejects = true, rejects_limit = 0, max_line_size = 8388608)
"""
FILES = """
    select time::date as day, site, target, count(*) as requests, sum(sent) as bytes,
        max(sent) filter (status = '200') as size, max(time) as last
    from $lines where status between '200' and '399' group by all order by all
"""
HOURS = """
    select site, date_trunc('hour', time) as hour, count(*) as requests, sum(sent) as bytes
    from $lines group by all order by all
"""
SAMPLE = (
    "select time, hash(site, target) as target from $lines where status between '200' and '399'"
)


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--files-alone", action="store_true")
    asked.add_argument("out", type=Path)
    asked.add_argument("log")
    given = asked.parse_args()
    database = duckdb.connect(config={"threads": 1})
    database.execute(
        "select try_strptime('[20/Nov/2026:12:00:00', '[%d/%b/%Y:%H:%M:%S')"
    ).fetchall()
    lines = LINES.replace("$log", given.log)
    started, spent = perf_counter(), process_time()
    if given.files_alone:
        _write(database, FILES.replace("$lines", f"({lines})"), given.out / "files.parquet")
    else:
        database.execute(f"create temp table lines as {lines}")
        for name, query in {"files": FILES, "hours": HOURS, "sample": SAMPLE}.items():
            _write(database, query.replace("$lines", "lines"), given.out / f"{name}.parquet")
    wall, cpu = perf_counter() - started, process_time() - spent
    written = f"select count(*), sum(requests) from '{given.out}/files.parquet'"
    rows, requests = database.execute(written).fetchall()[0]
    print(
        json.dumps(
            {"wall": wall, "cpu": cpu, "rows": rows, "requests": requests, "peak_mib": peak_mib()}
        )
    )


def _write(database: duckdb.DuckDBPyConnection, query: str, path: Path) -> None:
    database.execute(f"copy ({query}) to '{path}' (format parquet, compression zstd)")


if __name__ == "__main__":
    main()
