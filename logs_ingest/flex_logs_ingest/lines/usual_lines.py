"""The usual lines of a log, found in a whole block of lines by one regular expression.

Takes layouts. Returns expressions for lines with a time of Apache's, a request in quotes for a
plain path, a status and a number of bytes, one behind the other. Does not say anything about other
lines: field_cutter.py and field_meanings.py read those, and would say the same about the usual
ones.
"""

from __future__ import annotations

import re

from flex_logs_ingest.lines.layout import Layout, Op

# Vhost, date and hour, minute and second, zone, method, target, status, bytes, and what stands
# behind them where that is needed; all of them empty in other lines, and bytes where a `-` stands
# for none.
Fields = tuple[bytes, bytes, bytes, bytes, bytes, bytes, bytes, bytes, bytes]

_TIME = rb"(\d\d/[A-Z][a-z]{2}/\d{4}:\d\d)(:[0-5]\d:[0-5]\d)( [+-]\d{4})"
_ASKED = rb'(GET|POST|HEAD) (/[!$&->@-\[\]-~]*)(?:[?#][^ "\\\n]*)? HTTP/\d\.\d'
_STATUS = rb"(\d{3})"
_BYTES = rb"(?:(\d{1,13})|-)"
_LAST = ("time", "request", "status", "bytes")
# A field that ends in none of these has no literal within such a time, status or number.
_APART = re.compile(rb"[^0-9A-Za-z/:+.,\\ -]")


def usual(layout: Layout) -> re.Pattern[bytes] | None:
    """For lines with their ends, one behind the other: `findall` gives the Fields of each. None
    where no line of the layout can be such a one.
    """
    if (
        layout.unsized
        or layout.url_site
        or layout.stops
        or layout.moved
        or not _are_usual(layout.ops)
    ):
        return None
    *before, time, request, status, sent = layout.ops
    start = re.escape(layout.start) + b"".join(map(_field, before))
    has_vhost = any(op.field == "vhost" for op in before)
    parts = (_TIME, _end(time), _ASKED, _end(request), _STATUS, _end(status), _BYTES)
    behind = rb"([^\n]*)" if layout.after else rb"[^\n]*"
    line = (
        (b"" if has_vhost else b"()")
        + start
        + b"".join(parts)
        + rb"(?:%s%s|\r*)\n" % (_end(sent), behind)
        + (b"" if layout.after else b"()")
    )
    return re.compile(line + rb"|[^\n]*\n")


def _are_usual(ops: tuple[Op, ...]) -> bool:
    before, last = ops[: -len(_LAST)], ops[-len(_LAST) :]
    if len(last) < len(_LAST):
        return False
    time, request, status, sent = last
    return (
        all(op.plain and op.literal for op in ops)
        and all(not op.quoted and op.field in (None, "vhost") for op in before)
        and [op.field for op in before].count("vhost") <= 1
        and tuple(op.field for op in last) == _LAST
        and [op.quoted for op in last] == [False, True, False, False]
        and _APART.match(time.literal) is not None
        and request.literal.startswith(b'"')
        and not re.match(rb"[\d-]", status.literal)
        and not re.match(rb"[\d-]", sent.literal)
    )


def _field(op: Op) -> bytes:
    text = rb"[^%s\n\0\r]*" % re.escape(op.literal[:1])
    return (b"(%s)" if op.field else b"%s") % text + _end(op)


def _end(op: Op) -> bytes:
    return re.escape(op.literal)
