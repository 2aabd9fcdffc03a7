"""What DuckDB answers about a file table: what one finds by looking through all of it."""

from __future__ import annotations

import tempfile
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flex.errors import NoData
from flex.frame_schemas import FILES
from flex.model.period import Period
from flex_logs_ingest.counts import file_table_queries
from flex_logs_ingest.counts.file_table import FileTable
from flex_logs_ingest.counts.file_table_queries import ask, largest, locality
from flex_logs_ingest.counts.merge_reference import LAYOUT, SCHEMA
from flex_logs_ingest.counts.sites_with_same_files import (
    LEAST_SIZE,
    MOST_SITES,
    SameFiles,
    same_files,
)
from flex_logs_ingest.scan.site_rules import UNKNOWN
from tests.thorough import times

PERIOD = Period.days_before(datetime(2026, 11, 21, tzinfo=UTC), 1)
TABLES = st.dictionaries(
    st.tuples(
        st.sampled_from(["a.example", "b.example"]), st.integers(0, 40).map("/dir{}/x.html".format)
    ),
    st.tuples(
        st.integers(1, 5) | st.integers(1, 2**50),
        st.integers(0, 2**50),
        st.integers(0, 9),
        st.integers(0, 99),
    ),
    max_size=40,
).map(
    lambda rows: FILES.make(
        pd.DataFrame([(*name, *rows[name]) for name in rows], columns=list(FILES.columns))
    )
)


@contextmanager
def on_disk(files: pd.DataFrame) -> Iterator[FileTable]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "files.parquet")
        pq.write_table(pa.Table.from_pandas(files, SCHEMA, preserve_index=False), path, **LAYOUT)
        yield FileTable(path, PERIOD)


def of_sites(*sizes: tuple[str, str, int]) -> pd.DataFrame:
    """Site, target and size; the rest does not matter."""
    return FILES.make(
        pd.DataFrame(
            [(site, target, 1, size, size, 0) for site, target, size in sorted(sizes)],
            columns=list(FILES.columns),
        )
    )


def test_two_sites_are_alike_where_nearly_all_files_of_one_are_files_of_the_other() -> None:
    large, small = LEAST_SIZE, LEAST_SIZE - 1
    rows = [("site", f"/{number}", large + number) for number in range(20)]
    rows += [("alias", f"/{number}", large + number) for number in range(9)]
    rows += [("alias", "/new", large)]
    # Half of its files are the other's.
    rows += [("theme", f"/{number}", large + number) for number in range(5)]
    rows += [("theme", f"/own{number}", large + number) for number in range(5)]
    rows += [("resized", f"/{number}", large + number + 1) for number in range(20)]
    rows += [("icons", f"/icon{number}", small) for number in range(9)]
    rows += [("more icons", f"/icon{number}", small) for number in range(9)]
    rows += [(UNKNOWN, f"/{number}", large + number) for number in range(20)]
    rows += [
        (f"stock{site}", f"/stock{number}", large)
        for number in range(9)
        for site in range(MOST_SITES + 1)
    ]
    with on_disk(of_sites(*rows)) as table:
        assert same_files(table) == [SameFiles("alias", "site", 9, 10, 20)]


@settings(max_examples=times(25), deadline=None)
@given(
    TABLES,
    st.sampled_from(file_table_queries.ORDERS),
    st.sampled_from(["", "a.example"]),
    st.sampled_from(["", "/dir1*"]),
)
def test_the_first_files_are_those_of_the_whole_table_in_that_order(
    files: pd.DataFrame, order: str, site: str, match: str
) -> None:
    rows = [
        row
        for row in files.to_dict("records")
        if (not site or row["site"] == site) and (not match or fnmatchcase(row["target"], match))
    ]
    expected = sorted(rows, key=lambda row: (-row[order], row["site"], row["target"]))[:5]
    with on_disk(files) as table:
        assert (
            largest(table, site, order=order, limit=5, match=match).to_dict("records") == expected
        )


def locality_by_hand(rows: list[dict[Hashable, int]], of: str, percent: int) -> tuple[int, int]:
    """File by file, until they come to that share."""
    wanted, weight, size = sum(row[of] for row in rows) * percent, 0, 0
    for number, row in enumerate(sorted(rows, key=lambda row: (-row[of], row["size"])), start=1):
        weight, size = weight + row[of], size + row["size"]
        if weight * 100 >= wanted:
            return number, size
    raise AssertionError("all files together come to any share")


@settings(max_examples=times(25), deadline=None)
@given(TABLES, st.sampled_from(["", "b.example"]))
def test_locality_is_what_one_finds_file_by_file(files: pd.DataFrame, site: str) -> None:
    rows = [row for row in files.to_dict("records") if not site or row["site"] == site]
    with on_disk(files) as table:
        found = locality(table, site)
    whole = (len(rows), sum(row["size"] for row in rows))
    assert [tuple(row) for row in found.itertuples(index=False)] == [
        (of, percent, *locality_by_hand(rows, of, percent), *whole)
        for of in ("bytes", "requests")
        for percent in file_table_queries.SHARES
        if sum(row[of] for row in rows)
    ]


def test_any_question_may_be_asked() -> None:
    zeros = {name: [0, 0, 7] for name in ("requests", "bytes", "size", "last")}
    files = FILES.from_columns({"site": ["a", "a", "b"], "target": ["/1", "/2", "/1"], **zeros})
    with on_disk(files) as table:
        found = ask(
            table, "SELECT site, sum(size)::BIGINT AS sizes FROM files GROUP BY site ORDER BY site"
        )
    assert found.to_dict("list") == {"site": ["a", "b"], "sizes": [0, 7]}


def test_a_table_that_is_damaged_or_gone_is_said_to_be() -> None:
    with on_disk(FILES.empty()) as table:
        table.path.write_bytes(b"damaged")
        with pytest.raises(NoData, match="gone or damaged"):
            largest(table)
        table.path.unlink()
        with pytest.raises(NoData, match="gone or damaged"):
            locality(table)
