"""The processor time of sites, added to the hours of a reading before its parcel is made.

Takes a reading, the directory with its files and what was used since the last time. Writes its
hours anew, whole. Does not record the reading: the Outbox does, and settles what was taken then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from flex.errors import NotWritten
from flex.model.log_reading import Segment
from flex_logs_ingest.counts import count_files
from flex_logs_ingest.cpu.cpu_since_last_time import CpuSinceLastTime, Used
from flex_logs_ingest.scan.counts_as_columns import Ints, hours_table, write_table

_COUNTS = ("requests", "bytes", "timed", "service_us")


def to_reading(counts: Path, segment: Segment, cpu: CpuSinceLastTime) -> int:
    """How many microseconds came with it. A copy counts nothing, and takes none along."""
    path = counts / f"{segment.id}.hours.parquet"
    if segment.copy_of or not path.exists():
        return 0
    hours = count_files.hours(counts, segment.id, segment.first_day, segment.last_day)
    _note_requests(hours, cpu)
    used = cpu.take(segment.id, segment.first_day, segment.last_day)
    if not used:
        return 0
    unfinished = path.with_name(f"{path.name}.part")
    try:
        write_table(str(unfinished), _with(hours, used))
        count_files.sync(unfinished)
        unfinished.replace(path)
        count_files.sync(counts)
    except OSError as error:
        raise NotWritten(
            f"writing counts to {counts}",
            error.strerror or str(error),
            kept="the log being read counts as unread; what was counted before it stands",
            advice="make room or rights there, then run again: nothing is lost and "
            "nothing is counted twice",
        ) from error
    return sum(number for _, _, number in used)


def _note_requests(hours: pa.Table, cpu: CpuSinceLastTime) -> None:
    asked: Counter[tuple[str, int]] = Counter()
    for site, hour, number in zip(
        hours["site"].to_pylist(),
        hours["hour"].to_pylist(),
        hours["requests"].to_pylist(),
        strict=True,
    ):
        asked[site, hour // 24] += number
    cpu.note_requests(asked)


def _with(hours: pa.Table, used: Sequence[Used]) -> pa.Table:
    """HOURS in order; hours of a site in which it was not asked for have no requests."""
    rows: dict[tuple[str, int], list[int]] = {}
    places = zip(hours["site"].to_pylist(), hours["hour"].to_pylist(), strict=True)
    counts = zip(*(hours[name].to_pylist() for name in _COUNTS), strict=True)
    for place, row in zip(places, counts, strict=True):
        rows[place] = [*row, 0]
    for site, hour, spent in used:
        rows.setdefault((site, hour), [0] * (len(_COUNTS) + 1))[-1] = spent
    ordered = sorted(rows.items(), key=lambda item: (item[0][0].encode(), item[0][1]))
    names = sorted({site for (site, _), _ in ordered}, key=str.encode)
    number_of = {name: number for number, name in enumerate(names)}

    def ints(values: Sequence[int]) -> Ints:
        return np.array(values, dtype=np.int64)

    columns = {
        "site": ints([number_of[site] for (site, _), _ in ordered]),
        "hour": ints([hour for (_, hour), _ in ordered]),
    }
    for number, name in enumerate((*_COUNTS, "cpu_us")):
        columns[name] = ints([row[number] for _, row in ordered])
    return hours_table(columns, names)
