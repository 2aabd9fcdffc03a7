"""The hours and the sample of a period, added up over all readings.

Takes the store's Segments, the directory of their counts and a Period. Returns tables in canonical
order. A line belongs to the day of its timestamp, whenever it was read. The result depends on the
lines alone, and does not depend on how they were spread over logs, nodes and runs. Accesses of the
sample in the same second are in the order of their logs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from flex.frame_schemas import FILES, HOURS, Schema
from flex.model.log_reading import Segment
from flex.model.period import Period
from flex.ports import Segments
from flex.prediction import target_classes
from flex.prediction.cache_replay import Ints, Sample
from flex.prediction.target_classes import Kinds
from flex_logs_ingest.counts import count_files
from flex_logs_ingest.counts import count_files_of_days as kept
from flex_logs_ingest.counts.file_table import FileTable, file_table
from flex_logs_ingest.counts.shared_count_files import is_shared

# Rows of partial tables that wait until they are added up, unless the sum has more rows already. A
# guess.
_WAITING = 4_000_000

# Levels that a target can have, and one that none has. A level is how many zero bits a hash of 32
# bits begins with.
_LEVELS = 34

_HOURS = dict.fromkeys(("requests", "bytes", *HOURS.later), "sum")


def hours_of(segments: Segments, directory: Path, period: Period) -> pd.DataFrame:
    """HOURS of the period: all answers, errors too."""
    return _hours(segments, directory, (period.first_day, period.last_day))


def hours_by_day(segments: Segments, directory: Path, period: Period) -> Iterator[pd.DataFrame]:
    """HOURS of each day of the period, one day in memory at a time."""
    for day in range(period.first_day, period.last_day + 1):
        yield _hours(segments, directory, (day, day))


def hours_of_site(segments: Segments, directory: Path, period: Period, site: str) -> pd.DataFrame:
    """HOURS of one site, as far as the counts of the period are still there."""
    days = (period.first_day, period.last_day)
    tables = (
        count_files.hours(directory, file_id, *days, site)
        for file_id in kept.files_left(segments, *days)
    )
    return _frame(_add_up(["site", "hour"], _HOURS, tables), HOURS)


def _hours(segments: Segments, directory: Path, days: tuple[int, int]) -> pd.DataFrame:
    return hours_in(directory, kept.files(segments, *days), days)


def hours_in(directory: Path, files: Iterable[str], days: tuple[int, int]) -> pd.DataFrame:
    """HOURS of these days in files of these ids."""
    merged = _add_up(
        ["site", "hour"],
        _HOURS,
        (count_files.hours(directory, file_id, *days) for file_id in files),
    )
    return _frame(merged, HOURS)


def sample_of(segments: Segments, directory: Path, period: Period, limit: int) -> Sample:
    """All accesses of the period to one target in 2**j, in time order, with the smallest j that
    leaves at most `limit`.

    Sizes are those of the file table; a target whose size is not known counts as its mean answer.
    Where targets are left out, its sites are all that have any, with the kinds of all of them;
    unless counts of some days were added up, which leaves no sample of them.
    """
    by_file = kept.readings_with_sample(segments, period.first_day, period.last_day)
    level = _common_level(by_file, directory, period, limit)
    read = [
        _accesses(files, [each.id for each in readings], directory, period, level)
        for files, readings in sorted(by_file.items())
    ]
    names = pd.concat(
        [FILES.empty()[["site", "target"]], *(accesses.names for accesses in read)],
        ignore_index=True,
    )
    time, in_names = _join_in_log_order(read, chain.from_iterable(by_file.values()))
    files = file_table(segments, directory, period)
    targets = _fill_sizes(files.rows_of(names))
    target = _numbers(names, targets)[in_names]
    order = np.argsort(time, kind="stable")
    every = kept.files(segments, period.first_day, period.last_day)
    sites, totals = pd.Index(targets["site"].unique()), None
    if level and every == sorted(by_file):
        sites, totals = _all_targets(files)
    return Sample(
        sites=tuple(sites),
        site=sites.get_indexer(targets["site"]).astype(np.int64),
        size=targets["size"].to_numpy(dtype=np.int64),
        target=target[order],
        time=time[order],
        rate=2.0**-level,
        totals=totals,
    )


def _all_targets(files: FileTable) -> tuple[pd.Index, Kinds]:
    """All sites that have any target, in the order of the table, and the kinds of their targets."""
    met: dict[str, int] = {}
    pieces = (_fill_sizes(piece) for piece in files.pieces(("site", "requests", "bytes", "size")))
    every = target_classes.add_up(_kinds_of(piece, met) for piece in pieces)
    return pd.Index(list(met)), every


def _kinds_of(piece: pd.DataFrame, met: dict[str, int]) -> Kinds:
    place, names = pd.factorize(piece["site"])
    number = np.array([met.setdefault(name, len(met)) for name in names], dtype=np.int64)
    requests, size = (piece[name].to_numpy(dtype=np.int64) for name in ("requests", "size"))
    return target_classes.kinds(number[place], requests, size)


def _add_up(
    keys: list[str], sums: Mapping[str, str], tables: Iterable[pa.Table]
) -> pa.Table | None:
    """All tables as one, with one row a key. None when there are none."""
    total: pa.Table | None = None
    waiting: list[pa.Table] = []
    for table in tables:
        waiting.append(table)
        if sum(map(len, waiting)) > max(_WAITING, len(total) if total else 0):
            total = _sums(keys, sums, [total, *waiting] if total else waiting)
            waiting = []
    if not waiting:
        return total
    return _sums(keys, sums, [total, *waiting] if total else waiting)


def _sums(keys: list[str], sums: Mapping[str, str], tables: Sequence[pa.Table]) -> pa.Table:
    whole = pa.concat_tables(tables).combine_chunks()
    for number, name in enumerate(keys):
        # Arrow adds up under numbers five times as fast as under names.
        if pa.types.is_large_string(whole.schema.field(name).type):
            whole = whole.set_column(number, name, whole[name].dictionary_encode())
    grouped = whole.group_by(keys).aggregate(list(sums.items()))
    plain = [
        field.with_type(pa.large_string()) if pa.types.is_dictionary(field.type) else field
        for field in grouped.schema
    ]
    return grouped.cast(pa.schema(plain)).rename_columns([*keys, *sums])


def _frame(table: pa.Table | None, schema: Schema) -> pd.DataFrame:
    return schema.empty() if table is None else schema.make(table.to_pandas())


@dataclass(frozen=True, slots=True, eq=False)
class _Accesses:
    """Sampled accesses of the readings that have them in one file; `name` numbers the rows of
    `names`. Those of a reading are in time[begin:end].
    """

    time: Ints
    name: Ints
    names: pd.DataFrame
    places: Mapping[str, tuple[int, int]]


_NONE: Ints = np.empty(0, dtype=np.int64)


def _sort_in_log_order(segments: Iterable[Segment]) -> list[Segment]:
    return sorted(
        segments,
        key=lambda segment: (segment.source, segment.first_time, segment.first_byte, segment.id),
    )


def _common_level(
    by_file: Mapping[str, Sequence[Segment]], directory: Path, period: Period, limit: int
) -> int:
    """The lowest level at which every reading's sample is complete and all together are few
    enough.
    """
    count = np.zeros(_LEVELS, dtype=np.int64)
    complete = 0
    for files, readings in by_file.items():
        levels = count_files.sample(directory, files, period.first_day, period.last_day, ["level"])[
            "level"
        ]
        count += np.bincount(levels.to_numpy(), minlength=_LEVELS)
        wanted = {each.id for each in readings}
        of_readings = count_files.sample_levels(directory, files)
        complete = max([complete, *(level for id_, level in of_readings if id_ in wanted)])
    at_least = np.cumsum(count[::-1])[::-1]
    enough = at_least <= limit
    return max(complete, int(enough.argmax()))


def _accesses(
    files: str, readings: Sequence[str], directory: Path, period: Period, level: int
) -> _Accesses:
    columns = ["time", "target", "level"]
    if is_shared(files):
        columns.append("reading")
    rows = count_files.sample(directory, files, period.first_day, period.last_day, columns)
    kept = rows.filter(pc.field("level") >= level)
    numbers, name = np.unique(kept["target"].to_numpy(), return_inverse=True)
    names = count_files.rows(directory, files, pa.array(numbers)).to_pandas()
    places = dict.fromkeys(readings, (0, len(kept)))
    if is_shared(files):
        places = _places(kept["reading"].to_numpy(), directory, files)
    return _Accesses(kept["time"].to_numpy(), name, names.astype("str"), places)


def _places(reading: Ints, directory: Path, files: str) -> dict[str, tuple[int, int]]:
    """Where the rows of each reading begin and end: they stand one reading after the other."""
    ids = [id_ for id_, _ in count_files.sample_levels(directory, files)]
    ends = np.searchsorted(reading, np.arange(len(ids) + 1)).tolist()
    return dict(zip(ids, pairwise(ends), strict=True))


def _join_in_log_order(read: Sequence[_Accesses], readings: Iterable[Segment]) -> tuple[Ints, Ints]:
    """Every access's time, and its row in the names of all files, one below the other."""
    before = np.cumsum([0, *(len(accesses.names) for accesses in read)])
    parts = {}
    for accesses, at in zip(read, before.tolist(), strict=False):
        for id_, (begin, end) in accesses.places.items():
            parts[id_] = accesses.time[begin:end], accesses.name[begin:end] + at
    ordered = [parts[each.id] for each in _sort_in_log_order(readings) if each.id in parts]
    return (
        np.concatenate([_NONE, *(time for time, _ in ordered)]),
        np.concatenate([_NONE, *(names for _, names in ordered)]),
    )


def _fill_sizes(files: pd.DataFrame) -> pd.DataFrame:
    mean = files["bytes"] // files["requests"].clip(lower=1)
    return files.assign(size=files["size"].where(files["size"] > 0, mean))


def _numbers(names: pd.DataFrame, targets: pd.DataFrame) -> Ints:
    """The number of each name among the targets."""
    numbered = targets[["site", "target"]].assign(number=np.arange(len(targets)))
    return names.merge(numbered, on=["site", "target"], how="left")["number"].to_numpy(
        dtype=np.int64
    )
