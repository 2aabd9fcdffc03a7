"""From log bytes to the tables of one segment.

In go a layout, the rule for sites and the bytes of a log in chunks of any size; out comes a Counts. Which bytes to feed
is not decided here, and nothing is read or stored. The loop itself is native where that is installed, and otherwise the
reference; both give the same Counts.

Every line is exactly one of
- counted: an answer 2xx or 3xx to a request,
- other_status: any other answer to a request; it is in the hours, but not in the counts per target,
- no_request: `-`, bytes of another protocol, a request for nothing of a site,
- malformed: a needed field is missing or says nothing, or the line is longer than 1 MiB; malformed.py has the reasons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import pyarrow as pa

from flex import engine
from flex.domain import BadLine
from flex.errors import BadInput
from flex.tables import HOURS, PARTIAL, SAMPLE
from flex_logs_ingest.layout import Layout
from flex_logs_ingest.line import printable
from flex_logs_ingest.malformed import REASONS, Bad
from flex_logs_ingest.records import RecordScan
from flex_logs_ingest.reference import Columns, Ints, Loop, ReferenceScan
from flex_logs_ingest.sites import SiteRule
from flex_logs_ingest.strangers import shown

CLASSES = ("counted", "other_status", "no_request", "malformed")


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """What a log says.

    `partial` (PARTIAL) has a row for each day, site and target; `hours` (HOURS) are all answers to requests.
    `sample` (SAMPLE) are the accesses, in the order of the log, to the targets whose level is at least `sample_level`;
    its `target` numbers the rows of `partial`, that of the access's own day.
    `lines` are the lines by class, `reasons` the malformed ones by what is wrong with them, `bad` a few of each. Times
    are those of all lines that are not malformed, 0 when there is none. `pending` is the length of an incomplete last
    line, which is not counted. `strangers` are the names asked for that are no sites, those asked for most first, with
    their requests at least. `heading` is the line that names the columns of what follows.
    """

    partial: pd.DataFrame
    hours: pd.DataFrame
    sample: pd.DataFrame
    sample_level: int
    lines: dict[str, int]
    reasons: dict[str, int]
    bad: tuple[BadLine, ...]
    first_time: int
    last_time: int
    pending: int
    strangers: dict[str, int]
    heading: bytes


class Scanner:
    """Feed it a log from its `first_byte` on to its end in any chunks, then ask once what it counted."""

    def __init__(self, loop: Loop, first_byte: int = 0) -> None:
        self._loop = loop
        self._first_byte = first_byte

    @property
    def rows(self) -> int:
        """How many rows of `partial` there are so far: what memory grows with."""
        return self._loop.rows

    def feed(self, chunk: bytes) -> None:
        self._loop.feed(chunk)

    def take_bad(self) -> tuple[BadLine, ...]:
        """Every malformed line since the last call, for a scanner that was made to keep them."""
        return _bad_lines(self._loop.take_bad(), self._first_byte)

    def finish(self, *, complete: bool = False) -> Counts:
        """With `complete`, a last line without an end counts too: nothing will ever be added to it."""
        return _counts(self._loop.finish(complete), self._first_byte)


_loop = engine.pick("Scan", ReferenceScan)


def new_scanner(
    layout: Layout, rule: SiteRule, sample_limit: int, *, first_byte: int = 0, keep_bad: bool = False
) -> Scanner:
    """Raises BadInput when neither the layout nor the rule says which site a line belongs to.

    The sample holds at most `sample_limit` accesses; when there are more, targets of low level leave it.
    """
    if rule.fixed is None and "vhost" not in layout.fields:
        raise BadInput(
            "counts per site",
            "the log's format does not say which site a request was for",
            kept="nothing was read",
            advice="name the site of this log in the settings, or log the virtual host (%v)",
        )
    lines: Loop = _loop(layout, rule, sample_limit, keep_bad)
    return Scanner(RecordScan(lines) if layout.kind == "records" else lines, first_byte)


def _counts(found: Columns, first_byte: int) -> Counts:
    partial = {
        "day": found["day"],
        "site": _named(found["site"], found["sites"]),
        "target": _texts(found["text"], found["offsets"]),
        **{name: found[name] for name in ("requests", "bytes", "size", "last")},
    }
    hours = {
        "site": _named(found["hour_site"], found["sites"]),
        "hour": found["hour"],
        "requests": found["hour_requests"],
        "bytes": found["hour_bytes"],
    }
    sample = {"time": found["sample_time"], "target": found["sample_row"], "level": found["sample_level"]}
    return Counts(
        partial=PARTIAL.check(pd.DataFrame(partial)),
        hours=HOURS.check(pd.DataFrame(hours)),
        sample=SAMPLE.check(pd.DataFrame(sample)),
        sample_level=found["level"],
        lines=dict(zip(CLASSES, found["lines"], strict=True)),
        reasons=dict(zip(REASONS, found["reasons"], strict=True)),
        bad=_bad_lines(found["bad"], first_byte),
        first_time=found["first_time"],
        last_time=found["last_time"],
        pending=found["pending"],
        strangers=shown(found["strangers"]),
        heading=found["heading"],
    )


def _bad_lines(found: Sequence[Bad], first_byte: int) -> tuple[BadLine, ...]:
    return tuple(BadLine(first_byte + start, REASONS[reason], printable(line)) for start, reason, line in found)


def _texts(text: bytes, offsets: Ints) -> pd.Series:
    """The texts as a column, without a Python object for each of them."""
    array = pa.LargeStringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(text))
    return pd.Series(array, dtype="str")


def _named(numbers: Ints, names: list[str]) -> pd.Series:
    encoded = pa.DictionaryArray.from_arrays(pa.array(numbers), pa.array(names, type=pa.large_string()))
    return pd.Series(encoded.cast(pa.large_string()), dtype="str")
