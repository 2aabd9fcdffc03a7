"""Requests that called a site by another of its names, kept beside the counts of each reading.

Takes a reading's other names (scan/python_loop.py). Writes one small Parquet file with
the name of the reading:

    <id>.names.parquet    site, name, day, requests, bytes: all answers to such requests

The file is there, empty or not, wherever the lines say which name was asked for. Where it is
missing (logs of one site each, and counts from before there were such files) nobody knows by which
names visitors came. Does not add up readings: names_visited.py does.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from flex_logs_ingest.scan.counts_as_columns import OtherCount, integers, names_by_number

# What stands in the names of these files.
KIND = "names"
SCHEMA = pa.schema(
    [
        ("site", pa.string()),
        ("name", pa.string()),
        ("day", pa.int64()),
        ("requests", pa.int64()),
        ("bytes", pa.int64()),
    ]
)
# Bytes of a parcel's first line that names may take; where they take more, none is listed. Half of
# what the line may have (parcels/parcel_intake.py).
LONGEST = 2**19


def write(directory: Path, segment: str, others: Sequence[OtherCount] | None) -> None:
    """Whole when it is there under its name. Raises OSError."""
    if others is None:
        return
    path = _path(directory, segment)
    unfinished = path.with_name(f"{path.name}.part")
    columns = list(zip(*others, strict=True)) or [()] * len(SCHEMA)
    arrays = [_column(values, field.type) for values, field in zip(columns, SCHEMA, strict=True)]
    pq.write_table(pa.Table.from_arrays(arrays, schema=SCHEMA), unfinished, compression="zstd")
    unfinished.replace(path)


def _column(values: Sequence[str] | Sequence[int], kind: pa.DataType) -> pa.Array:
    """Not by pa.array, which loads pandas: reading logs has no room for it."""
    if pa.types.is_string(kind):
        names = [str(value) for value in values]
        return names_by_number(np.arange(len(names)), names).cast(kind)
    return integers(np.array(values, dtype=np.int64))


def read(directory: Path, segment: str) -> tuple[OtherCount, ...] | None:
    """Those of one reading, as they were written; None where nobody counted them."""
    rows = table(directory, segment)
    if rows is None:
        return None
    return tuple(zip(*(rows[name].to_pylist() for name in SCHEMA.names), strict=True))


def fitting(others: Sequence[OtherCount] | None) -> Sequence[OtherCount] | None:
    """The same for the line that a parcel begins with; None where they are too many for it."""
    return others if others is not None and len(json.dumps(others)) <= LONGEST else None


def delete(directory: Path, segment: str) -> None:
    """Raises OSError."""
    _path(directory, segment).unlink(missing_ok=True)


def table(directory: Path, segment: str) -> pa.Table | None:
    """The same as Arrow has it."""
    try:
        with pq.ParquetFile(_path(directory, segment)) as file:
            return file.read().cast(SCHEMA)
    except (OSError, pa.ArrowException):
        return None


def _path(directory: Path, segment: str) -> Path:
    return directory / f"{segment}.{KIND}.parquet"
