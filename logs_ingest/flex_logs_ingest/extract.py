"""A line of a layout cut into the texts of its fields; what the texts mean is decided in line.py.

The reference of what the native engine does: the two agree on every line, hostile ones included.
"""

from __future__ import annotations

from collections.abc import Callable

from flex_logs_ingest.layout import FIELDS, Layout, Op

# vhost, time, request, status, bytes; None when the line is not of this layout. A missing vhost is empty.
Texts = list[bytes]
Extract = Callable[[bytes], Texts | None]

_SLOTS = {name: slot for slot, name in enumerate(FIELDS)}
_NEEDED = [_SLOTS[name] for name in ("time", "request", "status", "bytes")]


def extractor(layout: Layout) -> Extract:
    return _fields(layout) if layout.kind == "fields" else _json(layout)


def _fields(layout: Layout) -> Extract:
    start, width = layout.start, len(layout.start)
    steps = [(op.literal, len(op.literal), op.quoted, _slot(op)) for op in layout.ops[:-1]]
    last = layout.ops[-1]
    last_slot = _slot(last)
    spare = len(FIELDS)
    whole = "request" in layout.fields

    def extract(line: bytes) -> Texts | None:
        if not line.startswith(start):
            return None
        texts = [b""] * spare
        at = width
        for literal, size, quoted, slot in steps:
            end = _closing(line, literal, at) if quoted else line.find(literal, at)
            if end < 0:
                return None
            if slot >= 0:
                texts[slot] = line[at:end]
            at = end + size
        end = _closing(line, last.literal, at) if last.quoted else line.find(last.literal, at) if last.literal else -1
        if end < 0:
            if last.quoted:
                return None
            end = len(line)
        texts[last_slot] = line[at:end]
        return texts if whole else _with_request(texts)

    return extract


def _slot(op: Op) -> int:
    return -1 if op.field is None else _SLOTS[op.field]


def _closing(line: bytes, literal: bytes, at: int) -> int:
    """Where the literal begins whose quotation mark has an even number of backslashes before it; -1 if nowhere."""
    end = line.find(literal, at)
    while end > at and line[end - 1] == 0x5C:
        before = line[at:end]
        if (len(before) - len(before.rstrip(b"\\"))) % 2 == 0:
            return end
        end = line.find(literal, end + 1)
    return end


def _with_request(texts: Texts) -> Texts:
    method, uri = texts[_SLOTS["method"]], texts[_SLOTS["uri"]]
    texts[_SLOTS["request"]] = method + b" " + uri + b" HTTP/1.1"
    return texts


def _json(layout: Layout) -> Extract:
    names = [(_SLOTS[name], keys) for name, keys in layout.keys]
    wanted = frozenset(key for _, keys in names for key in keys)

    def extract(line: bytes) -> Texts | None:
        found = _members(line, wanted)
        if found is None:
            return None
        texts: list[bytes | None] = [None] * len(FIELDS)
        for slot, keys in names:
            texts[slot] = next((found[key] for key in keys if key in found), None)
        if texts[_SLOTS["request"]] is None and (uri := texts[_SLOTS["uri"]]) is not None:
            texts[_SLOTS["request"]] = (texts[_SLOTS["method"]] or b"GET") + b" " + uri + b" HTTP/1.1"
        if any(texts[slot] is None for slot in _NEEDED):
            return None
        return [text or b"" for text in texts]

    return extract


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
