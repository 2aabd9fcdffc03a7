"""A line of a layout cut into the texts of its fields; what the texts mean is decided in line.py.

The reference of what the native engine does: the two agree on every line, hostile ones included.
"""

from __future__ import annotations

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
    names = dict(layout.keys)
    wanted = frozenset(key for keys in names.values() for key in keys)

    def extract(line: bytes) -> Texts | None:
        found = _members(line, wanted)
        if found is None:
            return None
        vhost, time, request, status, sent = (_first(found, names.get(name, ())) for name in _WHOLE)
        uri = _first(found, names.get("uri", ()))
        if request is None and uri is not None:
            request = _request(_first(found, names.get("method", ())) or b"", uri)
        if time is None or request is None or status is None or sent is None:
            return None
        return vhost or b"", time, request, status, sent

    return extract


def _first(found: Mapping[bytes, bytes], keys: Sequence[bytes]) -> bytes | None:
    return next((found[key] for key in keys if key in found), None)


def _members(line: bytes, wanted: frozenset[bytes]) -> dict[bytes, bytes] | None:
    """The wanted members of the object that the line is, as they stand there; of equal keys the last one.

    Strings lose their quotation marks and keep their escapes; null, true, false, objects and arrays are left out.
    """
    found: dict[bytes, bytes] = {}
    at = _skip(line, 0)
    if line[at : at + 1] != b"{":
        return None
    at = _skip(line, at + 1)
    if line[at : at + 1] == b"}":
        return found
    while True:
        if line[at : at + 1] != b'"' or (end := _closing(line, b'"', at + 1)) < 0:
            return None
        key = line[at + 1 : end]
        at = _skip(line, end + 1)
        if line[at : at + 1] != b":":
            return None
        at = _skip(line, at + 1)
        value, at = _value(line, at)
        if at < 0:
            return None
        if key in wanted:
            found.pop(key, None)
            if value is not None:
                found[key] = value
        at = _skip(line, at)
        closing = line[at : at + 1]
        if closing == b"}":
            return found
        if closing != b",":
            return None
        at = _skip(line, at + 1)


def _skip(line: bytes, at: int) -> int:
    while line[at : at + 1] in (b" ", b"\t", b"\r"):
        at += 1
    return at


def _value(line: bytes, at: int) -> tuple[bytes | None, int]:
    """A value's text, None for one that is not text or number, and where it ends; -1 when it does not."""
    first = line[at : at + 1]
    if first == b'"':
        end = _closing(line, b'"', at + 1)
        return line[at + 1 : end], end + 1 if end >= 0 else -1
    if first in (b"{", b"["):
        return None, _nested(line, at)
    end = at
    while line[end : end + 1] not in (b"", b",", b"}", b"]", b" ", b"\t", b"\r", b'"'):
        end += 1
    text = line[at:end]
    return None if text in (b"null", b"true", b"false") else text, end if text else -1


def _nested(line: bytes, at: int) -> int:
    """Behind the object or array that begins at `at`; brackets of either kind are counted alike."""
    depth = 0
    while at < len(line):
        byte = line[at : at + 1]
        if byte == b'"':
            at = _closing(line, b'"', at + 1)
            if at < 0:
                return -1
        elif byte in (b"{", b"["):
            depth += 1
        elif byte in (b"}", b"]"):
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return -1
