"""Partials merged into one file table: how many rows a second, and how much memory the whole process takes.

In go how many partials of how many rows, out come figures. The partials are made up: each holds an eighth of the same
targets, chosen at random, so ten of them have six distinct targets in ten rows. Merging runs in a process of its own
that does nothing else; its time is that of the merge alone, output written and synced.

    python -m bench.ingest.merge FOLDER PARTIALS ROWS     measures, and keeps the partials for another time
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.figures import Figures

PARTIALS = 10
ROWS = 10_000_000
SITES = 5_000
# One target in so many is in a partial; so many targets are made up at a time.
CHANCE = 8
BLOCK = 2**19


def measure(partials: int = PARTIALS, rows: int = ROWS) -> Figures:
    with tempfile.TemporaryDirectory() as folder:
        return measure_in(Path(folder), partials, rows)


def measure_in(folder: Path, partials: int, rows: int) -> Figures:
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{number}-{rows}.parquet" for number in range(partials)]
    for number, path in enumerate(paths):
        if not path.exists():
            write(path, number, rows)
    alone = [sys.executable, "-c", "from bench.ingest.merge import alone; alone()", *map(str, paths)]
    done = subprocess.run(alone, check=True, capture_output=True, text=True)
    figures: Figures = json.loads(done.stdout)
    return figures


def alone() -> None:
    """Merge the partials of the command line and tell how that went."""
    from flex_logs_ingest import runs

    partials = [runs.whole(Path(path)) for path in sys.argv[1:]]
    out = partials[0].path.with_name("merged.parquet")
    before = _peak_mib()
    started, cpu = perf_counter(), process_time()
    written = runs.merge(partials, out)
    seconds, cpu = perf_counter() - started, process_time() - cpu
    rows = sum(run.rows for run in partials)
    figures = {
        "merge_rows": rows,
        "merge_distinct": written,
        "merge_seconds": seconds,
        "merge_cpu_seconds": cpu,
        "merge_rows_per_s": rows / seconds,
        "merge_rows_per_cpu_s": rows / cpu,
        "merge_peak_mib": _peak_mib(),
        "merge_peak_mib_before": before,
        "merge_in_bytes": sum(run.path.stat().st_size for run in partials),
        "merge_out_bytes": out.stat().st_size,
    }
    out.unlink()
    print(json.dumps(figures))


def write(path: Path, number: int, rows: int) -> None:
    """A partial of about so many rows, as the ingest writes them."""
    from flex_logs_ingest.added import GROUP, LAYOUT, SCHEMA, regrouped

    with pq.ParquetWriter(path, SCHEMA, **LAYOUT) as writer:
        for piece in regrouped(_pieces(number, rows), GROUP):
            writer.write_table(piece)


def _pieces(number: int, rows: int) -> Iterator[pa.Table]:
    from flex_logs_ingest.added import SCHEMA

    rng = np.random.default_rng(number)
    targets = rows * CHANCE
    for begin in range(0, targets, BLOCK):
        every = np.arange(begin, min(begin + BLOCK, targets))
        name = every[rng.random(len(every)) * CHANCE < 1]
        requests = rng.zipf(1.8, len(name)).clip(max=10**6)
        size = rng.lognormal(9, 2, len(name)).astype(np.int64)
        last = 1_700_000_000 + rng.integers(0, 86_400, len(name))
        texts = [_text(["www", name * SITES // targets, ".example.org"], 6), _targets(name)]
        yield pa.Table.from_arrays([*texts, *map(pa.array, (requests, requests * size, size, last))], schema=SCHEMA)


def _targets(name: np.ndarray) -> pa.Array:
    return _text(["/wp-content/uploads/", name // 1_000, "/picture-", name % 1_000, "-1024x768.jpg"], 9)


def _text(parts: list[str | np.ndarray], width: int) -> pa.Array:
    """Texts and numbers one behind the other, numbers with leading zeros."""
    texts = [part if isinstance(part, str) else _digits(part, width) for part in parts]
    return pc.binary_join_element_wise(*texts, "")


def _digits(numbers: np.ndarray, width: int) -> pa.Array:
    return pc.utf8_lpad(pa.array(numbers).cast(pa.string()), width, "0")


def _peak_mib() -> float:
    """Of this process's own memory; what its parent had before it does not count."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (peak,) = (line.split()[1] for line in lines if line.startswith("VmHWM"))
    return int(peak) / 1024


if __name__ == "__main__":
    for figure, value in measure_in(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])).items():
        print(f"{figure:24} {value:>16,.0f}")
