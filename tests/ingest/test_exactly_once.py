"""Every line is counted exactly once, whatever becomes of the logs and whatever is killed when."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
import zstandard

from flex.errors import NoData
from flex.model.period import Period
from flex.store import MemoryStore, migrate, open_store
from flex_logs_ingest.counts import count_files_of_days
from flex_logs_ingest.counts.file_table import file_table
from flex_logs_ingest.files.find_and_unpack_logs import Source
from flex_logs_ingest.reading.read_logs import FileReport, ingest

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


# Reads a folder's logs, and says with a dot whenever it has read a piece.
READER = """
import sys
from pathlib import Path
from flex.store import open_store
from flex_logs_ingest.reading.read_logs import ingest
from flex_logs_ingest.scan.site_rules import SiteRule
from flex_logs_ingest.files.find_and_unpack_logs import Source

logs, url, counts = sys.argv[1:]
source = Source("one", (logs,), "node-1", SiteRule(fixed="a.example"), "combined")
with open_store(url) as store:
    tell = lambda *_: print(".", end="", flush=True)
    ingest([source], store, Path(counts), together=4, progress=tell)
"""


def test_what_kill_9_interrupts_is_neither_lost_nor_counted_twice(
    logs: Path, line: Line, source: Source, counts: Path, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/flex.db"
    migrate.upgrade(url)
    for dots in (1, 4, 9):
        for log in range(10):
            (logs / f"{dots}.{log}.log").write_bytes(
                b"".join(line(f"/{dots}/{log}/{i}") for i in range(100))
            )
        command = [sys.executable, "-c", READER, f"{logs}/*", url, str(counts)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0) as reader:
            assert reader.stdout
            assert all(reader.stdout.read(1) for _ in range(dots)), "it ended before it was killed"
            reader.kill()
    with open_store(url) as store:
        ingest([source], store, counts)
        files = file_table(store, counts, EVER).whole()
        known = set(count_files_of_days.files_left(store, 0, 10**6))
    assert (len(files), files["requests"].max()) == (3_000, 1)
    assert {
        path.name[:40] for path in counts.glob("*.parquet*") if ".merged." not in path.name
    } == known


def lines_of(reports: dict[str, FileReport]) -> int:
    return sum(dict(report.lines)["counted"] for report in reports.values())


def test_a_malformed_line_is_found_where_it_is_said_to_be(
    logs: Path, line: Line, read: Read, store: MemoryStore
) -> None:
    (logs / "access.log").write_bytes(line("/a"))
    read()
    with (logs / "access.log").open("ab") as file:
        file.write(line("/b") + b"nonsense\n")
    (bad,) = read()["access.log"].samples
    assert (logs / "access.log").read_bytes()[bad.offset :] == b"nonsense\n"
    assert [sample for segment in store.segments(0, 10**6) for sample in segment.samples] == [bad]


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


def test_a_log_that_was_copied_and_truncated_begins_anew(
    logs: Path, line: Line, read: Read
) -> None:
    log, first, then = logs / "access.log", line("/first"), line("/then", NOON + 60)
    log.write_bytes(first * 1000)
    assert lines_of(read()) == 1000
    (logs / "access.log.1").write_bytes(first * 1500)
    # Once shorter, once longer than what was read before.
    for lines in (300, 2700):
        log.write_bytes(then * lines)
        read()
    assert [report.outcome for report in read().values() if report.path.startswith(str(log))] == [
        "nothing new"
    ] * 2


def test_the_zeros_of_a_writer_that_missed_the_truncation_are_no_lines(
    logs: Path, line: Line, read: Read
) -> None:
    log = logs / "access.log"
    for night, zeros in enumerate((0, 9_000, 99_000, 5_000)):
        log.write_bytes(b"\0" * zeros + b"".join(line(f"/{i}", NOON + night) for i in range(500)))
        report = read()["access.log"]
        assert dict(report.lines) == {
            "counted": 500,
            "other_status": 0,
            "no_request": 0,
            "malformed": 0,
        }


def test_a_log_that_is_truncated_while_it_is_read_is_left_to_the_next_run(
    logs: Path, line: Line, source: Source, store: MemoryStore, counts: Path, read: Read
) -> None:
    log, first, then = (logs / "access.log", line("/first") * 500, line("/then", NOON + 60) * 700)

    def rotate(*_step: object) -> None:
        (logs / "access.log.1").write_bytes(first)
        log.write_bytes(then)

    log.write_bytes(first)
    (report,) = ingest([source], store, counts, progress=rotate)
    assert (report.outcome, report.new_bytes) == ("changed", 0)
    assert lines_of(read()) == 1200


def test_a_log_that_only_begins_like_another_is_read_from_its_beginning(
    logs: Path, line: Line, read: Read
) -> None:
    alike = line("/alike") * 100
    (logs / "access.log").write_bytes(alike + line("/a") * 50)
    assert lines_of(read()) == 150
    (logs / "access.log").write_bytes(alike + line("/b") * 70)
    assert lines_of(read()) == 170


@pytest.mark.parametrize("kept", [500, 50_000])
def test_a_cut_copy_of_what_was_counted_is_not_counted_again(
    kept: int, logs: Path, line: Line, read: Read
) -> None:
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
    report = next(iter(ingest([source], store, counts, memory=2**20)))
    pieces = sorted((piece.first_byte, piece.last_byte) for piece in store.segments(0, 10**6))
    assert len(pieces) > 1
    assert [end for _, end in pieces[:-1]] == [begin for begin, _ in pieces[1:]]
    assert (report.new_bytes, dict(report.lines)["counted"]) == (len(text), 40_000)
    assert file_table(store, counts, EVER).whole()["requests"].tolist() == [1] * 40_000


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
