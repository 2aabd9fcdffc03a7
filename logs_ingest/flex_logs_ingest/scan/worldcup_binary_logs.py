"""Logs of binary records instead of lines: each whole record is written as a line, and the lines
are scanned.

Takes the bytes of a WorldCup98 log in chunks of any size. Returns what segment_scan.py makes of the
lines, with offsets and the incomplete rest in bytes of the log itself. Does not decide what a line
counts for.

A record has 20 bytes, its numbers in network byte order: the time, the client, the object (which
becomes the target `/1234`), the bytes sent, then a byte each for method, version and status, file
type, region and server.
"""

from __future__ import annotations

import numpy as np

from flex_logs_ingest.scan.counts_as_columns import Loop, ScannedColumns
from flex_logs_ingest.scan.malformed_lines import Bad

RECORD = np.dtype(
    [("time", ">u4"), ("client", ">u4"), ("object", ">u4"), ("sent", ">u4")]
    + [(name, "u1") for name in ("method", "status", "type", "server")]
)
SIZE = RECORD.itemsize

_METHODS = (b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"TRACE", b"OPTIONS", b"CONNECT", b"OTHER")
# By their number in the lower six bits; the last stands for every other answer.
_CODES = (100, 101, *range(200, 207), *range(300, 306), *range(400, 416), *range(500, 506))
_STATUSES = (*(b"%d" % code for code in _CODES), b"-")
# Types of objects that the format knows.
_TYPES = 13
_KNOWN_TYPES = bytes(range(_TYPES))
# Where the type stands in a record.
_TYPE_AT = 18
# Seconds since 1970. Logs of web servers are not older than this; any later time fits into the four
# bytes of a record.
_FIRST_TIME = 757_382_400  # 1994-01-01T00:00:00Z
# Records that tell whether a log is one of records. A guess.
_LOOK = 1000
# Seconds that the times of neighbouring records may lie apart: a day. A guess.
_APART = 86_400


def is_records(head: bytes) -> bool:
    """Whether a log that begins so is one of records: most of the first are sound, and near each
    other in time.
    """
    types = head[_TYPE_AT : min(len(head) // SIZE, _LOOK) * SIZE : SIZE]
    if len(types.translate(None, _KNOWN_TYPES)) * 4 > len(types):
        # As of nearly every log of lines: what follows takes ten times as long.
        return False
    records = _whole(head)[:_LOOK]
    sound = records[_sound(records)]
    if not len(records) or len(sound) * 4 < len(records) * 3:
        return False
    times = sound["time"].astype(np.int64)
    return bool(times.min() >= _FIRST_TIME and (np.abs(np.diff(times)) < _APART).all())


class RecordScan:
    """A scan of lines that is fed records."""

    def __init__(self, lines: Loop) -> None:
        self._lines = lines
        self._rest = b""
        self._start = 0

    @property
    def memory(self) -> int:
        return self._lines.memory

    def feed(self, chunk: bytes) -> None:
        data = self._rest + chunk
        records = _whole(data)
        self._lines.feed(_as_lines(records, self._start))
        self._rest = data[len(records) * SIZE :]
        self._start += len(records) * SIZE

    def take_bad(self) -> list[Bad]:
        return [_move_to_record(line) for line in self._lines.take_bad()]

    def finish(self, complete: bool = False) -> ScannedColumns:
        """The rest of a record says nothing, complete or not."""
        scanned = self._lines.finish(complete)
        scanned["bad"] = [_move_to_record(line) for line in scanned["bad"]]
        scanned["pending"] = len(self._rest)
        return scanned


def _whole(data: bytes) -> np.ndarray:
    return np.frombuffer(data, RECORD, len(data) // SIZE)


def _sound(records: np.ndarray) -> np.ndarray:
    known = (records["status"] & 63) < len(_STATUSES)
    return np.asarray(known & (records["method"] < len(_METHODS)) & (records["type"] < _TYPES))


def _as_lines(records: np.ndarray, start: int) -> bytes:
    """As lines of the format's layout. A record that is not sound becomes a malformed line with its
    place and bytes.
    """
    methods = [
        _METHODS[number] for number in np.minimum(records["method"], len(_METHODS) - 1).tolist()
    ]
    statuses = [
        _STATUSES[number]
        for number in np.minimum(records["status"] & 63, len(_STATUSES) - 1).tolist()
    ]
    # No bytes are written as -1.
    sent = np.where(records["sent"] == 2**32 - 1, 0, records["sent"]).tolist()
    values = zip(
        records["time"].tolist(), methods, records["object"].tolist(), statuses, sent, strict=True
    )
    lines = list(map(b"%d %b /%d %b %d\n".__mod__, values))
    for number in np.flatnonzero(~_sound(records)).tolist():
        lines[number] = b"@%d %b\n" % (
            start + number * SIZE,
            records[number].tobytes().hex().encode(),
        )
    return b"".join(lines)


def _move_to_record(line: Bad) -> Bad:
    """A malformed line where its record is."""
    _, reason, text = line
    place, _, record = text[1:].partition(b" ")
    return int(place), reason, record
