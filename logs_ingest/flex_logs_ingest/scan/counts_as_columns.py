"""What a scan counted, as columns: how the loop hands it over, and how it gets to disk.

The native loop writes its tables itself; `ColumnTables` writes those of the reference, with the
same rows in the same row groups, so that no reader can tell which loop it was. Does not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, TypedDict

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from flex_logs_ingest.scan.malformed_lines import Bad

Ints = npt.NDArray[np.int64]
# All answers of a day to requests that called a site by another name: site, name, day, requests,
# bytes.
OtherCount = tuple[str, str, int, int, int]

# The metadata key of the sample's level.
LEVEL = "flex.level"
# The columns of HOURS that a scan counts.
HOUR_COLUMNS = ("site", "hour", "requests", "bytes", "timed", "service_us")
# Columns of HOURS that are on disk where a row has any of another.
WHERE_ANY = {"timed": "timed", "service_us": "timed", "cpu_us": "cpu_us"}
# Rows of a row group, which ends with the day at the latest. A guess.
GROUP_ROWS = 2**16
# Bytes of targets in a row group. A guess.
GROUP_TEXT = 2**23


class Columns(TypedDict):
    """Rows sorted by day, site, target; `site` numbers the sites. Row i's target is text[offsets[i]
    : offsets[i + 1]].

    The sample is in the order of the log, `sample_row` numbers the rows.
    """

    day: Ints
    site: Ints
    text: bytes
    offsets: Ints
    requests: Ints
    bytes: Ints
    size: Ints
    last: Ints
    sample_time: Ints
    sample_row: Ints
    sample_level: Ints


class Tables(Protocol):
    """The rows, the hours and the sample of one segment of a log, wherever they are held."""

    def columns(self) -> Columns: ...
    @staticmethod
    def join(tables: Sequence[Tables], sites: Sequence[Sequence[int]]) -> tuple[Columns, list[int]]:
        """The rows of all of these, one after the other, and how many of the sample are of each.

        `sites` gives the sites of each other numbers.
        """

    def write(self, files: str, hours: str, sample: str) -> None:
        """As Parquet files, whole when this returns. Raises OSError."""


class ScannedColumns(TypedDict):
    """What one segment of a log counted. `sites` are sorted texts, `hour_site` numbers them; hours
    by site and hour, with the answers that say how long they took, and their microseconds.

    `lines` counts by class, in the order counted, other status, no request, malformed. `reasons`
    and `bad` are as malformed_lines.py gives them. `strangers` are names that stand
    for no site, with their requests (frequent_unknown_hosts.py). `others` are requests that called
    a site by another of its names (python_loop.py): site, name, day, requests and
    bytes, in this order; None where the lines do not say the name. `heading` is the line that names
    the columns of what follows.
    """

    sites: list[str]
    hour_site: Ints
    hour: Ints
    hour_requests: Ints
    hour_bytes: Ints
    hour_timed: Ints
    hour_service: Ints
    level: int
    lines: list[int]
    reasons: list[int]
    bad: list[Bad]
    strangers: list[tuple[bytes, int]]
    others: list[OtherCount] | None
    heading: bytes
    first_time: int
    last_time: int
    pending: int
    tables: Tables


class Loop(Protocol):
    """What the two engines have in common; `memory` is about how many bytes are held."""

    @property
    def memory(self) -> int: ...
    def feed(self, chunk: bytes) -> None: ...
    def take_bad(self) -> list[Bad]: ...
    def finish(self, complete: bool = False) -> ScannedColumns: ...


class ColumnTables:
    def __init__(self, columns: Columns, hours: pa.Table, sites: list[str], level: int) -> None:
        self._columns = columns
        self._hours = hours
        self._sites = sites
        self._level = level

    def columns(self) -> Columns:
        return self._columns

    @staticmethod
    def join(tables: Sequence[Tables], sites: Sequence[Sequence[int]]) -> tuple[Columns, list[int]]:
        every = [part.columns() for part in tables]
        rows = np.cumsum([0, *(len(part["day"]) for part in every)])
        ends = np.cumsum([0, *(len(part["text"]) for part in every)])
        of_site: list[Ints] = []
        offsets: list[Ints] = []
        sampled: list[Ints] = []
        for number, part in enumerate(every):
            of_site.append(np.array(sites[number], dtype=np.int64)[part["site"]])
            offsets.append(part["offsets"][:-1] + ends[number])
            sampled.append(part["sample_row"] + rows[number])
        joined = Columns(
            day=join([part["day"] for part in every]),
            site=join(of_site),
            text=b"".join(part["text"] for part in every),
            offsets=join([*offsets, ends[-1:]]),
            requests=join([part["requests"] for part in every]),
            bytes=join([part["bytes"] for part in every]),
            size=join([part["size"] for part in every]),
            last=join([part["last"] for part in every]),
            sample_time=join([part["sample_time"] for part in every]),
            sample_row=join(sampled),
            sample_level=join([part["sample_level"] for part in every]),
        )
        return joined, [len(part["sample_time"]) for part in every]

    def write(self, files: str, hours: str, sample: str) -> None:
        columns = self._columns
        write_rows(files, columns, self._sites)
        write_table(hours, self._hours)
        accesses = {
            "time": columns["sample_time"],
            "target": columns["sample_row"],
            "level": columns["sample_level"],
        }
        write_table(sample, plain_table(accesses), {LEVEL: str(self._level)})


def join(columns: Sequence[Ints]) -> Ints:
    return np.concatenate([_NONE, *columns])


_NONE: Ints = np.zeros(0, dtype=np.int64)


def write_rows(path: str, columns: Columns, sites: list[str]) -> None:
    """The rows as a Parquet file; the sample is none of them."""
    site = names_by_number(columns["site"], sites)
    target = texts(columns["text"], columns["offsets"])
    counts = {name: columns[name] for name in ("requests", "bytes", "size", "last")}
    rows = plain_table({"day": columns["day"], "site": site, "target": target, **counts})
    with _writer(path, rows.schema, column_encoding={"target": "DELTA_BYTE_ARRAY"}) as file:
        for start, end in _groups(columns["day"], columns["offsets"]):
            file.write_table(rows.slice(start, end - start), row_group_size=GROUP_ROWS)


def hours_table(of: Mapping[str, Ints], sites: list[str]) -> pa.Table:
    """HOURS of these columns, of which `site` numbers the sites. What no row has any of is left
    out, so that counts without times are as they always were.
    """
    return plain_table(
        {
            "site": names_by_number(of["site"], sites),
            **{
                name: column
                for name, column in of.items()
                if name != "site" and (name not in WHERE_ANY or of[WHERE_ANY[name]].any())
            },
        }
    )


def texts(text: bytes, offsets: Ints) -> pa.LargeStringArray:
    """The texts as a column, without a Python object for each of them."""
    return pa.LargeStringArray.from_buffers(
        len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(text)
    )


def integers(values: Ints) -> pa.Int64Array:
    """The numbers as a column. Not by pa.array, which loads pandas, as large in memory as the
    tables of a scan.
    """
    return pa.Int64Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(values)])


def names_by_number(numbers: Ints, names: list[str]) -> pa.LargeStringArray:
    encoded = [name.encode() for name in names]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return texts(b"".join(encoded), offsets).take(integers(numbers))


def _groups(day: Ints, offsets: Ints) -> Iterator[tuple[int, int]]:
    """Where each row group begins and ends."""
    days = np.append(np.flatnonzero(np.diff(day)) + 1, len(day))
    start = 0
    while start < len(day):
        long = int(np.searchsorted(offsets, offsets[start] + GROUP_TEXT))
        end = min(int(days[np.searchsorted(days, start, side="right")]), start + GROUP_ROWS, long)
        yield start, end
        start = end


def plain_table(columns: Mapping[str, Ints | pa.Array]) -> pa.Table:
    arrays = {
        name: integers(of) if isinstance(of, np.ndarray) else of for name, of in columns.items()
    }
    schema = pa.schema(
        [pa.field(name, array.type, nullable=False) for name, array in arrays.items()]
    )
    return pa.Table.from_arrays(list(arrays.values()), schema=schema)


def write_table(path: str, table: pa.Table, notes: Mapping[str, str] | None = None) -> None:
    with _writer(path, table.schema) as file:
        if len(table):
            file.write_table(table, row_group_size=GROUP_ROWS)
        if notes:
            file.add_key_value_metadata(dict(notes))


def _writer(path: str, schema: pa.Schema, **options: object) -> pq.ParquetWriter:
    return pq.ParquetWriter(
        path, schema, compression="zstd", use_dictionary=["site"], store_schema=False, **options
    )
