"""What becomes of old counts: those of past weeks are added up, those that are too old are deleted.

Takes the store's Segments, the directory of their counts and two days. Returns what was done. Does
not forget segments and streams, so nothing is ever counted twice; only the place of their counts
changes.

The order makes it safe against a kill. Sums are whole and on disk before the store hears of them.
The store learns of all segments of a sum in one transaction. What it no longer needs is removed
last, and the next reading removes what a killed run left.

A sum has files and hours day by day, as count_files.py has them, so it still gives earlier sizes
and any window of days. It has no sample: the sample is for predicting the window, and sums lie
before it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from flex.model.log_reading import Segment
from flex.model.period import LAST_DAY
from flex.ports import CentralSegments
from flex_logs_ingest.counts import add_up_hours_and_sample, count_files, daily_sums
from flex_logs_ingest.counts.merge_reference import LAYOUT, SCHEMA
from flex_logs_ingest.counts.sorted_runs import SortedRun
from flex_logs_ingest.counts.sorted_runs import merge as merge_runs

_SUM = SCHEMA.insert(0, pa.field("day", pa.int64()))

# 1970-01-01 was a Thursday.
_MONDAY = 3


@dataclass(frozen=True, slots=True)
class Tidied:
    """How many readings had their counts added up into how many sums, and how many had them
    deleted.
    """

    added: int = 0
    sums: int = 0
    deleted: int = 0


def tidy(
    segments: CentralSegments,
    directory: Path,
    *,
    window_from: int,
    keep_from: int,
    table: Path | None = None,
) -> Tidied:
    """Delete counts that are all from before the day `keep_from`, add up those of weeks that end
    before `window_from`.

    File tables but `table` go too: they are made again when they are asked for; and what sites were
    sent on days before `keep_from`. Raises Busy while somebody else writes to the directory,
    NotWritten when it takes no more, NoData when counts are gone or damaged; what was done stays.
    """
    with count_files.hold_directory(directory):
        _drop_tables(directory, table, keep_from)
        kept = _segments_by_file(segments)
        old: list[str] = []
        segments_of_old: list[Segment] = []
        for file_id, readings in kept.items():
            if max(each.last_day for each in readings) < keep_from:
                old.append(file_id)
                segments_of_old += readings
        _move(segments, directory, segments_of_old, old, "")
        rest = {files: readings for files, readings in kept.items() if files not in old}
        weeks = [files for files in _weeks(rest, window_from).values() if len(files) > 1]
        for files in weeks:
            _add_up(segments, directory, files, rest)
    added = sum(len(rest[week_file]) for files in weeks for week_file in files)
    return Tidied(added, len(weeks), sum(len(kept[files]) for files in old))


def _segments_by_file(segments: CentralSegments) -> dict[str, list[Segment]]:
    """Which segments have their counts in the files of an id."""
    kept = defaultdict(list)
    readings = segments.segments(0, LAST_DAY)
    moved = segments.moved_counts()
    for segment in readings:
        kept[moved.get(segment.id, segment.id)].append(segment)
    kept.pop("", None)
    return dict(kept)


def _weeks(kept: Mapping[str, Sequence[Segment]], window_from: int) -> dict[int, list[str]]:
    """Files by the week of their last day, in order; a week that reaches into the window is still
    open.
    """
    weeks: dict[int, list[str]] = defaultdict(list)
    for files in sorted(kept):
        week = (max(each.last_day for each in kept[files]) + _MONDAY) // 7
        if (week + 1) * 7 - _MONDAY <= window_from:
            weeks[week].append(files)
    return weeks


def _add_up(
    segments: CentralSegments,
    directory: Path,
    files: Sequence[str],
    kept: Mapping[str, Sequence[Segment]],
) -> None:
    name = sha1("\n".join(files).encode(), usedforsecurity=False).hexdigest()
    hours = add_up_hours_and_sample.hours_in(directory, files, (0, LAST_DAY))
    try:
        with (
            count_files.write_whole(directory / f"{name}.files.parquet") as file,
            pq.ParquetWriter(file, _SUM, **LAYOUT) as to,
        ):
            for rows in _sum_by_day(directory, files, directory / f"{name}.merged.parquet"):
                to.write_table(rows)
        with count_files.write_whole(directory / f"{name}.hours.parquet") as file:
            pq.write_table(
                pa.Table.from_pandas(hours, preserve_index=False), file, compression="zstd"
            )
        count_files.sync(directory)
    except OSError as error:
        raise count_files.not_written(
            directory, error, "the counts that were to be added up stand"
        ) from error
    _move(segments, directory, [each for file_id in files for each in kept[file_id]], files, name)


def _sum_by_day(directory: Path, files: Sequence[str], scratch: Path) -> Iterator[pa.Table]:
    """The rows of all files, added up, some ten thousand at a time and never of two days."""
    runs: dict[int, list[SortedRun]] = defaultdict(list)
    for run in (
        run
        for file_id in files
        for run in count_files.runs(directory, file_id, 0, LAST_DAY, before=False)
    ):
        assert run.day is not None, "runs of partials are of one day"
        runs[run.day].append(run)
    try:
        for day in sorted(runs):
            merge_runs(runs[day], scratch)
            with pq.ParquetFile(scratch) as file:
                for group in range(file.num_row_groups):
                    rows = file.read_row_group(group)
                    yield rows.add_column(0, "day", pa.array(np.full(len(rows), day))).cast(_SUM)
    finally:
        scratch.unlink(missing_ok=True)


def _drop_tables(directory: Path, table: Path | None, keep_from: int) -> None:
    try:
        daily_sums.drop(directory, keep_from)
        for path in [*directory.glob("*.merged.parquet")]:
            if path != table:
                path.unlink(missing_ok=True)
    except OSError as error:
        raise count_files.not_written(directory, error, "no counts were lost") from error


def _move(
    segments: CentralSegments,
    directory: Path,
    readings: Sequence[Segment],
    files: Collection[str],
    to: str,
) -> None:
    """The store first: files that it no longer knows are only in the way."""
    segments.move_counts([segment.id for segment in readings], to)
    count_files.remove(directory, files)
