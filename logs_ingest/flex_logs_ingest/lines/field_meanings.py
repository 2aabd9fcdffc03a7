r"""What the texts of a log line mean: times, byte counts, requests.

Takes the raw texts of fields. Returns plain values, None for a text that is not one. Does not
count. The native engine does the same: the two agree on every text.

A target is the path of a request in one spelling, without query and fragment. Unreserved characters
are never percent-encoded; everything that is not printable ASCII always is, as are a space and a
stray %. Slashes do not repeat, and dot segments are gone. What the server escaped to write the log
(`\"`, `\x22`) is undone first.
"""

from __future__ import annotations

import re
from zlib import crc32

# The largest value of a column of 64 bits.
MOST = 2**63 - 1
# Bytes of the largest answer that is believed: 16 TiB, a guess. A count that claims more is a fault
# of its writer, and must not drown the sums of a period.
LARGEST = 2**44
# Seconds since 1970. Later times have no year of four digits.
LAST_TIME = 253_402_300_799  # 9999-12-31T23:59:59Z
# Bytes of a path; a longer one ends in a checksum. A guess: servers refuse a request line of more
# by default.
PATH_LIMIT = 8192

_MONTHS = {
    name: number
    for number, name in enumerate(
        (
            b"Jan",
            b"Feb",
            b"Mar",
            b"Apr",
            b"May",
            b"Jun",
            b"Jul",
            b"Aug",
            b"Sep",
            b"Oct",
            b"Nov",
            b"Dec",
        ),
        start=1,
    )
}
# Days of each month, January first, in a year that is no leap year.
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

# Servers write 000, - or -1 for a client that was gone before it got an answer.
STATUSES = frozenset([b"-", b"-1", *(b"%03d" % status for status in range(1000))])


def number(text: bytes) -> int | None:
    """A byte count; `-` is 0 and what no answer can have is the largest."""
    if not text.isdigit():
        return 0 if text == b"-" else None
    digits = text.lstrip(b"0")
    return LARGEST if len(digits) > 19 else min(int(digits or b"0"), LARGEST)


def seconds(text: bytes) -> int | None:
    """Seconds since 1970 of `10/Oct/2000:13:55:36 -0700`, `2000-10-10T13:55:36-07:00` or
    `971211336.000`.

    Apache's and ISO times may have a fraction of a second. One that names no zone is taken as UTC.
    `/` may part the numbers of a day as `-` does. Seconds may be a whole number of milliseconds,
    microseconds or nanoseconds.
    """
    text = unescape(text)
    if text[2:3] == b"/":
        return _clf(text)
    if text[4:5] in (b"-", b"/"):
        return _iso(text)
    return _epoch(text)


def _clf(text: bytes) -> int | None:
    month = _MONTHS.get(text[3:6])
    zone = _strip_fraction(text[20:]) or b" +0000"
    if len(text) < 20 or len(zone) != 6 or zone[:1] != b" " or month is None:
        return None
    if text[6:7] != b"/" or text[11:12] != b":":
        return None
    return _instant(text[7:11], month, text[:2], text[12:20], zone[1:])


def _iso(text: bytes) -> int | None:
    if (
        len(text) < 19
        or text[7] != text[4]
        or text[10:11] not in (b"T", b" ")
        or not text[5:7].isdigit()
    ):
        return None
    return _instant(
        text[:4], int(text[5:7]), text[8:10], text[11:19], _strip_fraction(text[19:]) or b"Z"
    )


def _strip_fraction(text: bytes) -> bytes:
    return text[1:].lstrip(b"0123456789") if text[:1] in (b".", b",") else text


def _epoch(text: bytes) -> int | None:
    whole, _, fraction = text.partition(b".")
    if not whole.isdigit() or (fraction and not fraction.isdigit()):
        return None
    # Milliseconds, microseconds and nanoseconds of this age have as many digits, of which the first
    # ten are seconds.
    if len(whole) in (13, 16, 19):
        whole = whole[:10]
    if len(whole) > 12:
        return None
    value = int(whole)
    return value if value <= LAST_TIME else None


def _instant(year: bytes, month: int, day: bytes, clock: bytes, zone: bytes) -> int | None:
    offset = _offset(zone)
    hour, minute, second = clock[:2], clock[3:5], clock[6:]
    if offset is None or clock[2:3] != b":" or clock[5:6] != b":":
        return None
    if not (year + day + hour + minute + second).isdigit():
        return None
    y, d, h, m, s = int(year), int(day), int(hour), int(minute), int(second)
    if not (
        y >= 1970
        and 1 <= month <= 12
        and 1 <= d <= _month_days(y, month)
        and h < 24
        and m < 60
        and s <= 60
    ):
        return None
    value = _days(y, month, d) * 86400 + h * 3600 + m * 60 + s - offset
    return value if 0 <= value <= LAST_TIME else None


def _offset(zone: bytes) -> int | None:
    """Seconds east of UTC of `Z`, `+hh`, `+hhmm` or `+hh:mm`."""
    if zone in (b"Z", b"z"):
        return 0
    digits = zone[1:]
    if len(digits) == 5 and digits[2:3] == b":":
        digits = digits[:2] + digits[3:]
    if zone[:1] not in (b"+", b"-") or len(digits) not in (2, 4) or not digits.isdigit():
        return None
    hours, minutes = int(digits[:2]), int(digits[2:] or b"0")
    if hours > 23 or minutes > 59:
        return None
    east = hours * 3600 + minutes * 60
    return east if zone[:1] == b"+" else -east


def _month_days(year: int, month: int) -> int:
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return _DAYS[month - 1] + leap


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 in the Gregorian calendar, with years that begin in March and eras of
    400 of them.
    """
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


_ESCAPE = re.compile(rb"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|([\"\\/bfnrtv]))")
_CONTROLS = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


def unescape(text: bytes) -> bytes:
    r"""Without the escapes of Apache (`\"`, `\xhh`, `\t`), nginx (`\xhh`) and JSON (`\/`,
    `\uhhhh`); others stay.
    """
    if b"\\" not in text:
        return text
    return _ESCAPE.sub(_character, text)


def _character(match: re.Match[bytes]) -> bytes:
    if match[1]:
        return bytes.fromhex(match[1].decode())
    if match[2]:
        # Each half of a surrogate pair stands for itself: two halves never meet in a path that a
        # server found.
        return chr(int(match[2], 16)).encode(errors="surrogatepass")
    return _CONTROLS.get(match[3], match[3])


# What stays as it is in a target, dots and slashes apart.
_PLAIN = bytes(byte for byte in range(0x21, 0x7F) if byte != 0x25)
_USUAL = (b"GET", b"POST", b"HEAD")
METHOD = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ-_"
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_ODD = re.compile(rb"%(?:([0-9A-Fa-f]{2})|)|[^!-$&-~]")


def method_and_path(request: bytes) -> tuple[bytes, bytes] | None:
    """Method and target of a request line, None for what is no request for something of a site.

    Such are `-`, bytes of another protocol, `OPTIONS *` and `CONNECT host:443`. Without a version
    only `GET` is one.
    """
    if b"\\" in request:
        request = unescape(request)
    method, _, rest = request.partition(b" ")
    if method not in _USUAL and (not method or len(method) > 32 or method.translate(None, METHOD)):
        return None
    path, _, version = rest.rpartition(b" ")
    if not version.startswith(b"HTTP/"):
        if method != b"GET":
            return None
        path = rest
    if not path.startswith(b"/"):
        path = _origin_form(path.lstrip(b" "))
    return (method, spell_path(path.rstrip(b" "))) if path else None


def _origin_form(path: bytes) -> bytes:
    """`/path` of `http://host/path` or of itself; empty when it is something else."""
    lead = path[:8].lower()
    width = 8 if lead == b"https://" else 7 if lead.startswith(b"http://") else 0
    if not width:
        return path if path.startswith(b"/") else b""
    host_end = min(
        (at for mark in (b"/", b"?", b"#") if (at := path.find(mark, width)) >= 0),
        default=len(path),
    )
    return path[host_end:] if path[host_end : host_end + 1] == b"/" else b"/"


def spell_path(path: bytes) -> bytes:
    """The one spelling of a path that begins with a slash; the spelling of the result is the
    result.
    """
    path = path.partition(b"?")[0]
    if b"#" in path:
        path = path.partition(b"#")[0]
    if path.translate(None, _PLAIN):
        path = _ODD.sub(_encode, path)
    if b"//" in path or b"/." in path:
        path = _collapse(path)
    if len(path) > PATH_LIMIT:
        path = path[: PATH_LIMIT - 9] + b"~%08x" % crc32(path)
    return path


def _encode(match: re.Match[bytes]) -> bytes:
    if match[1]:
        byte = int(match[1], 16)
        return bytes((byte,)) if byte in _UNRESERVED else match[0].upper()
    return b"%%%02X" % match[0][0]


def _collapse(path: bytes) -> bytes:
    kept: list[bytes] = []
    parts = path.split(b"/")
    for part in parts:
        if part == b"..":
            del kept[-1:]
        elif part not in (b"", b"."):
            kept.append(part)
    folder = parts[-1] in (b"", b".", b"..") and bool(kept)
    return b"/" + b"/".join(kept) + b"/" * folder


def printable(line: bytes, most: int = 200) -> str:
    """A piece of a log that can be shown anywhere: what is not printable ASCII as `\\xhh`, no
    longer than that.
    """
    return "".join(chr(byte) if 0x20 <= byte < 0x7F else f"\\x{byte:02x}" for byte in line[:most])[
        :most
    ]
