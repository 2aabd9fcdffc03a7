"""Every line is counted exactly once, whatever becomes of the logs and whatever is killed when."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from flex.domain import Period, Segment, Stream
from flex.errors import NoData
from flex.store import MemoryStore, migrate, open_store
from flex_logs_ingest import merge
from flex_logs_ingest.read import FileReport, ingest
from flex_logs_ingest.sites import SiteRule
from flex_logs_ingest.sources import Source

Line = Callable[..., bytes]
Read = Callable[[], dict[str, FileReport]]

PACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
}
EVER = Period(datetime(2023, 11, 1, tzinfo=UTC), datetime(2023, 12, 1, tzinfo=UTC))
NOON = 1_700_049_600


class Killed(BaseException):
    """Not an error that anybody could handle."""


class DyingStore(MemoryStore):
    """Dies at the n-th thing it is asked to record, before or after it has done so."""

    countdown = 0
    after = False

    def record(self, segment: Segment, stream: Stream, replaces: Stream | None) -> bool:
        self.countdown -= 1
        if not self.countdown and not self.after:
            raise Killed
        recorded = super().record(segment, stream, replaces)
        if not self.countdown:
            raise Killed
        return recorded


class History(RuleBasedStateMachine):
    """A web server, logrotate, an administrator and FLEX, each doing what it does at any time.

    Each line asks for another target, so the file table says which lines were counted and how often.
    """

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.live = self.folder / "logs/access.log"
        self.live.parent.mkdir()
        self.writer = self.live.open("ab", buffering=0)
        self.half = b""
        self.written = 0
        self.rotated = 0
        self.store = DyingStore()

    def teardown(self) -> None:
        try:
            self._write(0)
            self._ingest()
            self._ingest()
            self._each_line_once()
        finally:
            self.writer.close()
            shutil.rmtree(self.folder)

    @rule(lines=st.integers(1, 60), cut=st.booleans())
    def log_some_lines(self, lines: int, cut: bool) -> None:
        self._write(lines, cut)

    @rule()
    def rename_the_log(self) -> None:
        """The server goes on writing to the renamed file until it is told."""
        self.live.rename(self._next_name())
        self.live.touch()

    @rule()
    def tell_the_server(self) -> None:
        self._write(0)
        self.writer.close()
        self.writer = self.live.open("ab", buffering=0)

    @precondition(lambda self: self._is_live())
    @rule()
    def copy_and_truncate(self) -> None:
        self._write(0)
        shutil.copy(self.live, self._next_name())
        os.truncate(self.live, 0)

    @precondition(lambda self: self._is_live() and self._plain())
    @rule(data=st.data(), ending=st.sampled_from(sorted(PACK)), stage=st.sampled_from(["cut", "beside", "done"]))
    def compress(self, data: st.DataObject, ending: str, stage: str) -> None:
        """Half-way, done with the original still there, or done and gone."""
        path = data.draw(st.sampled_from(self._plain()))
        packed = PACK[ending](path.read_bytes())
        path.with_name(path.name + ending).write_bytes(packed[: len(packed) // 2] if stage == "cut" else packed)
        if stage == "done":
            path.unlink()

    @rule()
    def copy_half_of_the_log(self) -> None:
        """As one sees it while another program copies it, or in a copy that was broken off."""
        text = self.live.read_bytes()
        (self.live.parent / "access.log.copy").write_bytes(text[: len(text) // 2])

    @precondition(lambda self: (self.live.parent / "access.log.copy").exists())
    @rule()
    def remove_the_copy(self) -> None:
        (self.live.parent / "access.log.copy").unlink()

    @rule()
    def ingest_all(self) -> None:
        self._ingest()

    @rule(countdown=st.integers(1, 3), after=st.booleans())
    def be_killed_beside_the_store(self, countdown: int, after: bool) -> None:
        self.store.countdown, self.store.after = countdown, after
        with suppress(Killed):
            self._ingest()
        self.store.countdown = 0

    @rule(steps=st.integers(1, 4))
    def be_killed_while_reading(self, steps: int) -> None:
        left = iter(range(steps))

        def die(*_step: object) -> None:
            if next(left, None) is None:
                raise Killed

        with suppress(Killed):
            self._ingest(die)

    @invariant()
    def no_line_is_counted_twice(self) -> None:
        assert not [target for target, times in self._counted().items() if times > 1]

    def _each_line_once(self) -> None:
        assert self._counted() == Counter(f"/{number}" for number in range(self.written))

    def _write(self, lines: int, cut: bool = False) -> None:
        text = self.half + b"".join(self._line(self.written + i) for i in range(lines))
        self.written += lines
        keep = len(text) - 20 if cut else len(text)
        self.writer.write(text[:keep])
        self.half = text[keep:]

    @staticmethod
    def _line(number: int) -> bytes:
        at = datetime.fromtimestamp(NOON + number, UTC)
        width = "x" * (number * 37 % 120)
        return f'192.0.2.1 - - [{at:%d/%b/%Y:%H:%M:%S} +0000] "GET /{number} HTTP/1.1" 200 9 "-" "{width}"\n'.encode()

    def _is_live(self) -> bool:
        return os.path.samestat(os.fstat(self.writer.fileno()), self.live.stat())

    def _plain(self) -> list[Path]:
        return sorted(path for path in self.live.parent.iterdir() if path.suffix.strip(".").isdigit())

    def _next_name(self) -> Path:
        self.rotated += 1
        return self.live.with_name(f"access.log.{self.rotated}")

    def _ingest(self, progress: Callable[..., None] | None = None) -> None:
        source = Source("one", (f"{self.live}*",), "node-1", SiteRule(fixed="a.example"), "combined")
        ingest([source], self.store, self.folder / "counts", progress=progress, rows=150)

    def _counted(self) -> Counter[str]:
        files = merge.files_of(self.store, self.folder / "counts", EVER)
        return Counter(dict(zip(files["target"], files["requests"].tolist(), strict=True)))


def histories(number: int, steps: int) -> settings:
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    return settings(max_examples=number, stateful_step_count=steps, deadline=None, suppress_health_check=slow)


def test_every_line_of_60_histories_is_counted_exactly_once() -> None:
    run_state_machine_as_test(History, settings=histories(60, 25))


@pytest.mark.torture
def test_every_line_of_1000_histories_is_counted_exactly_once() -> None:
    run_state_machine_as_test(History, settings=histories(1_000, 60))


# Reads a folder's logs, and says with a dot whenever it has read a piece.
READER = """
import sys
from pathlib import Path
from flex.store import open_store
from flex_logs_ingest.read import ingest
from flex_logs_ingest.sites import SiteRule
from flex_logs_ingest.sources import Source

logs, url, counts = sys.argv[1:]
source = Source("one", (logs,), "node-1", SiteRule(fixed="a.example"), "combined")
with open_store(url) as store:
    ingest([source], store, Path(counts), progress=lambda *_: print(".", end="", flush=True))
"""


def test_what_kill_9_interrupts_is_neither_lost_nor_counted_twice(
    logs: Path, line: Line, source: Source, counts: Path, tmp_path: Path
) -> None:
    for log in range(30):
        (logs / f"{log}.log").write_bytes(b"".join(line(f"/{log}/{i}", NOON + log) for i in range(100)))
    url = f"sqlite:///{tmp_path}/flex.db"
    migrate.upgrade(url)
    for dots in (1, 4, 9):
        command = [sys.executable, "-c", READER, f"{logs}/*", url, str(counts)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0) as reader:
            assert reader.stdout
            assert all(reader.stdout.read(1) for _ in range(dots)), "it ended before it was killed"
            reader.kill()
    with open_store(url) as store:
        ingest([source], store, counts)
        files = merge.files_of(store, counts, EVER)
        known = {segment.id for segment in store.segments(0, 10**6)}
    assert (len(files), files["requests"].max()) == (3_000, 1)
    assert {path.name[:40] for path in counts.glob("*.parquet*")} == known


def lines_of(reports: dict[str, FileReport]) -> int:
    return sum(dict(report.lines)["counted"] for report in reports.values())


def test_a_second_run_with_nothing_new_counts_nothing(logs: Path, line: Line, read: Read) -> None:
    (logs / "access.log").write_bytes(line("/a") + line("/b"))
    assert lines_of(read()) == 2
    assert read()["access.log"].outcome == "nothing new"


def test_what_was_appended_is_all_that_is_read(logs: Path, line: Line, read: Read) -> None:
    log = logs / "access.log"
    for lines in (1, 2, 40, 1000):
        with log.open("ab") as file:
            file.write(line("/a") * lines)
        report = read()["access.log"]
        assert report.new_bytes == len(line("/a")) * lines
        assert lines_of({"": report}) == lines


def test_a_line_that_is_still_being_written_waits(logs: Path, line: Line, read: Read) -> None:
    log = logs / "access.log"
    whole = line("/a") + line("/b")
    log.write_bytes(whole[:-5])
    assert lines_of(read()) == 1
    log.write_bytes(whole[:-1])
    assert read()["access.log"].outcome == "nothing new"
    log.write_bytes(whole)
    assert lines_of(read()) == 1


@pytest.mark.parametrize("ending", PACK)
@pytest.mark.parametrize("lines", [1, 1000])
def test_a_rotated_log_and_its_packed_copy_count_once(
    ending: str, lines: int, logs: Path, line: Line, read: Read
) -> None:
    text = b"".join(line(f"/{i}", NOON + i) for i in range(lines))
    (logs / "access.log").write_bytes(text[: len(text) // 2])
    read()
    (logs / "access.log").rename(logs / "access.log.1")
    (logs / "access.log.1").write_bytes(text)
    (logs / f"access.log.1{ending}").write_bytes(PACK[ending](text))
    read()
    (logs / "access.log.1").unlink()
    assert lines_of(read()) == 0
    (logs / f"access.log.1{ending}").rename(logs / f"access.log.2{ending}")
    assert lines_of(read()) == 0
    (logs / "access.log").write_bytes(line("/next", NOON + 9999))
    assert lines_of(read()) == 1


def test_two_equal_logs_in_one_source_count_once(logs: Path, line: Line, read: Read) -> None:
    for name in ("a.log", "b.log"):
        (logs / name).write_bytes(line("/a") * 100)
    assert lines_of(read()) == 100


def test_a_log_that_was_copied_and_truncated_begins_anew(logs: Path, line: Line, read: Read) -> None:
    log, first, then = logs / "access.log", line("/first"), line("/then", NOON + 60)
    log.write_bytes(first * 1000)
    assert lines_of(read()) == 1000
    (logs / "access.log.1").write_bytes(first * 1500)
    # Once shorter, once longer than what was read before.
    for lines in (300, 2700):
        log.write_bytes(then * lines)
        read()
    assert [report.outcome for report in read().values() if report.path.startswith(str(log))] == ["nothing new"] * 2


def test_the_zeros_of_a_writer_that_missed_the_truncation_are_no_lines(logs: Path, line: Line, read: Read) -> None:
    log = logs / "access.log"
    for night, zeros in enumerate((0, 9_000, 99_000)):
        log.write_bytes(b"\0" * zeros + b"".join(line(f"/{i}", NOON + night) for i in range(500)))
        report = read()["access.log"]
        assert dict(report.lines) == {"counted": 500, "other_status": 0, "no_request": 0, "malformed": 0}


@pytest.mark.parametrize("kept", [500, 50_000])
def test_a_cut_copy_of_what_was_counted_is_not_counted_again(kept: int, logs: Path, line: Line, read: Read) -> None:
    text = b"".join(line(f"/{i}", NOON + i) for i in range(1000))
    (logs / "access.log").write_bytes(text)
    read()
    (logs / "access.log.copy").write_bytes(text[:kept])
    assert read()["access.log.copy"].outcome == "copy"


def test_a_log_with_more_targets_than_memory_is_counted_piece_by_piece(
    logs: Path, line: Line, source: Source, store: MemoryStore, counts: Path
) -> None:
    text = b"".join(line(f"/{i}", NOON + i) for i in range(40_000))
    (logs / "access.log").write_bytes(text)
    report = next(iter(ingest([source], store, counts, rows=5_000)))
    pieces = sorted((piece.first_byte, piece.last_byte) for piece in store.segments(0, 10**6))
    assert len(pieces) > 1
    assert [end for _, end in pieces[:-1]] == [begin for begin, _ in pieces[1:]]
    assert (report.new_bytes, dict(report.lines)["counted"]) == (len(text), 40_000)
    assert merge.files_of(store, counts, EVER)["requests"].tolist() == [1] * 40_000


def test_a_packed_log_that_was_read_to_its_end_is_not_unpacked_again(
    logs: Path, line: Line, read: Read, source: Source, counts: Path
) -> None:
    log = logs / "access.log.1.gz"
    log.write_bytes(gzip.compress(line("/a") * 100))
    read()
    status = log.stat()
    with log.open("r+b") as file:
        file.seek(2)
        file.write(b"\0" * 8)
    os.utime(log, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert read()["access.log.1.gz"].outcome == "nothing new"
    # A store that knows nothing of it has it read again, whatever the list beside the counts says.
    with pytest.raises(NoData):
        ingest([source], MemoryStore(), counts)
