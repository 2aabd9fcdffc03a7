"""The names by which visitors came to sites in a period: what each reading kept of them, added up.

Takes the store's Segments, the directory of their counts, a Period and sites. Returns sums by name
and by site. All answers count, errors too, as in the hours.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from flex.model.period import Period
from flex.ports import Segments
from flex_logs_ingest.counts import (
    count_files,
    count_files_of_days,
    other_name_counts,
)

_SUMS = [("requests", "sum"), ("bytes", "sum")]
_SUMMED = ["requests_sum", "bytes_sum"]


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """By (site, other name) and by site the requests and bytes of a period; `unknown` are sites of
    which some were counted without their names.
    """

    by_name: dict[tuple[str, str], tuple[int, int]]
    by_site: dict[str, tuple[int, int]]
    unknown: frozenset[str]


def count_names(segments: Segments, directory: Path, period: Period, sites: Iterable[str]) -> Names:
    """What is known of these sites."""
    days = (period.first_day, period.last_day)
    wanted = pa.array(sorted(set(sites)), pa.string())
    by_name: list[pa.Table] = [other_name_counts.SCHEMA.empty_table()]
    by_site: list[pd.DataFrame] = []
    unknown: set[str] = set()
    for file_id in count_files_of_days.files_left(segments, *days):
        table = other_name_counts.table(directory, file_id)
        hours = count_files.hours(directory, file_id, *days)
        hours = hours.filter(pc.is_in(hours["site"].cast(pa.string()), wanted))
        by_site.append(
            hours.select(["site", "requests", "bytes"])
            .group_by("site")
            .aggregate(_SUMS)
            .to_pandas()
        )
        if table is None:
            unknown.update(hours["site"].unique().to_pylist())
            continue
        within = (pc.field("day") >= days[0]) & (pc.field("day") <= days[1])
        by_name.append(table.filter(within & pc.field("site").isin(wanted)))
    names = pa.concat_tables(by_name).group_by(["site", "name"]).aggregate(_SUMS).to_pylist()
    whole = pd.concat(by_site).groupby("site").sum() if by_site else pd.DataFrame(columns=_SUMMED)
    return Names(
        {(row["site"], row["name"]): (row["requests_sum"], row["bytes_sum"]) for row in names},
        {
            str(site): (int(requests), int(sent))
            for site, requests, sent in whole[_SUMMED].itertuples()
        },
        frozenset(unknown),
    )
