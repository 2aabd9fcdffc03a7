"""What every line of a log counts for, in every engine that is installed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from zlib import crc32

import pandas as pd
import pytest

from flex import native_or_python
from flex.frame_schemas import HOURS
from flex_logs_ingest.formats import FORMATS
from flex_logs_ingest.lines.field_meanings import seconds
from flex_logs_ingest.scan.python_loop import LINE_LIMIT, ReferenceScan, level_of
from flex_logs_ingest.scan.segment_scan import CLASSES, Counts, Scanner
from flex_logs_ingest.scan.site_rules import SiteRule

NATIVE: type[ReferenceScan] = getattr(native_or_python.NATIVE, "Scan", ReferenceScan)
NOON = 971_211_336  # 10/Oct/2000:13:55:36 -0700
LARGEST = 2**44

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
    """Log bytes through one engine."""

    def run(
        *chunks: bytes, rule: SiteRule | None = None, limit: int = 1000, complete: bool = False
    ) -> Counts:
        scanner = Scanner(request.param(FORMATS["vhost_combined"], rule or SiteRule(), limit))
        for chunk in chunks:
            scanner.feed(chunk)
        return scanner.finish(complete=complete)

    return run


def line(
    request: str | bytes = "GET / HTTP/1.1",
    *,
    status: str = "200",
    sent: str = "5",
    time: str = "10/Oct/2000:13:55:36 -0700",
    host: str = "example.org:80",
    user: str = "-",
    end: str = ' "-" "-"\n',
) -> bytes:
    asked = request.encode() if isinstance(request, str) else request
    before, after = f'{host} 192.0.2.1 - {user} [{time}] "', f'" {status} {sent}{end}'
    return before.encode() + asked + after.encode()


def class_of(counts: Counts) -> str:
    """The class of the only line."""
    assert sum(counts.lines.values()) == 1
    return next(name for name in CLASSES if counts.lines[name])


def row(table: pd.DataFrame) -> tuple[object, ...]:
    """The only row."""
    assert len(table) == 1
    return tuple(table.iloc[0].tolist())


@dataclass(frozen=True, slots=True)
class Seen:
    """What a counted line says; `size` is -1 where it is the bytes."""

    target: str = "/"
    site: str = "example.org"
    sent: int = 5
    size: int = -1


COUNTED = {
    "plain": (line(), Seen()),
    "query": (line("GET /a?b=/../c HTTP/1.1"), Seen("/a")),
    "fragment": (line("GET /a#b?c HTTP/1.1"), Seen("/a")),
    "spaces in the query": (line("GET /a?b c d HTTP/1.1"), Seen("/a")),
    "space in the path": (line("GET /a b HTTP/1.1"), Seen("/a%20b")),
    "two spaces": (line("GET  /a  HTTP/1.1"), Seen("/a")),
    "HTTP/0.9": (line("GET /a"), Seen("/a")),
    "HTTP/2": (line("GET /a HTTP/2"), Seen("/a")),
    "absolute": (line("GET HTTP://EXAMPLE.net:80/A?b HTTP/1.1"), Seen("/A")),
    "absolute without path": (line("GET https://example.net?/b HTTP/1.1"), Seen("/")),
    "unreserved and reserved": (line("GET /%41%2f%2F%7e%zz% HTTP/1.1"), Seen("/A%2F%2F~%25zz%25")),
    "slashes and dots": (line("GET //a/./b//../%2E%2e/c/. HTTP/1.1"), Seen("/c/")),
    "above the root": (line("GET /../.. HTTP/1.1"), Seen("/")),
    "hidden file": (line("GET /.well-known/..x HTTP/1.1"), Seen("/.well-known/..x")),
    "raw latin1": (line(b"GET /caf\xe9 HTTP/1.1"), Seen("/caf%E9")),
    "escaped by Apache": (line(r"GET /caf\xc3\xa9\"\\\t HTTP/1.1"), Seen('/caf%C3%A9"\\%09')),
    "raw tab and NUL": (line(b"GET /a\tb\0c HTTP/1.1"), Seen("/a%09b%00c")),
    "lone CR": (line("GET /a\rb HTTP/1.1"), Seen("/a%0Db")),
    "quote that is not escaped": (line('GET /a"b HTTP/1.1'), Seen('/a"b')),
    "escaped quote before a space": (line(r"GET /a\" 404 1 HTTP/1.1"), Seen('/a"%20404%201')),
    "escaped backslash at the end": (line("GET /\\\\"), Seen("/\\")),
    "odd method": (line("VERSION-CONTROL /a HTTP/1.1"), Seen("/a")),
    "user with a space": (line(user="A User"), Seen()),
    "CRLF": (line(end="\r\n"), Seen()),
    "common": (line(end="\n"), Seen()),
    "more fields": (line(end=" 0.003 more\n"), Seen()),
    "zeros before": (b"\0" * 5000 + line(), Seen()),
    "no port": (line(host="example.org"), Seen()),
    "upper case and dots": (line(host="WWW.Example.ORG..:443"), Seen(site="www.example.org")),
    "address": (line(host="192.0.2.1:80"), Seen(site="(unknown)")),
    "IPv6 host": (line(host="[2001:DB8::1]:80"), Seen(site="(unknown)")),
    "bare IPv6 host": (line(host="2001:db8::1"), Seen(site="(unknown)")),
    "host nobody can have": (line(host='<a"\xe9>'), Seen(site="(unknown)")),
    "host of letters beyond ASCII": (
        line(host="B\xfccher.example:80"),
        Seen(site="xn--bcher-kva.example"),
    ),
    "host escaped by Apache": (
        line(host=r"b\xc3\xbccher.example"),
        Seen(site="xn--bcher-kva.example"),
    ),
    "host percent-encoded": (line(host="b%C3%BCcher.example"), Seen(site="xn--bcher-kva.example")),
    "host without a dot": (line(host="Shop"), Seen(site="shop")),
    "no host": (line(host="-"), Seen(site="(unknown)")),
    "empty host": (line(host=""), Seen(site="(unknown)")),
    "only a port": (line(host=":80"), Seen(site="(unknown)")),
    "catch-all": (line(host="_"), Seen(site="(unknown)")),
    "longer than names can be": (line(host="a" * 256), Seen(site="(unknown)")),
    "no bytes": (line(sent="-"), Seen(sent=0)),
    "nothing sent": (line(sent="0"), Seen(sent=0)),
    "leading zeros": (line(sent="000000000000000000000007"), Seen(sent=7)),
    "largest": (line(sent=str(LARGEST)), Seen(sent=LARGEST)),
    "larger": (line(sent=str(LARGEST + 1)), Seen(sent=LARGEST)),
    "over 2**63": (line(sent=str(2**63)), Seen(sent=LARGEST)),
    "5000 digits": (line(sent="9" * 5000), Seen(sent=LARGEST)),
    "HEAD": (line("HEAD / HTTP/1.1"), Seen(size=0)),
    "POST": (line("POST / HTTP/1.1"), Seen()),
    "206": (line(status="206"), Seen(size=0)),
    "301": (line(status="301"), Seen(size=0)),
    "304": (line(status="304"), Seen(size=0)),
    "204": (line(status="204"), Seen(size=0)),
}


@pytest.mark.parametrize(("data", "seen"), COUNTED.values(), ids=COUNTED)
def test_an_answered_request_is_counted(scan: Scan, data: bytes, seen: Seen) -> None:
    counts = scan(data)
    assert class_of(counts) == "counted", counts.bad
    size = seen.sent if seen.size < 0 else seen.size
    assert row(counts.partial) == (NOON // 86400, seen.site, seen.target, 1, seen.sent, size, NOON)
    assert row(counts.hours[HOURS.earlier]) == (seen.site, NOON // 3600, 1, seen.sent)
    assert (counts.first_time, counts.last_time) == (NOON, NOON)


@pytest.mark.parametrize("status", ["404", "500", "101", "499", "999", "000", "-"])
def test_other_answers_count_in_the_hours_only(scan: Scan, status: str) -> None:
    counts = scan(line(status=status))
    assert class_of(counts) == "other_status"
    assert row(counts.hours[HOURS.earlier]) == ("example.org", NOON // 3600, 1, 5)
    assert counts.partial.empty


NO_REQUEST = {
    "nothing": "-",
    "empty": "",
    "TLS, escaped": r"\x16\x03\x01\x02\x00\x01",
    "TLS, raw": b"\x16\x03\x01\x02\x00\xff",
    "no target": "GET HTTP/1.1",
    "star": "OPTIONS * HTTP/1.0",
    "connect": "CONNECT example.net:443 HTTP/1.1",
    "no version": "POST /a",
    "lower case": "get /a HTTP/1.1",
    "long method": "A" * 33 + " / HTTP/1.1",
    "other scheme": "GET ftp://example.net/a HTTP/1.1",
    "only a space": " ",
}


@pytest.mark.parametrize("request_", NO_REQUEST.values(), ids=NO_REQUEST)
def test_what_asks_for_nothing_of_a_site_is_no_request(scan: Scan, request_: str | bytes) -> None:
    counts = scan(line(request_, status="400"))
    assert class_of(counts) == "no_request"
    assert counts.hours.empty
    assert counts.last_time == NOON


MALFORMED: dict[str, tuple[str, bytes]] = {
    "empty": ("no_fields", b"\n"),
    "blank": ("no_fields", b"  \r\n"),
    "zeros": ("no_fields", b"\0\0\0\n"),
    "words": ("no_fields", b"This is not a log line at all\n"),
    "cut in the request": ("no_fields", line()[:60] + b"\n"),
    "cut before the bytes": ("no_fields", line(end="\n")[:-3] + b"\n"),
    "negative bytes": ("no_bytes", line(sent="-5")),
    "bytes with a point": ("no_bytes", line(sent="5.0")),
    "bytes with a sign": ("no_bytes", line(sent="+5")),
    "bytes with an underscore": ("no_bytes", line(sent="1_0")),
    "other digits": ("no_bytes", line(sent="٣")),
    "no bytes at all": ("no_bytes", line(sent="")),
    "two-digit status": ("no_status", line(status="20")),
    "status with a letter": ("no_status", line(status="20x")),
    "no status": ("no_status", line(status="")),
    "no time": ("no_time", line(time="")),
    "no such day": ("no_time", line(time="31/Apr/2000:13:55:36 -0700")),
    "W3C header": ("no_fields", b"#Fields: date time cs-uri-stem\n"),
    "two records on a line": ("no_time", line()[:30] + line()),
}


@pytest.mark.parametrize(("reason", "data"), MALFORMED.values(), ids=MALFORMED)
def test_a_line_that_cannot_be_read_is_malformed_and_shown(
    scan: Scan, reason: str, data: bytes
) -> None:
    counts = scan(line() + data)
    assert counts.lines["malformed"] == 1
    assert counts.lines["counted"] == 1
    (shown,) = counts.bad
    assert shown.reason == reason
    assert counts.reasons[reason] == 1
    assert shown.offset == len(line())
    assert shown.text.isascii()


def test_bad_lines_are_shown_printable_and_cut_and_only_a_few(scan: Scan) -> None:
    counts = scan(b"\x1b[2J\xff\\x\n" + b"x" * 1000 + b"\n" + b"y\n" * 100)
    assert [(bad.offset, bad.text) for bad in counts.bad[:2]] == [
        (0, "\\x1b[2J\\xff\\x"),
        (8, "x" * 200),
    ]
    assert len(counts.bad) == 3
    assert counts.lines["malformed"] == counts.reasons["no_fields"] == 102


TIMES = {
    "10/Oct/2000:13:55:36 -0700": NOON,
    "01/Jan/1970:00:00:00 +0000": 0,
    "01/Jan/1970:00:00:00 +0100": None,
    "31/Dec/1969:23:59:59 -0001": None,
    "29/Feb/2000:00:00:00 +0000": 951_782_400,
    "29/Feb/2024:23:59:59 +0000": 1_709_251_199,
    "29/Feb/2100:00:00:00 +0000": None,
    "29/Feb/2023:00:00:00 +0000": None,
    "31/Dec/2016:23:59:60 +0000": 1_483_228_800,
    "31/Dec/2016:23:59:61 +0000": None,
    "31/Dec/2016:24:00:00 +0000": None,
    "31/Dec/2016:23:60:00 +0000": None,
    "31/Dec/9999:23:59:59 +0000": 253_402_300_799,
    "31/Dec/9999:23:59:59 -0001": None,
    "00/Oct/2000:13:55:36 -0700": None,
    "1/Oct/2000:13:55:36 -0700": None,
    "10/oct/2000:13:55:36 -0700": None,
    "10/Oct/2000:20:55:36": NOON,
    "10/Oct/2000:20:55:36.5": NOON,
    "10/Oct/2000:20:55:36.": NOON,
    "10/Oct/2000:13:55:36.123 -0700": NOON,
    "10/Oct/2000:13:55:36.123-0700": None,
    "10/Oct/2000:20:55:3": None,
    "10/Oct/2000:13:55:36 -0760": None,
    "10/Oct/2000:13:55:36 0700x": None,
    "10/Oct/2000 13:55:36 -0700": None,
    "10/Oct/2000:13:55:3a -0700": None,
    "10/Oct/2000:+3:55:36 -0700": None,
    "2000-10-10T13:55:36-07:00": NOON,
    "2000-10-10T20:55:36Z": NOON,
    "2000-10-10 20:55:36.123456+0000": NOON,
    "2000-10-10T22:55:36,5+02": NOON,
    "2000-10-10T20:55:36": NOON,
    "2000-10-10 20:55:36.003372": NOON,
    "2000-10-10 20:55:3": None,
    "2000/10/10 20:55:36": NOON,
    "2000/10/10 20:55:36.123": NOON,
    "2000/10-10 20:55:36": None,
    "2000-13-10T20:55:36Z": None,
    "2000-00-10T20:55:36Z": None,
    "2000-10-10T20:55:36+7:00": None,
    "971211336": NOON,
    "971211336.999": NOON,
    "971211336.": NOON,
    "971211336.9.9": None,
    "971211336000": None,
    "253402300799": 253_402_300_799,
    "1388002658123": 1_388_002_658,
    "1388002658123.456": 1_388_002_658,
    "1388002658123456": 1_388_002_658,
    "1388002658123456789": 1_388_002_658,
    "138800265812x": None,
    "13880026581234": None,
    "20131225214738": None,
    "-971211336": None,
    "٣": None,
    "": None,
}


@pytest.mark.parametrize(("text", "time"), TIMES.items())
def test_times_are_read_in_these_styles_and_refused_where_there_is_no_such_time(
    scan: Scan, text: str, time: int | None
) -> None:
    counts = scan(line(time=text))
    assert counts.lines["malformed"] == (time is None)
    assert counts.last_time == (time or 0)
    assert seconds(text.encode()) == time


@pytest.mark.parametrize("chunk", [2**16, 2**22])
def test_a_line_may_be_one_mebibyte_long_and_no_longer(scan: Scan, chunk: int) -> None:
    room = LINE_LIMIT - len(line("GET / HTTP/1.1", sent="55", end="\n")) + 1
    fits, over = (
        line(f"GET /{'x' * (room + more)} HTTP/1.1", sent="55", end="\n") for more in (0, 1)
    )
    data = fits + over + line()
    counts = scan(*(data[start : start + chunk] for start in range(0, len(data), chunk)))
    assert counts.lines == {"counted": 2, "other_status": 0, "no_request": 0, "malformed": 1}
    assert counts.partial["target"].str.len().max() == 8192
    assert (counts.bad[0].offset, counts.bad[0].reason) == (len(fits), "too_long")
    assert counts.bad[0].text.startswith("example.org")


@pytest.mark.parametrize("chunk", [2**16, 2**22])
def test_zeros_before_a_line_are_no_part_of_it(scan: Scan, chunk: int) -> None:
    data = line() + bytes(2 * LINE_LIMIT) + line() + b"x\n"
    counts = scan(*(data[start : start + chunk] for start in range(0, len(data), chunk)))
    assert counts.lines["counted"] == 2
    assert [(bad.offset, bad.text) for bad in counts.bad] == [(len(data) - 2, "x")]


def test_long_targets_that_differ_stay_different(scan: Scan) -> None:
    long = "/" + "x" * 8191
    counts = scan(b"".join(line(f"GET {long}{end} HTTP/1.1") for end in ("", "a", "b", "b?c")))
    assert counts.partial["requests"].sort_values().tolist() == [1, 1, 2]
    assert set(counts.partial["target"].str[:8000]) == {long[:8000]}


def test_a_last_line_without_an_end_waits_unless_the_log_is_complete(scan: Scan) -> None:
    whole, cut = line(), line("GET /b HTTP/1.1")[:-1]
    counts = scan(whole + b"\0\0" + cut)
    assert counts.pending == len(cut) + 2
    assert counts.partial["target"].tolist() == ["/"]
    complete = scan(whole + cut, complete=True)
    assert complete.pending == 0
    assert complete.partial["target"].tolist() == ["/", "/b"]
    assert scan(whole, complete=True).lines == scan(whole).lines


def test_an_empty_log_gives_empty_tables(scan: Scan) -> None:
    counts = scan(b"", complete=True)
    assert (len(counts.partial), len(counts.hours), len(counts.sample)) == (0, 0, 0)
    assert (counts.first_time, counts.last_time, counts.pending) == (0, 0, 0)
    assert counts.lines == dict.fromkeys(CLASSES, 0)


def test_size_is_the_largest_full_answer_and_bytes_are_all(scan: Scan) -> None:
    counts = scan(line(sent="7") + line(sent="9") + line(sent="8") + line(sent="100", status="206"))
    assert row(counts.partial)[3:6] == (4, 124, 9)


def test_claims_no_answer_can_have_do_not_drown_the_sums(scan: Scan) -> None:
    counts = scan(line(sent=str(2**63)) + line(sent=str(2**63)) + line(sent="1", status="404"))
    assert counts.partial["bytes"].tolist() == [2 * LARGEST]
    assert counts.hours["bytes"].tolist() == [2 * LARGEST + 1]


def test_a_target_has_a_row_for_each_day_and_the_sample_points_at_that_of_its_day(
    scan: Scan,
) -> None:
    days = [line(time=f"{day}/Oct/2000:13:55:36 -0700") for day in (11, 10, 12, 10)]
    counts = scan(b"".join(days))
    first = NOON // 86400
    assert counts.partial["day"].tolist() == [first, first + 1, first + 2]
    assert counts.sample["target"].tolist() == [1, 0, 2, 0]
    assert (counts.sample["time"] // 86400).tolist() == [first + 1, first, first + 2, first]


def test_rows_are_sorted_and_hours_are_of_utc(scan: Scan) -> None:
    hosts = ("b.example", "a.example", "b.example")
    counts = scan(
        b"".join(
            line("GET /b HTTP/1.1", host=host) + line("GET /a HTTP/1.1", host=host)
            for host in hosts
        )
    )
    assert counts.partial["site"].tolist() == ["a.example", "a.example", "b.example", "b.example"]
    assert counts.partial["target"].tolist() == ["/a", "/b", "/a", "/b"]
    assert counts.hours["hour"].tolist() == [NOON // 3600] * 2


def test_aliases_and_a_fixed_name_say_which_site_it_is(scan: Scan) -> None:
    rule = SiteRule(aliases={"WWW.example.org.": "example.org"})
    assert scan(line(host="www.Example.org:80"), rule=rule).hours["site"].tolist() == [
        "example.org"
    ]
    assert scan(line(), rule=SiteRule(fixed="Büro", aliases=rule.aliases)).hours[
        "site"
    ].tolist() == ["Büro"]


def test_levels_are_the_zero_bits_before_a_hash_that_never_changes(scan: Scan) -> None:
    assert [level_of("example.org", target) for target in (b"/", b"/a", b"/b", b"/c")] == [
        0,
        0,
        5,
        1,
    ]
    targets = [f"/{i}" for i in range(2000)]
    counts = scan(b"".join(line(f"GET {target} HTTP/1.1") for target in targets), limit=10_000)
    levels = counts.sample["level"].tolist()
    assert levels == [level_of("example.org", target.encode()) for target in targets]
    assert [sum(level >= j for level in levels) for j in (1, 2, 3)] == pytest.approx(
        [1000, 500, 250], rel=0.15
    )


def test_the_sample_keeps_all_accesses_of_fewer_targets_when_there_are_too_many(scan: Scan) -> None:
    data = b"".join(line(f"GET /{crc32(b'%d' % i) % 500} HTTP/1.1") for i in range(3000))
    everything, some = scan(data, limit=3000), scan(data, limit=400)
    assert (everything.sample_level, len(everything.sample)) == (0, 3000)
    assert some.sample_level >= 3
    assert len(some.sample) <= 400
    kept = everything.sample[everything.sample["level"] >= some.sample_level].reset_index(drop=True)
    pd.testing.assert_frame_equal(some.sample, kept)
    pd.testing.assert_frame_equal(some.partial, everything.partial)


def test_a_sample_of_nothing_is_empty(scan: Scan) -> None:
    assert scan(line(), limit=0).sample.empty
