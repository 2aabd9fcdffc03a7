"""The bytes of a log that names its own columns, cut behind each line that names them.

Takes bytes. Returns pieces, each of which ends behind such a line. Does not read the columns:
layout.py does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from flex_logs_ingest.lines.layout import is_directive

# Bytes of a line that names columns; a longer one is ignored. As LINE_LIMIT in scan/python_loop.py.
_LONGEST = 2**20
_HEADING = re.compile(rb"(?:^|(?<=\n))\0*#fields:[^\n]*\n", re.IGNORECASE)


def split_at_headings(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """From the beginning of a line on. The last line of a chunk waits for the next one where it may
    name columns.
    """
    left, begins_line = b"", True
    for chunk in chunks:
        text = left + chunk
        last = text.rfind(b"\n") + 1
        may_name = text[last:].lstrip(b"\0")[:1] in (b"", b"#") and (last > 0 or begins_line)
        end = last if may_name and len(text) - last <= _LONGEST else len(text)
        at = 0
        for match in _HEADING.finditer(text, 0 if begins_line else 1, end):
            yield text[at : match.end()]
            at = match.end()
        rest = text[at:end]
        if not at and not begins_line and heading_of(rest):
            # The end of a line that only looks like a heading, as it was cut just there.
            yield rest[:-1]
            rest = rest[-1:]
        if rest:
            yield rest
        begins_line = begins_line if not end else text[end - 1 : end] == b"\n"
        left = text[end:]
    if left:
        yield left


def heading_of(piece: bytes) -> bytes:
    """The line that names columns, if the piece ends with one."""
    if not piece.endswith(b"\n"):
        return b""
    line = piece[:-1].rpartition(b"\n")[2].lstrip(b"\0").rstrip(b"\r")
    return line if is_directive(line) else b""
