"""Log lines, and one operator's logs, store and counts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from flex.store import MemoryStore
from flex_logs_ingest.files.find_and_unpack_logs import Source
from flex_logs_ingest.reading.read_logs import FileReport, ingest
from flex_logs_ingest.scan.site_rules import SiteRule

NOON = 1_700_049_600  # 2023-11-15T12:00:00Z


def access(target: str, time: int = NOON, sent: int = 100, status: int = 200) -> bytes:
    at = datetime.fromtimestamp(time, UTC)
    return (
        f'192.0.2.1 - - [{at:%d/%b/%Y:%H:%M:%S} +0000] "GET {target} HTTP/1.1" '
        f'{status} {sent} "-" "-"\n'
    ).encode()


@pytest.fixture
def line() -> Callable[..., bytes]:
    """One line of a combined log: its target, and where it matters the time, the bytes sent and the
    status.
    """
    return access


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    return folder


@pytest.fixture
def counts(tmp_path: Path) -> Path:
    return tmp_path / "counts"


@pytest.fixture
def source(logs: Path) -> Source:
    """All logs in the folder, of one site."""
    return Source("one", (f"{logs}/*",), "node-1", SiteRule(fixed="a.example"))


@pytest.fixture
def read(source: Source, store: MemoryStore, counts: Path) -> Callable[[], dict[str, FileReport]]:
    """One run over that source: a report per file, by the file's name."""

    def run() -> dict[str, FileReport]:
        return {Path(report.path).name: report for report in ingest([source], store, counts)}

    return run


@pytest.fixture
def read_as(logs: Path, store: MemoryStore, counts: Path) -> Callable[[str], dict[str, int]]:
    """One run over the folder's logs in that format: the new lines by class."""

    def run(format_: str) -> dict[str, int]:
        source = Source("one", (f"{logs}/*",), "node-1", SiteRule(), format=format_)
        (report,) = ingest([source], store, counts)
        return dict(report.lines)

    return run
