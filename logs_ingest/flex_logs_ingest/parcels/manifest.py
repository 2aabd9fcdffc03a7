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
from flex_logs_ingest.counts import file_of_counts_by_other_names
from flex_logs_ingest.lines.field_values import LAST_TIME, MOST
from flex_logs_ingest.parcels.pack_parcels import KINDS, VERSION, Reading
from flex_logs_ingest.reading.identity import HEAD, Start, place, segment_id
from flex_logs_ingest.scan.counts_as_columns import OtherCount
from flex_logs_ingest.scan.frequent_unknown_hosts import KEPT
from flex_logs_ingest.scan.malformed_counts_and_samples import REASONS
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
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Unsound("it does not begin with a line of JSON") from error
    if _object(found, "parcel").get("parcel") != VERSION:
        raise Unsound(f"it is no parcel of version {VERSION}")
    segment = _segment(_member(found, "segment"))
    stream = _stream(_member(found, "stream"))
    replaces = None if found.get("replaces") is None else _stream(_member(found, "replaces"))
    _agree(segment, stream, replaces)
    segment = replace(segment, begins=place(replaces), ends=place(stream))
    files = _member(found, "files")
    sums = tuple(_file(files, kind) for kind in KINDS)
    names = None if found.get("names") is None else _many(found, "names", _other)
    return Manifest(
        Reading(segment, stream, replaces),
        sums,
        _many(found, "strangers", _stranger)[:KEPT],
        names,
        0 if found.get("cpu") is None else _number(found, "cpu"),
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


def _segment(found: Mapping[str, object]) -> Segment:
    return Segment(
        id=_text(found, "id", _ID),
        source=_text(found, "source"),
        node=_text(found, "node"),
        path=_text(found, "path"),
        format=_text(found, "format"),
        first_byte=_number(found, "first_byte"),
        last_byte=_number(found, "last_byte"),
        first_day=_number(found, "first_day", LAST_TIME // 86400),
        last_day=_number(found, "last_day", LAST_TIME // 86400),
        first_time=_number(found, "first_time", LAST_TIME),
        last_time=_number(found, "last_time", LAST_TIME),
        lines=_counts(found, "lines", CLASSES),
        reasons=_counts(found, "reasons", REASONS),
        samples=_many(found, "samples", _sample),
        hours=_many(found, "hours", _hour),
        read_at=_number(found, "read_at", LAST_TIME),
        after=_text(found, "after", _ID) if found.get("after") else "",
        signature=_text(found, "signature", _SIGNATURE) if found.get("signature") else "",
        opening=_text(found, "opening", _ID) if found.get("opening") else "",
        copy_of=_text(found, "copy_of", _ID) if found.get("copy_of") else "",
    )


def _stream(found: Mapping[str, object]) -> Stream:
    return Stream(
        source=_text(found, "source"),
        head=_text(found, "head", _SUM),
        head_size=_number(found, "head_size", HEAD),
        offset=_number(found, "offset"),
        tail=_text(found, "tail", _SUM),
        path=_text(found, "path"),
        format=_text(found, "format"),
    )


def _file(files: Mapping[str, object], kind: str) -> tuple[int, str]:
    size, checksum = _pair(files.get(kind))
    if not isinstance(checksum, str) or not _SUM.fullmatch(checksum):
        raise Unsound(f"its {kind} have no checksum")
    return _int(size), checksum


def _counts(
    found: Mapping[str, object], name: str, known: tuple[str, ...]
) -> tuple[tuple[str, int], ...]:
    counts = dict.fromkeys(known, 0) if known is CLASSES else {}
    for key, number in map(_pair, _list(found, name)):
        if key not in known:
            raise Unsound(f"{key!r:.100} is none of its {name}")
        counts[str(key)] = _int(number)
    return tuple(counts.items())


def _many(found: Mapping[str, object], name: str, make: Callable[[object], T]) -> tuple[T, ...]:
    return tuple(make(each) for each in _list(found, name))


def _sample(given: object) -> BadLine:
    found = _object(given, "sample")
    return BadLine(_number(found, "offset"), _text(found, "reason"), _text(found, "text"))


def _stranger(given: object) -> tuple[str, int]:
    name, requests = _pair(given)
    return _text({"stranger": name}, "stranger"), _int(requests)


def _other(given: object) -> OtherCount:
    if not isinstance(given, list) or len(given) != len(file_of_counts_by_other_names.SCHEMA):
        raise Unsound("a name of it is not told as names are")
    site, name = (_text({"name": text}, "name", _HOST) for text in given[:2])
    day, requests, sent = map(_int, given[2:])
    return site, name, day, requests, sent


def _hour(given: object) -> tuple[int, int]:
    hour, answers = _pair(given)
    return _int(hour), _int(answers)


def _list(found: Mapping[str, object], name: str) -> list[object]:
    given = found.get(name)
    if not isinstance(given, list):
        raise Unsound(f"its {name} are no list")
    return given


def _member(found: Mapping[str, object], name: str) -> Mapping[str, object]:
    return _object(found.get(name), name)


def _object(given: object, name: str) -> Mapping[str, object]:
    if not isinstance(given, dict):
        raise Unsound(f"its {name} is no object")
    return given


def _pair(given: object) -> list[object]:
    if not isinstance(given, list) or len(given) != 2:
        raise Unsound("a pair of it is none")
    return given


def _text(found: Mapping[str, object], name: str, form: re.Pattern[str] | None = None) -> str:
    given = found.get(name)
    if (
        not isinstance(given, str)
        or len(given) > TEXT
        or not given.isprintable()
        or (form and not form.fullmatch(given))
    ):
        raise Unsound(f"its {name} is {given!r:.100}")
    return given


def _number(found: Mapping[str, object], name: str, most: int = MOST) -> int:
    try:
        return _int(found.get(name), most)
    except Unsound as error:
        raise Unsound(f"its {name}: {error}") from error


def _int(given: object, most: int = MOST) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or not 0 <= given <= most:
        raise Unsound(f"{given!r:.100} is no number from 0 to {most}")
    return given
