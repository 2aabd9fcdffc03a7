"""What each reading of a log counted, as files on disk that are written once and never changed.

Takes the Counts of one segment. Writes three Parquet files (zstd) with the name of the segment, and
returns from them the rows of any days:

    <id>.files.parquet    PARTIAL: day, site, target, requests, bytes, size, last;
                          sorted by day, site, target
    <id>.hours.parquet    HOURS: site, hour, requests, bytes; sorted by site, hour. Where answers
                          said how long they took: timed, service_us; where processor time came
                          with the counts: cpu_us. Earlier versions had none of these
    <id>.sample.parquet   SAMPLE: time, target (row number in the first file), level;
                          in the order of the log. The metadata key `flex.level` holds the
                          level from which on the sample is complete.

Small readings share files, and the name that these have (shared_count_files.py).
Then the store says which.

Where names were asked for that are no sites, there is a file of those too
(file_of_unknown_hosts.py); where the lines say which name was asked for, one of the other names of
sites (other_name_counts.py).

A file is written under a temporary name, synced and renamed, so a name that ends in .parquet holds
a whole file. Does not decide which files count: the store does, and a file whose segment it does
not know was left by a killed run.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from flex.errors import Busy, NotWritten
from flex.frame_schemas import HOURS
from flex.refuse_root import refuse_root
from flex_logs_ingest.counts import (
    file_of_unknown_hosts,
    other_name_counts,
    shared_count_files,
)
from flex_logs_ingest.counts.sorted_runs import SortedRun, damage
from flex_logs_ingest.files.document_root import Documents
from flex_logs_ingest.scan.counts_as_columns import LEVEL, OtherCount
from flex_logs_ingest.scan.segment_scan import Counts

_NAMES = pa.schema([("site", pa.large_string()), ("target", pa.large_string())])
_OURS = re.compile(
    r"(?P<id>[s0-9a-f][0-9a-f]{39})\.(files|hours|sample|strangers|names)\.parquet"
    r"(?P<unfinished>(\.part)+)?"
    r"|[0-9a-f]{40}\.(files|merged)\.parquet(\.\d+)?(?P<unmerged>\.part)"
)


# Chosen on ext4 with 600 files: one after the other each takes 4.3 ms, so many at once 0.13 ms.
SYNCED_AT_ONCE = 16
_UNREAD = "the log being read counts as unread; what was counted before it stands"


@contextmanager
def hold_directory(directory: Path) -> Iterator[None]:
    """The directory is there, and for this long nobody else writes to it or clears it. Raises Busy,
    NotWritten, and BadInput where root must not make it.
    """
    refuse_root(directory / "lock")
    try:
        # Counts name sites and paths.
        directory.mkdir(mode=0o750, parents=True, exist_ok=True)
        lock = (directory / "lock").open("ab")
    except OSError as error:
        raise not_written(directory, error) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Busy(
                f"reading logs into {directory}",
                "another run is doing that",
                kept="nothing was read",
                advice="wait for it to end",
            ) from error
        yield


def write(
    directory: Path,
    segment: str,
    counts: Counts,
    documents: Documents | None = None,
    strangers: Mapping[str, int] | None = None,
    others: Sequence[OtherCount] | None = None,
) -> None:
    """All of its files, with the sizes of documents, whole and on disk when this returns. Raises
    NotWritten.

    `strangers` and `others` stand for those of the counts where somebody else counted.
    """
    begin(directory, segment, counts, documents, strangers, others)
    finish(directory, [segment])


def begin(
    directory: Path,
    segment: str,
    counts: Counts,
    documents: Documents | None = None,
    strangers: Mapping[str, int] | None = None,
    others: Sequence[OtherCount] | None = None,
) -> None:
    """As `write`, without waiting for the disk: the files have other names until `finish`. Raises
    NotWritten.
    """
    unfinished = [_unfinished_path(path) for path in _paths(directory, segment)]
    try:
        counts.write(*unfinished)
        if documents:
            documents.resize(*unfinished[:2])
        file_of_unknown_hosts.write(
            directory, segment, counts.strangers if strangers is None else strangers
        )
        other_name_counts.write(directory, segment, counts.others if others is None else others)
    except OSError as error:
        raise not_written(directory, error) from error


def begin_shared(directory: Path, files: str, readings: Sequence[tuple[str, Counts]]) -> None:
    """As `begin`, of all these readings in files that they share. Raises NotWritten."""
    unfinished = [_unfinished_path(path) for path in _paths(directory, files)]
    try:
        shared_count_files.write(readings, *unfinished)
        names = shared_count_files.others(counts for _, counts in readings)
        other_name_counts.write(directory, files, names)
    except OSError as error:
        raise not_written(directory, error) from error


def finish(directory: Path, segments: Sequence[str]) -> None:
    """What was begun of these is whole and on disk when this returns. Raises NotWritten."""
    paths = [path for segment in segments for path in _paths(directory, segment)]
    try:
        # A disk takes what is asked of it at the same time in one go: hundreds of small files as
        # fast as a few.
        with ThreadPoolExecutor(min(SYNCED_AT_ONCE, len(paths))) as threads:
            list(threads.map(lambda path: sync(_unfinished_path(path)), paths))
        for path in paths:
            _unfinished_path(path).replace(path)
        sync(directory)
    except OSError as error:
        raise not_written(directory, error) from error


def _paths(directory: Path, segment: str) -> list[Path]:
    return [directory / f"{segment}.{kind}.parquet" for kind in ("files", "hours", "sample")]


def _unfinished_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.part")


def clear(directory: Path, known: Collection[str]) -> None:
    """Remove what killed runs left behind: unfinished files, and whole ones that no segment in the
    store knows.
    """
    # A store that knows nothing beside a directory that is full is more likely the wrong store than
    # a first run that was killed; what the latter left goes with a later run.
    for path in sorted(directory.iterdir()):
        ours = _OURS.fullmatch(path.name)
        if ours and (ours["unfinished"] or ours["unmerged"] or (known and ours["id"] not in known)):
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise not_written(directory, error) from error


def runs(
    directory: Path, segment: str, first_day: int, last_day: int, *, before: bool
) -> list[SortedRun]:
    """The PARTIAL rows of these days, a run for each of them. Raises NoData when the file is gone
    or damaged.
    """
    path = directory / f"{segment}.files.parquet"
    groups: dict[int, list[int]] = {}
    with damage(path):
        footer = pq.read_metadata(path)
        sizes = [footer.row_group(group).num_rows for group in range(footer.num_row_groups)]
        for group, size in enumerate(sizes):
            if not size:
                continue
            days = footer.row_group(group).column(0).statistics
            if days is None or not days.has_min_max:
                raise ValueError("it does not say which days it is of")
            for day in range(max(days.min, first_day), min(days.max, last_day) + 1):
                groups.setdefault(day, []).append(group)
    runs: list[SortedRun] = []
    for day, day_groups in sorted(groups.items()):
        rows_of_day = sum(sizes[group] for group in day_groups)
        runs.append(SortedRun(path, tuple(day_groups), rows_of_day, day, before))
    return runs


def rows(directory: Path, segment: str, numbers: pa.Array) -> pa.Table:
    """Site and target of the PARTIAL rows of these numbers, which are in order."""
    path = directory / f"{segment}.files.parquet"
    tables, begin = [_NAMES.empty_table()], 0
    with damage(path), pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            end = begin + file.metadata.row_group(group).num_rows
            here = numbers.filter(pc.and_(pc.greater_equal(numbers, begin), pc.less(numbers, end)))
            if len(here):
                names = file.read_row_group(group, ["site", "target"])
                tables.append(names.cast(_NAMES).take(pc.subtract(here, begin)))
            begin = end
    return pa.concat_tables(tables)


def hours(directory: Path, segment: str, first_day: int, last_day: int, site: str = "") -> pa.Table:
    """The counts of these days by hour, of all sites or of the one that is named."""
    wanted = (pc.field("hour") >= first_day * 24) & (pc.field("hour") < (last_day + 1) * 24)
    if site:
        wanted &= pc.field("site") == site
    return _add_later_columns(wide(_read(directory / f"{segment}.hours.parquet", None, wanted)))


def _add_later_columns(hours: pa.Table) -> pa.Table:
    """With the columns that the file lacks, in the one order of all files."""
    none = pa.array(np.zeros(len(hours), dtype=np.int64))
    lacked = [name for name in HOURS.later if name not in hours.column_names]
    for name in lacked:
        hours = hours.append_column(name, none)
    return hours.select([*hours.column_names[:4], *HOURS.later]) if lacked else hours


def sample(
    directory: Path, segment: str, first_day: int, last_day: int, columns: Sequence[str]
) -> pa.Table:
    """Those columns of the SAMPLE rows of these days."""
    days = (pc.field("time") >= first_day * 86400) & (pc.field("time") < (last_day + 1) * 86400)
    return _read(directory / f"{segment}.sample.parquet", columns, days)


def sample_levels(directory: Path, files: str) -> list[tuple[str, int]]:
    """The readings whose samples are in these files, and from which level on each is complete; in
    the order of their numbers in the column `reading`, where there are several.
    """
    path = directory / f"{files}.sample.parquet"
    with damage(path):
        notes = pq.read_schema(path).metadata or {}
        if shared_count_files.is_shared(files):
            return shared_count_files.levels(notes)
        return [(files, int(notes[LEVEL.encode()]))]


def wide(table: pa.Table) -> pa.Table:
    """With room for more than 2 GiB of names in one column; fields alike, whoever wrote the
    file.
    """
    types = {
        field.name: pa.large_string() if pa.types.is_string(field.type) else field.type
        for field in table.schema
    }
    return table.cast(pa.schema(list(types.items())))


@contextmanager
def write_whole(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which has its name once it is whole and on disk. The name lasts when `sync`
    was called.
    """
    unfinished = path.with_name(f"{path.name}.part")
    with unfinished.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)


def remove(directory: Path, files: Collection[str]) -> None:
    """All files of these ids."""
    try:
        for path in [*directory.iterdir()]:
            ours = _OURS.fullmatch(path.name)
            if ours and ours["id"] in files:
                path.unlink(missing_ok=True)
    except OSError as error:
        raise not_written(
            directory, error, "the counts that are still needed are all there"
        ) from error


def sync(path: Path) -> None:
    """Works for a directory too: a rename is on disk only when the directory is."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(
    path: Path, columns: Sequence[str] | None, where: pc.Expression | None = None
) -> pa.Table:
    with damage(path):
        return pq.read_table(
            path, columns=columns and list(columns), filters=where, partitioning=None
        )


def not_written(directory: Path, error: OSError, kept: str = _UNREAD) -> NotWritten:
    return NotWritten(
        f"writing counts to {directory}",
        error.strerror or str(error),
        kept=kept,
        advice="make room or rights there, then run again: nothing is lost and "
        "nothing is counted twice",
    )
