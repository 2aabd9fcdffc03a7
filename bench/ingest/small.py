"""Many small logs beside one large log with the same lines. The site is in the name of the small
file, and in each line of the large one.

    make bench NAME=ingest-small
    FILES=300 LINES=200 ROUNDS=1 ...    fewer, larger ones

Each round reads both once, on disk, into an SQLite database of their own, with as many readers as a
night has. The figures are medians of the rounds, with the worst beside them. No figure includes the
start of Python.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

from bench.figures import Figures
from bench.ingest.rounds import middle, ratio
from flex import native_or_python
from flex.store import migrate, open_store
from flex_logs_ingest.files.sources import Source
from flex_logs_ingest.reading.read_logs import ingest
from flex_logs_ingest.scan.site_rules import SiteRule

# How many logs.
FILES = [int(number) for number in os.environ.get("FILES", "300,3000").split(",")]
# Lines in each log.
LINES = int(os.environ.get("LINES", "40"))
# How often each figure is taken.
ROUNDS = int(os.environ.get("ROUNDS", "5"))
AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


def measure() -> Figures:
    figures: Figures = {
        "engine": native_or_python.name(),
        "rounds": ROUNDS,
        "lines_per_file": LINES,
        "load_average": os.getloadavg()[0],
    }
    for files in FILES:
        rounds = [_round(files) for _ in range(ROUNDS)]
        small = [each["small"] for each in rounds]
        large = [each["large"] for each in rounds]
        figures |= middle(
            f"small_{files}_bytes_per_second", [size / wall for size, wall, _ in small]
        )
        figures |= middle(
            f"large_{files}_bytes_per_second", [size / wall for size, wall, _ in large]
        )
        figures |= ratio(
            f"small_{files}_vs_large_wall_ratio",
            [one[1] for one in small],
            [one[1] for one in large],
        )
        figures[f"small_{files}_cpu_seconds_per_file"] = (
            median(cpu for _, _, cpu in small) / files
        )
    return figures


def _round(files: int) -> dict[str, tuple[int, float, float]]:
    """Bytes, seconds on the wall and seconds of CPU of either kind."""
    with tempfile.TemporaryDirectory(
        prefix="flex-bench-", dir=os.environ.get("BENCH_DIR")
    ) as name:
        folder = Path(name)
        small, large = folder / "small", folder / "large"
        small.mkdir()
        large.mkdir()
        with (large / "all.log").open("wb") as every:
            for number in range(files):
                site, text = f"site{number}.example", _text(number)
                (small / f"{site}.log").write_bytes(text)
                every.write(
                    b"".join(
                        f"{site}:80 ".encode() + line
                        for line in text.splitlines(keepends=True)
                    )
                )
        by_name = Source(
            "small",
            (f"{small}/*",),
            "node",
            SiteRule(pattern=r"(?P<site>.+)\.log"),
            "auto",
        )
        by_line = Source("large", (f"{large}/*",), "node", SiteRule())
        return {
            "large": _read(by_line, large, folder),
            "small": _read(by_name, small, folder),
        }


def _read(source: Source, logs: Path, folder: Path) -> tuple[int, float, float]:
    size = sum(path.stat().st_size for path in logs.iterdir())
    url = f"sqlite:///{folder}/{source.name}.db"
    migrate.upgrade(url)
    with open_store(url) as store:
        began, spent = perf_counter(), process_time()
        ingest([source], store, folder / f"{source.name}-counts")
        return size, perf_counter() - began, process_time() - spent


def _text(number: int) -> bytes:
    """The day of one site."""
    lines = []
    for i in range(LINES):
        time = f"20/Nov/2026:{i * 24 // LINES:02}:{(i + number) % 60:02}:{number % 60:02} +0000"
        target = f"/files/{(i * 7 + number) % (LINES // 2 + 1)}.html"
        request = f'"GET {target} HTTP/1.1" 200 {500 + number} "-" "{AGENT}"'
        lines.append(f"192.0.2.{(number + i) % 250} - - [{time}] {request}\n")
    return "".join(lines).encode()
