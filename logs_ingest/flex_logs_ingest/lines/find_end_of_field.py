"""Where a text ends in a log line, also where the text can hold what stands behind it.

Takes the ops of a layout, a line and a place in it. Returns the place where the text ends. Does not
decide what the text means. The native engine does the same: the two agree on every line, hostile
ones included.
"""

from __future__ import annotations

from collections.abc import Sequence

from flex_logs_ingest.lines.field_meanings import METHOD
from flex_logs_ingest.lines.layout import Fit, Op

# Places that are tried for the end of one text. A line that holds the literal more often is not
# looked through, because that could take for ever. A guess.
TRIES = 256
_BEFORE_PATH = b'/*? "|,;\t'


def end_of(ops: Sequence[Op], line: bytes, at: int) -> int:
    """Where the text of the first of these ops ends that begins there, -1 if nowhere."""
    op = ops[0]
    end = _plain_end(op, line, at)
    if not op.ahead and not op.listed:
        return end
    for _ in range(TRIES):
        if end < 0 or (not (op.listed and _is_within_list(line, end)) and _goes_on(ops, line, end)):
            return end
        end = line.find(op.literal, end + 1)
    return -1


def _plain_end(op: Op, line: bytes, at: int) -> int:
    if op.quoted:
        return end_of_quoted(line, op.literal, at)
    if op.literal:
        return line.find(op.literal, at + op.width)
    return next((place for place in range(at, len(line)) if line[place] in _BEFORE_PATH), len(line))


def _is_within_list(line: bytes, end: int) -> bool:
    """Addresses are parted by a comma and a blank, and by a colon between blanks where a request
    went on elsewhere.
    """
    return line[:end].endswith((b",", b" :")) or line.startswith(b": ", end + 1)


def _goes_on(ops: Sequence[Op], line: bytes, end: int) -> bool:
    """Whether the texts of the next ops, so many as are to be looked at, fit."""
    op, *behind = ops[: ops[0].ahead + 1]
    at = end + len(op.literal)
    for op in behind:
        end = _plain_end(op, line, at)
        if end < 0 and (op is not ops[-1] or op.quoted):
            return False
        end = end if end >= 0 else len(line)
        if not _fits(op.fits, line[at:end]):
            return False
        at = end + len(op.literal)
    return True


def _fits(fits: Fit, text: bytes) -> bool:
    match fits:
        case "word":
            return b" " not in text
        case "number":
            return text == b"-" or text.replace(b".", b"", 1).isdigit()
        case "status":
            # Not the `-` of many other fields.
            return len(text) == 3 and text.isdigit()
        case "method":
            return not text.translate(None, METHOD)
        case "version":
            return text in (b"", b"-") or text.startswith(b"HTTP/")
        case "time":
            return text[:1].isdigit()
        case "":
            return True


def end_of_quoted(line: bytes, literal: bytes, at: int) -> int:
    """Where the literal begins whose quotation mark has an even number of backslashes before it; -1
    if nowhere.
    """
    end = line.find(literal, at)
    while end > at and line[end - 1] == 0x5C:
        start = end - 1
        while start > at and line[start - 1] == 0x5C:
            start -= 1
        if (end - start) % 2 == 0:
            return end
        end = line.find(literal, end + 1)
    return end
