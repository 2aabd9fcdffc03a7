"""A log that is rotated by copying and truncating, read before and after: how many lines are
counted that are not there.

1,000 lines are read; logrotate copies them to `.1` and truncates; 500 more are written; both files
are read. A reader that knows a log by its inode or by its name takes the copy for a log that it
never saw.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from bench.figures import Figures
from bench.ingest.rivals import GoAccess
from flex.store import MemoryStore
from flex_logs_ingest.files.find_and_unpack_logs import Source
from flex_logs_ingest.reading.read_logs import ingest
from flex_logs_ingest.scan.site_rules import SiteRule

# Lines before the log is copied and truncated.
BEFORE = 1_000
# Lines after that.
AFTER = 500
# Reads these logs, and says how many lines it has counted in all.
Reader = Callable[[list[Path]], int]


def figures(folder: Path, goaccess: GoAccess | None) -> Figures:
    found: Figures = {
        "copytruncate_flex_extra_lines": _extra(folder / "ours", _flex(folder / "counts"))
    }
    if goaccess:
        kept = folder / "kept"
        kept.mkdir()
        theirs = _extra(folder / "theirs", lambda logs: goaccess.count(logs, kept))
        found["copytruncate_goaccess_extra_lines"] = theirs
    return found


def _flex(counts: Path) -> Reader:
    store = MemoryStore()

    def read(logs: list[Path]) -> int:
        globs = tuple(str(log) for log in logs)
        ingest([Source("bench", globs, "node", SiteRule(fixed="one.example"))], store, counts)
        known = store.segments(0, 10**6)
        return sum(number for segment in known for _, number in segment.lines)

    return read


def _extra(folder: Path, read: Reader) -> int:
    folder.mkdir()
    log, copy = folder / "access.log", folder / "access.log.1"
    log.write_bytes(_lines(0, BEFORE))
    read([log])
    shutil.copy(log, copy)
    with log.open("r+b") as file:
        file.truncate()
        file.write(_lines(BEFORE, BEFORE + AFTER))
    return read([copy, log]) - BEFORE - AFTER


def _lines(first: int, end: int) -> bytes:
    line = (
        '192.0.2.%d - - [20/Nov/2026:%02d:%02d:%02d +0000] "GET /%d HTTP/1.1" 200 '
        '100 "-" "Mozilla/5.0"\n'
    )
    return "".join(
        line % (n % 250, n // 36_000, n // 600 % 60, n // 10 % 60, n) for n in range(first, end)
    ).encode()
