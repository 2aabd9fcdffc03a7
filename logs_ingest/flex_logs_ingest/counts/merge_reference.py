"""The merge of sorted runs, written plainly: it defines what the native loop computes.

Takes runs as `Run.given` has them, and a path. Writes a Parquet file of FILES there, with the same
rows whichever engine made it. Holds a few thousand rows of each run in memory. Does not make the
file safe against a kill.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

# Path, row groups, the one day wanted or None, whether only sizes are.
Given = tuple[str, Sequence[int], int | None, bool]

KEYS = ["site", "target"]
COUNTS = ["requests", "bytes", "size", "last"]
SCHEMA = pa.schema([(name, pa.string()) for name in KEYS] + [(name, pa.int64()) for name in COUNTS])
# Rows of a row group. Neighbouring targets begin alike: with the delta encoding a row takes about
# 14 bytes, so a group takes about 1 MB. The number is a guess.
GROUP = 2**16
LAYOUT = {
    "compression": "zstd",
    "use_dictionary": ["site"],
    "column_encoding": {"target": "DELTA_BYTE_ARRAY"},
    "write_statistics": ["day", "site", *COUNTS],
    "data_page_size": 2**17,
}

# Rows of a run that are decoded at once. A guess.
_BATCH = 2**13
# Bytes of the file that are read at once for them. A guess.
_WINDOW = 2**16
# The largest value of a column of 64 bits.
_LARGEST = 2**63 - 1


def reference_merge(runs: Sequence[Given], path: str, progress: Callable[[int], object]) -> int:
    """How many rows were written; `progress` is told now and then how many more were read.

    Requests and bytes are added and stop at the largest number there is, of size and last the
    largest counts. A run from before tells the size of what the other runs ask for and tell no size
    of, and nothing else. Raises ValueError with the path of a run that cannot be read and why,
    OSError when the file cannot be written.
    """
    readers = [_Reader(*run) for run in runs]
    written = 0
    with pq.ParquetWriter(path, SCHEMA, **LAYOUT) as writer:
        for piece in regroup(_add_up(readers, progress), GROUP):
            writer.write_table(piece)
            written += len(piece)
    return written


def regroup(tables: Iterable[pa.Table], rows: int) -> Iterator[pa.Table]:
    """The same rows in tables of just that many, and what is left."""
    waiting: list[pa.Table] = []
    count = 0
    for table in tables:
        waiting.append(table)
        count += len(table)
        while count >= rows:
            whole = pa.concat_tables(waiting)
            yield whole.slice(0, rows)
            waiting, count = [whole.slice(rows)], count - rows
    if count:
        yield pa.concat_tables(waiting)


class _Reader:
    """One run, while it is read: `rows` are at hand, None at its end."""

    def __init__(self, path: str, groups: Sequence[int], day: int | None, before: bool) -> None:
        self._path, self._day, self._before = path, day, before
        self._last: pa.Table | None = None
        wanted = [*KEYS, "size"] if before else SCHEMA.names
        columns = wanted if day is None else ["day", *wanted]
        try:
            file = pq.ParquetFile(path, buffer_size=_WINDOW, page_checksum_verification=True)
            if missing := [name for name in columns if name not in file.schema_arrow.names]:
                raise ValueError(f"it has no column {missing[0]}")
            self._batches = file.iter_batches(_BATCH, list(groups), columns)
        except (OSError, ValueError) as error:
            raise ValueError(path, str(error)) from error
        self.rows = self._next()

    def take(self, rows: int) -> pa.Table:
        """The first rows at hand, which are no longer at hand then."""
        assert self.rows is not None, "a run at its end has no rows"
        taken, rest = self.rows.slice(0, rows), self.rows.slice(rows)
        self.rows = rest if len(rest) else self._next()
        return taken

    def _next(self) -> pa.Table | None:
        try:
            for batch in self._batches:
                if len(rows := self._check(self._rows_of_day(pa.Table.from_batches([batch])))):
                    return rows
        except (OSError, ValueError) as error:
            raise ValueError(self._path, str(error)) from error
        return None

    def _rows_of_day(self, rows: pa.Table) -> pa.Table:
        if self._day is None:
            return rows
        days = rows["day"].to_numpy()
        if (days[1:] < days[:-1]).any():
            raise ValueError("it is not sorted by day")
        first, end = np.searchsorted(days, [self._day, self._day + 1]).tolist()
        return rows.slice(first, end - first)

    def _check(self, rows: pa.Table) -> pa.Table:
        if any(column.null_count for column in rows.columns):
            raise ValueError("a value is missing")
        if self._before:
            none = pa.array(np.zeros(len(rows), dtype=np.int64))
            rows = pa.Table.from_arrays(
                [*rows.select(KEYS).columns, none, none, rows["size"], none], SCHEMA.names
            )
        rows = rows.select(SCHEMA.names).cast(SCHEMA)
        rows.validate(full=True)
        if any(pc.any(pc.less(rows[name], 0)).as_py() for name in COUNTS):
            raise ValueError("it holds a count below 0")
        keys = pa.concat_tables([*([self._last] if self._last else []), rows.select(KEYS)])
        before = [keys.slice(0, len(keys) - 1)[name] for name in KEYS]
        after = [keys.slice(1)[name] for name in KEYS]
        if len(keys) > 1 and not pc.all(_less(before, after)).as_py():
            raise ValueError("it is not sorted by site and target, each of them once")
        self._last = keys.slice(max(len(keys) - 1, 0))
        return rows.append_column("before", pa.array(np.full(len(rows), self._before)))


def _add_up(readers: Sequence[_Reader], progress: Callable[[int], object]) -> Iterator[pa.Table]:
    while at_hand := [(reader, reader.rows) for reader in readers if reader.rows is not None]:
        # What a run holds behind its last row at hand is greater than that row, and unknown.
        bound = min(_key(rows) for _, rows in at_hand)
        counts = [_count_up_to(rows, bound) for _, rows in at_hand]
        progress(sum(counts))
        taken = [reader.take(count) for (reader, _), count in zip(at_hand, counts, strict=True)]
        yield _sums(pa.concat_tables(taken))


def _sums(rows: pa.Table) -> pa.Table:
    """One row for each site and target that was asked for, in order."""
    in_period = pc.invert(rows["before"])
    rows = rows.set_column(6, "known", pc.if_else(in_period, 0, rows["size"]))
    rows = rows.set_column(4, "size", pc.if_else(in_period, rows["size"], 0))
    for number, name in enumerate(COUNTS[:2], start=2):
        rows = rows.set_column(number, name, rows[name].cast(pa.decimal128(38)))
    sums = [
        ("requests", "sum"),
        ("bytes", "sum"),
        ("size", "max"),
        ("last", "max"),
        ("known", "max"),
    ]
    added = rows.group_by(KEYS).aggregate(sums).rename_columns([*KEYS, *COUNTS, "known"])
    for number, name in enumerate(COUNTS[:2], start=2):
        most = pa.scalar(_LARGEST, pa.decimal128(38))
        added = added.set_column(
            number, name, pc.min_element_wise(added[name], most).cast(pa.int64())
        )
    size = pc.if_else(pc.greater(added["size"], 0), added["size"], added["known"])
    summed = added.set_column(4, "size", size).select(SCHEMA.names).filter(pc.field("requests") > 0)
    return summed.sort_by([(name, "ascending") for name in KEYS]).cast(SCHEMA)


def _key(rows: pa.Table) -> tuple[str, str]:
    """The site and target of the last row. Texts are in the order of their UTF-8, as in Python."""
    return rows["site"][-1].as_py(), rows["target"][-1].as_py()


def _count_up_to(rows: pa.Table, bound: tuple[str, str]) -> int:
    greater = _less([pa.scalar(text) for text in bound], [rows[name] for name in KEYS])
    return len(rows) - int(pc.sum(greater).as_py())


def _less(
    keys: Sequence[pa.ChunkedArray | pa.Scalar], others: Sequence[pa.ChunkedArray]
) -> pa.ChunkedArray:
    """Row for row."""
    (site, target), (other_site, other_target) = keys, others
    return pc.or_(
        pc.less(site, other_site),
        pc.and_(pc.equal(site, other_site), pc.less(target, other_target)),
    )
