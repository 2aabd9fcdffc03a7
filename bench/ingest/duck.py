"""The same counts from DuckDB's CSV reader, measured from inside: `python -m bench.ingest.duck OUT LOG`.

In goes a log in vhost_combined, out comes a Parquet file sorted by site and target, and one line of JSON as reading.py
gives it. It is the job of a reading without what DuckDB has no words for: one spelling for each target, hours, sample,
classes of lines, exactly once. Lines that its dialect of CSV refuses it keeps apart, as a reading does, and with them
some neighbours.
"""

from __future__ import annotations

import json
import sys
from time import perf_counter, process_time

import duckdb

from bench.ingest.reading import peak_mib

COLUMNS = ("host", "client", "ident", "user", "time", "zone", "request", "status", "sent", "referer", "agent")
COUNTS = f"""
    select split_part(host, ':', 1) as site, split_part(split_part(request, ' ', 2), '?', 1) as target,
        count(*) as requests, sum(try_cast(sent as bigint)) as bytes,
        max(try_cast(sent as bigint)) filter (status = '200') as size,
        max(try_strptime(time, '[%d/%b/%Y:%H:%M:%S')) as last
    from read_csv('$log', delim = ' ', quote = '"', escape = '\\', header = false, auto_detect = false,
        columns = {{{", ".join(f"'{name}': 'varchar'" for name in COLUMNS)}}},
        strict_mode = false, store_rejects = true, rejects_limit = 0, max_line_size = 8388608)
    where status between '200' and '399'
    group by all order by all
"""


def main(out: str, log: str) -> None:
    database = duckdb.connect(config={"threads": 1})
    database.execute("select try_strptime('[20/Nov/2026:12:00:00', '[%d/%b/%Y:%H:%M:%S')").fetchall()
    started, spent = perf_counter(), process_time()
    database.execute(f"copy ({COUNTS.replace('$log', log)}) to '{out}' (format parquet, compression zstd)")
    wall, cpu = perf_counter() - started, process_time() - spent
    rows, requests = database.execute(f"select count(*), sum(requests) from '{out}'").fetchall()[0]
    print(json.dumps({"wall": wall, "cpu": cpu, "rows": rows, "requests": requests, "peak_mib": peak_mib()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
