"""How long an answer took, by what its line says: microseconds of service.

Takes a layout. Returns functions from a line, or from what stands behind its last needed field, to
microseconds; None where the line says no time. Whatever a text is, a time is within LONGEST. The
native engine does the same: the two agree on every line, hostile ones included.

Service is what the server behind took (`$upstream_response_time`, HAProxy's Tr, the time to the
first byte in Apache), none where no server behind was asked. A line that does not tell that says
how long the whole answer took, with the time in which a slow visitor loaded it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from flex_logs_ingest.lines.field_cutter import Cut, cells_of, column_places, cutter
from flex_logs_ingest.lines.json_members import members
from flex_logs_ingest.lines.layout import TIMERS, Field, Layout, Op, Unit, is_directive

# Microseconds of the longest answer that is believed: a day, a guess. A time that claims more is
# that of a connection that stayed open, or a fault of its writer, and must not drown the sums.
LONGEST = 86_400_000_000
# Characters of a time, and of a list of them; what is longer says none. A guess.
MOST_TEXT = 64
MOST_LIST = 1024

# Powers of ten that make microseconds of the units of numbers.
_POWERS: dict[str, int] = {"s": 6, "ms": 3, "us": 0, "ns": -3}
_NUMBER = re.compile(
    rb"(?P<whole>\d+)(?:\.(?P<part>\d*))?(?:[eE](?P<power>[+-]?\d{1,3}))?"
    rb"(?P<unit>ns|us|ms|s)?"
)
# Digits of LONGEST.
_DIGITS = len(str(LONGEST))

TimeOf = Callable[[bytes], int | None]


def microseconds(text: bytes, unit: Unit) -> int | None:
    """A number's, which may be in another unit that it names itself: `12ms`. None for what is
    none, `-`, and what is below nothing.
    """
    match = _NUMBER.fullmatch(text) if len(text) <= MOST_TEXT else None
    if match is None:
        return None
    whole, part = match["whole"], match["part"] or b""
    named = (match["unit"] or unit.encode()).decode()
    power = _POWERS[named] + int(match["power"] or 0) - len(part)
    digits = (whole + part).lstrip(b"0")
    if not digits or len(digits) + power <= 0:
        return 0
    if len(digits) + power > _DIGITS:
        return LONGEST
    shifted = digits + b"0" * power if power >= 0 else digits[:power]
    return min(int(shifted), LONGEST)


def time_of_server_behind(text: bytes, unit: Unit) -> int | None:
    """0 where none was asked; of several that were asked one after the other (`0.1, 0.2 : 0.3`) the
    sum.
    """
    if unit == "haproxy":
        return _haproxy_server_time(text)
    if len(text) > MOST_LIST:
        return None
    total = 0
    for part in text.replace(b":", b",").split(b","):
        time_text = part.strip(b" ")
        if time_text in (b"-", b"-1"):
            continue
        spent = microseconds(time_text, unit)
        if spent is None:
            return None
        total += spent
    return min(total, LONGEST)


def whole_time(text: bytes, unit: Unit) -> int | None:
    """The time of the whole answer."""
    if unit == "squid":
        return microseconds(text.lstrip(b" ").partition(b" ")[0], "ms")
    if unit == "w3c":
        # IIS has whole milliseconds. The draft that names the column means seconds with a point.
        return microseconds(text, "s" if b"." in text else "ms")
    return microseconds(text, unit)


def _haproxy_server_time(text: bytes) -> int | None:
    """The server's part of `Tq/Tw/Tc/Tr/Tt`: milliseconds, and -1 for what did not come to its end.
    It is until the first byte, or until the end where that never came.
    """
    parts = text.split(b"/") if len(text) <= MOST_TEXT else []
    if len(parts) != 5:
        return None
    requested, waited, connected, answered, whole = (
        -1 if part == b"-1" else microseconds(part.removeprefix(b"+"), "ms") for part in parts
    )
    if (
        requested is None
        or waited is None
        or connected is None
        or answered is None
        or whole is None
    ):
        return None
    if answered >= 0:
        return answered
    if connected < 0:
        return 0
    return max(0, whole - max(requested, 0) - max(waited, 0) - connected)


def build_time_of_line(layout: Layout) -> TimeOf | None:
    """None where no line of the layout says a time. Lines that name the columns of what follows
    have to be given, too.
    """
    if layout.kind == "w3c":
        # A later heading may name the column.
        return _build_time_of_columns(layout) if layout.units else None
    if not layout.says_times:
        return None
    return (
        _build_time_of_members(layout) if layout.kind == "json" else _build_time_of_fields(layout)
    )


def build_time_of_rest(layout: Layout) -> TimeOf | None:
    """For what stands behind the last op of a line; None where no timer stands there, or another
    stands before it.
    """
    if not layout.after or any(op.field in TIMERS for op in layout.ops):
        return None
    units, behind = dict(layout.units), cutter(layout.lead, layout.after)
    places = _places(layout.after)

    def time_of(rest: bytes) -> int | None:
        return _time_of(_timers(behind(rest), places), units)

    return time_of


def _build_time_of_fields(layout: Layout) -> TimeOf:
    cut, places, units = (cutter(layout.start, layout.ops), _places(layout.ops), dict(layout.units))
    behind: Cut = cutter(layout.lead, layout.after) if layout.after else _no_cut
    places_behind = _places(layout.after)

    def time_of(line: bytes) -> int | None:
        pieces = cut(line)
        timers = _timers(pieces, places)
        if pieces is not None and pieces[1] is not None:
            timers |= _timers(behind(pieces[1]), places_behind)
        return _time_of(timers, units)

    return time_of


def _no_cut(_text: bytes) -> None:
    return None


def _places(ops: Sequence[Op]) -> list[tuple[Field, int]]:
    """Where timers stand among the texts of these ops, which have an empty one before them."""
    return [
        (op.field, place)
        for place, op in enumerate(ops, start=1)
        if op.field and op.field in TIMERS
    ]


def _timers(
    pieces: tuple[list[bytes], bytes | None] | None, places: Sequence[tuple[Field, int]]
) -> dict[Field, bytes]:
    return {} if pieces is None else {field: pieces[0][place] for field, place in places}


def _build_time_of_members(layout: Layout) -> TimeOf:
    keys = [(field, spellings) for field, spellings in layout.keys if field in TIMERS]
    units = dict(layout.units)
    wanted = frozenset(key for _, spellings in layout.keys for key in spellings)
    parents = frozenset(key.partition(b".")[0] for key in wanted if b"." in key)

    named = [key.rpartition(b".")[2] for _, spellings in keys for key in spellings]

    def time_of(line: bytes) -> int | None:
        # To look for names costs little beside reading the members again.
        if not any(name in line for name in named):
            return None
        values = members(line, wanted, parents)
        if values is None:
            return None
        timers: dict[Field, bytes] = {}
        for field, spellings in keys:
            key = next((key for key in spellings if key in values), None)
            if key is not None:
                # With `escape=json` nginx writes nothing for what it did not ask.
                timers[field] = values[key] or b"-"
        return _time_of(timers, units)

    return time_of


def _build_time_of_columns(layout: Layout) -> TimeOf:
    units, places = dict(layout.units), column_places(layout.start, layout)

    def time_of(line: bytes) -> int | None:
        nonlocal places
        if line.startswith(b"#"):
            if is_directive(line):
                places = column_places(line, layout)
            return None
        named = [(field, places[1][field]) for field in TIMERS if field in places[1]]
        texts = cells_of(line, places) if named else None
        if texts is None:
            return None
        return _time_of({field: texts[place] for field, place in named}, units)

    return time_of


def _time_of(timers: dict[Field, bytes], units: dict[Field, Unit]) -> int | None:
    behind = timers.get("upstream")
    if behind:
        served = time_of_server_behind(behind, units["upstream"])
        if served is not None:
            return served
    whole = timers.get("taken")
    return whole_time(whole, units["taken"]) if whole else None
