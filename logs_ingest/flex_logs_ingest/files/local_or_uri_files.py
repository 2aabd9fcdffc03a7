"""Files wherever a cluster keeps them: a path, or a URI such as s3://bucket/logs or
hdfs://name/logs.

Takes places. Returns which files are there and local copies of them, and puts files there whole or
not at all. Does not know what the files mean. Arrow decides which schemes there are: file, hdfs,
s3, gs.
"""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

import pyarrow as pa
from pyarrow import fs

from flex.errors import BadInput, NotWritten
from flex_logs_ingest.files.find_and_unpack_logs import Unusable

# Bytes that are copied at a time. A guess.
_COPIED = 2**22


@dataclass(frozen=True, slots=True)
class File:
    """What was there when it was looked for: `size` bytes, last written at `time` (nanoseconds)."""

    uri: str
    size: int
    time: int


def files(pattern: str) -> tuple[File, ...]:
    """The files that a place names, sorted; the last part of it may be a pattern such as
    access.log*.

    Raises BadInput for a place that cannot be asked.
    """
    system, path = _open(pattern)
    folder, _, name = path.rpartition("/")
    try:
        infos = system.get_file_info(fs.FileSelector(folder or "/", allow_not_found=True))
    except OSError as error:
        raise _unknown_place(pattern, error) from error
    scheme = pattern[: len(pattern) - len(path)] if pattern.endswith(path) else ""
    return tuple(
        File(scheme + info.path, info.size, info.mtime_ns or 0)
        for info in sorted(infos, key=lambda info: str(info.path))
        if info.type == fs.FileType.File and fnmatch.fnmatchcase(info.base_name, name)
    )


def fetch(file: File, to: Path, most: int | None = None) -> None:
    """A local copy of as much as was there when it was looked for, `most` bytes at most. Raises
    Unusable.
    """
    left = file.size if most is None else min(file.size, most)
    try:
        system, path = _open(file.uri)
        with system.open_input_stream(path, compression=None) as source, to.open("wb") as copy:
            while left and (part := source.read(min(left, _COPIED))):
                copy.write(part)
                left -= len(part)
        os.utime(to, ns=(file.time, file.time))
    except (OSError, BadInput) as error:
        raise Unusable(str(error)) from error


def text(uri: str) -> bytes:
    """All of a small file."""
    system, path = _open(uri)
    with system.open_input_stream(path, compression=None) as source:
        content: bytes = source.read()
    return content


@contextmanager
def write_whole(folder: str, name: str) -> Iterator[IO[bytes]]:
    """A new file of that name in the folder, there only when all of it is. Raises NotWritten.

    Two who write the same at the same time do not disturb each other.
    """
    system, path = _open(folder)
    unfinished = f"{path}/.{name}.{uuid4().hex}.part"
    try:
        system.create_dir(path, recursive=True)
        with system.open_output_stream(unfinished, compression=None) as file:
            yield file
        system.move(unfinished, f"{path}/{name}")
    except OSError as error:
        raise NotWritten(
            f"writing {name} to {folder}",
            str(error),
            kept="what was written there before stands",
            advice="make room or rights there, then run again: nothing is lost and "
            "nothing is counted twice",
        ) from error


def put(local: Path, folder: str) -> None:
    """The local file, in the folder under its own name. Raises NotWritten."""
    with local.open("rb") as source, write_whole(folder, local.name) as file:
        shutil.copyfileobj(source, file, _COPIED)


def _open(place: str) -> tuple[Any, str]:
    """Any: Arrow's file systems have no types."""
    try:
        if not re.match(r"[a-z0-9+]+://|/", place):
            place = str(Path(place).absolute())
        system, path = fs.FileSystem.from_uri(place)
    except (OSError, pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise _unknown_place(place, error) from error
    return system, path.rstrip("/")


def _unknown_place(place: str, error: Exception) -> BadInput:
    return BadInput(
        f"the place {place}",
        str(error),
        kept="nothing was read and nothing was changed",
        advice="name an absolute path, or a URI that Arrow knows: file, hdfs, s3, gs",
    )
