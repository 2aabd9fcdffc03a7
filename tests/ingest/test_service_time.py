"""What lines say of how long an answer took: which of several times counts, in which unit, and what
no text of a hostile line can do.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex import native_or_python
from flex.frame_schemas import HOURS
from flex_logs_ingest.formats import FORMATS, layout_of
from flex_logs_ingest.lines.layout import Layout
from flex_logs_ingest.lines.service_time import LONGEST, microseconds
from flex_logs_ingest.scan.counts_as_columns import Loop
from flex_logs_ingest.scan.python_loop import ReferenceScan
from flex_logs_ingest.scan.segment_scan import Counts
from flex_logs_ingest.scan.site_rules import SiteRule
from tests.ingest.given import RULES

NATIVE: type[ReferenceScan] = getattr(native_or_python.NATIVE, "Scan", ReferenceScan)
needs_native = pytest.mark.skipif(native_or_python.NATIVE is None, reason=native_or_python.WHY_NOT)
engines = pytest.mark.parametrize(
    "scan", [ReferenceScan, pytest.param(NATIVE, marks=needs_native)], ids=["reference", "native"]
)
AT = "10/Oct/2000:13:55:36 +0000"
NGINX = '$host [$time_local] "$request" $status $bytes_sent'
APACHE = '%v %h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i"'
BOTH = NGINX + ' "$http_user_agent" $request_time "$upstream_response_time"'
HAPROXY = (
    "Oct 10 13:55:36 lb haproxy[14389]: 10.0.1.2:33317 [10/Oct/2000:13:55:36.655] a.example "
    'pool/srv1 {} 200 2750 - - ---- 1/1/1/1/0 0/0 "GET / HTTP/1.1"'
)
SQUID = "971186136.123 {} 192.0.2.1 TCP_MISS/200 512 GET http://a.example/ - DIRECT/x -"


def nginx(behind: str) -> str:
    return f'a.example [{AT}] "GET / HTTP/1.1" 200 5{behind}'


def apache(behind: str) -> str:
    agent = r'"-" "Mozilla \" 7 (x) 9"'
    return f'a.example 192.0.2.1 - - [{AT}] "GET / HTTP/1.1" 200 5 {agent}{behind}'


def json(members: str) -> str:
    asked = '"host":"a.example","time":"2000-10-10T13:55:36Z","request":"GET / HTTP/1.1"'
    return f'{{{asked},"status":200,"bytes_sent":5{members}}}'


def told(scan: type[Loop], layout: Layout | str, *lines: str) -> tuple[int, int, int]:
    """Answers, those that say how long they took, and their microseconds."""
    known = layout_of(layout) if isinstance(layout, str) else layout
    loop = scan(known, SiteRule(), 10)  # type: ignore[call-arg]  # both engines take these
    loop.feed("".join(f"{line}\n" for line in lines).encode())
    found = loop.finish(True)
    return (
        int(found["hour_requests"].sum()),
        int(found["hour_timed"].sum()),
        int(found["hour_service"].sum()),
    )


@engines
@pytest.mark.parametrize(
    ("layout", "line", "spent"),
    [
        # The unit is that of the field.
        (NGINX + " $request_time", nginx(" 0.125"), 125_000),
        (APACHE + " %D", apache(" 1234"), 1234),
        (APACHE + " %T", apache(" 3"), 3_000_000),
        (APACHE + " %{ms}T", apache(" 12"), 12_000),
        (APACHE + " %{us}T", apache(" 12"), 12),
        (APACHE + " %{s}T", apache(" 2"), 2_000_000),
        # Of two that say the same the finer one, wherever it stands.
        (APACHE + " %T %D", apache(" 1 1234567"), 1_234_567),
        (APACHE + " %D %T", apache(" 1234567 1"), 1_234_567),
        # What the server behind took, where the line says that: the visitor may be slow.
        (BOTH, nginx(' "x" 9.000 "0.250"'), 250_000),
        (BOTH, nginx(' "x" 9.000 "0.1, 0.2 : 0.3"'), 600_000),
        (BOTH, nginx(' "x" 9.000 "0.1, - : 0.3"'), 400_000),
        (BOTH, nginx(' "x" 9.000 "-"'), 0),
        (BOTH, nginx(' "x" 9.000 "what"'), 9_000_000),
        (BOTH, nginx(' "x" 9.000 ""'), 9_000_000),
        (APACHE + " %D %^FB", apache(" 9000000 1500"), 1500),
        ("%v %D %t %r %>s %b", f"a.example 77 [{AT}] GET / HTTP/1.1 200 5", 77),
        (
            "$host $upstream_response_time [$time_local] $status $bytes_sent $request",
            f"a.example 0.1, 0.2 [{AT}] 200 5 GET / HTTP/1.1",
            300_000,
        ),
        # HAProxy: until the server's first byte; -1 is what did not come to its end.
        ("haproxy", HAPROXY.format("10/0/30/69/4109"), 69_000),
        ("haproxy", HAPROXY.format("10/0/30/-1/4109"), 4_069_000),
        ("haproxy", HAPROXY.format("10/-1/-1/-1/4109"), 0),
        ("haproxy", HAPROXY.format("-1/-1/-1/-1/50000"), 0),
        # JSON, in the servers' own units, and in the ways in which numbers are written there.
        ("nginx_json", json(',"request_time":0.125'), 125_000),
        ("nginx_json", json(',"request_time":"0.5","upstream_response_time":"0.1"'), 100_000),
        ("nginx_json", json(',"request_time":0.5,"upstream_response_time":""'), 0),
        ("nginx_json", json(',"request_time":0.5,"upstream_response_time":null'), 500_000),
        ("nginx_json", json(',"request_time":2.5e-05'), 25),
        ("squid", SQUID.format("   321"), 321_000),
        (
            "traefik_clf",
            f'192.0.2.1 - - [{AT}] "GET / HTTP/1.1" 200 5 "-" "x" 7 "a.example" "http://b" 12ms',
            12_000,
        ),
    ],
)  # fmt: skip
def test_a_time_is_read_in_its_unit_and_the_best_of_several_counts(
    scan: type[Loop], layout: str, line: str, spent: int
) -> None:
    assert told(scan, layout, line) == (1, 1, spent)


@engines
@pytest.mark.parametrize(
    ("columns", "last", "spent"), [("time-taken", "125", 125_000), ("time-taken", "0.125", 125_000)]
)
def test_iis_has_milliseconds_and_others_seconds_with_a_point(
    scan: type[Loop], columns: str, last: str, spent: int
) -> None:
    named = f"date time cs-method cs-uri-stem cs-host sc-status sc-bytes {columns}"
    line = f"2000-10-10 13:55:36 GET / a.example 200 5 {last}"
    assert told(scan, f"w3c {named}", line) == (1, 1, spent)
    later = told(
        scan,
        "w3c date time cs-method cs-uri-stem cs-host sc-status sc-bytes",
        line.removesuffix(f" {last}"),
        f"#Fields: {named}",
        line,
    )
    assert later == (2, 1, spent)


@engines
@pytest.mark.parametrize(
    "text",
    ["-", "", "-1", "-0.5", "nan", "inf", "1e", "0x10", "1.2.3", "1,5", "١", "9" * 99, "1h"],
)  # fmt: skip
def test_what_is_no_time_is_none_and_the_line_counts_all_the_same(
    scan: type[Loop], text: str
) -> None:
    assert told(scan, APACHE + " %D", apache(f" {text}")) == (1, 0, 0)


@engines
@pytest.mark.parametrize("text", ["9" * 60, "1e999", "86400000001"])
def test_no_line_claims_more_than_a_day(scan: type[Loop], text: str) -> None:
    assert told(scan, APACHE + " %D", apache(f" {text}")) == (1, 1, LONGEST)
    assert told(scan, BOTH, nginx(f' "x" 1 "{"99999999, " * 9}1"')) == (1, 1, LONGEST)


@engines
def test_a_line_that_ends_before_its_last_time_counts_without_one(scan: type[Loop]) -> None:
    lines = nginx(' "x" 9.000 "0.250"'), nginx(' "x" 9.0'), nginx(' "x'), nginx("")
    assert told(scan, BOTH, *lines) == (4, 1, 250_000)


@engines
def test_all_answers_are_timed_and_lines_that_are_none_are_not(scan: type[Loop]) -> None:
    layout = NGINX + " $request_time"
    line = nginx(" 1.5")
    assert told(
        scan,
        layout,
        line.replace(" 200 ", " 500 "),
        line.replace('"GET / HTTP/1.1"', '"-"'),
        line.replace(AT, "never"),
        line + "\r",
    ) == (2, 2, 3_000_000)


@pytest.mark.parametrize("name", ["combined", "icecast", "vhost_combined", "aws_s3", "netnea"])
def test_formats_that_say_no_time_say_so(name: str) -> None:
    assert not FORMATS[name].says_times


def test_a_time_that_cannot_be_told_apart_is_none_and_refuses_no_format() -> None:
    assert not layout_of(NGINX + "$request_time").says_times
    assert not layout_of(NGINX + " $http_x$request_time").says_times


@given(st.text("0123456789.eE+-nums \u0661", max_size=70), st.sampled_from(["s", "ms", "us", "ns"]))
def test_any_text_is_none_or_within_a_day(text: str, unit: str) -> None:
    found = microseconds(text.encode(), unit)  # type: ignore[arg-type]  # one of the units
    assert found is None or 0 <= found <= LONGEST


@engines
def test_counts_without_times_are_on_disk_as_they_always_were(scan: type[Loop]) -> None:
    found = []
    for layout, line in (
        ("vhost_combined", apache("").replace("a.example ", "a.example:80 ")),
        (APACHE + " %D", apache(" 5")),
    ):
        loop = scan(layout_of(layout), RULES[0], 10)  # type: ignore[call-arg]
        loop.feed(f"{line}\n".encode())
        counts = Counts(loop.finish(True))
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder, name) for name in ("files", "hours", "sample")]
            counts.write(*paths)
            table = pq.read_table(paths[1])
        found.append(table.column_names)
        assert HOURS.make(table.to_pandas()).equals(counts.hours)
    assert found[0] == HOURS.earlier
    assert found[1] == [*HOURS.earlier, "timed", "service_us"]
