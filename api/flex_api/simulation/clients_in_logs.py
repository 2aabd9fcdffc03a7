"""The clients of the accesses in logs, for policies that send a client where the cache of its
resolver does.

Takes logs. Returns a number for each client, in the order in which they come. Does not keep
addresses. The scan that counts logs keeps no clients, so this one reads the lines again. It reads
formats whose lines begin with the client, or with the virtual host and then the client.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from flex.prediction.replay_accesses_through_caches import Ints
from flex_logs_ingest.files.find_and_unpack_logs import Log
from flex_logs_ingest.formats import detect, layout_of
from flex_logs_ingest.lines.extract import HEADING, extractor
from flex_logs_ingest.lines.field_values import STATUSES, method_and_path, number, seconds
from flex_logs_ingest.lines.layout import Layout

# Bytes at a log's beginning that tell its format. A guess.
_LOOK = 2**16


def of_logs(paths: Sequence[Path], format_: str, times: Ints) -> Ints | None:
    """The client of each access, of which `times` are the seconds; None where lines do not say it
    in a known place, or these are not the accesses of these logs.
    """
    who, when = array("q"), array("q")
    known: dict[bytes, int] = {}
    for path in paths:
        layout = layout_of(_format(path) if format_ == "auto" else format_)
        place = _place(layout)
        if place is None:
            return None
        for line, time in _answers(path, layout):
            who.append(known.setdefault(line.split(b" ", place + 1)[place], len(known)))
            when.append(time)
    found = np.asarray(when, dtype=np.int64)
    order = np.argsort(found, kind="stable")
    return np.asarray(who, dtype=np.int64)[order] if np.array_equal(found[order], times) else None


def _format(path: Path) -> str:
    with Log(str(path)) as log:
        return detect(log.read(_LOOK))


def _place(layout: Layout) -> int | None:
    """Which word of a line the client is."""
    fields = [op.field for op in layout.ops[:2]]
    if (
        layout.kind != "fields"
        or layout.start
        or any(op.literal != b" " for op in layout.ops[: len(fields) - 1])
    ):
        return None
    if fields[0] is None:
        return 0
    return 1 if fields == ["vhost", None] else None


def _answers(path: Path, layout: Layout) -> Iterator[tuple[bytes, int]]:
    """Lines that the scan counts as answered from a file, with their times."""
    extract = extractor(layout)
    for line in _lines(path):
        texts = extract(line.rstrip(b"\r"))
        if texts is None or texts is HEADING:
            continue
        _, when, request, status, sent = texts
        time, known = seconds(when), number(sent) is not None and status in STATUSES
        if (
            time is not None
            and known
            and status[:1] in (b"2", b"3")
            and method_and_path(request) is not None
        ):
            yield line, time


def _lines(path: Path) -> Iterator[bytes]:
    rest = b""
    with Log(str(path)) as log:
        for chunk in log.chunks():
            *whole, rest = (rest + chunk).split(b"\n")
            yield from whole
    if rest:
        yield rest
