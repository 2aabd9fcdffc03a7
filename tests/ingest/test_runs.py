"""Sorted runs added up on disk: the same rows by whichever engine and in however many passes,
damage named.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flex import native_or_python
from flex.errors import NoData
from flex.frame_schemas import FILES
from flex.model.period import Period
from flex_logs_ingest.counts import sorted_runs
from flex_logs_ingest.counts.file_table import FileTable
from flex_logs_ingest.counts.merge_reference import LAYOUT, SCHEMA, Given, reference_merge
from flex_logs_ingest.counts.sorted_runs import SortedRun
from tests.thorough import times

Merge = Callable[[Sequence[Given], str, Callable[[int], object]], int]
Rows = dict[tuple[str, str], tuple[int, int, int, int]]

ENGINES: dict[str, Merge] = {"reference": reference_merge}
if native_or_python.NATIVE is not None:
    ENGINES["native"] = native_or_python.NATIVE.merge
LARGEST = 2**63 - 1

NAMES = st.sampled_from(["a.example", "b.example", "bücher.example", "z"])
TARGETS = st.integers(0, 30).map("/files/{}".format) | st.text(
    st.characters(codec="utf-8"), max_size=5
)
NUMBERS = st.integers(0, 2**40) | st.sampled_from([0, 1, LARGEST])
RUNS = st.lists(
    st.dictionaries(
        st.tuples(NAMES, TARGETS),
        st.tuples(st.integers(1, LARGEST), NUMBERS, NUMBERS, NUMBERS),
        max_size=30,
    ),
    min_size=1,
    max_size=5,
)
LAYOUTS = st.sampled_from(
    [
        {},
        {"use_dictionary": True, "column_encoding": None},
        {"use_dictionary": False, "column_encoding": None},
        {"data_page_version": "2.0", "data_page_size": 64, "write_batch_size": 4},
        {"compression": "none", "row_group_size": 3},
    ]
)


@pytest.fixture(params=ENGINES)
def merge(request: pytest.FixtureRequest) -> Merge:
    found: Merge = ENGINES[request.param]
    return found


def ignore(_: int) -> None:
    pass


def table(rows: Rows) -> pa.Table:
    ordered = [(*name, *rows[name]) for name in sorted(rows)]
    return pa.Table.from_pylist(
        [dict(zip(SCHEMA.names, row, strict=True)) for row in ordered], schema=SCHEMA
    )


def write(path: Path, rows: Rows, layout: dict[str, object] | None = None) -> SortedRun:
    pq.write_table(table(rows), path, **(LAYOUT | (layout or {})))
    return sorted_runs.whole(path)


def read(path: Path) -> Rows:
    found = pq.read_table(path).to_pylist()
    assert [(row["site"], row["target"]) for row in found] == sorted(
        (row["site"], row["target"]) for row in found
    )
    return {
        (row["site"], row["target"]): tuple(row[name] for name in SCHEMA.names[2:]) for row in found
    }


def by_hand(asked: Sequence[Rows], before: Sequence[Rows]) -> Rows:
    total: Rows = defaultdict(lambda: (0, 0, 0, 0))
    for rows in asked:
        for name, (requests, sent, size, last) in rows.items():
            r, b, s, t = total[name]
            total[name] = (
                min(r + requests, LARGEST),
                min(b + sent, LARGEST),
                max(s, size),
                max(t, last),
            )
    known = {
        name: max(rows[name][2] for rows in before if name in rows)
        for rows in before
        for name in rows
    }
    return {name: (r, b, s or known.get(name, 0), t) for name, (r, b, s, t) in total.items()}


@pytest.mark.slow
@settings(max_examples=times(60), deadline=None)
@given(RUNS, RUNS, LAYOUTS)
def test_runs_are_added_up_as_by_hand_whichever_engine_does_it(
    asked: list[Rows], before: list[Rows], layout: dict[str, object]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        given = [
            write(Path(folder, f"{n}.parquet"), rows, layout).as_given
            for n, rows in enumerate(asked)
        ]
        known = [
            write(Path(folder, f"known{n}.parquet"), rows, layout).as_given
            for n, rows in enumerate(before)
        ]
        given += [(path, groups, day, True) for path, groups, day, _ in known]
        for name, merge in ENGINES.items():
            out = Path(folder, name)
            told: list[int] = []
            assert merge(given, str(out), told.append) == len(read(out))
            assert read(out) == by_hand(asked, before)
            assert sum(told) == sum(map(len, asked)) + sum(map(len, before))
        tables = [pq.read_table(Path(folder, name)).cast(SCHEMA) for name in ENGINES]
        assert all(one.equals(tables[0]) for one in tables)


@pytest.fixture
def scattered(tmp_path: Path) -> tuple[list[SortedRun], Rows]:
    """More runs than may be open, and what they come to."""
    random = Random(1)
    rows: list[Rows] = [
        {
            ("a.example", f"/{random.randrange(300)}"): (1, n, n, n)
            for _ in range(random.randrange(40))
        }
        for n in range(sorted_runs.RUNS_AT_ONCE * 2)
    ]
    return [write(tmp_path / f"{n}.parquet", one) for n, one in enumerate(rows)], by_hand(rows, [])


def test_more_runs_than_may_be_open_are_added_up_in_several_passes(
    scattered: tuple[list[SortedRun], Rows], tmp_path: Path
) -> None:
    given, expected = scattered
    kept = {path.name for path in tmp_path.iterdir()}
    out = tmp_path / "out.parquet"
    assert sorted_runs.merge(given, out) == len(expected)
    assert read(out) == expected
    assert {path.name for path in tmp_path.iterdir()} == kept | {"out.parquet"}


def test_a_run_of_one_day_has_no_rows_of_another(merge: Merge, tmp_path: Path) -> None:
    days = pa.table({"day": [5] * 3 + [6] * 4 + [8]})
    rows = table({("a.example", f"/{n}"): (n + 1, 0, 0, 0) for n in range(8)})
    pq.write_table(
        rows.add_column(0, "day", days["day"]),
        tmp_path / "days.parquet",
        compression="zstd",
        row_group_size=5,
    )
    found = {}
    for day in (4, 5, 6, 7, 8):
        merge([(str(tmp_path / "days.parquet"), [0, 1], day, False)], str(tmp_path / "out"), ignore)
        found[day] = [row[0] for row in read(tmp_path / "out").values()]
    assert found == {4: [], 5: [1, 2, 3], 6: [4, 5, 6, 7], 7: [], 8: [8]}


UNSORTED = pa.concat_tables([table({("b", "/"): (1, 1, 1, 1)}), table({("a", "/"): (1, 1, 1, 1)})])
TWICE = pa.concat_tables([table({("b", "/"): (1, 1, 1, 1)})] * 2)
BELOW = table({("b", "/"): (1, -1, 1, 1)})
HOLES = pa.table({name: [None] for name in SCHEMA.names}, schema=SCHEMA)
NO_SIZE = table({("b", "/"): (1, 1, 1, 1)}).drop_columns(["size"])
NOT_TEXT = table({("b", "/"): (1, 1, 1, 1)}).set_column(
    1, "target", pa.array([b"\xff"]).cast(pa.binary())
)


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (UNSORTED, "not sorted"),
        (TWICE, "not sorted"),
        (BELOW, "below 0"),
        (HOLES, "a value is missing"),
        (NO_SIZE, "no column size"),
        (NOT_TEXT, "(?i)utf-?8"),
    ],
)
@pytest.mark.parametrize("groups", [1, 3])
def test_a_run_that_is_not_as_counts_are_is_refused_by_name(
    rows: pa.Table, why: str, groups: int, merge: Merge, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.parquet"
    pq.write_table(rows, bad, compression="zstd", row_group_size=groups)
    good = write(tmp_path / "good.parquet", {("a", "/"): (1, 1, 1, 1)})
    with pytest.raises(ValueError, match=why) as caught:
        merge([good.as_given, sorted_runs.whole(bad).as_given], str(tmp_path / "out"), ignore)
    assert caught.value.args[0] == str(bad)


def damaged(content: bytes) -> Iterator[bytes]:
    random = Random(2)
    yield b""
    yield from (content[:-n] for n in (1, 8, 100, len(content) // 2))
    for _ in range(150):
        found = bytearray(content)
        at = random.randrange(len(found))
        found[at : at + random.choice([1, 1, 8])] = random.randbytes(random.choice([1, 8]))
        yield bytes(found)


def test_a_damaged_run_is_refused_by_name_or_read_never_a_crash(
    merge: Merge, tmp_path: Path
) -> None:
    run = write(
        tmp_path / "run.parquet", {("a.example", f"/{n}/x"): (n + 1, n, n, n) for n in range(500)}
    )
    refused = []
    for content in damaged(run.path.read_bytes()):
        run.path.write_bytes(content)
        try:
            merge([run.as_given], str(tmp_path / "out"), ignore)
        except ValueError as error:
            refused.append(error.args[0])
    assert set(refused) == {str(run.path)}
    assert len(refused) > 50


def test_a_missing_run_is_said_to_be_gone(tmp_path: Path) -> None:
    run = write(tmp_path / "run.parquet", {("a", "/"): (1, 1, 1, 1)})
    run.path.unlink()
    with pytest.raises(NoData, match=r"run\.parquet.*gone or damaged"):
        sorted_runs.merge([run], tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_table_that_cannot_be_written_is_an_error_of_the_disk(
    merge: Merge, tmp_path: Path
) -> None:
    run = write(tmp_path / "run.parquet", {("a", "/"): (1, 1, 1, 1)})
    with pytest.raises(OSError, match="No space left"):
        merge([run.as_given], "/dev/full", ignore)


def test_a_caller_may_stop_a_merge(merge: Merge, tmp_path: Path) -> None:
    run = write(tmp_path / "run.parquet", {("a", f"/{n}"): (1, 1, 1, 1) for n in range(100)})

    def enough(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        merge([run.as_given], str(tmp_path / "out"), enough)


@pytest.fixture
def files(tmp_path: Path) -> FileTable:
    """Three sites in many small row groups."""
    rows: Rows = {
        (site, f"/{n:03}"): (n + 1, n, n, n) for site in ("a", "b", "c") for n in range(50)
    }
    run = write(tmp_path / "files.parquet", rows, {"row_group_size": 7})
    return FileTable(
        run.path, Period.days_before(pd.Timestamp("2026-11-21", tz="UTC").to_pydatetime(), 1)
    )


def test_a_file_table_gives_its_rows_site_by_site(files: FileTable) -> None:
    whole = FILES.check(files.whole())
    by_site = dict(files.sites())
    assert list(by_site) == ["a", "b", "c"]
    assert pd.concat(by_site.values(), ignore_index=True).equals(whole)
    some = dict(files.sites(["b", "nobody"]))
    assert list(some) == ["b"]
    assert some["b"].equals(by_site["b"])


def test_a_file_table_gives_the_rows_of_given_names(files: FileTable) -> None:
    names = pd.DataFrame(
        {"site": ["c", "a", "a", "x"], "target": ["/049", "/000", "/000", "/"]}
    ).astype("str")
    assert files.rows_of(names)[["site", "target"]].to_numpy().tolist() == [
        ["a", "/000"],
        ["c", "/049"],
    ]
