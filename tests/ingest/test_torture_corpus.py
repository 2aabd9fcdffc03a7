"""Everything that a log should not hold, once in every format: both engines say the same, and no
line is missing.

A horror is a function from good lines, which are those of the format's sample, to the bytes of a
log.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from flex import native_or_python
from flex_logs_ingest.formats import FORMATS
from flex_logs_ingest.scan.counts_as_columns import ScannedColumns
from flex_logs_ingest.scan.malformed_lines import KEPT, NO_FIELDS
from flex_logs_ingest.scan.python_loop import LINE_LIMIT, ReferenceScan
from flex_logs_ingest.scan.segment_scan import CLASSES, Scanner
from flex_logs_ingest.scan.site_rules import SiteRule
from tests.effort import grows_with
from tests.thorough import third_quick

NATIVE: type[ReferenceScan] = getattr(native_or_python.NATIVE, "Scan", ReferenceScan)
SAMPLES = Path(__file__).parent.parent / "data" / "logs"
RULE = SiteRule(aliases={"www.example.org": "example.org"})

# What is searched for: a search that begins anew at each of them would never end.
REPEATED = (
    *(b'"', b'\\"', b'\\" ', b'" ', b'"\t', b'"\t"', b'":"', b"\\"),
    *(b" ", b"{", b"[", b"%", b"/.", b"#", b"+", b"\0"),
)

Lines = list[bytes]
HORRORS: dict[str, Callable[[Lines], bytes]] = {}


def horror(make: Callable[[Lines], Iterable[bytes]]) -> Callable[[Lines], Iterable[bytes]]:
    """One that makes lines, each of which gets an end."""
    HORRORS[make.__name__] = lambda lines: b"".join(line + b"\n" for line in make(lines))
    return make


def log(make: Callable[[Lines], bytes]) -> Callable[[Lines], bytes]:
    """One that makes a whole log."""
    HORRORS[make.__name__] = make
    return make


def inserted(lines: Lines, *pieces: bytes) -> Iterator[bytes]:
    """Each piece before and behind each mark that parts a line."""
    for line in lines:
        for mark in re.finditer(rb"[][{}\"/:, \t|~]", line):
            for piece in pieces:
                yield line[: mark.start()] + piece + line[mark.start() :]
                yield line[: mark.end()] + piece + line[mark.end() :]


def replaced(lines: Lines, pattern: bytes, *pieces: bytes) -> Iterator[bytes]:
    """Each piece in the place of each match."""
    for line in lines:
        for match in re.finditer(pattern, line):
            for piece in pieces:
                yield line[: match.start()] + piece + line[match.end() :]


@horror
def escaped_quotes(lines: Lines) -> Iterable[bytes]:
    return inserted(lines, b'\\"', b'\\\\"', b'\\\\\\"', b"\\x22", b"\\u0022")


@horror
def quotes_nobody_escaped(lines: Lines) -> Iterable[bytes]:
    return inserted(lines, b'"', b'" ', b' "', b'""')


@horror
def quotes_nobody_closed(lines: Lines) -> Iterable[bytes]:
    return replaced(lines, b'"', b"", b"\\", b"'")


@horror
def escapes_that_are_none(lines: Lines) -> Iterable[bytes]:
    return inserted(
        lines,
        b"\\",
        b"\\x",
        b"\\x2",
        b"\\xgg",
        b"\\u00e",
        b"\\ud83d\\ude00",
        b"\\u0000",
        b"\\n",
        b"\\/",
    )


@horror
def bytes_that_are_no_text(lines: Lines) -> Iterable[bytes]:
    return inserted(
        lines, b"\xff\xfe", b"caf\xe9", b"\xc3(", b"\xc0\xaf", b"\xed\xa0\x80", "é\u2028☃".encode()
    )


@horror
def nul(lines: Lines) -> Iterable[bytes]:
    return [
        *inserted(lines, b"\0"),
        *(b"\0" * 5000 + line for line in lines),
        *(line + b"\0" for line in lines),
    ]


@horror
def lone_cr(lines: Lines) -> Iterable[bytes]:
    return [
        *inserted(lines, b"\r"),
        *(b"\r" + line for line in lines),
        b"\r".join(lines),
        b"\r" * 99,
    ]


@horror
def crlf(lines: Lines) -> Iterable[bytes]:
    return [line + b"\r" * count for line in lines for count in (1, 2, 7)]


@horror
def ends_of_other_lines(lines: Lines) -> Iterable[bytes]:
    return inserted(
        lines, b"\x0b", b"\x0c", b"\x1c", b"\x85", "\u2029".encode(), b"\x1a", b"\x1b[2J"
    )


@horror
def tabs(lines: Lines) -> Iterable[bytes]:
    return [*inserted(lines, b"\t"), *(line.replace(b" ", b"\t") for line in lines)]


@horror
def spaces(lines: Lines) -> Iterable[bytes]:
    return [
        *inserted(lines, b" ", b"   "),
        *(line.replace(b"\t", b" ") for line in lines),
        b" " * 500,
    ]


@horror
def ipv6(lines: Lines) -> Iterable[bytes]:
    addresses = (
        b"2001:db8::1",
        b"[2001:DB8::1]:443",
        b"[::1",
        b"::]",
        b"fe80::1%eth0",
        b"::ffff:192.0.2.1",
        b"[]",
    )
    return replaced(lines, rb"[\w*-]+(?:\.[\w*-]+)+", *addresses)


@horror
def missing_fields(lines: Lines) -> Iterable[bytes]:
    return replaced(lines, rb"[^ \t,|]+[ \t,|]?", b"", b" ", b"-", b'""')


@horror
def fields_too_many(lines: Lines) -> Iterable[bytes]:
    yield from (
        line[: part.end()] + part[0] + line[part.end() :] for line in lines for part in _parts(line)
    )
    yield from (line + b" " + line for line in lines)


def _parts(line: bytes) -> Iterator[re.Match[bytes]]:
    return re.finditer(rb"[^ \t,|]+[ \t,|]?", line)


@horror
def cut_lines(lines: Lines) -> Iterable[bytes]:
    return (line[:end] for line in lines for end in range(len(line)))


@horror
def lines_without_their_beginning(lines: Lines) -> Iterable[bytes]:
    return (line[start:] for line in lines for start in range(1, len(line)))


@horror
def two_writers_at_once(lines: Lines) -> Iterable[bytes]:
    for line, other in zip(lines, lines[1:] + lines[:1], strict=True):
        for at in range(0, len(line), 5):
            yield line[:at] + other
            yield line[at:]


@horror
def dash_requests(lines: Lines) -> Iterable[bytes]:
    yield from replaced(
        lines, rb'"[^"]*"', b'"-"', b'""', b'"GET"', b'"GET "', b'"-" 400 0', b'" "'
    )
    yield from replaced(
        lines, rb"(?:GET|HEAD|POST|PUT)[ \t]", b"-\t", b"- ", b"", b"OPTIONS * ", b"get ", b"G" * 40
    )


@horror
def http_09(lines: Lines) -> Iterable[bytes]:
    return replaced(
        lines,
        rb" HTTP/\d(?:\.\d)?",
        b"",
        b" ",
        b" HTTP",
        b" HTTP/",
        b" HTTP/0.9",
        b" HTTPS/1.1",
        b" XHTTP/1",
    )


@horror
def tls_on_a_plain_port(lines: Lines) -> Iterable[bytes]:
    hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
    yield from (hello, hello * 50)
    escaped = b"".join(b"\\x%02X" % byte for byte in hello)
    yield from replaced(
        lines, rb'"[^"]*"', *(b'"' + asked + b'"' for asked in (hello, escaped, b"SSH-2.0-Go"))
    )


@horror
def numbers_nobody_sent(lines: Lines) -> Iterable[bytes]:
    giants = (b"9" * 18, b"9" * 19, b"9" * 400, b"%d" % 2**63, b"%d" % 2**64, b"0" * 30 + b"5")
    return replaced(
        lines,
        rb"\d+",
        b"-1",
        b"+5",
        b"1e9",
        b"0x1F",
        b"1_0",
        b"1.5",
        b"",
        "٣".encode(),
        b"\xb2",
        *giants,
    )


@horror
def times_there_are_none_of(lines: Lines) -> Iterable[bytes]:
    yield from replaced(lines, rb"\b\d\d\b", b"00", b"31", b"60", b"61", b"99", b"+1", b" 1")
    yield from replaced(
        lines, rb"\b(?:2000|9712\d+)\b", b"1969", b"9999", b"0000", b"253402300800", b"-1"
    )
    yield from replaced(
        lines, rb"Oct|[+-]\d{4}|Z", b"oct", b"Okt", b"+2400", b"-0060", b"+00:00", b"z", b"UTC"
    )


@horror
def paths_that_lead_elsewhere(lines: Lines) -> Iterable[bytes]:
    steps = (
        b"/../..",
        b"//",
        b"/./",
        b"/%2e%2E/",
        b"/%",
        b"/%zz",
        b"/%00",
        b"/..%2f",
        b"/a/.." * 50,
        b"?#",
        b"#?",
    )
    return replaced(
        lines,
        rb"(?<=[ \t\"/])/|/(?=[\w.])",
        *steps,
        b"http://",
        b"HTTPS://example.net",
        b"http:///",
    )


@horror
def hosts_that_are_none(lines: Lines) -> Iterable[bytes]:
    names = (
        b"-",
        b"_",
        b".",
        b"..",
        b":",
        b":80",
        b"a" * 300,
        b"<script>",
        b"(unknown)",
        b"WWW.EXAMPLE.ORG.:80",
        b"%00",
    )
    return replaced(lines, rb"\w+(?:\.\w+)*\.(?:org|net|com)(?::\d+)?|W3SVC\d|web~?|bucket", *names)


@horror
def lines_at_the_limit(lines: Lines) -> Iterable[bytes]:
    for line in lines[:3]:
        at = line.find(b"/a") + 1
        for length in (LINE_LIMIT - 1, LINE_LIMIT, LINE_LIMIT + 1):
            yield line[:at] + b"a" * (length - len(line)) + line[at:]
            yield line


@horror
def lines_far_above_the_limit(lines: Lines) -> Iterable[bytes]:
    for line in lines[:2]:
        yield from (
            line,
            line * (3 * LINE_LIMIT // len(line)),
            line,
            b'"' * (LINE_LIMIT + 9),
            line,
            b"\0" * 2 * LINE_LIMIT,
        )


@horror
def nesting_without_end(lines: Lines) -> Iterable[bytes]:
    for line in lines[:2]:
        for inside in (b"[" * 50_000, b'{"a":' * 50_000, b"[" * 5_000 + b"]" * 5_000, b"}" * 5_000):
            yield line[:-1] + b',"a":' + inside
            yield b'{"a":' + inside + b"," + line[1:]


@horror
def searches_without_end(lines: Lines) -> Iterable[bytes]:
    for piece in REPEATED:
        yield from (
            piece * 20_000,
            lines[0] + piece * 20_000,
            lines[0][:-9] + piece * 20_000 + lines[0][-9:],
        )


@horror
def headings(lines: Lines) -> Iterable[bytes]:
    names = (
        b"#",
        b"#Fields",
        b"#Fields:",
        b"#FIELDS:\t\t",
        b"#Fields: date date date",
        b"# " + lines[0],
        b"#Fields: " + lines[0],
    )
    usable = b"#fields: date time cs-uri sc-status sc-bytes"
    for name in (
        *names,
        usable,
        usable.upper(),
        usable + b" x" * 20_000,
        b"\0" + usable,
        b" " + usable,
    ):
        yield from (name, b"2000-10-10 20:55:36 /a 200 5", *lines[-3:])


@horror
def bytes_at_random(lines: Lines) -> Iterable[bytes]:
    chance = random.Random(1)
    yield from (chance.randbytes(chance.randrange(300)) for _ in range(300))
    for line in lines * 20:
        yield bytes(byte ^ (chance.random() < 0.03) << chance.randrange(8) for byte in line)


@log
def blank_lines(lines: Lines) -> bytes:
    return b"\n" * 1000 + b"\n\n\r\n".join(lines) + b"\n \n\t\n\0\n"


@log
def nothing(lines: Lines) -> bytes:
    return b""


@log
def zeros_alone(lines: Lines) -> bytes:
    return b"\0" * 100_000


@log
def no_end(lines: Lines) -> bytes:
    return b"\n".join(lines)


@log
def in_utf_16(lines: Lines) -> bytes:
    return "\n".join(line.decode("latin-1") for line in lines).encode("utf-16") + b"\n"


@log
def a_mark_of_utf_8(lines: Lines) -> bytes:
    return b"\xef\xbb\xbf" + b"\n".join(lines) + b"\n"


def sample(name: str) -> bytes:
    return (SAMPLES / f"{name}.log").read_bytes()


def cut(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


def read(scan: ReferenceScan, chunks: Iterable[bytes]) -> ScannedColumns:
    for chunk in chunks:
        scan.feed(chunk)
    return scan.finish()


def plain(answer: ScannedColumns) -> dict[str, object]:
    found: dict[str, object] = {**answer, **answer["tables"].columns()}
    del found["tables"]
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in found.items()
    }


def lines_of(name: str, data: bytes) -> dict[str, int]:
    return dict(zip(CLASSES, read(NATIVE(FORMATS[name], RULE, 100), [data])["lines"], strict=True))


@pytest.mark.parametrize("case", third_quick([*product(HORRORS, FORMATS)]), ids="-".join)
def test_no_line_is_missing_and_both_engines_agree(case: tuple[str, str]) -> None:
    horror, name = case
    data = HORRORS[horror](sample(name).splitlines())
    reference = plain(read(ReferenceScan(FORMATS[name], RULE, 100), [data]))
    assert plain(read(NATIVE(FORMATS[name], RULE, 100), [data])) == reference
    assert (
        plain(read(NATIVE(FORMATS[name], RULE, 100), cut(data, 1 if len(data) < 50_000 else 4099)))
        == reference
    )
    lines = reference["lines"]
    assert isinstance(lines, list)
    assert sum(lines) == data.count(b"\n")


@pytest.mark.parametrize("horror", HORRORS)
def test_what_is_counted_can_be_shown_and_stored(horror: str) -> None:
    scanner = Scanner(NATIVE(FORMATS["vhost_combined"], RULE, 100))
    scanner.feed(HORRORS[horror](sample("vhost_combined").splitlines()))
    found = scanner.finish()
    assert found.partial["requests"].sum() == found.lines["counted"]
    assert sum(found.reasons.values()) == found.lines["malformed"]
    assert len(found.bad) == sum(min(number, KEPT) for number in found.reasons.values())
    texts = [
        *(bad.text for bad in found.bad),
        *found.partial["site"],
        *found.partial["target"],
        *found.hours["site"],
    ]
    assert [text for text in texts if not (text.isascii() and text.isprintable())] == []


@pytest.mark.parametrize("name", FORMATS)
def test_what_stands_behind_a_horror_counts_as_if_it_stood_alone(name: str) -> None:
    good = sample(name)
    alone = lines_of(name, good)
    for make in HORRORS.values():
        data = make(good.splitlines()) + b"\n"
        before, both = lines_of(name, data), lines_of(name, data + good)
        assert {kind: both[kind] - before[kind] for kind in CLASSES} == alone


@pytest.mark.slow("cloudfront-reference", "w3c-reference")
@pytest.mark.parametrize("scan", [ReferenceScan, NATIVE], ids=["reference", "first choice"])
@pytest.mark.parametrize(
    "name", ["vhost_combined", "aws_alb", "squid", "nginx_json", "w3c", "cloudfront"]
)
def test_a_line_costs_what_its_length_costs_whatever_it_repeats(
    name: str, scan: type[ReferenceScan]
) -> None:
    # Up to where quoted text begins, if the format has any: that is the text whose end is searched
    # for.
    line = next(line for line in sample(name).splitlines() if not line.startswith(b"#"))
    begin = line[: line.find(b'"') + 1]

    def read(length: int, piece: bytes) -> None:
        log = scan(FORMATS[name], RULE, 100)
        log.feed(begin + piece * ((length - len(begin)) // len(piece)) + b"\n")

    dear = [piece for piece in REPEATED if not grows_with(partial(read, piece=piece), LINE_LIMIT)]
    assert dear == []


@pytest.mark.parametrize("scan", [ReferenceScan, NATIVE], ids=["reference", "first choice"])
@pytest.mark.parametrize("line", [b"\n", b"nonsense\n"])
def test_lines_that_are_malformed_cost_no_more_the_more_there_are(
    line: bytes, scan: type[ReferenceScan]
) -> None:
    def read(lines: int) -> None:
        log = scan(FORMATS["combined"], RULE, 100)
        log.feed(line * lines)
        assert log.finish()["reasons"][NO_FIELDS] == lines

    assert grows_with(read, 160_000)
