"""Logs of binary records: known by their bytes, counted like lines, each record once."""

from __future__ import annotations

import struct
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex.errors import BadInput, NoData
from flex_logs_ingest.formats import detect, layout_of
from flex_logs_ingest.reading.read_logs import FileReport
from flex_logs_ingest.scan.segment_scan import Counts, new_scanner
from flex_logs_ingest.scan.site_rules import SiteRule
from flex_logs_ingest.scan.worldcup_binary_logs import SIZE

MAY = 894_000_000  # 1998-05-01T05:20:00Z
GET, HEAD = 0, 1
# As the low six bits of the status have them, whatever the version in the high two.
OK, PARTIAL, NOT_MODIFIED, NOT_FOUND, OTHER = 2, 8, 13, 19, 37


def record(
    thing: int, sent: int = 10, status: int = OK, method: int = GET, type_: int = 1, time: int = MAY
) -> bytes:
    return struct.pack(">4I4B", time, 7, thing, sent, method, 0x80 | status, type_, 0x61)


def scan(*chunks: bytes) -> Counts:
    scanner = new_scanner(layout_of("worldcup98"), SiteRule(fixed="a.example"), 100)
    for chunk in chunks:
        scanner.feed(chunk)
    return scanner.finish()


@pytest.mark.parametrize(
    ("data", "row"),
    [
        pytest.param(record(5), ["/5", 1, 10, 10], id="full"),
        pytest.param(record(5, method=HEAD), ["/5", 1, 10, 0], id="HEAD"),
        pytest.param(record(5, status=PARTIAL), ["/5", 1, 10, 0], id="206"),
        pytest.param(record(5, status=NOT_MODIFIED, sent=0), ["/5", 1, 0, 0], id="304"),
        pytest.param(record(5, sent=2**32 - 1), ["/5", 1, 0, 0], id="no bytes"),
        pytest.param(
            record(2**32 - 1, sent=2**32 - 2),
            ["/4294967295", 1, 2**32 - 2, 2**32 - 2],
            id="largest",
        ),
    ],
)
def test_a_record_counts_as_a_line_would(data: bytes, row: list[object]) -> None:
    counts = scan(data)
    assert counts.partial[["target", "requests", "bytes", "size"]].to_numpy().tolist() == [row]
    assert (counts.first_time, counts.last_time) == (MAY, MAY)


def test_other_answers_and_damaged_records_are_classes_of_their_own() -> None:
    damaged = record(1, method=9), record(1, status=38), record(1, type_=13)
    counts = scan(record(1), record(1, status=NOT_FOUND), record(1, status=OTHER), *damaged)
    assert counts.lines == {"counted": 1, "other_status": 2, "no_request": 0, "malformed": 3}
    assert [(bad.offset, bad.text) for bad in counts.bad] == [
        (number * SIZE, one.hex()) for number, one in enumerate(damaged, start=3)
    ]


@pytest.mark.slow
@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=5))
def test_where_records_are_cut_into_chunks_makes_no_difference(
    data: bytes, places: list[int]
) -> None:
    bounds = [0, *sorted(min(place, len(data)) for place in places), len(data)]
    whole, cut = scan(data), scan(*(data[start:end] for start, end in pairwise(bounds)))
    assert whole.partial.equals(cut.partial)
    assert (whole.lines, whole.bad, whole.pending) == (cut.lines, cut.bad, cut.pending)
    assert sum(whole.lines.values()) == len(data) // SIZE
    assert whole.pending == len(data) % SIZE


def test_records_are_known_by_looking() -> None:
    assert detect(record(1)) == "worldcup98"
    assert detect(b"".join(record(n, time=MAY + n) for n in range(5000)) + b"\0\0") == "worldcup98"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(bytes(4000), id="zeros"),
        pytest.param(
            b"".join(record(n, time=MAY + n * 10**6) for n in range(9)), id="times far apart"
        ),
        pytest.param(record(1, method=9) * 2 + record(1), id="mostly damaged"),
        pytest.param(b"".join(record(1, time=n) for n in range(9)), id="before there were logs"),
    ],
)
def test_what_only_looks_a_little_like_records_is_refused(data: bytes) -> None:
    with pytest.raises((BadInput, NoData)):
        detect(data)


def test_records_that_arrive_in_pieces_count_once(
    logs: Path, read: Callable[[], dict[str, FileReport]]
) -> None:
    log, data = logs / "wc_day6_1", b"".join(record(n) for n in range(10))
    # The first bytes of a log that has no whole record yet do not tell what it is.
    for end in (95, 99, 100, 119, 200):
        log.write_bytes(data[:end])
        read()
    log.write_bytes(data + record(11, method=9))
    report = read()["wc_day6_1"]
    assert (report.format, report.new_bytes) == ("worldcup98", SIZE)
    assert [(bad.offset, bad.text) for bad in report.samples] == [(200, record(11, method=9).hex())]
