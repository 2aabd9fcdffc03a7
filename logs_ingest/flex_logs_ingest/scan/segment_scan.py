"""From the bytes of a log to the tables of one segment.

Takes a layout, the rule for sites and the bytes of a log in chunks of any size. Returns Counts. The
loop is native where that is installed, and otherwise the reference; both give the same Counts. Does
not decide which bytes to read, and does not read or store anything.

Every line is exactly one of
- counted: an answer 2xx or 3xx to a request,
- other_status: any other answer to a request; it is in the hours, but not in the counts per target,
- no_request: `-`, bytes of another protocol, a request for nothing of a site,
- malformed: a needed field is missing or says nothing, or the line is longer than 1 MiB;
  malformed_lines.py has the reasons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from flex import native_or_python
from flex.errors import BadInput
from flex.frame_schemas import HOURS, PARTIAL, SAMPLE
from flex.model.log_reading import BadLine
from flex_logs_ingest.lines.field_meanings import printable
from flex_logs_ingest.lines.layout import Layout
from flex_logs_ingest.scan.counts_as_columns import (
    Ints,
    Loop,
    OtherCount,
    ScannedColumns,
    names_by_number,
    texts,
)
from flex_logs_ingest.scan.frequent_unknown_hosts import names_to_show
from flex_logs_ingest.scan.malformed_lines import MOST, REASONS, WIDTH, Bad
from flex_logs_ingest.scan.python_loop import ReferenceScan
from flex_logs_ingest.scan.site_rules import SiteRule
from flex_logs_ingest.scan.worldcup_binary_logs import RecordScan

CLASSES = ("counted", "other_status", "no_request", "malformed")


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """What a segment of a log says: it began at `first_byte`.

    `partial` (PARTIAL) has a row for each day, site and target; `hours` (HOURS) are all answers to
    requests. `sample` (SAMPLE) are the accesses, in the order of the log, to the targets whose
    level is at least `sample_level`; its `target` numbers the rows of `partial`, that of the
    access's own day. `lines` are the lines by class, `reasons` the malformed ones by what is wrong
    with them, `bad` a few of each. Times are those of all lines that are not malformed, 0 when
    there is none. `pending` is the length of an incomplete last line, which is not counted.
    `strangers` are the names asked for that are no sites, those asked for most first, with their
    requests at least. `heading` is the line that names the columns of what follows.

    The tables are made when they are asked for; `write` takes them to disk without that.
    """

    found: ScannedColumns
    first_byte: int = 0

    @property
    def partial(self) -> pd.DataFrame:
        rows = self.found["tables"].columns()
        names = {
            "site": names_by_number(rows["site"], self.found["sites"]),
            "target": texts(rows["text"], rows["offsets"]),
        }
        columns = {
            "day": rows["day"],
            **{name: pd.Series(column, dtype="str") for name, column in names.items()},
        }
        columns |= {
            "requests": rows["requests"],
            "bytes": rows["bytes"],
            "size": rows["size"],
            "last": rows["last"],
        }
        return PARTIAL.check(pd.DataFrame(columns))

    @property
    def hours(self) -> pd.DataFrame:
        scanned = self.found
        site = pd.Series(names_by_number(scanned["hour_site"], scanned["sites"]), dtype="str")
        counts = {
            "hour": scanned["hour"],
            "requests": scanned["hour_requests"],
            "bytes": scanned["hour_bytes"],
            "timed": scanned["hour_timed"],
            "service_us": scanned["hour_service"],
        }
        return HOURS.make(pd.DataFrame({"site": site, **counts}))

    @property
    def sample(self) -> pd.DataFrame:
        rows = self.found["tables"].columns()
        sample = {
            "time": rows["sample_time"],
            "target": rows["sample_row"],
            "level": rows["sample_level"],
        }
        return SAMPLE.check(pd.DataFrame(sample))

    @property
    def sample_level(self) -> int:
        return self.found["level"]

    @property
    def lines(self) -> dict[str, int]:
        return dict(zip(CLASSES, self.found["lines"], strict=True))

    @property
    def reasons(self) -> dict[str, int]:
        return dict(zip(REASONS, self.found["reasons"], strict=True))

    @property
    def bad(self) -> tuple[BadLine, ...]:
        return _bad_lines(self.found["bad"], self.first_byte, WIDTH)

    @property
    def first_time(self) -> int:
        return self.found["first_time"]

    @property
    def last_time(self) -> int:
        return self.found["last_time"]

    @property
    def pending(self) -> int:
        return self.found["pending"]

    @property
    def strangers(self) -> dict[str, int]:
        return names_to_show(self.found["strangers"])

    @property
    def others(self) -> tuple[OtherCount, ...] | None:
        """What came by other names of sites; None where nobody counted that."""
        other_counts = self.found.get("others")
        return None if other_counts is None else tuple(other_counts)

    @property
    def heading(self) -> bytes:
        return self.found["heading"]

    def hourly_answers(self) -> tuple[Ints, Ints]:
        """The hours that have answers, in order, and how many each has."""
        if len(self.found["sites"]) == 1:
            return self.found["hour"], self.found["hour_requests"]
        hours, places = np.unique(self.found["hour"], return_inverse=True)
        answers = np.zeros(len(hours), dtype=np.int64)
        np.add.at(answers, places, self.found["hour_requests"])
        return hours, answers

    def write(self, files: Path, hours: Path, sample: Path) -> None:
        """The three tables as Parquet files, whole when this returns. Raises OSError."""
        self.found["tables"].write(str(files), str(hours), str(sample))


class Scanner:
    """Feed it a log from its `first_byte` on to its end in any chunks, and ask what it counted
    since it was asked.
    """

    def __init__(self, loop: Loop, first_byte: int = 0) -> None:
        self._loop = loop
        self._first_byte = first_byte

    @property
    def memory(self) -> int:
        """About how many bytes it holds: what grows with distinct targets, sites and hours, and
        with the sample.
        """
        return self._loop.memory

    def feed(self, chunk: bytes) -> None:
        self._loop.feed(chunk)

    def take_bad(self) -> tuple[BadLine, ...]:
        """Every malformed line since the last call, for a scanner that was made to keep them."""
        return _bad_lines(self._loop.take_bad(), self._first_byte, 4 * MOST)

    def finish(self, *, complete: bool = False) -> Counts:
        """What came since the last call, and its memory given back; a line that has no end yet
        waits for it.

        With `complete`, a last line without an end counts too: nothing will ever be added to it.
        """
        return Counts(self._loop.finish(complete), self._first_byte)


_loop = native_or_python.pick("Scan", ReferenceScan)


def new_scanner(
    layout: Layout,
    rule: SiteRule,
    sample_limit: int,
    *,
    first_byte: int = 0,
    keep_bad: bool = False,
) -> Scanner:
    """Raises BadInput when neither the layout nor the rule says which site a line belongs to,
    unless a log that names its columns has lost that one on its way.

    The sample holds at most `sample_limit` accesses; when there are more, targets of low level
    leave it.
    """
    lost = layout.kind == "w3c" and first_byte > 0
    if not says_site(layout, rule) and not lost:
        raise BadInput(
            "counts per site",
            "the log's format does not say which site a request was for",
            kept="nothing was read",
            advice='add `site = "www.example.org"` to its [[ingest.source]], or log the virtual '
            "host (%v in Apache, $host in nginx)",
        )
    lines: Loop = _loop(layout, rule, sample_limit, keep_bad)
    return Scanner(RecordScan(lines) if layout.kind == "records" else lines, first_byte)


def says_site(layout: Layout, rule: SiteRule) -> bool:
    """Whether one of the two says which site a line belongs to."""
    return rule.fixed is not None or rule.directory or "vhost" in layout.fields


def _bad_lines(samples: Sequence[Bad], first_byte: int, most: int) -> tuple[BadLine, ...]:
    return tuple(
        BadLine(first_byte + start, REASONS[reason], printable(line, most))
        for start, reason, line in samples
    )
