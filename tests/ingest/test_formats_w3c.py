"""Logs that name their columns themselves: which are used, when they change, what is missing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from flex import native_or_python
from flex.errors import BadInput, NoData
from flex.store import MemoryStore
from flex_logs_ingest.files.find_and_unpack_logs import Source
from flex_logs_ingest.formats import detect, layout_of
from flex_logs_ingest.reading.read_logs import ingest
from flex_logs_ingest.scan.python_loop import ReferenceScan
from flex_logs_ingest.scan.segment_scan import Counts, Scanner, new_scanner
from flex_logs_ingest.scan.site_rules import SiteRule

NATIVE: type[ReferenceScan] = getattr(native_or_python.NATIVE, "Scan", ReferenceScan)
FIELDS = b"#Fields: date time cs-method cs-uri-stem cs-host sc-status sc-bytes\n"
LINE = b"2000-10-10 20:55:36 GET /x example.org 200 5\n"
ROW = (11240, "example.org", "/x", 1, 5, 5, 971_211_336)

Scan = Callable[..., Counts]


@pytest.fixture(
    params=[
        pytest.param(ReferenceScan, id="reference"),
        pytest.param(
            NATIVE,
            id="native",
            marks=pytest.mark.skipif(
                native_or_python.NATIVE is None, reason=native_or_python.WHY_NOT
            ),
        ),
    ]
)
def scan(request: pytest.FixtureRequest) -> Scan:
    def run(data: bytes, format_: str = "w3c") -> Counts:
        scanner = Scanner(request.param(layout_of(format_), SiteRule(), 1000))
        scanner.feed(data)
        return scanner.finish()

    return run


def rows(counts: Counts) -> list[tuple[object, ...]]:
    return [tuple(row) for row in counts.partial.itertuples(index=False)]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(FIELDS + LINE, id="plain"),
        pytest.param(
            FIELDS.replace(b"\n", b" \r\n") + LINE.replace(b"\n", b"\r\n"), id="CRLF and a space"
        ),
        pytest.param(FIELDS.upper() + LINE, id="upper case"),
        pytest.param(FIELDS.replace(b" ", b"\t") + LINE.replace(b" ", b"\t"), id="tabs"),
        pytest.param(
            FIELDS + b'"2000-10-10" "20:55:36" GET "/x" example.org 200 "5"\n', id="quoted"
        ),
        pytest.param(
            FIELDS.replace(b"date", b"cs(Cookie) date") + b'"a; b" ' + LINE, id="quoted spaces"
        ),
        pytest.param(
            FIELDS.replace(b"date", b"cs(Cookie) date") + b'"x ' + LINE,
            id="a visitor's quotation mark",
        ),
        pytest.param(
            FIELDS.replace(b"\n", b" cs(User-Agent)\n") + LINE.replace(b"\n", b' "\n'),
            id="a mark at the end",
        ),
        pytest.param(
            FIELDS.replace(b"date", b"cs-x date") + b'a"b ' + LINE, id="a quotation mark inside"
        ),
        pytest.param(
            FIELDS.replace(b"cs-host", b"s-sitename cs-host") + LINE.replace(b" ex", b" W3SVC1 ex"),
            id="best",
        ),
        pytest.param(
            b"#Fields: sc-bytes\n#Remark: none\n" + FIELDS + LINE, id="the last heading counts"
        ),
    ],
)
def test_a_line_is_read_by_the_columns_above_it(scan: Scan, data: bytes) -> None:
    counts = scan(data)
    assert rows(counts) == [ROW]
    assert counts.lines["malformed"] == 0


def test_columns_may_change_in_the_middle(scan: Scan) -> None:
    other = (
        b"#Fields: cs-host sc-bytes time sc-status date cs-uri-stem\nexample.org "
        b"5 20:55:36 200 2000-10-10 /x\n"
    )
    assert rows(scan(FIELDS + LINE + other)) == [
        (11240, "example.org", "/x", 2, 10, 5, 971_211_336)
    ]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(LINE.replace(b" 5", b""), id="cut"),
        pytest.param(LINE.replace(b" 5", b" 5 6"), id="too many"),
        pytest.param(LINE.replace(b" 5", b' "5'), id="no closing quotation mark"),
        pytest.param(LINE.replace(b"20:55:36", b"24:55:36"), id="no time"),
        pytest.param(b'"\n', id="nothing but a quotation mark"),
        pytest.param(b"\n", id="empty"),
    ],
)
def test_a_line_with_other_columns_than_named_is_malformed(scan: Scan, line: bytes) -> None:
    assert scan(FIELDS + line).lines["malformed"] == 1


def test_lines_before_any_heading_or_under_one_that_does_not_say_enough_are_malformed(
    scan: Scan,
) -> None:
    assert (
        scan(LINE + FIELDS.replace(b"sc-bytes", b"cs-bytes") + LINE + b'"\n').lines["malformed"]
        == 3
    )


def test_headings_are_no_requests(scan: Scan) -> None:
    assert scan(b"#Software: x\n" + FIELDS).lines["no_request"] == 2


def test_a_plus_sign_is_a_space_where_spaces_part_columns(scan: Scan) -> None:
    data = FIELDS + LINE.replace(b"/x", b"/a+b")
    assert rows(scan(data))[0][2] == "/a%20b"
    tabs = data.replace(b"cs-host", b"cs(Host)").replace(b" ", b"\t")
    assert rows(scan(tabs, "cloudfront"))[0][2] == "/a+b"


def test_what_is_new_in_a_log_is_read_by_the_columns_at_its_beginning(scan: Scan) -> None:
    format_ = detect(b"#Version: 1.0\n" + FIELDS + LINE)
    assert format_ == "w3c date time cs-method cs-uri-stem cs-host sc-status sc-bytes"
    assert rows(scan(LINE, format_)) == [ROW]


def test_columns_of_any_name_can_be_shown_and_stored(scan: Scan) -> None:
    fields = FIELDS.replace(b"cs-host", b"a\0\xe9\x1b cs-host")
    format_ = detect(fields + LINE.replace(b"example", b"- example"))
    assert format_.isascii()
    assert format_.isprintable()
    assert rows(scan(LINE.replace(b"example", b"- example"), format_)) == [ROW]


@pytest.mark.parametrize("format_", ["auto", "w3c"])
def test_a_log_that_grew_is_read_on_without_a_new_heading(
    logs: Path, read_as: Callable[[str], dict[str, int]], format_: str
) -> None:
    log = logs / "u_ex001010.log"
    log.write_bytes(FIELDS + LINE)
    assert read_as(format_)["counted"] == 1
    log.write_bytes(FIELDS + LINE + LINE + LINE)
    assert read_as(format_) == {"counted": 2, "other_status": 0, "no_request": 0, "malformed": 0}


OTHER = b"#Fields: cs-host sc-bytes time sc-status date cs-uri-stem\n"
OTHER_LINE = b"example.org 5 20:55:36 200 2000-10-10 /x\n"
BEYOND = b"#Remark: " + b"x" * 70_000 + b"\n"


@pytest.mark.parametrize("format_", ["auto", "w3c"])
def test_columns_that_changed_far_behind_the_beginning_hold_for_what_follows(
    logs: Path, read_as: Callable[[str], dict[str, int]], format_: str
) -> None:
    log = logs / "u_ex001010.log"
    log.write_bytes(FIELDS + LINE + BEYOND + OTHER + OTHER_LINE)
    assert read_as(format_)["counted"] == 2
    with log.open("ab") as more:
        more.write(OTHER_LINE * 3)
    assert read_as(format_) == {"counted": 3, "other_status": 0, "no_request": 0, "malformed": 0}


def test_columns_that_changed_hold_where_a_log_is_recorded_in_segments(
    logs: Path, source: Source, store: MemoryStore, counts: Path
) -> None:
    rows = b"".join(OTHER_LINE.replace(b"/x", b"/%d" % number) for number in range(100_000))
    (logs / "u_ex001010.log").write_bytes(FIELDS + LINE + OTHER + rows)
    (report,) = ingest([source], store, counts, memory=2**20)
    assert dict(report.lines)["malformed"] == 0
    assert dict(report.lines)["counted"] == 100_001
    assert len(store.segments(0, 100_000)) > 1


def test_a_log_without_bytes_is_refused_with_the_setting_that_brings_them() -> None:
    fields = b"#Fields: date time s-ip cs-method cs-uri-stem sc-status time-taken\n"
    with pytest.raises(BadInput) as refused:
        detect(fields + b"2000-10-10 20:55:36 192.0.2.9 GET /x 200 16\n")
    assert "Bytes Sent (sc-bytes)" in refused.value.answer
    assert (
        "IIS Manager, Logging, Select Fields, turn on Bytes Sent (sc-bytes)" in refused.value.advice
    )


def test_a_log_of_headings_alone_has_no_format_yet() -> None:
    with pytest.raises(NoData):
        detect(b"#Version: 1.0\n" + FIELDS)


def test_a_log_whose_columns_name_no_site_needs_a_name_for_it() -> None:
    with pytest.raises(BadInput, match="which site"):
        new_scanner(layout_of("w3c date time cs-uri-stem sc-status sc-bytes"), SiteRule(), 10)


def test_columns_that_lost_one_and_got_it_back_count_the_same_in_one_run_and_in_many(
    tmp_path: Path,
) -> None:
    parts = [
        FIELDS + LINE,
        FIELDS.replace(b" sc-bytes", b"") + LINE.replace(b" 5\n", b"\n"),
        LINE,
        FIELDS + LINE,
    ]
    found = []
    for number, segments in enumerate(([b"".join(parts)], parts)):
        log, store = tmp_path / f"{number}.log", MemoryStore()
        total: dict[str, int] = {}
        for segment in segments:
            with log.open("ab") as file:
                file.write(segment)
            (report,) = ingest(
                [Source("n", (str(log),), "n", SiteRule())], store, tmp_path / str(number)
            )
            assert report.outcome == "read"
            total = {name: total.get(name, 0) + count for name, count in report.lines}
        found.append(total)
    assert found[0] == found[1]
    assert found[0]["counted"] == 2
