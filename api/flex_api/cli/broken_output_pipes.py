"""Standard output and standard error as streams whose reader may go away, as `head` does. That is
no error.

FLEX and the libraries that it prints with each have their own way to report a broken pipe. Here all
of them raise OutputUnread.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO


class OutputUnread(Exception):
    """Who reads the output had enough of it before its end."""


class Piped(TextIOWrapper):
    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except BrokenPipeError as error:
            raise OutputUnread from error

    def flush(self) -> None:
        try:
            super().flush()
        except BrokenPipeError as error:
            raise OutputUnread from error


def begin() -> None:
    sys.stdout, sys.stderr = _pipe(sys.stdout), _pipe(sys.stderr)


def _pipe(stream: TextIO | None) -> TextIO:
    """What the caller closed leads nowhere."""
    if stream is None:
        return Path(os.devnull).open("w", encoding="utf-8")
    if not isinstance(stream, TextIOWrapper):
        return stream
    encoding, errors, by_line = stream.encoding, stream.errors, stream.line_buffering
    return Piped(stream.detach(), encoding, errors, line_buffering=by_line)


def end() -> int:
    """The rest goes nowhere, and the exit code is that of a program ended by this."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OutputUnread:
            _to_nowhere(stream)
    return 128 + signal.SIGPIPE


def _to_nowhere(stream: TextIO) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
    # What it still holds is written to nowhere, and not again when the program ends.
    with suppress(OutputUnread):
        stream.flush()
