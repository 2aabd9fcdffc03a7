"""The file of malformed lines: every one, where it stands and why; never larger than allowed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from flex.errors import NotWritten
from flex.store import MemoryStore
from flex_logs_ingest.files.find_and_unpack_logs import Source
from flex_logs_ingest.reading.malformed_lines_file import Invalid
from flex_logs_ingest.reading.read_logs import ingest

Line = Callable[..., bytes]


def test_every_malformed_line_is_there_and_found_where_it_says(
    logs: Path, line: Line, source: Source, store: MemoryStore, counts: Path, tmp_path: Path
) -> None:
    bad = [b"nonsense %d \xff\ttab" % i for i in range(5_000)]
    text = b"".join(line(f"/{i}") + each + b"\n" for i, each in enumerate(bad))
    (logs / "access.log").write_bytes(text)
    with Invalid(tmp_path / "invalid", 10**9) as invalid:
        (report,) = ingest([source], store, counts, invalid=invalid, memory=60_000)
    rows = [row.split("\t") for row in (tmp_path / "invalid").read_text().splitlines()]
    assert len(rows) == 5_000 == dict(report.reasons)["no_fields"]
    assert {row[0] for row in rows} == {str(logs / "access.log")}
    assert {row[2] for row in rows} == {"no_fields"}
    assert [text[int(row[1]) :].split(b"\n", 1)[0] for row in rows] == bad
    assert rows[7][3] == "nonsense 7 \\xff\\x09tab"


def test_what_the_limit_leaves_out_is_a_number(
    logs: Path, line: Line, source: Source, store: MemoryStore, counts: Path, tmp_path: Path
) -> None:
    (logs / "access.log").write_bytes(line("/a") * 500 + b"nonsense\n" * 1_000)
    with Invalid(tmp_path / "invalid", 2_000) as invalid:
        ingest([source], store, counts, invalid=invalid)
    *rows, last = (tmp_path / "invalid").read_text().splitlines()
    assert (len(rows), invalid.left_out) == (invalid.written, 1_000 - len(rows))
    assert sum(len(row) + 1 for row in rows) <= 2_000
    assert f"and {invalid.left_out} more" in last


def test_a_file_that_cannot_be_written_is_an_error_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(NotWritten):
        Invalid(tmp_path / "nowhere" / "invalid", 10)
