"""Old counts: added up by week, deleted in the end, and never a line counted twice or lost on the
way.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import pytest

from flex.errors import NoData, StoreError
from flex.model.period import Period
from flex.store import MemoryStore, migrate, open_store
from flex_logs_ingest.counts import add_up_hours_and_sample
from flex_logs_ingest.counts.file_table import file_table
from flex_logs_ingest.counts.retention import Tidied, tidy
from flex_logs_ingest.files.find_and_unpack_logs import Source
from flex_logs_ingest.reading.read_logs import FileReport, ingest

Line = Callable[..., bytes]
Read = Callable[[], dict[str, FileReport]]

DAY = 86_400
NOON = 1_700_049_600  # a Wednesday
TODAY = NOON // DAY


def days(first: int, last: int) -> Period:
    """Counted from TODAY, the last day inside."""
    start = datetime.fromtimestamp(TODAY * DAY, UTC)
    return Period(start + timedelta(days=first), start + timedelta(days=last + 1))


@pytest.fixture
def four_weeks(logs: Path, line: Line, read: Read) -> None:
    """A log for each of the last 28 days, with a file of every day's own and one that all have."""
    for day in range(-28, 0):
        at = NOON + day * DAY
        text = (
            line("/all", at, 100 + day)
            + line(f"/{day}", at + 1)
            + line("/error", at + 7200, status=404)
        )
        (logs / f"{28 + day:02}.log").write_bytes(text)
        read()


def tables(store: MemoryStore, counts: Path, period: Period) -> tuple[pd.DataFrame, pd.DataFrame]:
    return file_table(store, counts, period).whole(), add_up_hours_and_sample.hours_of(
        store, counts, period
    )


PERIODS = [days(-28, -1), days(-20, -15), days(-9, -9), days(-7, -1), days(-40, -29)]


@pytest.mark.usefixtures("four_weeks")
def test_weeks_before_the_window_are_added_up_and_say_the_same(
    store: MemoryStore, counts: Path
) -> None:
    before = [tables(store, counts, period) for period in PERIODS]
    done = tidy(store, counts, window_from=TODAY - 7, keep_from=0)
    # The week of the window's first day is still open.
    assert done == Tidied(added=19, sums=3)
    assert len(list(counts.glob("*.files.parquet"))) == 28 - 19 + 3
    assert list(counts.glob("*.merged.parquet")) == []
    for period, (files, hours) in zip(PERIODS, before, strict=True):
        pd.testing.assert_frame_equal(file_table(store, counts, period).whole(), files)
        pd.testing.assert_frame_equal(
            add_up_hours_and_sample.hours_of(store, counts, period), hours
        )
    assert tidy(store, counts, window_from=TODAY - 7, keep_from=0) == Tidied()


@pytest.mark.usefixtures("four_weeks")
def test_a_late_line_joins_the_week_it_belongs_to(
    logs: Path, line: Line, read: Read, store: MemoryStore, counts: Path
) -> None:
    tidy(store, counts, window_from=TODAY, keep_from=0)
    (logs / "late.log").write_bytes(line("/all", NOON - 20 * DAY))
    read()
    assert tidy(store, counts, window_from=TODAY, keep_from=0).sums == 1
    files = file_table(store, counts, days(-20, -20)).whole()
    assert dict(zip(files["target"], files["requests"], strict=True)) == {"/-20": 1, "/all": 2}


@pytest.mark.usefixtures("four_weeks")
def test_what_is_added_up_or_deleted_is_not_read_again(
    logs: Path, read: Read, store: MemoryStore, counts: Path
) -> None:
    tidy(store, counts, window_from=TODAY - 7, keep_from=TODAY - 21)
    ours = {path.name for path in counts.glob("*.parquet")}
    for log in sorted(logs.iterdir()):
        log.rename(log.with_suffix(".old"))
    assert {report.outcome for report in read().values()} <= {"nothing new", "copy"}
    assert {path.name for path in counts.glob("*.parquet")} == ours


@pytest.mark.usefixtures("four_weeks")
def test_days_whose_counts_were_deleted_are_never_taken_for_idle(
    store: MemoryStore, counts: Path
) -> None:
    assert tidy(store, counts, window_from=TODAY - 7, keep_from=TODAY - 21).deleted == 7
    assert len(file_table(store, counts, days(-14, -1)).whole()) == 15
    for made in (file_table, add_up_hours_and_sample.hours_of):
        with pytest.raises(NoData, match=r"deleted.*keep_days"):
            made(store, counts, days(-22, -1))


@pytest.mark.usefixtures("four_weeks")
def test_a_sum_that_reaches_into_days_that_are_kept_stays_whole(
    store: MemoryStore, counts: Path
) -> None:
    before = tables(store, counts, days(-7, -1))
    tidy(store, counts, window_from=TODAY, keep_from=0)
    # In the middle of the week that ends three days ago.
    done = tidy(store, counts, window_from=TODAY, keep_from=TODAY - 7)
    assert done == Tidied(deleted=19)
    for then, now in zip(before, tables(store, counts, days(-7, -1)), strict=True):
        pd.testing.assert_frame_equal(now, then)


@pytest.mark.usefixtures("four_weeks")
def test_the_table_in_use_stays_and_others_go(store: MemoryStore, counts: Path) -> None:
    mine, other = (file_table(store, counts, days(-7, -1)), file_table(store, counts, days(-1, -1)))
    tidy(store, counts, window_from=TODAY - 7, keep_from=0, table=mine.path)
    assert (mine.path.exists(), other.path.exists()) == (True, False)


@pytest.mark.usefixtures("four_weeks")
def test_a_sample_is_of_the_days_that_still_have_one(store: MemoryStore, counts: Path) -> None:
    tidy(store, counts, window_from=TODAY - 7, keep_from=0)
    sample = add_up_hours_and_sample.sample_of(store, counts, days(-28, -1), 1_000)
    assert len(sample.time) == 2 * 9
    # Totals would be of the days that have none, too.
    assert add_up_hours_and_sample.sample_of(store, counts, days(-28, -1), 9).totals is None
    assert add_up_hours_and_sample.sample_of(store, counts, days(-7, -1), 9).totals is not None


class Failing(MemoryStore):
    """Takes no sum, as where its disk is full."""

    def move_counts(self, segments: Collection[str], files: str) -> None:
        if segments:
            raise StoreError(f"writing {files}", "", kept="", advice="")


def test_no_counts_go_before_the_store_has_heard_of_their_sum(
    logs: Path, line: Line, source: Source, counts: Path
) -> None:
    store = Failing()
    for day in range(-14, 0):
        (logs / f"{day}.log").write_bytes(line("/all", NOON + day * DAY))
    ingest([source], store, counts)
    with pytest.raises(StoreError):
        tidy(store, counts, window_from=TODAY, keep_from=0)
    assert file_table(store, counts, days(-14, -1)).whole()["requests"].tolist() == [14]


# Tells of each step on disk and in the store, so that it can be killed at any of them.
TIDIER = """
import os, sys
from flex.store import open_store
from flex_logs_ingest.counts.retention import tidy
steps = ("os.rename", "os.remove", "sqlite3.connect")
sys.addaudithook(lambda name, _: os.write(1, b".") if name in steps else None)
folder = __import__("pathlib").Path(sys.argv[2])
window_from, keep_from = int(sys.argv[3]), int(sys.argv[4])
with open_store(sys.argv[1]) as store:
    tidy(store, folder, window_from=window_from, keep_from=keep_from)
"""


@pytest.mark.slow("14")
@pytest.mark.parametrize("kept", [14, 7])
def test_what_kill_9_interrupts_loses_nothing_and_counts_nothing_twice(
    tmp_path: Path, logs: Path, line: Line, source: Source, kept: int
) -> None:
    """While days are added up, and while those are deleted that are not kept."""
    url, counts = f"sqlite:///{tmp_path / 'flex.db'}", tmp_path / "counts"
    migrate.upgrade(url)
    for day in range(-14, 0):
        (logs / f"{day}.log").write_bytes(line("/all", NOON + day * DAY))
    with open_store(url) as store:
        ingest([source], store, counts)
    keep_from = str(0 if kept == 14 else TODAY - kept)
    # The last one is left alone.
    for steps in (2, 5, 9, None):
        command = [sys.executable, "-c", TIDIER, url, str(counts), str(TODAY), keep_from]
        with subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0) as tidier:
            assert tidier.stdout
            if steps is None:
                tidier.communicate()
            else:
                # A run that has less to do than that has ended by then.
                for _ in range(steps):
                    tidier.stdout.read(1)
                tidier.kill()
        with open_store(url) as store:
            ingest([source], store, counts)
            found = file_table(store, counts, days(-kept, -1)).whole()
            assert found["requests"].tolist() == [kept]
            known: Mapping[str, str] = store.moved_counts()
            ids = {known.get(each.id, each.id) for each in store.segments(0, 10**6)}
        assert {path.name[:40] for path in counts.glob("*.files.parquet*")} == ids - {""}
    # Days were added up, or deleted.
    assert known
    assert ("" in known.values()) == (kept < 14)
