"""Small logs are recorded together: the same is counted as if each were recorded alone, whatever
becomes of one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from flex.errors import Busy, NotWritten
from flex.model.log_reading import Segment, Stream
from flex.model.period import Period
from flex.store import MemoryStore
from flex_logs_ingest.counts.file_table import file_table
from flex_logs_ingest.files.find_and_unpack_logs import Source
from flex_logs_ingest.reading import record_in_batches
from flex_logs_ingest.reading.read_logs import FileReport, ingest
from flex_logs_ingest.reading.record_in_batches import Batch
from tests.ingest.given import DyingStore, Killed, OneByOne

Line = Callable[..., bytes]
NOON = 1_700_049_600
EVER = Period(datetime(2023, 11, 1, tzinfo=UTC), datetime(2023, 12, 1, tzinfo=UTC))


class Counted(MemoryStore):
    """Remembers how many readings came together."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    def record_all(
        self, readings: Sequence[tuple[Segment, Stream, Stream | None]]
    ) -> frozenset[str]:
        self.sizes.append(len(readings))
        return super().record_all(readings)


class Overtaken(OneByOne):
    """Somebody else reads on in the log whose name ends so."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def record(self, segment: Segment, stream: Stream, replaces: Stream | None) -> bool:
        if segment.path.endswith(self.name):
            raise Busy(
                "counting it",
                "somebody else has read on",
                kept="nothing was counted",
                advice="try again",
            )
        return super().record(segment, stream, replaces)


class Twin(OneByOne):
    """Somebody else has counted the log whose name ends so, a moment before."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def record(self, segment: Segment, stream: Stream, replaces: Stream | None) -> bool:
        if segment.path.endswith(self.name):
            super().record(segment, stream, replaces)
        return super().record(segment, stream, replaces)


@pytest.fixture
def ten(logs: Path, line: Line) -> Path:
    for name in range(10):
        (logs / f"{name}.log").write_bytes(
            b"".join(line(f"/{name}/{i}", NOON + 100 * name + i) for i in range(30))
        )
    return logs


def requests(store: MemoryStore, counts: Path) -> list[int]:
    return [int(number) for number in file_table(store, counts, EVER).whole()["requests"]]


@pytest.mark.usefixtures("ten")
@pytest.mark.parametrize(
    ("together", "sizes"), [(1, [1] * 10), (3, [3, 3, 3, 1]), (10, [10]), (512, [10])]
)
def test_so_many_are_recorded_together_and_all_of_them_count_once(
    together: int, sizes: list[int], source: Source, counts: Path
) -> None:
    store = Counted()
    reports = ingest([source], store, counts, together=together, workers=1)
    assert store.sizes == sizes
    assert {report.outcome for report in reports} == {"read"}
    assert requests(store, counts) == [1] * 300


@pytest.mark.parametrize("memory", [2**13, 2**26])
@pytest.mark.parametrize("together", [1, 2, 3, 512])
def test_equal_longer_cut_and_edited_logs_of_one_batch_count_once(
    together: int, memory: int, logs: Path, line: Line, source: Source, counts: Path
) -> None:
    lines = [line(f"/{i}", NOON + 97 * i) for i in range(200)]
    (logs / "a.log").write_bytes(b"".join(lines))
    (logs / "b.log").write_bytes(b"".join(lines))
    (logs / "longer.log").write_bytes(b"".join(lines) + line("/new", NOON + 30_000))
    (logs / "cut.log").write_bytes(b"".join(lines[:150]))
    (logs / "masked.log").write_bytes(b"".join(lines).replace(b"192.0.2.1 ", b"0.0.0.0 "))
    store = MemoryStore()
    found = ingest([source], store, counts, together=together, memory=memory)
    # Which of the two is read first is for chance to say.
    assert len([report for report in found if report.outcome == "rewritten"]) == 1
    assert requests(store, counts) == [1] * 201


@pytest.mark.usefixtures("ten")
@pytest.mark.parametrize("together", [1, 3, 512])
@pytest.mark.parametrize("step", [1, 2, 5, 10, 11])
def test_killed_between_the_files_and_the_store_or_behind_it_all_count_once(
    step: int, together: int, source: Source, counts: Path
) -> None:
    store = DyingStore()
    store.countdown = step
    with suppress(Killed):
        ingest([source], store, counts, together=together, workers=1)
    store.countdown = 0
    ingest([source], store, counts, together=together)
    assert requests(store, counts) == [1] * 300


@pytest.mark.usefixtures("ten")
def test_what_the_store_has_not_heard_of_is_not_there_although_its_files_are(
    source: Source, counts: Path
) -> None:
    store = DyingStore()
    store.countdown = 5
    with suppress(Killed):
        ingest([source], store, counts, workers=1)
    # They share them.
    assert len([*counts.glob("*.files.parquet")]) == 1
    assert store.segments(0, 10**6) == ()


@pytest.mark.usefixtures("ten")
def test_a_reading_that_is_refused_takes_none_before_it_along(source: Source, counts: Path) -> None:
    store = Overtaken("/7.log")
    with pytest.raises(Busy):
        ingest([source], store, counts, workers=1)
    assert {Path(segment.path).name for segment in store.segments(0, 10**6)} == {
        f"{name}.log" for name in range(7)
    }
    store.name = "none"
    ingest([source], store, counts)
    assert requests(store, counts) == [1] * 300


@pytest.mark.usefixtures("ten")
def test_what_somebody_else_has_counted_meanwhile_is_a_copy_in_the_report(
    source: Source, counts: Path
) -> None:
    store = Twin("/7.log")
    reports = {Path(report.path).name: report for report in ingest([source], store, counts)}
    # Its counts are where somebody else has put them, and in no files of the others.
    assert store.moved_counts() == {}
    assert [*counts.glob("s*.parquet*")] == []
    assert reports["7.log"].outcome == "copy"
    assert sum_of(reports["7.log"]) == 0
    assert {sum_of(report) for name, report in reports.items() if name != "7.log"} == {30}


def test_a_log_that_cannot_be_read_takes_no_other_along(
    ten: Path, source: Source, counts: Path
) -> None:
    (ten / "4.log").write_bytes(b"no log\n" * 30)
    (ten / "5.log.gz").write_bytes(b"\x1f\x8b broken")
    (ten / "6.log").unlink()
    (ten / "6.log").mkdir()
    store = MemoryStore()
    ingest([source], store, counts)
    assert requests(store, counts) == [1] * 240


def test_hours_of_readings_that_wait_take_little_memory(
    source: Source, ten: Path, tmp_path: Path
) -> None:
    store = Counted()
    ingest([replace(source, globs=(f"{ten}/0.log",))], store, tmp_path / "one")
    (segment,) = store.segments(0, 10**6)
    (stream,) = store.streams_of(["one"])
    waiting = Batch(MemoryStore(), tmp_path / "none", ())
    hours = tuple((hour, 1) for hour in range(4096))

    def wait() -> None:
        for number in range(record_in_batches.READINGS - 1):
            waiting.add(replace(segment, id=f"{number:040x}", hours=hours), stream, None)

    # There is no such directory: it is asked for long before so many wait.
    with pytest.raises(NotWritten):
        wait()


def sum_of(report: FileReport) -> int:
    return sum(number for _, number in report.lines)
