"""Sorted runs of counts, added up into one file with only some rows of each run in memory.

Takes any number of runs. Writes a Parquet file with one row for each site and target, in that
order: the columns of FILES, in row groups of at most 65,536 rows. The rows do not depend on how
they were spread over the runs. Where there are more runs than files may be open, they are added up
in several passes. Does not know what the counts mean.
"""

from __future__ import annotations

import os
from bisect import insort
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import accumulate, count
from pathlib import Path

import pyarrow.parquet as pq

from flex import native_or_python
from flex.errors import NoData
from flex_logs_ingest.counts.merge_reference import GROUP, Given, reference_merge

# Rows of all runs in memory together. A guess.
ROWS_AT_ONCE = 16 * GROUP
# Files that are open at a time. At least two are read at once. A guess.
RUNS_AT_ONCE = 128

Told = Callable[[int], object]

_merge = native_or_python.pick("merge", reference_merge)


@dataclass(frozen=True, slots=True)
class SortedRun:
    """The rows of some row groups of a file; of these those of `day`, or all where it is None.

    A run from `before` the days in question tells sizes, and nothing of what was asked for.
    """

    path: Path
    groups: tuple[int, ...]
    rows: int
    day: int | None = None
    before: bool = False

    @property
    def as_given(self) -> Given:
        return os.fspath(self.path), list(self.groups), self.day, self.before


def untold(_: int) -> None:
    """To whom it may not concern."""


def merge(runs: Sequence[SortedRun], path: Path, told: Told = untold) -> int:
    """Write the rows of all runs to a file that has its name once it is whole and on disk; how many
    rows those are.

    `told` hears now and then how many more rows were read. Raises NoData when counts are gone,
    damaged or out of order, OSError when the file cannot be written; nothing is left behind then.
    """
    unfinished = path.with_name(f"{path.name}.part")
    passes = _Passes((path.with_name(f"{path.name}.{number}.part") for number in count()), told)
    try:
        written = _add_up(passes.few(runs), unfinished, told)
        with unfinished.open("rb") as file:
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        passes.clear()
        unfinished.unlink(missing_ok=True)
    return written


def whole(path: Path) -> SortedRun:
    """All rows of a file that was made here."""
    with damage(path):
        footer = pq.read_metadata(path)
        return SortedRun(path, tuple(range(footer.num_row_groups)), footer.num_rows)


@contextmanager
def damage(path: Path) -> Iterator[None]:
    """Reading counts that are gone or damaged raises NoData."""
    try:
        yield
    except (OSError, ValueError, KeyError) as error:
        raise gone_error(path, str(error)) from error


def gone_error(path: Path | str, why: str) -> NoData:
    return NoData(
        f"the counts in {path}",
        f"they are gone or damaged: {why}",
        advice="restore the file from a backup, or set ingest.directory to where the "
        "counts are; to go on without what "
        f"it counted: `flex data --set-aside {path}`",
    )


@dataclass(frozen=True, slots=True)
class _Passes:
    """Makes one run of several, in files that are taken away in the end."""

    paths: Iterator[Path]
    told: Told
    made: list[Path] = field(default_factory=list)

    def few(self, runs: Sequence[SortedRun]) -> list[SortedRun]:
        """As few as may be read at once, with the same rows: of too many, the shortest become
        one.
        """
        during = [run for run in runs if not run.before]
        before = [run for run in runs if run.before]
        kinds = [sorted(during, key=_rows), sorted(before, key=_rows)]
        while not _may_be_open([*kinds[0], *kinds[1]]):
            most, other = sorted(kinds, key=len, reverse=True)
            taken = _shortest(most, other)
            merged_run = self._one(most[:taken])
            del most[:taken]
            insort(most, merged_run, key=_rows)
        return [*kinds[0], *kinds[1]]

    def clear(self) -> None:
        for path in self.made:
            path.unlink(missing_ok=True)

    def _one(self, runs: Sequence[SortedRun]) -> SortedRun:
        path = next(self.paths)
        self.made.append(path)
        _add_up([replace(run, before=False) for run in runs], path, self.told)
        for run in runs:
            if run.path in self.made:
                run.path.unlink()
        return replace(whole(path), before=runs[0].before)


def _rows(run: SortedRun) -> int:
    return run.rows


def _may_be_open(runs: Sequence[SortedRun]) -> bool:
    return len(runs) <= RUNS_AT_ONCE and sum(map(_rows_in_memory, runs)) <= ROWS_AT_ONCE


def _shortest(runs: Sequence[SortedRun], others: Sequence[SortedRun]) -> int:
    """How many of the runs, the shortest first, are made into one: no more than needed, and than
    may be open.
    """
    held = list(accumulate(map(_rows_in_memory, runs)))
    behind = held[-1] + sum(map(_rows_in_memory, others))
    for taken in range(2, min(len(runs), RUNS_AT_ONCE) + 1):
        left = len(runs) - taken + len(others)
        if left < RUNS_AT_ONCE and behind - held[taken - 1] + GROUP <= ROWS_AT_ONCE:
            return taken
        if taken == len(held) or held[taken] > ROWS_AT_ONCE:
            return taken
    return min(len(runs), RUNS_AT_ONCE)


def _rows_in_memory(run: SortedRun) -> int:
    """How many of its rows are in memory at most."""
    return min(run.rows, GROUP)


def _add_up(runs: Sequence[SortedRun], path: Path, told: Told) -> int:
    try:
        return _merge([run.as_given for run in runs], os.fspath(path), told)
    except ValueError as error:
        raise gone_error(*error.args) from error
