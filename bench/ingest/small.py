"""Many small logs beside one large log with the same lines. The site is in the name of the small
file, and in each line of the large one.

    make bench NAME=ingest-small
    FILES=300 LINES=200 ROUNDS=1 ...    fewer, larger ones

Each round reads on disk, into an SQLite database of their own, with as many readers as a night has:
the large log, the small ones looked at together, the same ones each looked at alone, and the small
ones again when each of them has another day. The figures are medians of the rounds, with the worst
beside them. No figure includes the start of Python, whose collector is set as `flex` sets it.
Seconds of CPU say more than those of the wall on a machine that does other work.
"""

from __future__ import annotations

import gc
import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter, process_time

from bench.figures import Figures
from bench.ingest.rounds import middle, ratio
from flex import native_or_python
from flex.store import migrate, open_store
from flex_api.cli import COLLECTED_AFTER
from flex_logs_ingest.files.find_and_unpack_logs import Source
from flex_logs_ingest.reading.read_logs import ingest
from flex_logs_ingest.reading.record_in_batches import SMALL
from flex_logs_ingest.scan.site_rules import SiteRule

# How many logs.
FILES = [int(number) for number in os.environ.get("FILES", "300,3000").split(",")]
# Lines in each log.
LINES = int(os.environ.get("LINES", "40"))
# How often each figure is taken.
ROUNDS = int(os.environ.get("ROUNDS", "5"))
AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


@dataclass(frozen=True, slots=True)
class Reading:
    """New bytes, and seconds on the wall and of the CPU."""

    size: int
    wall: float
    cpu: float


def measure() -> Figures:
    gc.set_threshold(COLLECTED_AFTER)
    figures: Figures = {
        "engine": native_or_python.name(),
        "rounds": ROUNDS,
        "lines_per_file": LINES,
        "load_average": os.getloadavg()[0],
    }
    for files in FILES:
        rounds = [_round(files) for _ in range(ROUNDS)]
        figures |= _figures(files, rounds)
    return figures


def _figures(files: int, rounds: list[dict[str, Reading]]) -> Figures:
    figures: Figures = {}
    of = {name: [each[name] for each in rounds] for name in rounds[0]}
    for name in ("small", "large", "small_next_day"):
        figures |= middle(
            f"{name}_{files}_bytes_per_second", [one.size / one.wall for one in of[name]]
        )
    for name in ("small", "small_alone", "small_next_day"):
        figures |= middle(
            f"{name}_{files}_cpu_seconds_per_file", [one.cpu / files for one in of[name]]
        )
    for figure, above, below in (
        (f"small_{files}_vs_large", "small", "large"),
        (f"small_{files}_alone_vs_together", "small_alone", "small"),
    ):
        for what in ("wall", "cpu"):
            figures |= ratio(
                f"{figure}_{what}_ratio",
                [getattr(one, what) for one in of[above]],
                [getattr(one, what) for one in of[below]],
            )
    return figures


def _round(files: int) -> dict[str, Reading]:
    with tempfile.TemporaryDirectory(prefix="flex-bench-", dir=os.environ.get("BENCH_DIR")) as name:
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
                        f"{site}:80 ".encode() + line for line in text.splitlines(keepends=True)
                    )
                )
        by_name = SiteRule(pattern=r"(?P<site>.+)\.log")
        of_small = Source("small", (f"{small}/*",), "node", by_name, "auto")
        of_large = Source("large", (f"{large}/*",), "node", SiteRule())
        found = {
            "large": _read(of_large, large, folder / "large-run"),
            "small_alone": _read(of_small, small, folder / "alone-run", small=0),
            "small": _read(of_small, small, folder / "small-run"),
        }
        for number in range(files):
            with (small / f"site{number}.example.log").open("ab") as log:
                log.write(_text(number).replace(b"[20/Nov", b"[21/Nov"))
        again = _read(of_small, small, folder / "small-run")
        # Half of each log was read the day before.
        found["small_next_day"] = replace(again, size=again.size // 2)
        return found


def _read(source: Source, logs: Path, run: Path, small: int = SMALL) -> Reading:
    size = sum(path.stat().st_size for path in logs.iterdir())
    url = f"sqlite:///{run}.db"
    migrate.upgrade(url)
    with open_store(url) as store:
        began, spent = perf_counter(), process_time()
        ingest([source], store, run, small=small)
        return Reading(size, perf_counter() - began, process_time() - spent)


def _text(number: int) -> bytes:
    """The day of one site."""
    lines = []
    for i in range(LINES):
        time = f"20/Nov/2026:{i * 24 // LINES:02}:{(i + number) % 60:02}:{number % 60:02} +0000"
        target = f"/files/{(i * 7 + number) % (LINES // 2 + 1)}.html"
        request = f'"GET {target} HTTP/1.1" 200 {500 + number} "-" "{AGENT}"'
        lines.append(f"192.0.2.{(number + i) % 250} - - [{time}] {request}\n")
    return "".join(lines).encode()
