"""Counts on disk, and what they add up to: always what one would count by hand over all lines."""

from __future__ import annotations

import resource
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flex.errors import Busy, NoData, NotWritten
from flex.frame_schemas import HOURS
from flex.model.period import Period
from flex.prediction.target_classes import Kinds, kinds
from flex.store import MemoryStore
from flex_logs_ingest.counts import add_up_hours_and_sample, count_files
from flex_logs_ingest.counts.file_table import file_table
from flex_logs_ingest.files.find_and_unpack_logs import Source
from flex_logs_ingest.reading.read_logs import FileReport, ingest
from flex_logs_ingest.scan.site_rules import SiteRule
from tests.thorough import times

Line = Callable[..., bytes]
Read = Callable[[], dict[str, FileReport]]

DAY = 86_400
NOON = 1_700_049_600
MIDNIGHT = NOON - DAY // 2


@dataclass(frozen=True, slots=True)
class Access:
    site: str
    target: str
    time: int
    sent: int
    status: int

    def __bytes__(self) -> bytes:
        at = f"{datetime.fromtimestamp(self.time, UTC):%d/%b/%Y:%H:%M:%S} +0000"
        request = f'"GET {self.target} HTTP/1.1" {self.status} {self.sent} "-" "-"'
        return f"{self.site}:443 192.0.2.1 - - [{at}] {request}\n".encode()


EDGES = st.sampled_from([0, 2 * DAY - 60, 2 * DAY])
ACCESSES = st.builds(
    Access,
    site=st.sampled_from(["a.example", "b.example"]),
    target=st.integers(0, 12).map("/{}".format),
    time=(st.integers(-DAY, 3 * DAY) | EDGES).map(lambda seconds: MIDNIGHT + seconds),
    sent=st.integers(0, 10_000),
    status=st.sampled_from([200, 200, 206, 304, 404, 500]),
)
# Logs that are there one after the other, with a run after each of them.
LOGS = st.lists(
    st.lists(ACCESSES, max_size=4) | st.lists(ACCESSES, min_size=15, max_size=30),
    min_size=1,
    max_size=4,
)


def period(days: int = 2, first: int = 0) -> Period:
    start = datetime.fromtimestamp(MIDNIGHT, UTC) + timedelta(days=first)
    return Period(start, start + timedelta(days=days))


@contextmanager
def counted(
    logs: Sequence[Sequence[Access]], sample_limit: int = 10**6
) -> Iterator[tuple[MemoryStore, Path]]:
    """The store and the counts after each of the logs was read on its own."""
    with tempfile.TemporaryDirectory() as folder:
        source = Source("one", (f"{folder}/*.log",), "node-1", SiteRule(), "vhost_combined")
        store, directory = MemoryStore(), Path(folder, "counts")
        for number, log in enumerate(logs):
            Path(folder, f"{number}.log").write_bytes(b"".join(map(bytes, log)))
            ingest([source], store, directory, sample_limit=sample_limit)
        yield store, directory


def distinct(logs: Sequence[Sequence[Access]]) -> list[list[Access]]:
    """With another second for each access, so that no log looks like a copy of another, sorted as
    servers write.
    """
    seconds = iter(range(1000))
    numbered = (
        [
            Access(a.site, a.target, a.time // 1000 * 1000 + next(seconds), a.sent, a.status)
            for a in log
        ]
        for log in logs
    )
    return [sorted(log, key=lambda a: a.time) for log in numbered]


def files_by_hand(accesses: Sequence[Access]) -> list[tuple[str, str, int, int, int, int]]:
    files: dict[tuple[str, str], tuple[int, int, int, int]] = defaultdict(lambda: (0, 0, 0, 0))
    for a in accesses:
        if a.status < 400:
            requests, sent, size, last = files[a.site, a.target]
            whole = a.sent if a.status == 200 else 0
            files[a.site, a.target] = (
                requests + 1,
                sent + a.sent,
                max(size, whole),
                max(last, a.time),
            )
    return [(*name, *files[name]) for name in sorted(files)]


def hours_by_hand(accesses: Sequence[Access]) -> list[tuple[str, int, int, int]]:
    hours: dict[tuple[str, int], tuple[int, int]] = defaultdict(lambda: (0, 0))
    for a in accesses:
        requests, sent = hours[a.site, a.time // 3600]
        hours[a.site, a.time // 3600] = (requests + 1, sent + a.sent)
    return [(*name, *hours[name]) for name in sorted(hours)]


def rows(table: pd.DataFrame) -> list[tuple[object, ...]]:
    return list(table.itertuples(index=False, name=None))


def within(accesses: Sequence[Sequence[Access]], when: Period) -> list[Access]:
    return [
        a
        for log in accesses
        for a in log
        if when.start.timestamp() <= a.time < when.end.timestamp()
    ]


@pytest.mark.slow
@settings(max_examples=times(30))
@given(LOGS.map(distinct))
def test_what_is_merged_is_what_one_counts_by_hand(logs: list[list[Access]]) -> None:
    accesses = within(logs, period())
    with counted(logs) as (store, directory):
        files = file_table(store, directory, period()).whole()
        hours = add_up_hours_and_sample.hours_of(store, directory, period())
    assert rows(hours[HOURS.earlier]) == hours_by_hand(accesses)
    by_hand = files_by_hand(accesses)
    # A size that these days did not show is a matter of the days before them.
    shown = [size for *_, size, _ in by_hand]
    assert rows(files.assign(size=shown)) == by_hand
    assert all(
        not size or size == merged for size, merged in zip(shown, files["size"], strict=True)
    )


@pytest.mark.slow
@settings(max_examples=times(30))
@given(LOGS.map(distinct), st.integers(1, 5), st.integers(1, 60))
def test_the_sample_has_every_access_to_the_targets_it_has(
    logs: list[list[Access]], kept: int, limit: int
) -> None:
    with counted(logs, sample_limit=kept) as (store, directory):
        sample = add_up_hours_and_sample.sample_of(store, directory, period(), limit)
        files = file_table(store, directory, period()).whole()
    assert len(sample.time) <= limit
    assert (np.diff(sample.time) >= 0).all()
    # Seconds are distinct, so an access is known by its time.
    asked = {a.time: (a.site, a.target) for a in within(logs, period()) if a.status < 400}
    sampled = [asked[time] for time in sample.time.tolist()]
    assert Counter(sampled) == {name: Counter(asked.values())[name] for name in set(sampled)}
    assert [sample.sites[site] for site in sample.site[sample.target]] == [
        site for site, _ in sampled
    ]
    sizes = {(f[0], f[1]): f[4] or f[3] // f[2] for f in files.to_numpy().tolist()}
    assert sample.size[sample.target].tolist() == [sizes[name] for name in sampled]
    assert sample.rate == 1 or len(asked) > limit or any(len(log) > kept for log in logs)
    assert (sample.totals is None) == (sample.rate == 1)
    if sample.totals:
        requests = files["requests"].to_numpy()
        size = np.array([sizes[f[0], f[1]] for f in files.to_numpy().tolist()])
        by_hand = kinds(pd.Index(sample.sites).get_indexer(pd.Index(files["site"])), requests, size)
        assert all(
            (getattr(sample.totals, each) == getattr(by_hand, each)).all()
            for each in Kinds.__slots__
        )
        assert by_hand.targets.sum() == len(files)


@pytest.mark.slow
@settings(max_examples=times(20))
@given(LOGS.map(distinct), st.integers(5, 60))
def test_the_sample_does_not_depend_on_how_lines_are_spread_over_logs(
    logs: list[list[Access]], limit: int
) -> None:
    one_log = [sorted((a for log in logs for a in log), key=lambda a: a.time)]
    samples = []
    for spread in (logs, one_log):
        with counted(spread) as (store, directory):
            samples.append(add_up_hours_and_sample.sample_of(store, directory, period(), limit))
    several, one = samples
    assert (several.sites, several.rate) == (one.sites, one.rate)
    for name in ("site", "size", "target", "time"):
        assert getattr(several, name).tolist() == getattr(one, name).tolist()


def test_accesses_in_one_second_stay_in_the_order_of_their_log(
    logs: Path, line: Line, read: Read, store: MemoryStore, counts: Path
) -> None:
    (logs / "access.log").write_bytes(line("/b") + line("/a") + line("/b"))
    read()
    with (logs / "access.log").open("ab") as file:
        file.write(line("/c") + line("/a"))
    read()
    sample = add_up_hours_and_sample.sample_of(store, counts, period(), 100)
    assert sample.target.tolist() == [1, 0, 1, 2, 0]


def test_late_lines_go_to_the_day_they_belong_to(
    logs: Path, line: Line, read: Read, store: MemoryStore, counts: Path
) -> None:
    (logs / "access.log").write_bytes(line("/a", NOON))
    read()
    (logs / "late.log").write_bytes(line("/a", NOON + 1) + line("/a", NOON + DAY))
    read()
    for first, requests in ((-1, []), (0, [2]), (1, [1]), (2, [])):
        assert file_table(store, counts, period(1, first)).whole()["requests"].tolist() == requests


def test_a_size_that_a_period_did_not_show_is_the_one_known_before(
    logs: Path, line: Line, read: Read, store: MemoryStore, counts: Path
) -> None:
    before = line("/kept", NOON - DAY, 700) + line("/corrected", NOON - DAY, 900)
    during = (
        line("/kept", NOON, 0, 304) + line("/corrected", NOON, 300) + line("/never", NOON, 50, 206)
    )
    (logs / "access.log").write_bytes(before + during)
    read()
    files = file_table(store, counts, period(1)).whole()
    assert dict(zip(files["target"], files["size"], strict=True)) == {
        "/kept": 700,
        "/corrected": 300,
        "/never": 0,
    }
    sample = add_up_hours_and_sample.sample_of(store, counts, period(1), 100)
    assert sample.size.tolist() == [300, 700, 50]


def test_nothing_counted_merges_to_empty_tables(store: MemoryStore, counts: Path) -> None:
    assert file_table(store, counts, period()).whole().empty
    assert add_up_hours_and_sample.hours_of(store, counts, period()).empty
    sample = add_up_hours_and_sample.sample_of(store, counts, period(), 100)
    assert (sample.sites, len(sample.time), sample.rate) == ((), 0, 1.0)


def test_a_reading_keeps_its_answers_by_hour_and_when_it_was_made(
    logs: Path, line: Line, store: MemoryStore, source: Source, counts: Path
) -> None:
    (logs / "access.log").write_bytes(
        line("/a", NOON) + line("/b", NOON + 3599, status=404) + line("/c", NOON + 3600)
    )
    ingest([source], store, counts, read_at=NOON + 7200)
    (segment,) = store.segments(0, 10**6)
    assert segment.hours == ((NOON // 3600, 2), (NOON // 3600 + 1, 1))
    assert segment.read_at == NOON + 7200


def test_a_reading_that_understands_nothing_belongs_to_the_day_it_was_made(
    logs: Path, store: MemoryStore, counts: Path
) -> None:
    source = Source("one", (f"{logs}/*",), "node-1", SiteRule(fixed="a.example"), "combined")
    (logs / "access.log").write_bytes(b"nonsense\n" * 10)
    ingest([source], store, counts, read_at=NOON)
    (segment,) = store.segments(NOON // DAY, NOON // DAY)
    assert dict(segment.lines)["malformed"] == 10


def test_the_same_log_leaves_the_same_files_wherever_it_is_read(
    logs: Path, line: Line, source: Source
) -> None:
    (logs / "access.log").write_bytes(line("/a") * 10 + line("/b"))
    read = []
    for _ in range(2):
        with tempfile.TemporaryDirectory() as counts:
            ingest([source], MemoryStore(), Path(counts))
            read.append({path.name: path.read_bytes() for path in Path(counts).glob("*.parquet")})
    assert read[0] == read[1]
    assert len(read[0]) == 3


def test_leftovers_of_killed_runs_are_removed_and_nothing_else(
    logs: Path, line: Line, read: Read, counts: Path
) -> None:
    (logs / "access.log").write_bytes(line("/a"))
    read()
    ours = {path.name for path in counts.iterdir()}
    for name in (
        f"{'0' * 40}.files.parquet",
        f"{'0' * 40}.hours.parquet.part",
        "notes.txt",
        "other.parquet",
    ):
        (counts / name).touch()
    read()
    assert {path.name for path in counts.iterdir()} == ours | {"notes.txt", "other.parquet"}


def test_a_store_that_knows_nothing_clears_nothing(
    logs: Path, line: Line, source: Source, counts: Path
) -> None:
    (logs / "access.log").write_bytes(line("/a"))
    ingest([source], MemoryStore(), counts)
    (logs / "access.log").write_bytes(line("/b"))
    ours = set(counts.glob("*.parquet"))
    ingest([source], MemoryStore(), counts)
    assert ours < set(counts.glob("*.parquet"))


def test_two_runs_cannot_read_into_one_directory(
    logs: Path, line: Line, read: Read, counts: Path
) -> None:
    (logs / "access.log").write_bytes(line("/a"))
    with count_files.hold_directory(counts), pytest.raises(Busy):
        read()
    assert counts.stat().st_mode & 0o007 == 0
    assert read()["access.log"].outcome == "read"


def test_a_place_that_cannot_be_a_directory_is_an_error_that_says_so(
    logs: Path, line: Line, read: Read, counts: Path
) -> None:
    (logs / "access.log").write_bytes(line("/a"))
    counts.write_text("a file")
    with pytest.raises(NotWritten, match=str(counts)):
        read()


def test_a_full_disk_counts_nothing_and_loses_nothing(
    logs: Path, line: Line, read: Read, store: MemoryStore, counts: Path
) -> None:
    (logs / "access.log").write_bytes(b"".join(line(f"/{i * i}") for i in range(2_000)))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, hard))
    try:
        with pytest.raises(NotWritten) as caught:
            read()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "unread" in caught.value.kept
    assert store.segments(0, 10**6) == ()
    read()
    assert file_table(store, counts, period()).whole()["requests"].sum() == 2_000


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"damaged")])
def test_counts_that_are_gone_or_damaged_are_never_taken_for_none(
    damage: Callable[[Path], object],
    logs: Path,
    line: Line,
    read: Read,
    store: MemoryStore,
    counts: Path,
) -> None:
    (logs / "access.log").write_bytes(line("/a"))
    read()
    for path in counts.glob("*.parquet"):
        damage(path)
    for merged in (file_table, add_up_hours_and_sample.hours_of):
        with pytest.raises(NoData, match="gone or damaged"):
            merged(store, counts, period())
    with pytest.raises(NoData, match="gone or damaged"):
        add_up_hours_and_sample.sample_of(store, counts, period(), 100)
