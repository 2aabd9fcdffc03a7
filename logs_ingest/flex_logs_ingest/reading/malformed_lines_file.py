"""Every malformed line of a run in one file, for whoever wants to find out what is wrong with a
log.

Takes lines with their reasons. Writes the log's path, the offset in it (unpacked), the reason and
the text, with tabs between them. In text and path, whatever is not printable ASCII is escaped. The
file has a limit, and its last line counts what did not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from flex.errors import NotWritten
from flex.model.log_reading import BadLine


class Invalid:
    """Takes the place of what was at `path`. Raises NotWritten."""

    def __init__(self, path: Path, limit: int) -> None:
        self.path = path
        self.written = 0
        self.left_out = 0
        self._room = limit
        try:
            self._file = path.open("w", encoding="ascii")
        except OSError as error:
            raise self._not_written(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        try:
            if self.left_out:
                self._file.write(
                    f"# and {self.left_out} more, which the limit of this file leaves out\n"
                )
            self._file.close()
        except OSError as failure:
            raise self._not_written(failure) from failure

    def add(self, path: str, lines: Sequence[BadLine]) -> None:
        for line in lines:
            text = f"{_escape(path)}\t{line.offset}\t{line.reason}\t{line.text}\n"
            # Once a line did not fit, no later one is written: what is there has no gaps.
            if self.left_out or len(text) > self._room:
                self.left_out += 1
            else:
                self._write(text)

    def _write(self, text: str) -> None:
        try:
            self._file.write(text)
        except OSError as error:
            raise self._not_written(error) from error
        self._room -= len(text)
        self.written += 1

    def _not_written(self, error: OSError) -> NotWritten:
        return NotWritten(
            f"writing malformed lines to {self.path}",
            error.strerror or str(error),
            kept="what was counted before stands, and counts once",
            advice="name a file in a directory with room and the right to write",
        )


def _escape(path: str) -> str:
    return "".join(
        char if " " <= char <= "~" else char.encode("unicode_escape").decode() for char in path
    )
