"""Partials merged into one file table: how many rows a second, and how much memory the whole
process takes.

Takes how many partials of how many rows. Returns figures. The partials are made up. Each holds an
eighth of the same targets, chosen at random, so ten of them have six distinct targets in ten rows;
or no two of them hold the same target. Merging runs in a process of its own that does nothing else.
Its time is that of the merge alone, with the output written and synced.

    python -m bench.ingest.merge FOLDER PARTIALS ROWS [distinct]

It keeps the partials.
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
import pyarrow.parquet as pq

from bench.figures import Figures
from flex.prediction.cache_replay import Ints
from flex_logs_ingest.counts.merge_reference import GROUP, LAYOUT, SCHEMA, regroup

# Partials that are merged.
PARTIALS = 10
# Rows in all partials together.
ROWS = 10_000_000
# One target in so many is in a partial.
CHANCE = 8
# Targets that are made up at a time.
BLOCK = 2**19
# Targets of each site.
TARGETS_OF_SITE = 20_000


def measure(partials: int = PARTIALS, rows: int = ROWS) -> Figures:
    with tempfile.TemporaryDirectory() as folder:
        return measure_in(Path(folder), partials, rows)


def measure_in(folder: Path, partials: int, rows: int, *, distinct: bool = False) -> Figures:
    folder.mkdir(parents=True, exist_ok=True)
    kind = "distinct" if distinct else "shared"
    paths = [folder / f"{kind}-{number}-{rows}.parquet" for number in range(partials)]
    for number, path in enumerate(paths):
        if not path.exists():
            write(
                path, _distinct(number, partials, rows) if distinct else _rows_of_run(number, rows)
            )
    alone = [
        sys.executable,
        "-c",
        "from bench.ingest.merge import alone; alone()",
        *map(str, paths),
    ]
    done = subprocess.run(alone, check=True, capture_output=True, text=True)
    figures: Figures = json.loads(done.stdout)
    return figures


def alone() -> None:
    """Merge the partials of the command line and tell how that went."""
    from flex_logs_ingest.counts import sorted_runs

    partials = [sorted_runs.whole(Path(path)) for path in sys.argv[1:]]
    out = partials[0].path.with_name("merged.parquet")
    before = _peak_mib()
    started, cpu = perf_counter(), process_time()
    written = sorted_runs.merge(partials, out)
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


def write(path: Path, names: Iterator[Ints]) -> None:
    """A partial of these targets, which are numbers in order, as the ingest writes them."""
    unfinished = path.with_suffix(".part")
    with pq.ParquetWriter(unfinished, SCHEMA, **LAYOUT) as writer:
        for piece in regroup(map(_rows, names), GROUP):
            writer.write_table(piece)
    unfinished.replace(path)


def _rows_of_run(number: int, rows: int) -> Iterator[Ints]:
    rng = np.random.default_rng(number)
    for every in _blocks(rows * CHANCE):
        yield every[rng.integers(0, CHANCE, len(every)) == 0]


def _distinct(number: int, partials: int, rows: int) -> Iterator[Ints]:
    for every in _blocks(rows * partials):
        yield every[every % partials == number]


def _blocks(targets: int) -> Iterator[Ints]:
    return (np.arange(begin, min(begin + BLOCK, targets)) for begin in range(0, targets, BLOCK))


def _rows(name: Ints) -> pa.Table:
    rng = np.random.default_rng(int(name[0]))
    requests = rng.geometric(0.4, len(name))
    size = rng.exponential(20_000, len(name)).astype(np.int64)
    last = rng.integers(1_700_000_000, 1_700_086_400, len(name))
    site = _texts(b"www000000.example.org", {3: name // TARGETS_OF_SITE}, 6)
    target = _texts(
        b"/wp-content/uploads/000000/picture-000000-1024x768.jpg",
        {20: name // 10**6, 35: name % 10**6},
        6,
    )
    return pa.Table.from_arrays(
        [site, target, *map(pa.array, (requests, requests * size, size, last))], schema=SCHEMA
    )


def _texts(pattern: bytes, numbers: dict[int, Ints], width: int) -> pa.Array:
    """The pattern for each row, with numbers of so many digits at these places."""
    count = len(next(iter(numbers.values())))
    texts = np.tile(np.frombuffer(pattern, dtype=np.uint8), (count, 1))
    for place, values in numbers.items():
        left = values
        for digit in reversed(range(place, place + width)):
            left, last = np.divmod(left, 10)
            texts[:, digit] = last + ord("0")
    ends = np.arange(count + 1, dtype=np.int32) * len(pattern)
    return pa.StringArray.from_buffers(count, pa.py_buffer(ends), pa.py_buffer(texts.tobytes()))


def _peak_mib() -> float:
    """This process's own memory; what its parent had before it does not count."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (peak,) = (line.split()[1] for line in lines if line.startswith("VmHWM"))
    return int(peak) / 1024


if __name__ == "__main__":
    folder, partials, rows, *kind = sys.argv[1:]
    for figure, value in measure_in(
        Path(folder), int(partials), int(rows), distinct=bool(kind)
    ).items():
        print(f"{figure:24} {value:>16,.0f}")
