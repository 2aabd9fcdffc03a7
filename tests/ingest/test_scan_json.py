"""What a line that is a JSON object counts for, in every engine that is installed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flex import native_or_python
from flex_logs_ingest.formats import FORMATS
from flex_logs_ingest.scan.python_loop import ReferenceScan
from flex_logs_ingest.scan.segment_scan import Counts, Scanner
from flex_logs_ingest.scan.site_rules import SiteRule

NATIVE: type[ReferenceScan] = getattr(native_or_python.NATIVE, "Scan", ReferenceScan)
NOON = 971_211_336  # 10/Oct/2000:13:55:36 -0700

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
    def run(data: bytes, format_: str = "nginx_json") -> Counts:
        scanner = Scanner(request.param(FORMATS[format_], SiteRule(), 1000))
        scanner.feed(data)
        return scanner.finish()

    return run


def row(counts: Counts) -> tuple[object, ...]:
    """The only row."""
    assert len(counts.partial) == 1, counts.bad
    return tuple(counts.partial.iloc[0].tolist())


def test_json_escapes_of_all_three_kinds_are_undone(scan: Scan) -> None:
    data = (
        b'{"host":"ex\\u0061mple.org","time_local":"10\\/Oct\\/2000:13:55:36 -0700",'
        b'"request":"GET /\\x22\\"\\u00e9\\/ HTTP/1.1","status":200,"bytes":5}\n'
    )
    counts = scan(data)
    assert row(counts) == (NOON // 86400, "example.org", '/""%C3%A9/', 1, 5, 5, NOON)


JSON = (
    b'{"host":"example.org","msec":971211336,"request":"GET / HTTP/1.1","status":200,"bytes":5}\n'
)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(JSON, id="plain"),
        pytest.param(
            JSON.replace(b":", b" : ").replace(b",", b"\t,").replace(b" : //", b"://"), id="spaces"
        ),
        pytest.param(
            JSON.replace(b"200", b'"200"').replace(b"5}", b'"5"}'), id="numbers as strings"
        ),
        pytest.param(JSON.replace(b'"bytes"', b'"x":{"bytes":[1,"}"]},"bytes"'), id="nested"),
        pytest.param(
            JSON.replace(b'"bytes":5', b'"bytes":7,"bytes":null,"bytes":5'),
            id="the last of equal keys",
        ),
        pytest.param(
            JSON.replace(b'"bytes"', b'"bytes_sent":5,"bytes"').replace(b":5}", b":7}"),
            id="preferred",
        ),
        pytest.param(JSON.replace(b"}\n", b"} trailing\n"), id="more behind it"),
    ],
)
def test_a_json_line_is_read_as_its_members_say(scan: Scan, data: bytes) -> None:
    counts = scan(data)
    assert row(counts) == (NOON // 86400, "example.org", "/", 1, 5, 5, NOON)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"{}\n", id="empty"),
        pytest.param(b"[" + JSON[:-1] + b"]\n", id="array"),
        pytest.param(JSON[:-2] + b"\n", id="cut"),
        pytest.param(JSON.replace(b'"bytes"', b"bytes"), id="bare key"),
        pytest.param(JSON.replace(b",", b""), id="no commas"),
        pytest.param(JSON.replace(b":5", b":"), id="no value"),
        pytest.param(JSON.replace(b":5", b":null"), id="null"),
        pytest.param(JSON.replace(b":5", b":5.0"), id="a fraction"),
        pytest.param(JSON.replace(b":5", b":[5]"), id="a list"),
        pytest.param(JSON.replace(b":5", b":" + b"[" * 100_000), id="too deep"),
    ],
)
def test_a_json_line_without_what_is_needed_is_malformed(scan: Scan, data: bytes) -> None:
    assert scan(data).lines["malformed"] == data.count(b"\n") == 1


# What Caddy's `time_format` has names for, in the order of its documentation.
CADDY = {
    "unix_seconds_float": "971211336.815",
    "unix_milli_float": "1388002658123.456",
    "unix_nano": "1388002658123456789",
    "iso8601": '"2000-10-10T20:55:36.815Z"',
    "iso8601 east": '"2000-10-10T22:55:36.815+0200"',
    "rfc3339": '"2000-10-10T22:55:36+02:00"',
    "rfc3339_nano": '"2000-10-10T20:55:36.815123456Z"',
    "wall": '"2000/10/10 20:55:36"',
    "wall_milli": '"2000/10/10 20:55:36.815"',
    "wall_nano": '"2000/10/10 20:55:36.815123456"',
    "common_log": '"10/Oct/2000:13:55:36 -0700"',
}


@pytest.mark.parametrize("time", CADDY.values(), ids=CADDY)
def test_every_time_format_of_caddy_is_read(scan: Scan, time: str) -> None:
    rest = '"request":{"host":"example.org","uri":"/","method":"GET"},"status":200,"size":5}\n'
    last_time = scan(f'{{"ts":{time},{rest}'.encode(), "caddy_json").last_time
    assert last_time == (1_388_002_658 if "13880" in time else NOON)
