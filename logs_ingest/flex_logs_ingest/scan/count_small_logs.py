"""What small logs count for, from their beginning on: many in one call of the loop.

Takes the bytes of logs, with their layouts and rules for sites. Returns of each what
segment_scan.py would say, and what its first answer alone counts for. Does not read files, and does
not decide whether that counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flex import native_or_python
from flex_logs_ingest.lines.layout import Layout
from flex_logs_ingest.scan.counts_as_columns import ScannedColumns
from flex_logs_ingest.scan.malformed_lines import Bad
from flex_logs_ingest.scan.python_loop import ReferenceScan
from flex_logs_ingest.scan.site_rules import SiteRule

# Lines in which the first answer of a log is looked for. A guess: a monitor that asks for what is
# not there leaves none.
OPENING = 64

# The bytes of a log, the number of its layout, its rule.
Task = tuple[bytes, int, SiteRule]
# What the first answer counts for, what the whole log does, and about how many bytes of memory that
# took.
Told = tuple[ScannedColumns | None, ScannedColumns, int]


def reference_count_logs(
    logs: Sequence[Task], layouts: Sequence[Layout], sample_limit: int, look: int, _threads: int
) -> list[Told]:
    """The first answer is looked for in so many bytes as `look` says. Threads of Python would only
    wait for each other.
    """
    return [
        _opening_and_counts(text, layouts[number], rule, sample_limit, look)
        for text, number, rule in logs
    ]


def _opening_and_counts(
    text: bytes, layout: Layout, rule: SiteRule, sample_limit: int, look: int
) -> Told:
    opening = _opening(text[:look], ReferenceScan(layout, rule, 0, False))
    scan = ReferenceScan(layout, rule, sample_limit, False)
    scan.feed(text)
    memory = scan.memory
    return opening, scan.finish(), memory


def _opening(look: bytes, scan: ReferenceScan) -> ScannedColumns | None:
    for line in first_lines(look, 0):
        scan.feed(line)
        scanned = scan.finish()
        if scanned["lines"][0] or scanned["lines"][1]:
            return scanned
    return None


def first_lines(look: bytes, record: int) -> Iterator[bytes]:
    """The lines in which the first answer is looked for, or so many records of this size."""
    at = 0
    for _ in range(OPENING):
        end = at + record if record else look.find(b"\n", at) + 1
        if end <= at or end > len(look):
            return
        yield look[at:end]
        at = end


count_logs = native_or_python.pick("count_logs", reference_count_logs)


class Foreseen:
    """A scan of a log that was counted before: it is fed the same bytes again, and says the
    same.
    """

    def __init__(self, scanned: ScannedColumns, memory: int, size: int) -> None:
        self._found = scanned
        self._left = size
        self.memory = memory

    def feed(self, chunk: bytes) -> None:
        self._left -= len(chunk)

    def take_bad(self) -> list[Bad]:
        return []

    def finish(self, complete: bool = False) -> ScannedColumns:
        assert (self._left, complete) == (0, False), "it counted other bytes"
        return self._found
