"""A line of a layout, cut into the texts of its fields.

Takes a layout. Returns a function from a line to the texts. Does not decide what the texts mean:
field_meanings.py does. The native engine does the same: the two agree on every line, hostile ones
included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from flex_logs_ingest.lines.find_end_of_field import end_of, end_of_quoted
from flex_logs_ingest.lines.json_members import members
from flex_logs_ingest.lines.layout import Field, Layout, Op, columns, is_directive, names
from flex_logs_ingest.lines.time_formats import as_usual_time

# The raw texts of vhost, time, request, status and bytes; a vhost that the line does not have is
# empty.
Texts = tuple[bytes, bytes, bytes, bytes, bytes]
# None when the line is not of the layout.
Extract = Callable[[bytes], Texts | None]

_WHOLE: tuple[Field, ...] = ("vhost", "time", "request", "status", "bytes")
_PARTED: tuple[Field, ...] = ("vhost", "date", "time", "method", "uri", "status", "bytes")
_HALVED: tuple[Field, ...] = ("vhost", "time", "method", "uri", "status", "bytes")


# The literal, how many texts it ends, whether they are quoted, and the ops from here on where it
# takes more to find.
_Step = tuple[bytes, int, bool, tuple[Op, ...]]

# What a line gives that is no record but says how to read those that follow.
HEADING: Texts = (b"", b"", b"", b"", b"")


def extractor(layout: Layout) -> Extract:
    extract = {"json": _json, "w3c": _w3c}.get(layout.kind, _fields)(layout)
    if layout.moved:
        extract = _convert_times(extract, layout.moved)
    if layout.unsized:
        extract = _ignore_sizes(extract)
    if layout.stops:
        return _shorten_hosts(extract, layout.stops)
    return _take_host_of_url(extract) if layout.url_site else extract


# From a line to the texts of all ops, an empty one before them, and what stands behind the last
# literal; None in its place where the line ends without that.
Cut = Callable[[bytes], tuple[list[bytes], bytes | None] | None]


def _fields(layout: Layout) -> Extract:
    cut, pick = cutter(layout.start, layout.ops), _picker(layout)

    def extract(line: bytes) -> Texts | None:
        pieces = cut(line)
        return None if pieces is None else pick(pieces[0])

    return extract


def cutter(start: bytes, ops: tuple[Op, ...]) -> Cut:
    steps = list(_steps(ops))
    last = steps[-1]
    optional = not ops[-1].quoted

    def cut(line: bytes) -> tuple[list[bytes], bytes | None] | None:
        if start and not line.startswith(start):
            return None
        texts, rest, is_whole = [b""], line[len(start) :], True
        for step in steps:
            literal, count, quoted, behind = step
            parts = [rest] if behind else rest.split(literal, count)
            if behind or (quoted and parts[0].endswith(b"\\")):
                parts = _split_at(
                    rest,
                    end_of(behind, rest, 0) if behind else end_of_quoted(rest, literal, 0),
                    literal,
                )
            if len(parts) <= count:
                if len(parts) < count or step is not last or not optional:
                    return None
                is_whole = False
                parts.append(b"")
            rest = parts.pop()
            texts += parts
        return texts, rest if is_whole else None

    return cut


def _steps(ops: tuple[Op, ...]) -> Iterator[_Step]:
    """Neighbours that end at the first of the same literal are one split of the line."""
    places = iter(range(len(ops)))
    for (literal, quoted, plain), group in groupby(
        ops, key=lambda op: (op.literal, op.quoted, op.plain)
    ):
        neighbours = [next(places) for _ in group]
        if plain and not quoted:
            yield literal, len(neighbours), False, ()
        else:
            yield from ((literal, 1, quoted, () if plain else ops[place:]) for place in neighbours)


def _split_at(text: bytes, end: int, literal: bytes) -> list[bytes]:
    return [text] if end < 0 else [text[:end], text[end + len(literal) :]]


def _picker(layout: Layout) -> Callable[[list[bytes]], Texts]:
    """From the texts of all ops, an empty one before them, to those that are needed."""
    places = {op.field: place for place, op in enumerate(layout.ops, start=1)}
    if "request" in layout.fields:
        whole: Callable[[list[bytes]], Texts] = itemgetter(
            *(places.get(name, 0) for name in _WHOLE)
        )
        return whole
    halved = itemgetter(*(places.get(name, 0) for name in _HALVED))

    def join(texts: list[bytes]) -> Texts:
        vhost, time, method, uri, status, sent = halved(texts)
        return vhost, time, _request(method, uri), status, sent

    return join


def _request(method: bytes, uri: bytes) -> bytes:
    return (method or b"GET") + b" " + uri + b" HTTP/1.1"


def _json(layout: Layout) -> Extract:
    keys = dict(layout.keys)
    vhosts, times, requests, statuses, sizes = (keys.get(name, ()) for name in _WHOLE)
    methods, uris = keys.get("method", ()), keys.get("uri", ())
    wanted = frozenset(key for spellings in keys.values() for key in spellings)
    parents = frozenset(key.partition(b".")[0] for key in wanted if b"." in key)

    def extract(line: bytes) -> Texts | None:
        values = members(line, wanted, parents)
        if values is None:
            return None
        request = _first(values, requests)
        if request is None and (uri := _first(values, uris)) is not None:
            request = _request(_first(values, methods) or b"", uri)
        time = _first(values, times)
        status = _first(values, statuses)
        sent = _first(values, sizes)
        if time is None or request is None or status is None:
            return None
        return _first(values, vhosts) or b"", time, request, status, sent or b""

    return extract


def _first(values: Mapping[bytes, bytes], keys: Sequence[bytes]) -> bytes | None:
    for key in keys:
        if key in values:
            return values[key]
    return None


def _w3c(layout: Layout) -> Extract:
    count, pick = _columns(layout.start, layout)

    def extract(line: bytes) -> Texts | None:
        nonlocal count, pick
        if line.startswith(b"#"):
            if is_directive(line):
                count, pick = _columns(line, layout)
            return HEADING
        tabs = b"\t" in line
        texts = _cells(line, b"\t" if tabs else b" ", count)
        if len(texts) != count:
            return None
        vhost, date, time, method, uri, status, sent = pick([*texts, b""])
        # Where spaces part the columns, a plus sign stands for one.
        uri = uri if tabs else uri.replace(b"+", b" ")
        return vhost, date + b"T" + time + b"Z", _request(method, uri), status, sent

    return extract


def column_places(directive: bytes, layout: Layout) -> tuple[int, dict[Field, int]]:
    """How many columns there are, -1 when they do not say enough, and where that of each field
    stands.
    """
    places = columns(directive, layout.keys)
    enough = all(field in places for field in ("date", "time", "uri", "status"))
    return len(names(directive)) if enough else -1, places


def cells_of(line: bytes, places: tuple[int, Mapping[Field, int]]) -> list[bytes] | None:
    """The texts of the columns; None where there are not as many."""
    texts = _cells(line, b"\t" if b"\t" in line else b" ", places[0])
    return texts if len(texts) == places[0] else None


def _columns(
    directive: bytes, layout: Layout
) -> tuple[int, Callable[[list[bytes]], tuple[bytes, ...]]]:
    """How many columns there are, and what picks the fields from their texts."""
    count, places = column_places(directive, layout)
    # A column that is not there is the empty text behind the last one.
    return count, itemgetter(*(places.get(field, -1) for field in _PARTED))


def _cells(line: bytes, separator: bytes, count: int) -> list[bytes]:
    """The texts of the columns.

    Where there are as many separators as there should be, none of them is in quotes, whatever a
    visitor wrote. Else a text that begins with a quotation mark ends with one, or has no end.
    """
    plain = line.split(separator)
    if b'"' not in line:
        return plain
    if len(plain) == count:
        return [
            text[1:-1] if len(text) > 1 and text[:1] == text[-1:] == b'"' else text
            for text in plain
        ]
    cells: list[bytes] = []
    at = 0
    while True:
        mark = b'"' if line.startswith(b'"', at) else b""
        at += len(mark)
        end = line.find(mark + separator, at)
        if end < 0:
            text = line[at:]
            return [*cells, text[: len(text) - len(mark)]] if text.endswith(mark) else []
        cells.append(line[at:end])
        at = end + len(mark + separator)


def _convert_times(extract: Extract, moved: tuple[int, ...]) -> Extract:
    """The same, with times that field_meanings.py reads."""

    def moving(line: bytes) -> Texts | None:
        texts = extract(line)
        if texts is None:
            return None
        vhost, time, request, status, sent = texts
        return vhost, as_usual_time(time, moved), request, status, sent

    return moving


def _ignore_sizes(extract: Extract) -> Extract:
    """The same, with one byte for each full answer, whatever a line says of its own."""

    def usual_size(line: bytes) -> Texts | None:
        texts = extract(line)
        if texts is None or texts is HEADING:
            return texts
        vhost, time, request, status, _ = texts
        return (
            vhost,
            time,
            request,
            status,
            b"1" if status == b"200" and not request.startswith(b"HEAD ") else b"0",
        )

    return usual_size


def _shorten_hosts(extract: Extract, stops: bytes) -> Extract:
    """The same, with names of virtual hosts that end at the first of these bytes."""

    def short_host(line: bytes) -> Texts | None:
        texts = extract(line)
        if texts is None:
            return None
        vhost, time, request, status, sent = texts
        end = min((at for stop in stops if (at := vhost.find(stop)) >= 0), default=len(vhost))
        return vhost[:end], time, request, status, sent

    return short_host


def _take_host_of_url(extract: Extract) -> Extract:
    """The same, with the host of the URL that was asked for."""

    def host_of_url(line: bytes) -> Texts | None:
        texts = extract(line)
        if texts is None:
            return None
        _, time, request, status, sent = texts
        return _host(request), time, request, status, sent

    return host_of_url


def _host(request: bytes) -> bytes:
    url = request.partition(b" ")[2].lstrip(b" ")
    scheme, separator, _ = url[:8].lower().partition(b"://")
    if not separator or scheme not in (b"http", b"https"):
        return b""
    rest = url[len(scheme) + 3 :]
    return rest[: min((at for mark in b"/?# " if (at := rest.find(mark)) >= 0), default=len(rest))]
