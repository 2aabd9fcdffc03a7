"""The first line of a parcel, read as if an enemy had written it.

Takes the line. Returns plain values; raises Unsound, which says what is wrong. Does not compare
them with the counts in the parcel: parcel_check.py does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from flex.model.log_reading import BadLine, Segment, Stream
from flex_logs_ingest.counts import other_name_counts
from flex_logs_ingest.lines.field_meanings import LAST_TIME, MOST
from flex_logs_ingest.parcels.pack_parcels import KINDS, VERSION, Reading
from flex_logs_ingest.reading.log_identity import HEAD, Start, place, segment_id
from flex_logs_ingest.scan.counts_as_columns import OtherCount
from flex_logs_ingest.scan.frequent_unknown_hosts import KEPT
from flex_logs_ingest.scan.malformed_lines import REASONS
from flex_logs_ingest.scan.segment_scan import CLASSES

# Characters of a name or path. A guess: the longest path that Linux opens (PATH_MAX).
TEXT = 4096
_SUM = re.compile("[0-9a-f]{64}")
_SIGNATURE = re.compile("[0-9a-f]{16}")
_ID = re.compile("[0-9a-f]{40}")
_HOST = re.compile("[ -~]{1,255}")

T = TypeVar("T")


class Unsound(Exception):
    """Why a parcel is not taken."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """`files` are length and checksum of each of KINDS; `strangers` names that are no sites, with
    their requests. `names` are what came to sites by other names of theirs; None where nobody
    counted that. `cpu` are all microseconds of processor that its hours have; parcels of earlier
    versions have none.
    """

    reading: Reading
    files: tuple[tuple[int, str], ...]
    strangers: tuple[tuple[str, int], ...]
    names: tuple[OtherCount, ...] | None = None
    cpu: int = 0


def manifest(line: bytes) -> Manifest:
    try:
        document = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Unsound("it does not begin with a line of JSON") from error
    if _object(document, "parcel").get("parcel") != VERSION:
        raise Unsound(f"it is no parcel of version {VERSION}")
    segment = _segment(_member(document, "segment"))
    stream = _stream(_member(document, "stream"))
    replaces = None if document.get("replaces") is None else _stream(_member(document, "replaces"))
    _agree(segment, stream, replaces)
    segment = replace(segment, begins=place(replaces), ends=place(stream))
    files = _member(document, "files")
    sums = tuple(_file(files, kind) for kind in KINDS)
    names = None if document.get("names") is None else _many(document, "names", _other)
    return Manifest(
        Reading(segment, stream, replaces),
        sums,
        _many(document, "strangers", _stranger)[:KEPT],
        names,
        0 if document.get("cpu") is None else _number(document, "cpu"),
    )


def _agree(segment: Segment, stream: Stream, replaces: Stream | None) -> None:
    """The name of a reading is made of what was read, so nobody can give one reading another's."""
    begin = Start(replaces)
    # Where the names of files say their sites, the logs of each site are told apart from the
    # others.
    of_source = stream.source == segment.source or stream.source.startswith(f"{segment.source}:")
    if not of_source or (replaces and replaces.source != stream.source):
        raise Unsound("it names several sources")
    if (begin.offset, stream.offset) != (
        segment.first_byte,
        segment.last_byte,
    ) or begin.offset >= stream.offset:
        raise Unsound("what was read is not where the log was read to")
    if segment.id != segment_id(begin, stream, copy=bool(segment.copy_of)):
        raise Unsound("its id is not that of what was read")
    if segment.copy_of and (segment.hours or any(number for _, number in segment.lines)):
        raise Unsound("it is a copy of another reading, and counts all the same")
    if segment.first_time > segment.last_time or segment.first_day > segment.last_day:
        raise Unsound("its times run backwards")
    if dict(segment.lines)["malformed"] != sum(number for _, number in segment.reasons):
        raise Unsound("its reasons do not add up to its malformed lines")


def _segment(fields: Mapping[str, object]) -> Segment:
    return Segment(
        id=_text(fields, "id", _ID),
        source=_text(fields, "source"),
        node=_text(fields, "node"),
        path=_text(fields, "path"),
        format=_text(fields, "format"),
        first_byte=_number(fields, "first_byte"),
        last_byte=_number(fields, "last_byte"),
        first_day=_number(fields, "first_day", LAST_TIME // 86400),
        last_day=_number(fields, "last_day", LAST_TIME // 86400),
        first_time=_number(fields, "first_time", LAST_TIME),
        last_time=_number(fields, "last_time", LAST_TIME),
        lines=_counts(fields, "lines", CLASSES),
        reasons=_counts(fields, "reasons", REASONS),
        samples=_many(fields, "samples", _sample),
        hours=_many(fields, "hours", _hour),
        read_at=_number(fields, "read_at", LAST_TIME),
        after=_text(fields, "after", _ID) if fields.get("after") else "",
        signature=_text(fields, "signature", _SIGNATURE) if fields.get("signature") else "",
        opening=_text(fields, "opening", _ID) if fields.get("opening") else "",
        copy_of=_text(fields, "copy_of", _ID) if fields.get("copy_of") else "",
    )


def _stream(fields: Mapping[str, object]) -> Stream:
    return Stream(
        source=_text(fields, "source"),
        head=_text(fields, "head", _SUM),
        head_size=_number(fields, "head_size", HEAD),
        offset=_number(fields, "offset"),
        tail=_text(fields, "tail", _SUM),
        path=_text(fields, "path"),
        format=_text(fields, "format"),
    )


def _file(files: Mapping[str, object], kind: str) -> tuple[int, str]:
    size, checksum = _pair(files.get(kind))
    if not isinstance(checksum, str) or not _SUM.fullmatch(checksum):
        raise Unsound(f"its {kind} have no checksum")
    return _int(size), checksum


def _counts(
    fields: Mapping[str, object], name: str, known: tuple[str, ...]
) -> tuple[tuple[str, int], ...]:
    counts = dict.fromkeys(known, 0) if known is CLASSES else {}
    for key, number in map(_pair, _list(fields, name)):
        if key not in known:
            raise Unsound(f"{key!r:.100} is none of its {name}")
        counts[str(key)] = _int(number)
    return tuple(counts.items())


def _many(fields: Mapping[str, object], name: str, make: Callable[[object], T]) -> tuple[T, ...]:
    return tuple(make(each) for each in _list(fields, name))


def _sample(given: object) -> BadLine:
    fields = _object(given, "sample")
    return BadLine(_number(fields, "offset"), _text(fields, "reason"), _text(fields, "text"))


def _stranger(given: object) -> tuple[str, int]:
    name, requests = _pair(given)
    return _text({"stranger": name}, "stranger"), _int(requests)


def _other(given: object) -> OtherCount:
    if not isinstance(given, list) or len(given) != len(other_name_counts.SCHEMA):
        raise Unsound("a name of it is not told as names are")
    site, name = (_text({"name": text}, "name", _HOST) for text in given[:2])
    day, requests, sent = map(_int, given[2:])
    return site, name, day, requests, sent


def _hour(given: object) -> tuple[int, int]:
    hour, answers = _pair(given)
    return _int(hour), _int(answers)


def _list(fields: Mapping[str, object], name: str) -> list[object]:
    given = fields.get(name)
    if not isinstance(given, list):
        raise Unsound(f"its {name} are no list")
    return given


def _member(fields: Mapping[str, object], name: str) -> Mapping[str, object]:
    return _object(fields.get(name), name)


def _object(given: object, name: str) -> Mapping[str, object]:
    if not isinstance(given, dict):
        raise Unsound(f"its {name} is no object")
    return given


def _pair(given: object) -> list[object]:
    if not isinstance(given, list) or len(given) != 2:
        raise Unsound("a pair of it is none")
    return given


def _text(fields: Mapping[str, object], name: str, form: re.Pattern[str] | None = None) -> str:
    given = fields.get(name)
    if (
        not isinstance(given, str)
        or len(given) > TEXT
        or not given.isprintable()
        or (form and not form.fullmatch(given))
    ):
        raise Unsound(f"its {name} is {given!r:.100}")
    return given


def _number(fields: Mapping[str, object], name: str, most: int = MOST) -> int:
    try:
        return _int(fields.get(name), most)
    except Unsound as error:
        raise Unsound(f"its {name}: {error}") from error


def _int(given: object, most: int = MOST) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or not 0 <= given <= most:
        raise Unsound(f"{given!r:.100} is no number from 0 to {most}")
    return given
