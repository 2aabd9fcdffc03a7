"""What each site was sent on a day: as its hours say, added up once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from flex.errors import NoData
from flex.model.period import Period
from flex.store import MemoryStore
from flex_logs_ingest.counts import add_up_hours_and_sample, daily_sums
from flex_logs_ingest.counts.retention import tidy
from flex_logs_ingest.reading.read_logs import FileReport

Line = Callable[..., bytes]
Read = Callable[[], dict[str, FileReport]]

DAY = 86_400
NOON = 1_700_049_600
TODAY = NOON // DAY


@pytest.fixture(autouse=True)
def three_days(logs: Path, line: Line, read: Read) -> None:
    """Each in a log of its own."""
    for day in range(TODAY - 2, TODAY + 1):
        at = day * DAY
        (logs / f"{day}.log").write_bytes(
            line("/a", at, 100) + line("/b", at + 7200, day) + line("/a", at + 80_000, 7)
        )
        read()


def by_hours(store: MemoryStore, counts: Path, day: int) -> dict[str, int]:
    start = datetime.fromtimestamp(day * DAY, UTC)
    hours = add_up_hours_and_sample.hours_of(
        store, counts, Period(start, start + timedelta(days=1))
    )
    asked = hours.groupby("site")["bytes"].sum()
    return {str(site): int(sent) for site, sent in asked.items()}


def kept(counts: Path) -> list[int]:
    return sorted(int(path.name.partition("-")[0]) for path in counts.glob("*.sent.parquet"))


def test_it_is_what_the_hours_say_also_of_lines_that_come_late(
    logs: Path, line: Line, read: Read, store: MemoryStore, counts: Path
) -> None:
    for _ in range(2):
        for day in range(TODAY - 3, TODAY + 2):
            assert daily_sums.bytes_by_site(store, counts, day).to_dict() == by_hours(
                store, counts, day
            )
        (logs / "late.log").write_bytes(line("/late", NOON - DAY, 12_345))
        read()


def test_what_was_added_up_once_is_there_after_its_counts_are_gone(
    store: MemoryStore, counts: Path
) -> None:
    before = daily_sums.bytes_by_site(store, counts, TODAY)
    for path in counts.glob("*.hours.parquet"):
        path.unlink()
    assert daily_sums.bytes_by_site(store, counts, TODAY).equals(before)
    with pytest.raises(NoData):
        daily_sums.bytes_by_site(store, counts, TODAY - 1)


def test_what_cannot_be_read_or_kept_is_added_up_again(store: MemoryStore, counts: Path) -> None:
    before = daily_sums.bytes_by_site(store, counts, TODAY)
    (path,) = counts.glob("*.sent.parquet")
    path.write_bytes(path.read_bytes()[:50])
    assert daily_sums.bytes_by_site(store, counts, TODAY).equals(before)
    path.unlink()
    path.with_name(f"{path.name}.part").mkdir()
    assert daily_sums.bytes_by_site(store, counts, TODAY).equals(before)
    assert kept(counts) == []


def test_days_that_are_too_old_are_deleted_with_their_counts(
    store: MemoryStore, counts: Path
) -> None:
    for day in range(TODAY - 2, TODAY + 1):
        daily_sums.bytes_by_site(store, counts, day)
    tidy(store, counts, window_from=TODAY - 1, keep_from=TODAY - 1)
    assert kept(counts) == [TODAY - 1, TODAY]
