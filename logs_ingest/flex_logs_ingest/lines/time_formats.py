"""How a server was told to write its times: which byte of such a time stands where in a time that
field_meanings.py reads.

Takes the format of Apache's `%{format}t`, a format of strftime or one of Apache's own. Returns a
Stamp, or None for a format that is not understood. Each format is tried on a known time; one that
does not lead back to that time lacks the year, for example.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from flex_logs_ingest.lines.field_meanings import seconds

# 2013-12-25 20:17:38 UTC, in seconds since 1970: the sample time that formats are tried with.
_KNOWN = 1_388_002_658
# Seconds by which the sample's own zone is ahead of UTC: 01:30.
_ZONE = 5400
# What each code stands for at that time. Names of zones and of days in full have no width of their
# own.
_PIECES = {
    "C": "20",
    "y": "13",
    "m": "12",
    "b": "Dec",
    "d": "25",
    "a": "Wed",
    "j": "359",
    "H": "21",
    "M": "47",
    "S": "38",
    "z": "+0130",
    "%": "%",
    "n": "\n",
    "t": "\t",
    "s": f"{_KNOWN}",
    "msec": f"{_KNOWN}123",
    "usec": f"{_KNOWN}123456",
    "msec_frac": "123",
    "usec_frac": "123456",
}
_SAME = {"h": "b", "e": "d", "k": "H", "sec": "s"}
_SEVERAL = {
    "Y": "%C%y",
    "T": "%H:%M:%S",
    "R": "%H:%M",
    "F": "%C%y-%m-%d",
    "D": "%m/%d/%y",
    "c": "%a %b %d %H:%M:%S %C%y",
    "x": "%m/%d/%y",
    "X": "%H:%M:%S",
}
_OWN = ("sec", "msec", "usec", "msec_frac", "usec_frac")
_CODE = re.compile(r"%[EO]?(\w|%)|%<(\w+)>")
# Times as field_meanings.py reads them, and what stands there for what a format does not say.
_READ = ("d/b/Cy:H:M:S z", "Cy-m-d H:M:Sz")
_NOT_SAID = {"C": "20", "S": "00", "z": "+0000"}
_SINCE_1970 = {"s", "msec", "usec"}


@dataclass(frozen=True, slots=True)
class Stamp:
    """`sample` is a time in the format. `moved` are the bytes of the same time as field_meanings.py
    reads it: the place of each in the sample, or the byte itself, less than 0. It is empty where
    field_meanings.py reads the sample as it is.
    """

    sample: str
    moved: tuple[int, ...] = ()


def stamp_of(format_: str) -> Stamp | None:
    sample, places = "", dict[str, int]()
    for code, literal in _codes(format_):
        if code and code not in _PIECES:
            return None
        if code:
            places.setdefault(code, len(sample))
        sample += _PIECES[code] if code else literal
    ways = ((), *(_byte_moves(read, places) for read in _READ))
    return next(
        (Stamp(sample, moved) for moved in ways if _leads_back(sample, places, moved)), None
    )


def says(format_: str) -> frozenset[str]:
    """What a format tells of a time, as codes that mean the same in every format."""
    return frozenset(code for code, _ in _codes(format_) if code in _PIECES)


def strftime_format(format_: str) -> str:
    """What stands in the braces of `%{...}t`, as one of strftime's formats; Apache's own become
    `%<msec_frac>`.
    """
    plain = format_.removeprefix("begin:").removeprefix("end:")
    return f"%<{plain}>" if plain in _OWN else plain


def as_usual_time(time: bytes, moved: tuple[int, ...]) -> bytes:
    """Return the time as field_meanings.py reads it. Blanks stand for zeros, as before days of one
    digit.
    """
    if max(moved) >= len(time):
        return time
    digits = time.replace(b" ", b"0")
    return bytes(-place if place < 0 else digits[place] for place in moved)


def _codes(format_: str) -> Iterator[tuple[str, str]]:
    """Codes of one piece each, and the literals between them."""
    at = 0
    for match in _CODE.finditer(format_):
        yield "", format_[at : match.start()]
        at = match.end()
        code = match[1] or match[2]
        if code in _SEVERAL:
            yield from _codes(_SEVERAL[code])
        else:
            yield _SAME.get(code, code), ""
    yield "", format_[at:]


def _byte_moves(read: str, places: Mapping[str, int]) -> tuple[int, ...]:
    moved: list[int] = []
    for code in read:
        if code in places:
            moved += range(places[code], places[code] + len(_PIECES[code]))
        else:
            moved += (-byte for byte in _NOT_SAID.get(code, code).encode())
    return tuple(moved)


def _leads_back(sample: str, places: Mapping[str, int], moved: tuple[int, ...]) -> bool:
    text = sample.encode()
    parsed = seconds(as_usual_time(text, moved) if moved else text)
    if _SINCE_1970 & places.keys():
        return parsed == _KNOWN
    return parsed == _KNOWN + _ZONE * ("z" not in places) - 38 * ("S" not in places)
