"""Standard input and named pipes: read forward once, and counted exactly once all the same."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex.model.period import Period
from flex.store import MemoryStore
from flex_logs_ingest.counts.file_table import file_table
from flex_logs_ingest.files.find_and_unpack_logs import Source
from flex_logs_ingest.reading.read_logs import FileReport, cut_at_places, ingest
from flex_logs_ingest.scan.site_rules import SiteRule

Line = Callable[..., bytes]
Read = Callable[[], dict[str, FileReport]]
Piped = Callable[[bytes], FileReport]

EVER = Period(datetime(2023, 11, 1, tzinfo=UTC), datetime(2023, 12, 1, tzinfo=UTC))
NOON = 1_700_049_600


@pytest.fixture
def piped(tmp_path: Path, store: MemoryStore, counts: Path) -> Piped:
    """What comes of these bytes in a named pipe, in the same source as the folder's logs."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def run(content: bytes) -> FileReport:
        writer = threading.Thread(target=pipe.write_bytes, args=[content], daemon=True)
        writer.start()
        source = Source("one", (), "node-1", SiteRule(fixed="a.example"), files=(str(pipe),))
        (report,) = ingest([source], store, counts)
        writer.join(300)
        return report

    return run


def lines_of(report: FileReport) -> int:
    return sum(number for _, number in report.lines)


def text_of(line: Line, lines: int, first: int = 0) -> bytes:
    return b"".join(line(f"/{i}", NOON + i) for i in range(first, first + lines))


@pytest.mark.parametrize("packed", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_pipe_that_brings_the_same_again_counts_nothing(
    packed: Callable[[bytes], bytes], line: Line, piped: Piped
) -> None:
    text = text_of(line, 20_000)
    assert lines_of(piped(packed(text))) == 20_000
    again = piped(packed(text))
    assert (again.outcome, lines_of(again)) == ("nothing new", 0)


def test_of_a_pipe_only_what_is_new_behind_the_known_is_counted(
    line: Line, piped: Piped, store: MemoryStore, counts: Path
) -> None:
    text = text_of(line, 30_000)
    for lines in (10, 9_000, 30_000):
        piped(b"".join(text.splitlines(keepends=True)[:lines]))
    table = file_table(store, counts, EVER).whole()
    assert table["requests"].tolist() == [1] * 30_000


def test_a_file_and_a_pipe_of_it_count_once_whichever_comes_first(
    line: Line, logs: Path, read: Read, piped: Piped
) -> None:
    log = logs / "access.log"
    log.write_bytes(text_of(line, 500))
    read()
    assert lines_of(piped(text_of(line, 700))) == 200
    log.write_bytes(text_of(line, 800))
    assert lines_of(read()["access.log"]) == 100


@pytest.mark.parametrize("pipe_first", [True, False])
def test_a_log_whose_name_says_its_site_and_a_pipe_of_it_count_once(
    line: Line, store: MemoryStore, counts: Path, logs: Path, tmp_path: Path, pipe_first: bool
) -> None:
    log, pipe = logs / "a.example.access.log", tmp_path / "pipe"
    log.write_bytes(text_of(line, 20))
    os.mkfifo(pipe)
    named = Source("node-1", (str(log),), "node-1", SiteRule(pattern="(?P<site>.+)[.]access[.]log"))
    piped = Source(
        "node-1:a.example", (), "node-1", SiteRule(fixed="a.example"), files=(str(pipe),)
    )
    counted = []
    for source in (piped, named) if pipe_first else (named, piped):
        writer = threading.Thread(target=pipe.write_bytes, args=[log.read_bytes()], daemon=True)
        if source is piped:
            writer.start()
        (report,) = ingest([source], store, counts)
        counted.append(lines_of(report))
        if source is piped:
            writer.join(300)
    assert counted == [20, 0]


def test_a_pipe_that_only_begins_like_a_counted_log_is_counted_from_its_beginning(
    line: Line, piped: Piped
) -> None:
    alike = text_of(line, 1_000)
    assert lines_of(piped(alike + text_of(line, 50, 5_000))) == 1_050
    assert lines_of(piped(alike + text_of(line, 70, 9_000))) == 1_070


def test_a_pipe_goes_on_where_the_longest_of_several_logs_that_begin_alike_ended(
    line: Line, piped: Piped
) -> None:
    alike, ours, other = (
        text_of(line, 1_000),
        text_of(line, 400, 5_000),
        text_of(line, 300, 9_000),
    )
    piped(alike + other)
    piped(alike + ours)
    assert lines_of(piped(alike + ours + other)) == 300


def test_a_pipe_that_ends_before_what_was_counted_is_a_copy(line: Line, piped: Piped) -> None:
    piped(text_of(line, 1_000))
    short = piped(text_of(line, 900))
    assert (short.outcome, lines_of(short)) == ("copy", 0)


def test_the_cut_last_line_of_a_pipe_waits_for_one_that_has_it_whole(
    line: Line, piped: Piped
) -> None:
    text = text_of(line, 100)
    assert lines_of(piped(text[:-5])) == 99
    assert lines_of(piped(text)) == 1


def test_a_pipe_with_nothing_in_it_is_empty_and_a_cut_packed_one_says_so(
    line: Line, piped: Piped
) -> None:
    assert piped(b"").outcome == "empty"
    cut_off = piped(gzip.compress(text_of(line, 20_000))[:-2_000])
    assert cut_off.outcome == "read"
    assert "end early" in cut_off.note


@pytest.mark.slow
def test_standard_input_is_read_to_its_end(line: Line, tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from flex.store import MemoryStore\n"
        "from flex_logs_ingest.reading.read_logs import ingest; from "
        "flex_logs_ingest.scan.site_rules import SiteRule\n"
        "from flex_logs_ingest.files.find_and_unpack_logs import Source\n"
        "source = Source('one', (), 'n', SiteRule(fixed='a.example'), files=('-',))\n"
        "print(dict(ingest([source], MemoryStore(), Path(sys.argv[1]))[0].lines)['counted'])"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "counts")]
    said = subprocess.run(
        command, input=text_of(line, 300), capture_output=True, check=True, timeout=300
    )
    assert said.stdout.strip() == b"300"


@given(st.lists(st.binary(max_size=9), max_size=9), st.lists(st.integers(0, 60), max_size=6))
def test_cutting_at_places_keeps_the_bytes_and_ends_a_piece_at_each_place(
    chunks: list[bytes], places: list[int]
) -> None:
    pieces = list(cut_at_places(chunks, sorted(places)))
    assert b"".join(pieces) == b"".join(chunks)
    ends = {sum(map(len, pieces[: i + 1])) for i in range(len(pieces))} | {0}
    assert all(place in ends for place in places if place <= len(b"".join(chunks)))


def test_a_pipe_goes_on_by_the_columns_that_were_in_force_where_its_log_was_counted(
    logs: Path, store: MemoryStore, counts: Path, tmp_path: Path
) -> None:
    first = b"#Fields: date time cs-uri-stem sc-status sc-bytes cs-host\n"
    then = b"#Fields: date time cs-host sc-bytes sc-status cs-uri-stem\n"
    old = first + b"2023-11-15 12:00:00 /old 200 5 a.example\n" * 9 + then
    old += b"2023-11-15 12:00:01 a.example 7 200 /then\n" * 9
    (logs / "u_ex.log").write_bytes(old)
    ingest([Source("one", (f"{logs}/*",), "node-1", SiteRule())], store, counts)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    new = old + b"2023-11-15 12:00:02 a.example 9 200 /new\n" * 4
    writer = threading.Thread(target=pipe.write_bytes, args=[new], daemon=True)
    writer.start()
    (report,) = ingest([Source("one", (), "node-1", SiteRule(), files=(str(pipe),))], store, counts)
    writer.join(300)
    assert dict(report.lines)["counted"] == 4
    table = file_table(store, counts, EVER).whole()
    assert dict(zip(table["target"], table["requests"].tolist(), strict=True)) == {
        "/old": 9,
        "/then": 9,
        "/new": 4,
    }
