"""A small log that was read whole before its turn, many of them at a time.

Takes the bytes of a plain log and what the file was when they were read. Returns a Log of these
bytes. Whoever read them saw that the file still began so when it was at its end
(reading/small_logs.py); it is looked at again only to say whether it was truncated since.
"""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from pathlib import Path

from flex_logs_ingest.files.find_and_unpack_logs import Log


@dataclass(frozen=True, slots=True)
class Seen:
    """What a file was when it was opened, under the names that os.fstat has for it."""

    st_dev: int
    st_ino: int
    st_size: int
    st_mtime_ns: int


class HeldLog(Log):
    def __init__(self, path: str, seen: Seen, text: bytes) -> None:
        # Log's own __init__ opens the file.
        self.path = path
        self.note = ""
        self.position = 0
        self.status = seen
        self.size = seen.st_size
        self.packing = "plain"
        self._left = b""
        self._raw = io.BytesIO(text)
        self._bytes = self._raw
        self._text = text

    def seek(self, offset: int) -> bool:
        self._raw.seek(offset)
        self.position = offset
        return offset <= len(self._text)

    def begins_with(self, head: bytes) -> bool:
        """Whether the file still does, if it still is where it was: renamed, it has the same
        bytes.
        """
        seen = self.status
        try:
            there = os.stat(self.path)  # noqa: PTH116 - of each small log: a third of the time
            if (there.st_dev, there.st_ino) != (seen.st_dev, seen.st_ino):
                return True
            if (there.st_size, there.st_mtime_ns) == (seen.st_size, seen.st_mtime_ns):
                return True
            with Path(self.path).open("rb") as file:
                return there.st_size >= self.position and file.read(len(head)) == head
        except OSError:
            return True
