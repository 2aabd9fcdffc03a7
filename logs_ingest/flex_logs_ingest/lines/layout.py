"""Where the fields of a log line stand: a log format as data.

A Layout is what both scan engines interpret. formats/format_directive.py makes one from a server's
configuration. Does not decide what the text of a field means (times, targets, sites):
field_meanings.py does.

A field ends where the literal text after it begins, so a user name may hold a space: what follows
it is ` [`. In quotes, a quotation mark after a backslash does not count. What stands behind the
last needed field is not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from flex.errors import BadInput

Field = Literal[
    "vhost", "time", "request", "status", "bytes", "method", "uri", "date", "upstream", "taken"
]
FIELDS: tuple[Field, ...] = get_args(Field)
# What says how long an answer took: the server behind, and all of it. A line counts without them.
TIMERS: tuple[Field, ...] = ("upstream", "taken")
# What a timer's numbers are: parts of a second, or as service_time.py says of the others.
Unit = Literal["s", "ms", "us", "ns", "haproxy", "squid", "w3c"]
# What the text of a field looks like: nothing in particular, no blank in it, digits with one point
# at most, ...
Fit = Literal["", "word", "number", "status", "method", "version", "time"]
_NO_UNITS: Mapping[Field, Unit] = {}
# Bytes of a heading's line that are looked at. A guess.
HEADING_LIMIT = 4096


@dataclass(frozen=True, slots=True)
class Op:
    """One field and the literal behind it; a field of no interest is None. In quotes, the literal
    begins with one.

    A text that can hold its literal ends at another than the first: behind the `width` that it has
    at least; behind a comma or a colon that parts what is `listed`; where the texts of so many ops
    `ahead` look as each of them `fits`. Without a literal, the text ends where a path begins.
    """

    field: Field | None
    literal: bytes
    quoted: bool = False
    width: int = 0
    listed: bool = False
    ahead: int = 0
    fits: Fit = ""

    @property
    def plain(self) -> bool:
        """Whether it ends at the first of its literals, or the first that closes its quotation."""
        return bool(self.literal) and not (self.width or self.listed or self.ahead)


@dataclass(frozen=True, slots=True)
class Layout:
    """Lines of one of four kinds.

    - fields: `start` and then one op after the other. The literal of the last op may be missing at
      the end of a line, unless it closes a quotation.
    - json: objects; `keys` are the spellings of each field, the preferred one first. `a.b` is the
      member b of a.
    - w3c: columns that the log's own `#Fields:` lines name; `keys` as for json, `start` is the one
      in force before the log's first. A date and a time of day in UTC make the time.
    - records: binary ones, which scan/worldcup_binary_logs.py writes as lines of these fields.

    With `url_site` the site is the host of the URL that was asked for. A virtual host's name ends
    at the first of the bytes `stops`. A time is `moved` as time_formats.py says. `ends` is
    what lines end with that another layout fits as well, where `#` stands for a number or `-`;
    `shape` is what they look like, where that is not to be told from their end. Only the search for
    a log's format asks for these two. Where no line says how many bytes were sent, the layout is
    `unsized`: each full answer counts as one byte, for document_root.py to multiply.
    """

    kind: Literal["fields", "json", "w3c", "records"]
    start: bytes = b""
    ops: tuple[Op, ...] = ()
    keys: tuple[tuple[Field, tuple[bytes, ...]], ...] = ()
    url_site: bool = False
    stops: bytes = b""
    ends: bytes = b""
    shape: re.Pattern[bytes] | None = None
    unsized: bool = False
    moved: tuple[int, ...] = ()
    lead: bytes = b""
    after: tuple[Op, ...] = ()
    units: tuple[tuple[Field, Unit], ...] = ()

    @property
    def fields(self) -> frozenset[Field]:
        ops = (*self.ops, *self.after)
        known_fields = {op.field for op in ops if op.field} | set(self._named_fields)
        return frozenset(known_fields | {"vhost"} if self.url_site else known_fields)

    @property
    def says_times(self) -> bool:
        """Whether its lines can say how long an answer took."""
        return not self.fields.isdisjoint(TIMERS)

    @property
    def _named_fields(self) -> Sequence[Field]:
        if self.kind == "w3c" and self.start:
            return tuple(columns(self.start, self.keys))
        return tuple(name for name, _ in self.keys)

    def check(self, source: str, *needed: Field) -> Layout:
        """The same layout, or BadInput when a line of it would not say what must be known, or is
        needed beside that.
        """
        missing = [name for name in ("time", "status", *needed) if name not in self.fields]
        if not self.fields & {"request", "uri"}:
            missing.append("request")
        if missing:
            raise unusable(source, f"it does not give {', '.join(missing)}")
        return self

    def ending(self, ends: bytes) -> Layout:
        return replace(self, ends=ends)

    def replace_time_pattern(self, pattern: bytes) -> Layout:
        return replace(self, shape=re.compile(pattern))


def from_keys(
    keys: Mapping[Field, Sequence[str]], units: Mapping[Field, Unit] = _NO_UNITS
) -> Layout:
    """The layout of lines that are JSON objects; of several keys that a line has for a field, the
    first one counts.
    """
    return Layout("json", keys=_spellings(keys), units=tuple(units.items())).check(
        f"the JSON keys {dict(keys)}", "bytes"
    )


def from_columns(
    keys: Mapping[Field, Sequence[str]], units: Mapping[Field, Unit] = _NO_UNITS
) -> Layout:
    """The layout of lines whose columns the log itself names; of several that it has for a field,
    the first counts.
    """
    return Layout("w3c", keys=_spellings(keys), units=tuple(units.items())).check(
        f"the columns {dict(keys)}", "bytes"
    )


def _spellings(keys: Mapping[Field, Sequence[str]]) -> tuple[tuple[Field, tuple[bytes, ...]], ...]:
    encoded: list[tuple[Field, tuple[bytes, ...]]] = []
    for name in FIELDS:
        if spellings := keys.get(name):
            encoded.append((name, tuple(key.encode() for key in spellings)))
    return tuple(encoded)


def is_directive(line: bytes) -> bool:
    """Whether the line names the columns of those that follow."""
    return line[:8].lower() == b"#fields:"


def names(directive: bytes) -> list[bytes]:
    """The columns that a `#Fields:` line names, in lower case. What stands behind its first 4 KiB
    is not looked at.
    """
    return [
        name for name in directive[8:HEADING_LIMIT].replace(b"\t", b" ").lower().split(b" ") if name
    ]


def columns(directive: bytes, keys: Sequence[tuple[Field, Sequence[bytes]]]) -> dict[Field, int]:
    """The number of the column of each field that a `#Fields:` line names."""
    named = names(directive)
    places: dict[Field, int] = {}
    for field, spellings in keys:
        # The spelling that comes first is the preferred one.
        preferred = next((key for key in spellings if key in named), None)
        if preferred is not None:
            places[field] = named.index(preferred)
    return places


def unusable(source: str, why: str) -> BadInput:
    return BadInput(
        f"a log format from {source}",
        why,
        kept="nothing was read",
        advice="log at least the time (%t, $time_local), the request (%r, $request), "
        "the status (%>s, $status) and the "
        "bytes sent (%O or %b, $bytes_sent); a document_root can stand for the bytes",
    )
