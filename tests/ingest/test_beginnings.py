"""Logs whose beginning does not tell what they are: a hole of NULs, or rubbish that strangers
sent.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from flex_logs_ingest.reading.read_logs import FileReport

Line = Callable[..., bytes]
Read = Callable[[], Mapping[str, FileReport]]

BEGINNINGS = {
    "a hole": bytes(1_000_000),
    "a hole with an odd end": bytes(3 * 2**18 + 17),
    "one endless line": b"x" * 300_000 + b"\n",
    "many lines of nothing": b"\x16\x03\x01 hello, is there anybody there who speaks TLS with me\n"
    * 9_000,
}


@pytest.mark.parametrize("beginning", BEGINNINGS.values(), ids=list(BEGINNINGS))
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
def test_lines_behind_any_beginning_are_counted(
    beginning: bytes, packed: bool, logs: Path, line: Line, read: Read
) -> None:
    whole = beginning + b"".join(line(f"/{number}") for number in range(30))
    (logs / ("a.log.gz" if packed else "a.log")).write_bytes(
        gzip.compress(whole) if packed else whole
    )
    (report,) = read().values()
    assert report.outcome == "read", report.note
    assert dict(report.lines)["counted"] == 30


def test_a_log_that_was_truncated_under_its_writer_goes_on(
    logs: Path, line: Line, read: Read
) -> None:
    log = logs / "a.log"
    log.write_bytes(b"".join(line(f"/{number}") for number in range(30)))
    assert dict(read()["a.log"].lines)["counted"] == 30
    log.write_bytes(bytes(1_000_000) + b"".join(line(f"/{number}") for number in range(30, 59)))
    assert dict(read()["a.log"].lines)["counted"] == 29


def test_what_is_no_log_from_end_to_end_is_refused(logs: Path, line: Line, read: Read) -> None:
    (logs / "good.log").write_bytes(line("/"))
    (logs / "prose.log").write_bytes(b"no log at all\n" * 200_000)
    (logs / "hole.log").write_bytes(bytes(1_000_000))
    reports = read()
    assert {name: report.outcome for name, report in reports.items()} == {
        "good.log": "read",
        "prose.log": "unknown format",
        "hole.log": "unknown format",
    }
