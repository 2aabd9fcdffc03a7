"""A line of a layout cut into the texts of its fields; what the texts mean is decided in line.py.

The reference of what the native engine does: the two agree on every line, hostile ones included.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from flex_logs_ingest.layout import Field, Layout, Op

# The raw texts of vhost, time, request, status and bytes; a vhost that the line does not have is empty.
Texts = tuple[bytes, bytes, bytes, bytes, bytes]
# None when the line is not of the layout.
Extract = Callable[[bytes], Texts | None]

_WHOLE: tuple[Field, ...] = ("vhost", "time", "request", "status", "bytes")
_HALVED: tuple[Field, ...] = ("vhost", "time", "method", "uri", "status", "bytes")


def extractor(layout: Layout) -> Extract:
    return _fields(layout) if layout.kind == "fields" else _json(layout)


def _fields(layout: Layout) -> Extract:
    start = layout.start
    steps = list(_steps(layout.ops))
    last = steps[-1]
    optional = not layout.ops[-1].quoted
    pick = _picker(layout)

    def extract(line: bytes) -> Texts | None:
        if start and not line.startswith(start):
            return None
        texts, rest = [b""], line[len(start) :]
        for step in steps:
            literal, count, quoted = step
            parts = rest.split(literal, count)
            if quoted and parts[0].endswith(b"\\"):
                parts = _split_behind_escapes(rest, literal)
            if len(parts) <= count:
                if len(parts) < count or step is not last or not optional:
                    return None
                parts.append(b"")
            rest = parts.pop()
            texts += parts
        return pick(texts)

    return extract


def _steps(ops: tuple[Op, ...]) -> Iterator[tuple[bytes, int, bool]]:
    """Neighbours that end in the same literal are one split of the line: literal, how many, whether quoted."""
    for (literal, quoted), group in groupby(ops, key=lambda op: (op.literal, op.quoted)):
        if quoted:
            yield from ((literal, 1, True) for _ in group)
        else:
            yield literal, sum(1 for _ in group), False


def _split_behind_escapes(text: bytes, literal: bytes) -> list[bytes]:
    end = _closing(text, literal, 0)
    return [text] if end < 0 else [text[:end], text[end + len(literal) :]]


def _picker(layout: Layout) -> Callable[[list[bytes]], Texts]:
    """From the texts of all ops, an empty one before them, to those that are needed."""
    places = {op.field: place for place, op in enumerate(layout.ops, start=1)}
    if "request" in layout.fields:
        whole: Callable[[list[bytes]], Texts] = itemgetter(*(places.get(name, 0) for name in _WHOLE))
        return whole
    halved = itemgetter(*(places.get(name, 0) for name in _HALVED))

    def join(texts: list[bytes]) -> Texts:
        vhost, time, method, uri, status, sent = halved(texts)
        return vhost, time, _request(method, uri), status, sent

    return join


def _request(method: bytes, uri: bytes) -> bytes:
    return (method or b"GET") + b" " + uri + b" HTTP/1.1"


def _closing(line: bytes, literal: bytes, at: int) -> int:
    """Where the literal begins whose quotation mark has an even number of backslashes before it; -1 if nowhere."""
    end = line.find(literal, at)
    while end > at and line[end - 1] == 0x5C:
        before = line[at:end]
        if (len(before) - len(before.rstrip(b"\\"))) % 2 == 0:
            return end
        end = line.find(literal, end + 1)
    return end


def _json(layout: Layout) -> Extract:
    keys = dict(layout.keys)
    vhosts, times, requests, statuses, sizes = (keys.get(name, ()) for name in _WHOLE)
    methods, uris = keys.get("method", ()), keys.get("uri", ())
    wanted = frozenset(key for spellings in keys.values() for key in spellings)

    def extract(line: bytes) -> Texts | None:
        found = _members(line, wanted)
        if found is None:
            return None
        request = _first(found, requests)
        if request is None and (uri := _first(found, uris)) is not None:
            request = _request(_first(found, methods) or b"", uri)
        time, status, sent = _first(found, times), _first(found, statuses), _first(found, sizes)
        if time is None or request is None or status is None or sent is None:
            return None
        return _first(found, vhosts) or b"", time, request, status, sent

    return extract


def _first(found: Mapping[bytes, bytes], keys: Sequence[bytes]) -> bytes | None:
    for key in keys:
        if key in found:
            return found[key]
    return None


# White space never decides anything, and nothing in here backtracks, whatever the line is.
_STRING = rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"'
_BARE = rb'([^]\[{},"\t\r ][^]},"\t\r ]*+)'
_NEXT = re.compile(rb"[ \t\r]*+([,}])[ \t\r]*+")
_BEGIN = re.compile(rb"[ \t\r]*+\{[ \t\r]*+")
_MEMBER = re.compile(
    _STRING + rb"[ \t\r]*+:[ \t\r]*+(?:(?:" + _STRING + rb"|" + _BARE + rb")" + _NEXT.pattern + rb")?+", re.DOTALL
)
_NO_TEXT = (b"null", b"true", b"false")


def _members(line: bytes, wanted: frozenset[bytes]) -> dict[bytes, bytes] | None:
    """The wanted members of the object that the line is, as they stand there; of equal keys the last one.

    Strings lose their quotation marks and keep their escapes; null, true, false, objects and arrays are left out.
    """
    found: dict[bytes, bytes] = {}
    begin = _BEGIN.match(line)
    if begin is None:
        return None
    at, mark = begin.end(), b","
    if line[at : at + 1] == b"}":
        return found
    while mark == b",":
        member = _MEMBER.match(line, at)
        if member is None:
            return None
        key, text, bare, mark = member.groups()
        at = member.end()
        if mark is None:
            behind = _NEXT.match(line, _nested(line, at))
            if behind is None:
                return None
            at, mark = behind.end(), behind[1]
        if key in wanted:
            found.pop(key, None)
            value = text if bare is None or bare in _NO_TEXT else bare
            if value is not None:
                found[key] = value
    return found


def _nested(line: bytes, at: int) -> int:
    """Where the object or array that begins at `at` has ended, or the line; brackets of either kind count alike."""
    depth = 0
    while at < len(line):
        byte = line[at : at + 1]
        if byte in (b"{", b"["):
            depth += 1
        elif depth == 0:
            return len(line)
        elif byte in (b"}", b"]"):
            depth -= 1
        elif byte == b'"' and (at := _closing(line, b'"', at + 1)) < 0:
            return len(line)
        at += 1
        if depth == 0:
            return at
    return at
