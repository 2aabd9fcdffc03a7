"""The hot loops, native beside reference: log lines scanned and accesses replayed in a second."""

from __future__ import annotations

from functools import partial

import numpy as np

from bench.figures import Figures, best_of
from flex import native_or_python
from flex.native_or_python import Loop
from flex.placing.problem import Ints
from flex.prediction.cache_replay import reference_replay
from flex_logs_ingest.formats import layout_of
from flex_logs_ingest.scan.python_loop import ReferenceScan
from flex_logs_ingest.scan.site_rules import SiteRule

LINES = 100_000
ACCESSES = 500_000
TARGETS = 50_000
SITES = 200
NODES = 4
AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


def measure() -> Figures:
    figures: Figures = {
        "lines": LINES,
        "accesses": ACCESSES,
        "note": native_or_python.WHY_NOT or "native loops installed",
    }
    log, day = _log(), _day()
    for name, scan in _engines("Scan", ReferenceScan).items():
        figures[f"scan_{name}_lines_per_second"] = LINES / best_of(3, partial(_scan, scan, log))
    for name, replay in _engines("replay", reference_replay).items():
        figures[f"lru_{name}_accesses_per_second"] = ACCESSES / best_of(
            3, partial(replay, "lru", *day)
        )
    return figures


def _engines(loop: str, reference: Loop) -> dict[str, Loop]:
    """The reference and, where it is installed, the native loop."""
    native = native_or_python.pick(loop, reference)
    return {"python": reference} if native is reference else {"python": reference, "native": native}


def _scan(scan: type[ReferenceScan], log: bytes) -> None:
    loop = scan(layout_of("vhost_combined"), SiteRule(), 10_000)
    loop.feed(log)
    loop.finish(True)


def _log() -> bytes:
    """Lines of a day's first minutes; popular targets are asked for often, as in any log."""
    line = (
        "www{site}.example.org:80 192.0.2.{client} - - "
        "[20/Nov/2026:12:{minute:02}:{second:02} +0000] "
    )
    line += '"GET /files/{target}.html HTTP/1.1" 200 {size} "-" "' + AGENT + '"\n'
    popular = _zipf(LINES)
    return "".join(
        line.format(
            site=t % SITES,
            client=n % 250,
            minute=n // 6000,
            second=n // 100 % 60,
            target=t,
            size=500 + t,
        )
        for n, t in enumerate(popular.tolist())
    ).encode()


def _day() -> tuple[Ints, Ints, Ints, Ints]:
    """Targets, the nodes they are asked of, sizes, and caches that hold a fifth of everything."""
    target = _zipf(ACCESSES)
    size = np.random.default_rng(2).integers(500, 50_000, TARGETS)
    return target, target % NODES, size, np.full(NODES, size.sum() // NODES // 5)


def _zipf(count: int) -> Ints:
    chance = 1.0 / np.arange(1, TARGETS + 1)
    return np.random.default_rng(1).choice(TARGETS, count, p=chance / chance.sum())
