"""Files that the last reading of their source could not use, listed until they are mended.

Takes the reports of a run. Writes a list in the directory of counts. Does not fail when the list is
lost or cannot be written: it only informs.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from flex_logs_ingest.reading.report import FileReport, needs_look

_NAME = "unread.json"
# Files in the list. A guess.
_MOST = 1000


@dataclass(frozen=True, slots=True)
class UnreadFile:
    source: str
    path: str
    outcome: str
    note: str


def load(directory: Path) -> tuple[UnreadFile, ...]:
    try:
        return tuple(
            UnreadFile(**fields) for fields in json.loads((directory / _NAME).read_bytes())
        )
    except (OSError, ValueError, TypeError):
        return ()


def save(directory: Path, reports: Sequence[FileReport], whole: Collection[str]) -> None:
    """`whole` are the sources of which every file was looked at; of others only those with a report
    were.
    """
    looked_at = {(report.source, report.path) for report in reports}
    before = (
        old
        for old in load(directory)
        if old.source not in whole and (old.source, old.path) not in looked_at
    )
    now = (
        report
        for report in reports
        if needs_look(report) or report.outcome in ("copy", "rewritten")
    )
    unread_files = [
        *before,
        *(UnreadFile(report.source, report.path, report.outcome, report.note) for report in now),
    ]
    unfinished = directory / f"{_NAME}.part"
    with contextlib.suppress(OSError):
        unfinished.write_text(json.dumps([asdict(file) for file in unread_files[:_MOST]]))
        unfinished.replace(directory / _NAME)
