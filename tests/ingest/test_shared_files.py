"""Small logs share files of counts: every question has the answer that it has where each reading
has files of its own.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from flex.errors import NoData
from flex.model.log_reading import Segment
from flex.model.period import Period
from flex.prediction.cache_replay import Sample
from flex.store import MemoryStore
from flex_logs_ingest.counts import add_up_hours_and_sample, daily_sums, damaged_count_files
from flex_logs_ingest.counts.file_of_unknown_hosts import requests_for_unknown_hosts
from flex_logs_ingest.counts.file_table import file_table
from flex_logs_ingest.counts.names_visited import Names, count_names
from flex_logs_ingest.counts.retention import tidy
from flex_logs_ingest.counts.shared_count_files import is_shared
from flex_logs_ingest.files.find_and_unpack_logs import Source
from flex_logs_ingest.reading.read_logs import ingest
from flex_logs_ingest.scan.site_rules import SiteRule
from tests.thorough import times

Line = Callable[..., bytes]

DAY = 86_400
NOON = 1_700_049_600
TODAY = NOON // DAY
SITES = ("a.example", "b.example")
RULES = (
    SiteRule(aliases={"www.a.example": "a.example"}),
    SiteRule(listed=frozenset(SITES)),
    SiteRule(directory=True),
    SiteRule(fixed="a.example"),
    SiteRule(pattern=r"\d+-(?P<site>.+)\.log"),
)


@dataclass(frozen=True, slots=True)
class Access:
    host: str
    path: str
    seconds: int
    sent: int
    status: int

    def __bytes__(self) -> bytes:
        at = f"{datetime.fromtimestamp(NOON + self.seconds, UTC):%d/%b/%Y:%H:%M:%S} +0000"
        request = f'"GET {self.path} HTTP/1.1" {self.status} {self.sent} "-" "-"'
        return f"{self.host}:443 192.0.2.1 - - [{at}] {request}\n".encode()


accesses = st.builds(
    Access,
    host=st.sampled_from([*SITES, "www.a.example", "scanner.example", ""]),
    path=st.sampled_from(["/", "/1", "/12", "/2/x", "/%C3%A9", "/" + "y" * 40]),
    # Often the same second: who comes first is for the logs to say.
    seconds=st.sampled_from([0, 0, 1, 7200, -DAY, -8 * DAY, 3 * DAY]),
    sent=st.integers(0, 10_000),
    status=st.sampled_from([200, 200, 206, 304, 404]),
)
log_texts = st.one_of(
    st.lists(accesses, min_size=1, max_size=8).map(
        lambda found: b"".join(map(bytes, sorted(found, key=lambda a: a.seconds)))
    ),
    st.sampled_from([b"", b"nonsense\n", b"\0\0\0", b"\r\n\n"]),
)
PERIODS = [
    Period(
        datetime.fromtimestamp(TODAY * DAY, UTC) + timedelta(days=first),
        datetime.fromtimestamp(TODAY * DAY, UTC) + timedelta(days=last + 1),
    )
    for first, last in ((-10, 5), (-1, 0))
]


@dataclass(frozen=True, slots=True)
class Answers:
    """Everything that is asked of counts."""

    files: list[str]
    hours: list[str]
    sent: list[str]
    samples: list[tuple[object, ...]]
    names: list[object]
    unknown: list[object]


def text(table: pd.DataFrame | pd.Series) -> str:
    return table.to_csv()


def answers(store: MemoryStore, counts: Path) -> Answers:
    segments = store.segments(0, 10**6)
    return Answers(
        [text(file_table(store, counts, period).whole()) for period in PERIODS],
        [text(add_up_hours_and_sample.hours_of(store, counts, each)) for each in PERIODS],
        [text(daily_sums.bytes_by_site(store, counts, TODAY + n)) for n in (-1, 0)],
        [
            sampled(add_up_hours_and_sample.sample_of(store, counts, period, limit))
            for period in PERIODS
            for limit in (3, 10**6)
        ],
        [named(count_names(store, counts, period, SITES)) for period in PERIODS],
        [
            requests_for_unknown_hosts(counts, segments, TODAY + first, TODAY + last, most=5)
            for first, last in ((-10, 5), (0, 0))
        ],
    )


def named(names: Names) -> object:
    return names.by_name, names.by_site, names.unknown


def sampled(sample: Sample) -> tuple[object, ...]:
    arrays = (sample.site, sample.size, sample.target, sample.time)
    totals = sample.totals and [
        getattr(sample.totals, name).tolist() for name in sample.totals.__slots__
    ]
    return sample.sites, sample.rate, totals, *(array.tolist() for array in arrays)


def counted(
    folder: Path, runs: Sequence[int], rule: SiteRule, sample_limit: int
) -> tuple[MemoryStore, Path]:
    """One run for each number, of so many readings together."""
    store, counts = MemoryStore(), folder / f"counts-{'-'.join(map(str, runs))}"
    for number, together in enumerate(runs):
        source = Source("one", (f"{folder}/run-{number}/*",), "n", rule, "vhost_combined")
        ingest(
            [source],
            store,
            counts,
            together=together,
            sample_limit=sample_limit,
            read_at=NOON,
            # Which of two equal logs is read first is for chance to say where there are more.
            workers=1,
        )
    return store, counts


@settings(max_examples=times(10), phases=[Phase.explicit, Phase.generate])
@given(
    st.lists(log_texts, min_size=2, max_size=8),
    st.lists(log_texts, max_size=4),
    st.sampled_from(RULES),
    st.sampled_from([0, 3, 10**6]),
    st.booleans(),
)
def test_shared_files_answer_as_files_of_each_reading_do(
    first: list[bytes], second: list[bytes], rule: SiteRule, sample_limit: int, tidied: bool
) -> None:
    found = []
    with tempfile.TemporaryDirectory() as name:
        for run, texts in enumerate((first, second)):
            (Path(name) / f"run-{run}").mkdir()
            for number, log in enumerate(texts):
                path = Path(name, f"run-{run}", f"{number}-{SITES[number % 2]}.log")
                path.write_bytes(log)
        # Each of the two is larger in one of these logs.
        for number, sizes in ((97, (1, 2)), (98, (2, 1))):
            (Path(name) / "run-0" / f"{number}-a.example.log").write_bytes(
                bytes(Access("a.example", "/one", 5, sizes[0], 200))
                + bytes(Access("a.example", "/two", number, sizes[1], 200))
            )
        (Path(name) / "run-1" / "99-b.example.log").write_bytes(
            bytes(Access("b.example", "/one", 6, 1, 200))
        )
        # Files of each reading; what older versions left, with shared ones; shared ones alone.
        for runs in ((1, 1), (1, 512), (512, 3)):
            store, counts = counted(Path(name), runs, rule, sample_limit)
            if tidied:
                tidy(store, counts, window_from=TODAY - 6, keep_from=0)
            found.append((store.segments(0, 10**6), answers(store, counts)))
    for readings, said in found[1:]:
        assert readings == found[0][0]
        for part in fields(Answers):
            assert getattr(said, part.name) == getattr(found[0][1], part.name)


@pytest.fixture
def twenty(logs: Path, line: Line) -> Path:
    for number in range(20):
        lines = [line(f"/{i % 5}", NOON + 97 * number + i) for i in range(30)]
        (logs / f"{number}.log").write_bytes(b"".join(lines))
    return logs


@pytest.mark.usefixtures("twenty")
def test_twenty_small_logs_have_one_set_of_files(
    source: Source, store: MemoryStore, counts: Path
) -> None:
    ingest([source], store, counts)
    assert len([*counts.glob("*.parquet")]) == 3
    (files,) = set(store.moved_counts().values())
    assert is_shared(files)
    assert len(store.moved_counts()) == 20


def test_what_is_not_small_has_files_of_its_own(
    twenty: Path, line: Line, source: Source, store: MemoryStore, counts: Path
) -> None:
    (twenty / "large.log").write_bytes(
        b"".join(line(f"/{i}", NOON + 10_000 + i) for i in range(3_000))
    )
    ingest([source], store, counts)
    (large,) = (each.id for each in store.segments(0, 10**6) if "large" in each.path)
    assert large not in store.moved_counts()
    assert (counts / f"{large}.files.parquet").exists()


@pytest.mark.usefixtures("twenty")
def test_what_a_run_recorded_between_two_questions_is_found_where_it_is(
    source: Source, counts: Path
) -> None:
    class Meanwhile(MemoryStore):
        """Between the question which readings there are and the one where their counts are, in
        either order, a run records some.
        """

        asked = 0

        def segments(self, first_day: int, last_day: int) -> tuple[Segment, ...]:
            self.ask()
            return super().segments(first_day, last_day)

        def moved_counts(self) -> dict[str, str]:
            self.ask()
            return dict(super().moved_counts())

        def ask(self) -> None:
            self.asked += 1
            if self.asked == 2:
                ingest([source], self, counts)

    everything = PERIODS[0]
    for question in (
        add_up_hours_and_sample.hours_of,
        file_table,
        partial(add_up_hours_and_sample.sample_of, limit=100),
    ):
        store = Meanwhile()
        question(store, counts, everything)
        assert store.asked > 2


@pytest.mark.usefixtures("twenty")
def test_old_shared_counts_are_added_up_by_week_and_deleted_in_the_end(
    source: Source, store: MemoryStore, counts: Path, logs: Path, line: Line
) -> None:
    ingest([source], store, counts)
    for number in range(5):
        (logs / f"new-{number}.log").write_bytes(line(f"/new{number}", NOON + 9000 + number))
    ingest([source], store, counts)
    before = file_table(store, counts, PERIODS[0]).whole()
    done = tidy(store, counts, window_from=TODAY + 30, keep_from=0)
    assert (done.added, done.sums) == (25, 1)
    assert len([*counts.glob("*.files.parquet")]) == 1
    pd.testing.assert_frame_equal(file_table(store, counts, PERIODS[0]).whole(), before)
    assert tidy(store, counts, window_from=TODAY + 30, keep_from=TODAY + 1).deleted == 25
    assert [*counts.glob("*.parquet")] == []
    with pytest.raises(NoData, match="were deleted"):
        file_table(store, counts, PERIODS[0])


@pytest.mark.usefixtures("twenty")
@pytest.mark.parametrize("kind", ["files", "hours", "sample"])
def test_shared_counts_that_are_damaged_stop_nights_until_they_are_set_aside(
    kind: str, source: Source, store: MemoryStore, counts: Path, logs: Path, line: Line
) -> None:
    ingest([source], store, counts)
    (path,) = counts.glob(f"*.{kind}.parquet")
    path.write_bytes(b"damaged")

    def ask() -> int:
        add_up_hours_and_sample.hours_of(store, counts, PERIODS[0])
        add_up_hours_and_sample.sample_of(store, counts, PERIODS[0], 100)
        return int(file_table(store, counts, PERIODS[0]).whole()["requests"].sum())

    with pytest.raises(NoData, match="gone or damaged"):
        ask()
    assert len(damaged_count_files.set_aside(path)) == 3
    assert ask() == 0
    (logs / "late.log").write_bytes(line("/late", NOON + 20_000))
    ingest([source], store, counts)
    assert ask() == 1


@pytest.mark.usefixtures("twenty")
def test_what_a_killed_run_left_of_shared_files_is_cleared(
    source: Source, store: MemoryStore, counts: Path, logs: Path, line: Line
) -> None:
    ingest([source], store, counts)
    ours = {path.name for path in counts.glob("*.parquet")}
    left = f"s{'0' * 39}"
    for name in (f"{left}.files.parquet", f"{left}.sample.parquet.part"):
        (counts / name).touch()
    ingest([source], store, counts)
    assert {path.name for path in counts.glob("*.parquet*")} == ours
