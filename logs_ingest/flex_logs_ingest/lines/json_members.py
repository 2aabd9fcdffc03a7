"""The wanted members of a log line that is a JSON object, as they stand there.

Takes a line and the names of members. Returns their texts. Does not decide what the texts mean. The
native engine does the same: the two agree on every line, hostile ones included.
"""

from __future__ import annotations

import re
from collections.abc import Set

from flex_logs_ingest.lines.find_end_of_field import end_of_quoted

# White space never decides anything, and nothing in here backtracks, whatever the line is.
_STRING = rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"'
_BARE = rb'([^]\[{},"\t\r ][^]},"\t\r ]*+)'
_NEXT = re.compile(rb"[ \t\r]*+([,}])[ \t\r]*+")
_BEGIN = re.compile(rb"[ \t\r]*+\{[ \t\r]*+")
_MEMBER = re.compile(
    _STRING
    + rb"[ \t\r]*+:[ \t\r]*+(?:(?:"
    + _STRING
    + rb"|"
    + _BARE
    + rb")"
    + _NEXT.pattern
    + rb")?+",
    re.DOTALL,
)
_NO_TEXT = (b"null", b"true", b"false")


def members(line: bytes, wanted: Set[bytes], parents: Set[bytes]) -> dict[bytes, bytes] | None:
    """The wanted members of the object that the line is, as they stand there; of equal keys the
    last one.

    Strings lose their quotation marks and keep their escapes; null, true, false, objects and arrays
    are left out. `a.b` is also the member b of the object a, which is one of the `parents`. None
    when the line is no object.
    """
    values: dict[bytes, bytes] = {}
    return None if _object(line, 0, b"", wanted, parents, values) < 0 else values


def _object(
    line: bytes,
    at: int,
    prefix: bytes,
    wanted: Set[bytes],
    parents: Set[bytes],
    values: dict[bytes, bytes],
) -> int:
    """Where the object that begins at `at` has ended; -1 when none does."""
    begin = _BEGIN.match(line, at)
    if begin is None:
        return -1
    at, mark = begin.end(), b","
    if line[at : at + 1] == b"}":
        return at + 1
    while mark == b",":
        member = _MEMBER.match(line, at)
        if member is None:
            return -1
        key, text, bare, mark = member.groups()
        at = member.end()
        if mark is None:
            inside = not prefix and key in parents and line[at : at + 1] == b"{"
            end = (
                _object(line, at, key + b".", wanted, parents, values)
                if inside
                else _end_of_nested(line, at)
            )
            behind = _NEXT.match(line, end) if end >= 0 else None
            if behind is None:
                return -1
            at, mark = behind.end(), behind[1]
        if prefix + key in wanted:
            values.pop(prefix + key, None)
            value = text if bare is None or bare in _NO_TEXT else bare
            if value is not None:
                values[prefix + key] = value
    return at


def _end_of_nested(line: bytes, at: int) -> int:
    """Where the object or array that begins at `at` has ended, or the line; brackets of either kind
    count alike.
    """
    depth = 0
    while at < len(line):
        byte = line[at : at + 1]
        if byte in (b"{", b"["):
            depth += 1
        elif depth == 0:
            return len(line)
        elif byte in (b"}", b"]"):
            depth -= 1
        elif byte == b'"' and (at := end_of_quoted(line, b'"', at + 1)) < 0:
            return len(line)
        at += 1
        if depth == 0:
            return at
    return at
