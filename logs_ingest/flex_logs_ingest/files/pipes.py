"""Bytes that come only once: standard input and named pipes.

Takes a path. Returns a Pipe, whose first bytes say what it is packed in, as those of a file do.
Does not go back, and does not know how much will come. Does not open a pipe that the operator did
not name, because opening waits for whoever writes to it.
"""

from __future__ import annotations

import io
import os
from pathlib import Path

from flex_logs_ingest.files.find_and_unpack_logs import (
    BROKEN,
    CHUNK,
    MAGIC_SIZE,
    PACKINGS,
    Bytes,
    Unpacked,
    Unusable,
    packing_of,
    unpacked_no_further,
)

STANDARD_INPUT = "-"


def is_pipe(path: str) -> bool:
    return path == STANDARD_INPUT or Path(path).is_fifo()


class Pipe(Unpacked):
    """The decompressed bytes of a pipe, forward. `note` says when they end before their time.

    Raises Unusable when it cannot be opened, or is a terminal.
    """

    _raw: _Counted

    def __init__(self, path: str) -> None:
        self.path = path
        self.note = ""
        self.size = 0
        self._raw = _Counted(_descriptor(path))
        self.packing = packing_of(self._raw.look(MAGIC_SIZE))
        buffered = io.BufferedReader(self._raw, CHUNK)
        self._bytes: Bytes = (
            buffered if self.packing == "plain" else PACKINGS[self.packing].unpack(buffered)
        )

    @property
    def read_on_disk(self) -> int:
        """How many bytes have come out of it."""
        return self._raw.count

    def _some(self, size: int) -> bytes:
        if self.note:
            return b""
        try:
            return self._bytes.read1(size)
        except BROKEN as error:
            self.note = unpacked_no_further(self.packing, error)
            return b""


class _Counted(io.RawIOBase):
    """A descriptor whose first bytes can be looked at, and whose bytes are counted."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._first = b""
        self.count = 0

    def look(self, size: int) -> bytes:
        while len(self._first) < size and (
            more := os.read(self._descriptor, size - len(self._first))
        ):
            self._first += more
        return self._first

    def readable(self) -> bool:
        return True

    # BufferedReader gives a memoryview.
    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        piece = self._first[: len(buffer)] or os.read(self._descriptor, len(buffer))
        self._first = self._first[len(piece) :]
        buffer[: len(piece)] = piece
        self.count += len(piece)
        return len(piece)

    def close(self) -> None:
        if not self.closed:
            os.close(self._descriptor)
        super().close()


def _descriptor(path: str) -> int:
    try:
        descriptor = (
            os.dup(0) if path == STANDARD_INPUT else os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        )
    except OSError as error:
        raise Unusable(error.strerror or str(error)) from error
    if os.isatty(descriptor):
        os.close(descriptor)
        raise Unusable("it is a terminal: nothing would ever come")
    return descriptor
