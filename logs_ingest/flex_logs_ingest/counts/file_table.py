"""The file table of a period, on disk: FILES, with only a piece of it in memory.

Takes the store's Segments, the directory of their counts and a Period. Returns a handle on a
Parquet file with the columns of FILES, sorted by site and target. Its name says what it was made
of: the same question finds the file, and later counts or another period make another file. Does not
look at a log, and does not work out profiles of sites.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha1
from itertools import groupby
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from flex.frame_schemas import FILES
from flex.model.period import Period
from flex.ports import Segments
from flex_logs_ingest.counts import SIZE_LOOKBACK_DAYS, count_files, count_files_of_days
from flex_logs_ingest.counts.sorted_runs import SortedRun, damage, merge

_KEYS = ["site", "target"]

Told = Callable[[int, int], object]


def untold(done: int, rows: int) -> None:
    """To whom it may not concern."""


@dataclass(frozen=True, slots=True)
class FileTable:
    """FILES of one period. Reading raises NoData when the file is gone or damaged."""

    path: Path
    period: Period

    def pieces(
        self, columns: Sequence[str] = tuple(FILES.columns), sites: Collection[str] | None = None
    ) -> Iterator[pd.DataFrame]:
        """Those columns in order, some ten thousand rows at a time; of some sites those pieces that
        may have any.
        """
        wanted = None if sites is None else sorted(sites)
        with damage(self.path), pq.ParquetFile(self.path) as file:
            for group in range(file.num_row_groups):
                if wanted is None or _reaches(file.metadata.row_group(group), wanted):
                    yield file.read_row_group(group, list(columns)).to_pandas()

    def pieces_of_sites(self, sites: Collection[str]) -> Iterator[pd.DataFrame]:
        """FILES of some sites, a piece in memory at a time."""
        return (piece[piece["site"].isin(sites)] for piece in self.pieces(sites=sites))

    def sites(self, only: Collection[str] | None = None) -> Iterator[tuple[str, pd.DataFrame]]:
        """Site after site with its FILES, one site in memory at a time; where some are named, those
        of them it has.
        """
        pieces = self.pieces() if only is None else self.pieces_of_sites(only)
        parts = (part for piece in pieces for part in piece.groupby("site"))
        for site, group in groupby(parts, key=lambda part: part[0]):
            yield (str(site), FILES.make(pd.concat([part for _, part in group], ignore_index=True)))

    def rows_of(self, names: pd.DataFrame) -> pd.DataFrame:
        """FILES of these sites and targets, as far as they are there."""
        wanted = names[_KEYS].drop_duplicates()
        by_site = {str(site): rows for site, rows in wanted.groupby("site")}
        pieces = [FILES.empty()]
        for piece in self.pieces(sites=by_site):
            here = [by_site[site] for site in piece["site"].unique() if site in by_site]
            if here:
                pieces.append(piece.merge(pd.concat(here), on=_KEYS))
        return FILES.make(pd.concat(pieces, ignore_index=True))

    def whole(self) -> pd.DataFrame:
        """All of it in memory."""
        return FILES.make(pd.concat([FILES.empty(), *self.pieces()], ignore_index=True))


def file_table(
    segments: Segments, directory: Path, period: Period, told: Told = untold
) -> FileTable:
    """What was accessed in the period. A size that the period never showed is the one known before.

    `told` hears how many rows were read, and of how many. Raises NoData when counts are gone or
    damaged, NotWritten when the directory takes no more, and Busy while somebody else writes to it;
    then nothing has changed.
    """
    days = (period.first_day, period.last_day)
    before = (max(period.first_day - SIZE_LOOKBACK_DAYS, 0), period.first_day - 1)
    files = count_files_of_days.files(segments, *days)
    known = count_files_of_days.files_left(segments, *before)
    name = sha1(repr((days, files, before, known)).encode(), usedforsecurity=False).hexdigest()
    path = directory / f"{name}.merged.parquet"
    if not _is_whole(path):
        with count_files.hold_directory(directory):
            runs = [
                run
                for file_id in files
                for run in count_files.runs(directory, file_id, *days, before=False)
            ]
            runs += [
                run
                for file_id in known
                for run in count_files.runs(directory, file_id, *before, before=True)
            ]
            _make(path, runs, told)
    return FileTable(path, period)


def _is_whole(path: Path) -> bool:
    """What cannot be read is made again: it is only a sum of what is kept elsewhere."""
    try:
        pq.read_metadata(path)
    except (OSError, pa.ArrowInvalid):
        return False
    return True


def _make(path: Path, runs: Sequence[SortedRun], told: Told) -> None:
    progress = _Progress(sum(run.rows for run in runs), told)
    try:
        merge(runs, path, progress)
        count_files.sync(path.parent)
    except OSError as error:
        raise count_files.not_written(
            path.parent, error, kept="the counts it was to be made of stand"
        ) from error


@dataclass(slots=True)
class _Progress:
    """Rows read so far; several passes read more of them than there are."""

    rows: int
    told: Told
    done: int = 0

    def __call__(self, more: int) -> None:
        self.done += more
        self.told(min(self.done, self.rows), self.rows)


def _reaches(group: pq.RowGroupMetaData, sites: Sequence[str]) -> bool:
    """Whether rows of one of the sites can be among these."""
    bounds = group.column(0).statistics
    if bounds is None or not bounds.has_min_max:
        return True
    at = bisect_left(sites, bounds.min)
    return at < len(sites) and bool(sites[at] <= bounds.max)
