"""Laws of the scan: every engine says the same about any bytes, however they are cut into
chunks.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flex import native_or_python
from flex_logs_ingest.counts.signature import signature
from flex_logs_ingest.formats import FORMATS, layout_of
from flex_logs_ingest.formats.format_directive import from_apache, from_nginx
from flex_logs_ingest.lines.field_meanings import PATH_LIMIT, method_and_path, spell_path
from flex_logs_ingest.lines.layout import Layout
from flex_logs_ingest.lines.which_lines_fit_layout import ReferenceFitting
from flex_logs_ingest.scan.counts_as_columns import Loop, ScannedColumns
from flex_logs_ingest.scan.python_loop import ReferenceScan
from flex_logs_ingest.scan.segment_scan import Counts
from flex_logs_ingest.scan.site_rules import SiteRule
from tests.ingest.given import RULES
from tests.thorough import times

NATIVE: type[ReferenceScan] = getattr(native_or_python.NATIVE, "Scan", ReferenceScan)
Fitting = getattr(native_or_python.NATIVE, "Fitting", ReferenceFitting)
SAMPLES = Path(__file__).parent.parent / "data" / "logs"
RULE = RULES[0]
LAYOUTS: dict[str, Layout] = {
    **FORMATS,
    "in parts, quoted last": from_apache('<%t> %m %U%q %H %>s %b "%{Host}i"'),
    "bare": from_apache("%v,%{sec}t,%s,%B,%r"),
    "JSON as fields": from_nginx(
        '{"h":"$host","t":"$time_iso8601","r":"$request","s":$status,"b":$bytes_sent}'
    ),
    "listed": from_nginx("$http_x_forwarded_for $time_local $host $request $status $bytes_sent"),
    "a URL": from_nginx(
        "$time_iso8601 $request_method $scheme://$host$uri $server_protocol $status $bytes_sent"
    ),
    "moved": from_apache("%{%e.%m.%y %T}t %{User-Agent}i %v%U %m %H %>s %b"),
    "columns": layout_of("w3c date time cs-method cs-uri-stem cs-host sc-status sc-bytes"),
    "columns without bytes": layout_of(
        "w3c date time cs-method cs-uri-stem sc-status", unsized=True
    ),
    "without bytes": layout_of('%v %t "%r" %s', unsized=True),
    "timed": from_nginx(
        '$host [$time_local] "$request" $status $bytes_sent "$http_user_agent" '
        '$request_time "$upstream_response_time"'
    ),
    "timed and bare": from_apache("%v %D %t %r %>s %b %{X-Forwarded-For}i %^FB"),
    "timed by columns": layout_of(
        "w3c date time cs-method cs-uri-stem cs-host sc-status sc-bytes time-taken"
    ),
}

needs_native = pytest.mark.skipif(native_or_python.NATIVE is None, reason=native_or_python.WHY_NOT)
layouts = st.sampled_from(list(LAYOUTS.values()))
rules = st.sampled_from(RULES)

# Lines that are nearly right meet more of the code than bytes at random.
text_logs = [
    SAMPLES / f"{name}.log" for name, layout in FORMATS.items() if layout.kind != "records"
]
real_lines = [line for log in text_logs for line in log.read_bytes().splitlines(keepends=True)]
real_lines += [
    b'{"h":"example.org","t":"2000-10-10T13:55:36Z","r":"GET /\\"x HTTP/1.1","s":200,"b":5}\n',
    b"2000-10-10 13:55:36 GET /a+b example.org 200 5\n",
    b"192.0.2.1, 192.0.2.2 10/Oct/2000:13:55:36 -0700 example.org GET /a b HTTP/1.1 200 5\n",
    b"2000-10-10T13:55:36-07:00 GET https://example.org/a b HTTP/1.1 200 5\n",
    b" 3.10.00 13:55:36 Mozilla (X11; a) example.org/a b GET HTTP/1.1 200 5\n",
    b'"2000-10-10"\t13:55:36\tGET\t"/a b"\texample.org\t200\t"5"\n',
    b"#fields: Date time sc-bytes\tsc-status cs-uri time\n",
    b"#Fields: date time cs-uri-stem sc-status sc-bytes time-taken\n",
    b"2000-10-10 13:55:36 GET /a+b example.org 200 5 125\n",
    b'example.org [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 5 "x" 9.1 "0.1, 0.2 : -"\n',
    b"example.org 77 [10/Oct/2000:13:55:36 -0700] GET / HTTP/1.1 200 5 192.0.2.1, 192.0.2.2 9\n",
    b'{"host":"a","time":"971186136","uri":"/","status":200,"length":5,"request_time":0.5}\n',
    b'{"host":"a","time":"971186136","uri":"/","status":200,"upstream_response_time":""}\n',
]
# An answer without a body does not say how large its file is: looked at line by line, and as usual
# lines are.
HEADS = {
    "columns": b"2000-10-10 13:55:36 HEAD /a example.org 200 5\n",
    "vhost_combined": b'example.org:80 192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] "HEAD /a '
    b'HTTP/1.1" 200 5 "-" "-"\n',
}
pieces = [
    *(
        b'"',
        b'" ',
        b"\\",
        b'\\"',
        b"\\x2",
        b"\\u00e9",
        b"\\ud83d",
        b" ",
        b"  ",
        b"\t",
        b"\r",
        b"\n",
        b"\r\n",
        b"\0",
        b"\xff",
    ),
    *(
        b"[",
        b"]",
        b" [",
        b'] "',
        b"{",
        b"}",
        b":",
        b",",
        b"null",
        b"-",
        b"+",
        b"0",
        b"9" * 30,
        b".",
        b"..",
        b"/",
        b"//",
        b"/../",
    ),
    *(
        b"%",
        b"%2",
        b"%2e",
        b"%2F",
        b"%c3",
        b"?",
        b"#",
        b"http://",
        b"HTTPS://x",
        b" HTTP/1.1",
        b"HEAD ",
        b"GET",
        b"Z",
        b"10/Oct/",
    ),
    *(
        b"#",
        b"#Fields: ",
        b"request",
        b"request.host",
        b'"request":{',
        b"|",
        b"~",
        b".5",
        b"-1",
        b"1e-3",
        b"5ms",
        b" : ",
        b"0/0/-1/3/+7",
        b'"duration":',
    ),
]
junk = st.one_of(st.sampled_from(pieces), st.binary(max_size=6))


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A real line with a few places replaced, doubled or cut out."""
    line = draw(st.sampled_from(real_lines))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(line)))
        end = min(len(line), start + draw(st.integers(0, 8)))
        line = line[:start] + draw(junk) + line[end:]
    return line


logs = st.lists(st.one_of(mutated(), st.lists(junk, max_size=12).map(b"".join)), max_size=8).map(
    b"".join
)


def read(scan: Loop, chunks: Iterable[bytes], complete: bool) -> dict[str, object]:
    bad = []
    for chunk in chunks:
        scan.feed(chunk)
        bad += scan.take_bad()
    found = plain(scan.finish(complete))
    return found | {"every bad line": bad + scan.take_bad()}


def plain(answer: ScannedColumns) -> dict[str, object]:
    """With lists for arrays, and a complaint about arrays that are not of 64-bit numbers."""
    found: dict[str, object] = {**answer, **answer["tables"].columns()}
    del found["tables"]
    arrays = {name: value for name, value in found.items() if isinstance(value, np.ndarray)}
    assert {array.dtype.name for array in arrays.values()} == {"int64"}
    return {**found, **{name: array.tolist() for name, array in arrays.items()}}


def cut(data: bytes, places: Iterable[int]) -> list[bytes]:
    bounds = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(bounds)]


chunkings = st.lists(st.integers(0, 10**6), max_size=6)


@needs_native
@given(layouts, rules, logs, chunkings, st.booleans(), st.integers(0, 5))
@example(LAYOUTS["nginx_json"], RULE, b'{"a":"\\', [], True, 1)
@example(LAYOUTS["combined"], RULE, b"\0" * 3 + b"\r\r\n\r", [2, 4], True, 1)
@example(LAYOUTS["vhost_combined"], RULE, HEADS["vhost_combined"], [], True, 1)
@example(LAYOUTS["columns"], RULE, HEADS["columns"], [], True, 1)
def test_the_native_scan_says_what_the_reference_says(
    layout: Layout, rule: SiteRule, data: bytes, places: list[int], complete: bool, limit: int
) -> None:
    native = read(NATIVE(layout, rule, limit, True), cut(data, places), complete)
    assert native == read(ReferenceScan(layout, rule, limit, True), [data], complete)


@pytest.mark.slow
@needs_native
@given(
    st.lists(layouts.filter(lambda layout: layout.kind != "records"), max_size=3),
    st.lists(st.lists(st.one_of(logs, mutated()), max_size=4), max_size=3),
)
def test_both_engines_find_the_same_lines_to_be_of_each_layout_whatever_log_came_before(
    several: list[Layout], of_logs: list[list[bytes]]
) -> None:
    native = Fitting(several)
    for lines in of_logs:
        assert native.of(lines) == ReferenceFitting(several).of(lines)


@pytest.mark.slow
@needs_native
@given(
    st.lists(
        st.tuples(layouts.filter(lambda layout: layout.kind != "records"), st.booleans()),
        max_size=4,
    ),
    st.lists(st.lists(st.one_of(logs, mutated()), max_size=5), max_size=3),
    st.integers(1, 5),
)
def test_both_engines_take_the_same_layout_for_the_first_of_half_as_many_lines(
    several: list[tuple[Layout, bool]], of_logs: list[list[bytes]], most: int
) -> None:
    layouts_ = [layout for layout, _ in several]
    sure = [is_sure for _, is_sure in several]
    heads = [b"\n".join(lines) for lines in of_logs]
    told = [
        fitting(layouts_).first_with_half(heads, most, sure, 2)
        for fitting in (Fitting, ReferenceFitting)
    ]
    assert told[0] == told[1]


@pytest.mark.slow
@needs_native
@given(st.lists(st.tuples(rules, logs), min_size=1, max_size=4), st.integers(0, 5))
def test_both_engines_join_the_tables_of_several_logs_alike(
    several: list[tuple[SiteRule, bytes]], limit: int
) -> None:
    joined = []
    for scan in (NATIVE, ReferenceScan):
        loops = [scan(LAYOUTS["vhost_combined"], rule, limit) for rule, _ in several]
        for loop, (_, data) in zip(loops, several, strict=True):
            loop.feed(data)
        found = [loop.finish(True) for loop in loops]
        sites = [[*range(7, 7 + len(one["sites"]))] for one in found]
        tables = [one["tables"] for one in found]
        columns, sampled = tables[0].join(tables, sites)
        lists = {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in columns.items()
        }
        joined.append((lists, sampled))
    assert joined[0] == joined[1]


@pytest.mark.slow
@needs_native
@given(layouts, rules, logs, st.integers(0, 5))
def test_both_engines_sign_what_they_counted_alike(
    layout: Layout, rule: SiteRule, data: bytes, limit: int
) -> None:
    signed = []
    for scan in (NATIVE, ReferenceScan):
        loop = scan(layout, rule, limit)
        loop.feed(data)
        signed.append(signature(Counts(loop.finish(True))))
    assert signed[0] == signed[1]


@pytest.mark.parametrize(
    "scan", [ReferenceScan, pytest.param(NATIVE, marks=needs_native)], ids=["reference", "native"]
)
@given(layout=layouts, data=logs, places=chunkings, complete=st.booleans(), limit=st.integers(0, 5))
def test_where_a_log_is_cut_into_chunks_makes_no_difference(
    scan: type[ReferenceScan],
    layout: Layout,
    data: bytes,
    places: list[int],
    complete: bool,
    limit: int,
) -> None:
    whole = read(scan(layout, RULE, limit, True), [data], complete)
    assert read(scan(layout, RULE, limit, True), cut(data, places), complete) == whole


@needs_native
def test_what_is_known_of_an_hour_reaches_no_farther_than_times_do() -> None:
    line = b'a.example - - - [31/Dec/9999:23:%s -0001] "GET / HTTP/1.1" 200 5 "-" "-"\n'
    lines = line % b"00:00" + line % b"59:59"
    native, reference = (
        read(scan(LAYOUTS["vhost_combined"], RULE, 9), [lines], True)
        for scan in (NATIVE, ReferenceScan)
    )
    assert native == reference
    assert reference["lines"] == [1, 0, 0, 1]


@needs_native
@settings(max_examples=times(20))
@given(layouts, logs, st.integers(0, 50))
def test_nobody_can_tell_which_engine_wrote_a_file(layout: Layout, data: bytes, limit: int) -> None:
    native, reference = (
        written(scan(layout, RULE, limit), data) for scan in (NATIVE, ReferenceScan)
    )
    assert native == reference


def written(scan: Loop, data: bytes) -> list[object]:
    """The schema of each file, what is noted beside it, its rows and how they are grouped."""
    scan.feed(data)
    with tempfile.TemporaryDirectory() as folder:
        paths = [f"{folder}/{name}" for name in ("files", "hours", "sample")]
        scan.finish(True)["tables"].write(*paths)
        return [said for path in paths for said in said_by(pq.ParquetFile(path))]


def said_by(file: pq.ParquetFile) -> tuple[object, ...]:
    groups = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
    return (file.schema_arrow, file.schema_arrow.metadata, file.read().to_pylist(), groups)


@pytest.mark.slow
@needs_native
def test_a_row_group_ends_with_the_day_and_before_it_is_too_large() -> None:
    lines = b"".join(
        b'a.example:80 192.0.2.1 - - [%02d/Nov/2026:12:00:00 +0000] "GET /%d%s '
        b'HTTP/1.1" 200 5 "-" "-"\n' % (day, i, b"x" * length)
        for day, count, length in ((1, 3, 1), (2, 66_000, 1), (3, 3_000, 6_000))
        for i in range(count)
    )
    native, reference = (
        written(scan(LAYOUTS["vhost_combined"], RULE, 0), lines) for scan in (NATIVE, ReferenceScan)
    )
    assert native == reference
    groups = native[3]
    assert isinstance(groups, list)
    assert groups[:3] == [3, 65_536, 464]
    assert len(groups[3:]) == 3


@pytest.mark.slow
@needs_native
def test_long_names_of_many_sites_are_written_alike() -> None:
    lines = b"".join(
        b'%s.%s.%s.s%d.example - - - [1%d/Nov/2026:12:00:00 +0000] "GET /%d HTTP/1.1" '
        b'200 5 "-" "-"\n' % (b"a" * 63, b"b" * 63, b"c" * 63, i // 2, i % 3, i)
        for i in range(16_000)
    )
    native, reference = (
        written(scan(LAYOUTS["vhost_combined"], RULE, 9), lines) for scan in (NATIVE, ReferenceScan)
    )
    assert native == reference


@pytest.mark.slow
@needs_native
@given(layouts, st.lists(logs, max_size=4), st.integers(0, 5))
def test_what_is_asked_for_in_between_is_what_came_since(
    layout: Layout, parts: list[bytes], limit: int
) -> None:
    native, reference = (
        NATIVE(layout, RULE, limit, True),
        ReferenceScan(layout, RULE, limit, True),
    )
    for part in parts:
        assert read(native, [part], False) == read(reference, [part], False)


@given(layouts, logs, st.integers(0, 5))
def test_every_line_is_of_one_class_and_every_count_has_its_lines(
    layout: Layout, data: bytes, limit: int
) -> None:
    scan = ReferenceScan(layout, RULE, limit, keep_bad=True)
    scan.feed(data)
    found = scan.finish()
    counted, other_status, _, malformed = found["lines"]
    assert sum(found["lines"]) == data.count(b"\n")
    assert found["pending"] == len(data) - (data.rfind(b"\n") + 1)
    rows = found["tables"].columns()
    assert rows["requests"].sum() == counted
    assert found["hour_requests"].sum() == counted + other_status
    assert sum(found["reasons"]) == malformed == len(scan.take_bad())
    assert len(found["bad"]) == sum(min(number, 3) for number in found["reasons"])
    assert len(rows["sample_row"]) <= limit
    assert (rows["sample_level"] >= found["level"]).all()


@given(st.lists(junk, max_size=20).map(b"".join))
def test_the_spelling_of_a_target_is_its_own_spelling(path: bytes) -> None:
    once = spell_path(b"/" + path)
    assert spell_path(once) == once
    assert once.startswith(b"/")
    assert len(once) <= PATH_LIMIT
    assert once.isascii()
    assert once.decode().isprintable()


@given(st.binary())
def test_any_request_is_a_method_and_a_target_or_none(request: bytes) -> None:
    found = method_and_path(request)
    assert found is None or found[1].startswith(b"/")
