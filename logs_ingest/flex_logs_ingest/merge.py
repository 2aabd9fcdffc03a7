"""What all readings together counted in a period: its file table, its hours, its sample, and how complete it is.

In go the store's Segments, the directory of their counts and a Period, out come tables in canonical order. A line
belongs to the day of its timestamp, whenever it was read. The result depends on the lines alone, not on how they were
spread over logs, nodes and runs; accesses of the sample that share a second are in the order of their logs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from flex.domain import Period, Segment
from flex.ports import Segments
from flex.replay import Ints, Sample
from flex.tables import FILES, HOURS, Schema
from flex_logs_ingest import partials
from flex_logs_ingest.read import LAST_DAY, SAMPLES, added_lines

# How many days before a period are asked for the size of what the period saw only as 304 or in parts.
SIZES_FROM = 30

# Partial tables are added up when this many rows wait, or as many as there are already.
_WAITING = 4_000_000

# A target's level is how many zero bits a hash of 32 begins with; none has the last of these.
_LEVELS = 34

_FILES = {"requests": "sum", "bytes": "sum", "size": "max", "last": "max"}
_HOURS = {"requests": "sum", "bytes": "sum"}


def files_of(segments: Segments, directory: Path, period: Period) -> pd.DataFrame:
    """FILES: what was accessed in the period. A size that the period never showed is the one known before."""
    days = (period.first_day, period.last_day)
    columns = ["site", "target", *_FILES]
    found = segments.segments(*days)
    merged = _added(["site", "target"], _FILES, (partials.files(directory, s.id, *days, columns) for s in found))
    return _with_known_sizes(_frame(merged, FILES), segments, directory, period)


def hours_of(segments: Segments, directory: Path, period: Period) -> pd.DataFrame:
    """HOURS of the period: all answers, errors too."""
    days = (period.first_day, period.last_day)
    found = segments.segments(*days)
    merged = _added(["site", "hour"], _HOURS, (partials.hours(directory, s.id, *days) for s in found))
    return _frame(merged, HOURS)


def sample_of(segments: Segments, directory: Path, period: Period, files: pd.DataFrame, limit: int) -> Sample:
    """All accesses of the period to one target in 2**j, in time order, with the smallest j that leaves at most `limit`.

    `files` is the period's file table. A target without a known size counts as its mean answer.
    """
    found = _in_log_order(segments.segments(period.first_day, period.last_day))
    level = _common_level(found, directory, period, limit)
    read = [_accesses(segment, directory, period, level) for segment in found]
    names = pd.concat([_NO_NAMES, *(accesses.names for accesses in read)], ignore_index=True)
    targets = _targets(names, files)
    time = np.concatenate([_NONE, *(accesses.time for accesses in read)])
    target = _numbers(names, targets)[_in_all_names(read)]
    order = np.argsort(time, kind="stable")
    sites, site = np.unique(targets["site"].to_numpy(dtype=object), return_inverse=True)
    size = targets["size"].to_numpy(dtype=np.int64)
    return Sample(tuple(sites.tolist()), site.astype(np.int64), size, target[order], time[order], 2.0**-level)


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much one source says about a period: `last_time` is its latest line of all, 0 when it never had one.

    Lines by class are those of the readings that reach into the period. Days count from 1970-01-01.
    """

    source: str
    last_time: int
    lines: tuple[tuple[str, int], ...]
    samples: tuple[str, ...]
    silent_days: tuple[int, ...]


def coverage(segments: Segments, directory: Path, period: Period, sources: Sequence[str]) -> tuple[Coverage, ...]:
    """One for each of the sources, in the order given."""
    known = segments.segments(0, LAST_DAY)
    return tuple(_coverage(source, [s for s in known if s.source == source], directory, period) for source in sources)


def _coverage(source: str, known: Sequence[Segment], directory: Path, period: Period) -> Coverage:
    first, last = period.first_day, period.last_day
    reaching = [segment for segment in known if segment.last_day >= first and segment.first_day <= last]
    hours = [partials.hours(directory, segment.id, first, last)["hour"].to_numpy() for segment in reaching]
    heard = np.concatenate([_NONE, *hours]) // 24
    return Coverage(
        source=source,
        last_time=max((segment.last_time for segment in known), default=0),
        lines=added_lines(reaching),
        samples=tuple(sample for segment in _in_log_order(reaching) for sample in segment.samples)[:SAMPLES],
        silent_days=tuple(np.setdiff1d(np.arange(first, last + 1), heard).tolist()),
    )


def _added(keys: list[str], sums: Mapping[str, str], tables: Iterable[pa.Table]) -> pa.Table | None:
    """All tables as one, with one row a key. None when there are none."""
    total: pa.Table | None = None
    waiting: list[pa.Table] = []
    for table in tables:
        waiting.append(table)
        if sum(map(len, waiting)) > max(_WAITING, len(total) if total else 0):
            total, waiting = _sums(keys, sums, [total, *waiting] if total else waiting), []
    if not waiting:
        return total
    return _sums(keys, sums, [total, *waiting] if total else waiting)


def _sums(keys: list[str], sums: Mapping[str, str], tables: Sequence[pa.Table]) -> pa.Table:
    grouped = pa.concat_tables(tables).group_by(keys).aggregate(list(sums.items()))
    return grouped.rename_columns(
        [name.removesuffix(f"_{sums.get(name.rpartition('_')[0])}") for name in grouped.column_names]
    )


def _frame(table: pa.Table | None, schema: Schema) -> pd.DataFrame:
    return schema.empty() if table is None else schema.make(table.to_pandas())


def _with_known_sizes(files: pd.DataFrame, segments: Segments, directory: Path, period: Period) -> pd.DataFrame:
    """Sizes of targets that had no full answer in the period, from the days before it."""
    unknown = pa.Table.from_pandas(files.loc[files["size"] == 0, ["site", "target"]], preserve_index=False)
    days = (max(period.first_day - SIZES_FROM, 0), period.first_day - 1)
    columns = ["site", "target", "size"]
    if not len(unknown):
        return files
    earlier = (
        partials.files(directory, s.id, *days, columns).join(
            partials.wide(unknown), ["site", "target"], join_type="left semi"
        )
        for s in segments.segments(*days)
    )
    known = _added(["site", "target"], {"size": "max"}, earlier)
    if known is None:
        return files
    before = files[["site", "target"]].merge(known.to_pandas().astype({"site": "str", "target": "str"}), how="left")
    return FILES.check(
        files.assign(size=files["size"].where(files["size"] > 0, before["size"].fillna(0)).astype("int64"))
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Accesses:
    """Sampled accesses of one segment; `name` numbers the rows of `names`."""

    time: Ints
    name: Ints
    names: pd.DataFrame


_NONE: Ints = np.empty(0, dtype=np.int64)
_NO_NAMES = FILES.empty()[["site", "target"]]


def _in_log_order(found: Iterable[Segment]) -> list[Segment]:
    return sorted(found, key=lambda segment: (segment.source, segment.first_time, segment.first_byte, segment.id))


def _common_level(found: Sequence[Segment], directory: Path, period: Period, limit: int) -> int:
    """The lowest level at which every segment's sample is complete and all together are few enough."""
    count = np.zeros(_LEVELS, dtype=np.int64)
    for segment in found:
        levels = partials.sample(directory, segment.id, period.first_day, period.last_day, ["level"])["level"]
        count += np.bincount(levels.to_numpy(), minlength=_LEVELS)
    complete = max((partials.sample_level(directory, segment.id) for segment in found), default=0)
    at_least = np.cumsum(count[::-1])[::-1]
    enough = at_least <= limit
    return max(complete, int(enough.argmax()))


def _accesses(segment: Segment, directory: Path, period: Period, level: int) -> _Accesses:
    columns = ["time", "target", "level"]
    rows = partials.sample(directory, segment.id, period.first_day, period.last_day, columns)
    kept = rows.filter(pc.field("level") >= level)
    numbers, name = np.unique(kept["target"].to_numpy(), return_inverse=True)
    names = partials.rows(directory, segment.id, pa.array(numbers)).to_pandas()
    return _Accesses(kept["time"].to_numpy(), name, names.astype("str"))


def _in_all_names(read: Sequence[_Accesses]) -> Ints:
    """Every access's row in the names of all segments, one below the other."""
    before = np.cumsum([0, *(len(accesses.names) for accesses in read)])
    return np.concatenate([_NONE, *(accesses.name + at for accesses, at in zip(read, before[:-1], strict=True))])


def _targets(names: pd.DataFrame, files: pd.DataFrame) -> pd.DataFrame:
    """Site, target and size of each sampled target, in canonical order."""
    found = names.drop_duplicates().merge(files, on=["site", "target"], how="inner")
    mean = found["bytes"] // found["requests"].clip(lower=1)
    sized = found.assign(size=found["size"].where(found["size"] > 0, mean))
    return sized.sort_values(["site", "target"], ignore_index=True)


def _numbers(names: pd.DataFrame, targets: pd.DataFrame) -> Ints:
    """The number of each name among the targets."""
    numbered = targets[["site", "target"]].assign(number=np.arange(len(targets)))
    return names.merge(numbered, on=["site", "target"], how="left")["number"].to_numpy(dtype=np.int64)
