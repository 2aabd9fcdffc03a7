"""Real logs, a folder for each set of them, where TRACES names the folder that holds the sets.

They are no part of FLEX. Rotated logs are there twice in some sets, packed and not: how many lines
there are in contents that differ is counted here in the plainest way, and what FLEX counts has to
be the same.
"""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pytest

from flex.errors import NoData
from flex.store import MemoryStore
from flex_logs_ingest.files.find_and_unpack_logs import Log, Source
from flex_logs_ingest.reading.read_logs import FAILED, FileReport, ingest
from flex_logs_ingest.scan.site_rules import SiteRule

TRACES = Path(os.environ.get("TRACES", "/nowhere"))
SETS = sorted(path.name for path in TRACES.iterdir() if path.is_dir()) if TRACES.is_dir() else []
# In files, and in contents that differ.
KNOWN = {"apache_xzymo": (95_911, 49_994), "vhost_xzymo": (73_474, 38_235)}


def read(folder: Path, counts: Path, store: MemoryStore) -> tuple[FileReport, ...]:
    source = Source("one", (f"{folder}/**",), "node-1", SiteRule(fixed="a.example"))
    try:
        return ingest([source], store, counts)
    except NoData:
        return ()


def content(path: str) -> bytes:
    with Log(path) as log:
        text = b"".join(log.chunks())
    return text[: text.rfind(b"\n") + 1]


def lines(contents: list[bytes]) -> int:
    return sum(text.count(b"\n") for text in contents)


def distinct(contents: list[bytes]) -> list[bytes]:
    """Without those that are the beginning of another one, which stands next to them in order."""
    ordered = [*sorted(contents), b""]
    return [text for text, after in pairwise(ordered) if not after.startswith(text)]


@pytest.mark.skipif(not SETS, reason="TRACES names no folder of real logs")
@pytest.mark.parametrize("name", SETS)
def test_every_line_of_contents_that_differ_is_counted_once(name: str, tmp_path: Path) -> None:
    store = MemoryStore()
    reports = read(TRACES / name, tmp_path / "counts", store)
    usable = [
        report
        for report in reports
        if report.outcome not in FAILED and report.format != "worldcup98"
    ]
    contents = [content(report.path) for report in usable]
    counted = sum(number for report in usable for _, number in report.lines)
    assert counted == lines(distinct(contents))
    assert KNOWN.get(name, (lines(contents), counted)) == (lines(contents), counted)
    again = read(TRACES / name, tmp_path / "counts", store)
    assert sum(number for report in again for _, number in report.lines) == 0
