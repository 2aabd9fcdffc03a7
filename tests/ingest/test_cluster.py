"""Logs on a cluster, with its tasks run here: same counts as beside a web server, whatever is
repeated or killed.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest

from flex.errors import BadInput, NoData, NotWritten
from flex.frame_schemas import FILES, HOURS
from flex.model.period import Period
from flex.store import MemoryStore
from flex_logs_ingest import read_with_spark
from flex_logs_ingest.counts import add_up_hours_and_sample, file_of_unknown_hosts, merge_expression
from flex_logs_ingest.counts.file_table import file_table
from flex_logs_ingest.files import local_or_uri_files
from flex_logs_ingest.files.find_and_unpack_logs import Source, Unusable
from flex_logs_ingest.parcels import parcel_intake
from flex_logs_ingest.reading.read_logs import FileReport, ingest
from flex_logs_ingest.scan.site_rules import SiteRule

Line = Callable[..., bytes]
ReadThere = Callable[[], dict[str, FileReport]]
# Ibis calls what the newest DuckDB will drop one day.
pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")

NOON = 1_700_049_600
DAY = 86_400
PERIOD = Period(datetime(2023, 11, 15, tzinfo=UTC), datetime(2023, 11, 16, tzinfo=UTC))
# More than the first 4 KiB, by which a log is known.
MANY = 200


@pytest.fixture
def to(tmp_path: Path) -> Path:
    return tmp_path / "there"


@pytest.fixture
def read_there(source: Source, to: Path) -> ReadThere:
    """One run of the job: a report per file, by the file's name."""
    return lambda: {
        Path(report.path).name: report
        for report in read_with_spark.read(read_with_spark.here, source, str(to))
    }


def log(line: Line, first: int, end: int) -> bytes:
    return b"".join(line(f"/{n % 50}", NOON + n, 100 + n) for n in range(first, end))


def tables(to: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    files = merge_expression.files(
        merge_expression.on_duckdb(read_with_spark.counts(str(to), "files")), PERIOD
    )
    hours = merge_expression.hours(
        merge_expression.on_duckdb(read_with_spark.counts(str(to), "hours")), PERIOD
    )
    return merge_expression.table(files, FILES), merge_expression.table(hours, HOURS)


def lines(to: Path) -> int:
    return sum(
        number for entry in read_with_spark.entries(str(to)) for _, number in entry.segment.lines
    )


@pytest.mark.slow
def test_counts_made_there_are_those_made_here(
    logs: Path,
    line: Line,
    source: Source,
    store: MemoryStore,
    counts: Path,
    to: Path,
    read_there: ReadThere,
) -> None:
    (logs / "access.log").write_bytes(
        log(line, 0, MANY) + line("/missing", NOON, status=404) + b"nonsense\n"
    )
    (logs / "old.log.gz").write_bytes(gzip.compress(line("/old", NOON - 3 * DAY, 4_000) * MANY))
    (logs / "access.log.1").write_bytes(
        line("/0", NOON - DAY, 9_999) + line("/7", NOON + 5, 0, 304)
    )
    here = {Path(report.path).name: report for report in ingest([source], store, counts)}
    there = read_there()
    assert {name: (r.outcome, r.lines) for name, r in there.items()} == {
        name: (r.outcome, r.lines) for name, r in here.items()
    }
    files, hours = tables(to)
    pd.testing.assert_frame_equal(files, file_table(store, counts, PERIOD).whole())
    pd.testing.assert_frame_equal(hours, add_up_hours_and_sample.hours_of(store, counts, PERIOD))
    assert {entry.segment.id for entry in read_with_spark.entries(str(to))} == {
        s.id for s in store.segments(0, 10**6)
    }


def test_sums_per_site_are_those_of_the_file_table(
    logs: Path, line: Line, to: Path, read_there: ReadThere
) -> None:
    (logs / "access.log").write_bytes(log(line, 0, 55))
    read_there()
    files = merge_expression.files(
        merge_expression.on_duckdb(read_with_spark.counts(str(to), "files")), PERIOD
    )
    by_hand = merge_expression.table(files, FILES)
    once = by_hand["requests"] == 1
    (row,) = merge_expression.table(
        merge_expression.sites(files), merge_expression.SITES
    ).itertuples(index=False, name=None)
    assert row == (
        "a.example", 55, by_hand["bytes"].sum(), by_hand["size"].sum(), 50, 45,
        by_hand.loc[once, "size"].sum(),
    )  # fmt: skip


def test_a_size_that_a_period_did_not_show_is_the_one_known_before(
    logs: Path, line: Line, to: Path, read_there: ReadThere
) -> None:
    before = line("/kept", NOON - DAY, 700) + line("/corrected", NOON - DAY, 900)
    during = (
        line("/kept", NOON, 0, 304) + line("/corrected", NOON, 300) + line("/never", NOON, 50, 206)
    )
    (logs / "access.log").write_bytes(before + during)
    read_there()
    files, _ = tables(to)
    assert dict(zip(files["target"], files["size"], strict=True)) == {
        "/kept": 700,
        "/corrected": 300,
        "/never": 0,
    }


def test_a_job_that_runs_again_counts_what_is_new(
    logs: Path, line: Line, to: Path, read_there: ReadThere
) -> None:
    live = logs / "access.log"
    live.write_bytes(log(line, 0, MANY))
    read_there()
    assert read_there()["access.log"].outcome == "nothing new"
    with live.open("ab") as file:
        file.write(log(line, MANY, 2 * MANY))
    live.rename(logs / "access.log.1")
    live.write_bytes(log(line, 2 * MANY, 3 * MANY))
    assert {name: report.outcome for name, report in read_there().items()} == dict.fromkeys(
        ("access.log", "access.log.1"), "read"
    )
    assert lines(to) == 3 * MANY


def test_a_copy_that_ends_between_two_runs_counts_nothing(
    logs: Path, line: Line, to: Path, read_there: ReadThere
) -> None:
    for end in (MANY, 3 * MANY):
        (logs / "access.log").write_bytes(log(line, 0, end))
        read_there()
    (logs / "access.log").rename(logs / "access.log.1")
    (logs / "copy.log").write_bytes(log(line, 0, 2 * MANY))
    assert read_there()["copy.log"].outcome == "copy"
    assert lines(to) == 3 * MANY


def test_a_log_that_lies_there_several_times_counts_once(
    logs: Path, line: Line, to: Path, read_there: ReadThere
) -> None:
    content = log(line, 0, MANY)
    (logs / "access.log.1").write_bytes(content)
    (logs / "access.log.1.gz").write_bytes(gzip.compress(content))
    (logs / "short.log").write_bytes(content[: content.index(b"\n") + 1])
    (logs / "cut.log").write_bytes(content[:9_000])
    outcomes = sorted(report.outcome for report in read_there().values())
    assert lines(to) == MANY
    assert outcomes == ["copy", "copy", "nothing new", "read"]


def test_a_job_that_was_killed_is_finished_by_the_next(
    logs: Path, line: Line, to: Path, read_there: ReadThere
) -> None:
    for number in range(3):
        (logs / f"{number}.log").write_bytes(log(line, number * 1000, number * 1000 + MANY))
    read_there()
    complete = {path.name: path.read_bytes() for path in to.iterdir()}
    # Killed after one whole entry, with the counts of another and half a file of the third.
    _first, second, third = (entry.segment.id for entry in read_with_spark.entries(str(to)))
    for name in complete:
        if name.startswith(third) or name == second + read_with_spark.ENTRY:
            (to / name).unlink()
    (to / f".{third}.files.parquet.0.part").write_bytes(b"PAR1")
    assert lines(to) == MANY
    read_there()
    (to / f".{third}.files.parquet.0.part").unlink()
    assert {path.name: path.read_bytes() for path in to.iterdir()} == complete


def test_tasks_that_run_twice_leave_what_one_leaves(
    logs: Path, line: Line, source: Source, to: Path
) -> None:
    (logs / "access.log").write_bytes(log(line, 0, MANY))
    read_with_spark.read(
        lambda work, rows: [work(row) for row in rows for _ in range(2)][::2], source, str(to)
    )
    assert lines(to) == MANY


@pytest.mark.slow
def test_what_was_read_there_arrives_at_the_controller_once(
    logs: Path,
    line: Line,
    to: Path,
    read_there: ReadThere,
    store: MemoryStore,
    counts: Path,
    tmp_path: Path,
) -> None:
    out = tmp_path / "incoming"
    (logs / "access.log").write_bytes(log(line, 0, MANY))
    (logs / "old.log.gz").write_bytes(gzip.compress(line("/old", NOON - 3 * DAY, 4_000) * MANY))
    read_there()
    assert (read_with_spark.send(str(to), out), read_with_spark.send(str(to), out)) == (2, 0)
    with (logs / "access.log").open("ab") as file:
        file.write(log(line, MANY, 2 * MANY))
    read_there()
    assert read_with_spark.send(str(to), out) == 1
    for outcome in ("taken", "known"):
        arrived = parcel_intake.take([out], store, counts, {("one", "node-1")})
        assert [arrival.outcome for arrival in arrived] == [outcome] * 3
    pd.testing.assert_frame_equal(tables(to)[0], file_table(store, counts, PERIOD).whole())


def test_names_that_are_no_sites_arrive_as_well(
    logs: Path,
    line: Line,
    to: Path,
    read_there: ReadThere,
    store: MemoryStore,
    counts: Path,
    tmp_path: Path,
) -> None:
    (logs / "access.log").write_bytes(log(line, 0, MANY))
    read_there()
    (entry,) = read_with_spark.entries(str(to))
    file_of_unknown_hosts.write(to, entry.segment.id, {"scanned.example": 3})
    read_with_spark.send(str(to), tmp_path / "incoming")
    parcel_intake.take([tmp_path / "incoming"], store, counts, {("one", "node-1")})
    assert file_of_unknown_hosts.names_of(counts, entry.segment.id) == [("scanned.example", 3)]


def test_what_cannot_be_read_is_reported_and_the_rest_is_read(
    logs: Path, line: Line, read_there: ReadThere
) -> None:
    (logs / "access.log").write_bytes(log(line, 0, MANY))
    (logs / "bad.gz").write_bytes(b"\x1f\x8bnonsense")
    (logs / "empty.log").touch()
    (logs / "prose.log").write_bytes(b"no log\n" * 100)
    reports = read_there()
    assert {name: report.outcome for name, report in reports.items()} == {
        "access.log": "read", "bad.gz": "unreadable", "empty.log": "empty",
        "prose.log": "unknown format",
    }  # fmt: skip
    assert "no log" in reports["prose.log"].note
    assert {Path(report.path).parent for report in reports.values()} == {logs}


def test_a_site_is_told_by_the_name_the_file_has_there(logs: Path, line: Line, to: Path) -> None:
    (logs / "shop.example.log").write_bytes(log(line, 0, 5))
    rule = SiteRule(pattern=r"(?P<site>.+)\.log")
    read_with_spark.read(
        read_with_spark.here, Source("one", (f"{logs}/*",), "node-1", rule), str(to)
    )
    files, _ = tables(to)
    assert set(files["site"]) == {"shop.example"}


def test_no_files_and_no_counts_are_errors_that_say_so(
    logs: Path, to: Path, read_there: ReadThere
) -> None:
    with pytest.raises(NoData, match="no file is there"):
        read_there()
    with pytest.raises(NoData, match="no reading"):
        read_with_spark.counts(str(to), "files")


@pytest.mark.parametrize("place", ["nowhere://bucket/logs/*", "s3:///"])
def test_a_place_that_arrow_does_not_know_is_an_error_that_says_so(place: str) -> None:
    with pytest.raises(BadInput, match="the place"):
        local_or_uri_files.files(place)


def test_a_folder_that_is_none_is_an_error_that_says_so(
    logs: Path, line: Line, to: Path, read_there: ReadThere
) -> None:
    (logs / "access.log").write_bytes(log(line, 0, MANY))
    to.write_text("a file")
    with pytest.raises(BadInput, match=str(to)):
        read_there()
    with (
        pytest.raises(NotWritten, match=str(to)),
        local_or_uri_files.write_whole(str(to), "a.parquet") as file,
    ):
        file.write(b"")


def test_files_are_named_by_paths_and_by_uris_alike(tmp_path: Path) -> None:
    for name in ("a.log", "b.log", "c.txt"):
        (tmp_path / name).write_bytes(b"0123456789")
    by_path, by_uri = (
        local_or_uri_files.files(f"{tmp_path}/*.log"),
        local_or_uri_files.files(f"file://{tmp_path}/*.log"),
    )
    assert [file.uri for file in by_path] == [f"{tmp_path}/a.log", f"{tmp_path}/b.log"]
    assert [file.uri for file in by_uri] == [f"file://{tmp_path}/a.log", f"file://{tmp_path}/b.log"]
    assert {(file.size, file.time > 0) for file in by_path + by_uri} == {(10, True)}


def test_a_copy_ends_where_the_file_ended_when_it_was_looked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"0123456789")
    os.utime(path, ns=(10**18, 10**18))
    (file,) = local_or_uri_files.files(str(path))
    with path.open("ab") as more:
        more.write(b"more")
    local_or_uri_files.fetch(file, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == b"0123456789"
    assert (tmp_path / "copy").stat().st_mtime_ns == 10**18
    path.unlink()
    with pytest.raises(Unusable):
        local_or_uri_files.fetch(file, tmp_path / "copy")


def test_a_file_that_was_not_written_to_its_end_is_not_there(tmp_path: Path) -> None:
    def write() -> None:
        with local_or_uri_files.write_whole(str(tmp_path), "a.parquet") as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert not (tmp_path / "a.parquet").exists()
