"""What each reading of a log counted, as files on disk that are written once and never changed.

In go the Counts of one segment, out come three Parquet files (zstd) named after it, and from them the rows of any days:

    <id>.files.parquet    PARTIAL: day, site, target, requests, bytes, size, last; sorted by day, site, target
    <id>.hours.parquet    HOURS: site, hour, requests, bytes; sorted by site, hour
    <id>.sample.parquet   SAMPLE: time, target (row number in the first file), level; in the order of the log.
                          The metadata key `flex.level` holds the level from which on the sample is complete.

A file is written under a temporary name, synced and renamed, so a name that ends in .parquet holds a whole file.
Which files count is for the store to say: a file whose segment it does not know is a leftover of a killed run.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from flex.errors import Busy, NoData, NotWritten
from flex_logs_ingest.scan import Counts

_LEVEL = b"flex.level"
_OURS = re.compile(r"(?P<id>[0-9a-f]{40})\.(files|hours|sample)\.parquet(?P<unfinished>\.part)?")


@contextmanager
def held(directory: Path) -> Iterator[None]:
    """The directory is there, and for this long nobody else writes to it or clears it. Raises Busy, NotWritten."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock = (directory / "lock").open("ab")
    except OSError as error:
        raise _not_written(directory, error) from error
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


def write(directory: Path, segment: str, counts: Counts) -> None:
    """All three files, whole and on disk when this returns. Raises NotWritten."""
    sample = _table(counts.sample).replace_schema_metadata({_LEVEL: str(counts.sample_level)})
    try:
        _write(directory / f"{segment}.files.parquet", _table(counts.partial))
        _write(directory / f"{segment}.hours.parquet", _table(counts.hours))
        _write(directory / f"{segment}.sample.parquet", sample)
        _sync(directory)
    except OSError as error:
        raise _not_written(directory, error) from error


def clear(directory: Path, known: Collection[str]) -> None:
    """Remove what killed runs left behind: unfinished files, and whole ones that no segment in the store knows."""
    # A store that knows nothing beside a directory that is full is more likely the wrong store than a first run
    # that was killed; what the latter left goes with a later run.
    for path in sorted(directory.iterdir()):
        ours = _OURS.fullmatch(path.name)
        if ours and (ours["unfinished"] or (known and ours["id"] not in known)):
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise _not_written(directory, error) from error


def files(directory: Path, segment: str, first_day: int, last_day: int, columns: Sequence[str]) -> pa.Table:
    """Those columns of the PARTIAL rows of these days. Raises NoData when the file is gone or damaged."""
    days = (pc.field("day") >= first_day) & (pc.field("day") <= last_day)
    return wide(_read(directory / f"{segment}.files.parquet", columns, days))


def rows(directory: Path, segment: str, numbers: pa.Array) -> pa.Table:
    """Site and target of the PARTIAL rows of these numbers."""
    return wide(_read(directory / f"{segment}.files.parquet", ["site", "target"])).take(numbers)


def hours(directory: Path, segment: str, first_day: int, last_day: int) -> pa.Table:
    days = (pc.field("hour") >= first_day * 24) & (pc.field("hour") < (last_day + 1) * 24)
    return wide(_read(directory / f"{segment}.hours.parquet", None, days))


def sample(directory: Path, segment: str, first_day: int, last_day: int, columns: Sequence[str]) -> pa.Table:
    """Those columns of the SAMPLE rows of these days."""
    days = (pc.field("time") >= first_day * 86400) & (pc.field("time") < (last_day + 1) * 86400)
    return _read(directory / f"{segment}.sample.parquet", columns, days)


def sample_level(directory: Path, segment: str) -> int:
    path = directory / f"{segment}.sample.parquet"
    try:
        return int(pq.read_schema(path).metadata[_LEVEL])
    except (OSError, pa.ArrowInvalid, KeyError, TypeError) as error:
        raise _gone(path, error) from error


def _table(frame: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)


def wide(table: pa.Table) -> pa.Table:
    """With room for more than 2 GiB of names in one column."""
    wide = [field.with_type(pa.large_string()) if pa.types.is_string(field.type) else field for field in table.schema]
    return table.cast(pa.schema(wide))


def _write(path: Path, table: pa.Table) -> None:
    unfinished = path.with_name(f"{path.name}.part")
    # Neighbouring targets begin alike: with the delta encoding a row takes about 14 bytes.
    delta = {"column_encoding": {"target": "DELTA_BYTE_ARRAY"}} if "size" in table.column_names else {}
    with unfinished.open("wb") as file:
        pq.write_table(table, file, compression="zstd", use_dictionary=["site"], **delta)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)


def _sync(directory: Path) -> None:
    """A rename is on disk only when the directory is."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(path: Path, columns: Sequence[str] | None, where: pc.Expression | None = None) -> pa.Table:
    try:
        return pq.read_table(path, columns=columns and list(columns), filters=where, partitioning=None)
    except (OSError, pa.ArrowInvalid) as error:
        raise _gone(path, error) from error


def _not_written(directory: Path, error: OSError) -> NotWritten:
    return NotWritten(
        f"writing counts to {directory}",
        error.strerror or str(error),
        kept="the log being read counts as unread; what was counted before it stands",
        advice="make room or rights there, then run again: nothing is lost and nothing is counted twice",
    )


def _gone(path: Path, error: Exception) -> NoData:
    return NoData(
        f"the counts in {path}",
        f"they are gone or damaged: {error}",
        kept="nothing was changed",
        advice="restore the file from a backup, or set ingest.directory to where the counts are",
    )
