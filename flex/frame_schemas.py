"""The schemas of large tables, declared once and checked where a table enters a module.

A table is a pandas frame with exactly these columns in this order, without nulls, sorted by its
key, with each key once. Sizes are bytes. Times are seconds, hours or days since 1970-01-01 UTC.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, starmap
from operator import lt
from typing import Any

import numpy as np
import pandas as pd

from flex.errors import BadTable

# Rows whose order is looked at at a time: the first that are out of order end it, and few are
# copied at once.
LOOKED_AT = 65_536


@dataclass(frozen=True, slots=True)
class Schema:
    """Tables of earlier versions lack the columns `later`: in these they have 0 of everything."""

    name: str
    columns: Mapping[str, str]
    key: tuple[str, ...]
    later: tuple[str, ...] = ()

    @property
    def earlier(self) -> list[str]:
        """The columns that tables of all versions have."""
        return [name for name in self.columns if name not in self.later]

    def empty(self) -> pd.DataFrame:
        return _empty(tuple(self.columns.items())).copy(deep=False)

    def make(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The frame in the declared shape: columns picked and cast, rows sorted by key; then
        checked.
        """
        if lacked := [name for name in self.later if name not in frame.columns]:
            frame = frame.assign(**dict.fromkeys(lacked, 0))
        missing = [name for name in self.columns if name not in frame.columns]
        if missing:
            raise self._broken_error(f"columns are missing: {', '.join(missing)}")
        if frame.empty:
            return self.empty()
        types = _types(frame)
        fits = [*types.items()] == [*self.columns.items()]
        cast = self._check_values(frame if fits else self._cast(frame, types))
        if not self.key or _rises(cast, self.key):
            return _number_rows(cast)
        rows = cast.sort_values(list(self.key), kind="stable", ignore_index=True)
        return rows if _rises(rows, self.key) else self.check(rows)

    def _cast(self, frame: pd.DataFrame, types: Mapping[str, str]) -> pd.DataFrame:
        cast = frame[list(self.columns)]
        for name, type_ in self.columns.items():
            if types[name] == type_:
                continue
            if cast[name].isna().any():
                raise self._broken_error("some values are missing")
            cast[name] = cast[name].astype(pd.api.types.pandas_dtype(type_))
        return cast

    def from_columns(self, columns: Mapping[str, Sequence[object] | np.ndarray]) -> pd.DataFrame:
        return self.make(pd.DataFrame(dict(columns)))

    def check(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The same frame, or BadTable naming the first rule it breaks."""
        self._check_columns(frame)
        if not self.key or _rises(frame, self.key):
            return frame
        keys = frame[list(self.key)]
        if keys.duplicated().any():
            twice = keys[keys.duplicated()].iloc[0].tolist()
            raise self._broken_error(f"the key {twice} is there twice")
        return frame

    def _check_columns(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The same by its columns, each by itself."""
        if (types := _types(frame)) != self.columns:
            raise self._broken_error(f"columns are {types}, not {dict(self.columns)}")
        return self._check_values(frame)

    def _check_values(self, frame: pd.DataFrame) -> pd.DataFrame:
        for name in self.columns:
            self._check_column(name, frame[name])
        return frame

    def _check_column(self, name: str, column: pd.Series) -> None:
        """Most tables are small, and there numpy takes a tenth of what pandas takes."""
        kind = column.dtype.kind
        if kind != "i" and column.isna().any():
            raise self._broken_error(f"{name} has missing values")
        if kind not in "if" or not len(column):
            return
        values = column.to_numpy()
        if kind == "f" and not np.isfinite(values).all():
            raise self._broken_error(f"{name} has a value that is not a finite number")
        if (least := values.min()) < 0:
            raise self._broken_error(f"{name} has the negative value {least}")

    def _broken_error(self, how: str) -> BadTable:
        return BadTable(
            f"a table of {self.name}",
            how,
            kept="nothing was stored",
            advice="this is a fault in the program that made the table; please "
            "report it with the input",
        )


@cache
def _empty(columns: tuple[tuple[str, str], ...]) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(dtype=type_) for name, type_ in columns})


def _types(frame: pd.DataFrame) -> dict[str, str]:
    types = frame.dtypes.to_numpy()
    return {str(name): str(type_) for name, type_ in zip(frame.columns, types, strict=True)}


def _number_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame of its own with the same rows, numbered from 0."""
    is_numbered = frame.index.identical(pd.RangeIndex(len(frame)))
    return frame.copy(deep=False) if is_numbered else frame.reset_index(drop=True)


def _rises(table: pd.DataFrame, key: Sequence[str]) -> bool:
    """Whether each row is less than the next, so that no two are equal: most tables come so, and
    sorting takes long.
    """
    columns = [table[name] for name in key]
    return all(
        _rises_within([column.iloc[first : first + LOOKED_AT + 1] for column in columns])
        for first in range(0, len(table), LOOKED_AT)
    )


def _rises_within(columns: Sequence[pd.Series]) -> bool:
    values = (values_of(column) for column in columns)
    return all(starmap(lt, pairwise(zip(*values, strict=True))))


def texts(column: pd.Series) -> list[str]:
    """A column's strings."""
    strings: list[str] = values_of(column)
    return strings


def values_of(column: pd.Series) -> list[Any]:
    """What is in a column. Taking strings out one by one costs ten times as much. Any: numbers or
    texts.
    """
    values: list[Any] = column.to_numpy(dtype=object).tolist()
    return values


# What one log segment counted per day, site and target; mergeable: sum, sum, max, max. `size` is
# the largest full 200 answer (0 when none was seen), `last` the time of the latest access.
PARTIAL = Schema(
    "partial counts",
    {
        "day": "int64",
        "site": "str",
        "target": "str",
        "requests": "int64",
        "bytes": "int64",
        "size": "int64",
        "last": "int64",
    },
    key=("day", "site", "target"),
)

# The file table of a period: what was accessed on each site, and how large it is.
FILES = Schema(
    "files",
    {
        "site": "str",
        "target": "str",
        "requests": "int64",
        "bytes": "int64",
        "size": "int64",
        "last": "int64",
    },
    key=("site", "target"),
)

# Per site and hour, all answers included: requests, bytes, how many of the requests say how long
# they took, and the microseconds of these; microseconds of processor, where a node counts them.
# Where nothing is timed, no time was counted, which is not the same as a time of 0.
HOURS = Schema(
    "hours",
    {
        "site": "str",
        "hour": "int64",
        "requests": "int64",
        "bytes": "int64",
        "timed": "int64",
        "service_us": "int64",
        "cpu_us": "int64",
    },
    key=("site", "hour"),
    later=("timed", "service_us", "cpu_us"),
)

# A time-ordered sample of accesses. `target` numbers the rows of the partial (or file table) it
# belongs to; a row with level >= j belongs to the sample of 1 target in 2**j, so samples of
# different rates can be brought to one.
SAMPLE = Schema("sampled accesses", {"time": "int64", "target": "int64", "level": "int64"}, key=())

# What a site asks of a node when one node serves it: A(s), W(s) and what helps to judge them. Times
# are as in HOURS.
PROFILES = Schema(
    "profiles",
    {
        "site": "str",
        "access_bytes": "int64",
        "working_set": "int64",
        "requests": "int64",
        "targets": "int64",
        "one_timers": "int64",
        "busy_hour_bytes": "int64",
        "timed": "int64",
        "service_us": "int64",
        "cpu_us": "int64",
    },
    key=("site",),
    later=("timed", "service_us", "cpu_us"),
)

# W_k: the working set on each of k nodes when requests are split at random. k = 1 is in the profile
# itself.
SPREADS = Schema(
    "working sets on k replicas",
    {"site": "str", "replicas": "int64", "working_set": "int64"},
    key=("site", "replicas"),
)

PLACEMENT = Schema("placement", {"site": "str", "node": "str"}, key=("site", "node"))

# Address records, one row per value. Names are absolute, lower case, with the trailing dot.
RECORDS = Schema(
    "records",
    {"name": "str", "type": "str", "ttl": "int64", "value": "str"},
    key=("name", "type", "value"),
)
