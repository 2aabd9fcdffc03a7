"""Packed logs that were read to their end, so that nobody unpacks them again to learn that nothing
is new.

Takes and returns the list by file. Two files are the same when device, inode, size and time of
change are. A file is skipped only as long as the store holds the very stream that its reading left,
so a lost, stale or foreign list costs time, never a line. Does not list plain logs: looking into
them costs next to nothing.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict
from pathlib import Path

from flex.model.log_reading import Stream
from flex_logs_ingest.files.find_and_unpack_logs import Log

Streams = dict[str, Stream]

_NAME = "finished.json"


def load(directory: Path) -> Streams:
    """By file; empty when there is no list, or one that cannot be read."""
    try:
        listed = json.loads((directory / _NAME).read_bytes())
        return {key: Stream(**fields) for key, fields in listed.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def save(directory: Path, finished: Streams) -> None:
    unfinished = directory / f"{_NAME}.part"
    # The counts are safe already: a list that cannot be written is no reason to fail.
    with contextlib.suppress(OSError):
        unfinished.write_text(json.dumps({key: asdict(finished[key]) for key in sorted(finished)}))
        unfinished.replace(directory / _NAME)


def key_of(log: Log) -> str:
    status = log.status
    return f"{status.st_dev}:{status.st_ino}:{status.st_size}:{status.st_mtime_ns}"
