"""Log formats are data: known by name, found by looking, or compiled from the server's own
directive.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flex.errors import BadInput, NoData, Unknown
from flex_logs_ingest.formats import FORMATS, detect, every_format, layout_of
from flex_logs_ingest.formats.format_directive import from_apache
from flex_logs_ingest.lines.field_cutter import extractor
from flex_logs_ingest.lines.layout import Field, from_keys
from flex_logs_ingest.scan.segment_scan import Counts, new_scanner
from flex_logs_ingest.scan.site_rules import SiteRule

SAMPLES = Path(__file__).parent.parent / "data" / "logs"
DOCUMENT = Path(__file__).parents[2] / "docs/reference/formats.md"
VHOST = (
    b'example.org:80 192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 5 "-" "-"\n'
)
COMBINED = VHOST.removeprefix(b"example.org:80 ")
COMMON = COMBINED.removesuffix(b' "-" "-"\n') + b"\n"


def scan(name: str, data: bytes) -> Counts:
    scanner = new_scanner(
        FORMATS[name], SiteRule(aliases={"www.example.org": "example.org"}, fixed=fixed(name)), 1000
    )
    scanner.feed(data)
    return scanner.finish()


def fixed(name: str) -> str | None:
    return None if "vhost" in FORMATS[name].fields else "example.org"


def shown(counts: Counts) -> object:
    tables = {name: rows(getattr(counts, name)) for name in ("partial", "hours", "sample")}
    rest = {
        name: getattr(counts, name)
        for name in ("sample_level", "lines", "first_time", "last_time", "pending")
    }
    bad = [f"byte {line.offset}: {line.text}" for line in counts.bad]
    return json.loads(json.dumps(tables | rest | {"bad": bad}))


def rows(table: pd.DataFrame) -> list[str]:
    return [" ".join(map(str, row)) for row in [tuple(table), *table.itertuples(index=False)]]


@pytest.mark.parametrize("name", FORMATS)
def test_a_sample_of_every_format_is_recognised_and_counted_as_written_down(name: str) -> None:
    data = (SAMPLES / f"{name}.log").read_bytes()
    assert detect(data).partition(" ")[0] == name
    golden, found = SAMPLES / f"{name}.json", shown(scan(name, data))
    if os.environ.get("FLEX_UPDATE") == "1":
        golden.write_text(json.dumps(found, indent=1) + "\n")
    assert found == json.loads(golden.read_text())


def test_the_document_lists_every_format_in_the_order_in_which_they_are_tried() -> None:
    formats, _, _ = DOCUMENT.read_text().partition("\n## ")
    rows = re.findall(r"^\| `(\w+)` \|", formats, re.MULTILINE)
    assert rows == list(FORMATS)


SAMPLE_LOGS = [path.read_bytes() for path in sorted(SAMPLES.glob("*.log"))]
NAMED = b"".join((SAMPLES / "w3c.log").read_bytes().splitlines(keepends=True)[:6])
# Lines whose columns nobody names: those that an earlier log named are not theirs.
UNNAMED = re.sub(rb"(?m)^#.*\n", b"", NAMED)
HEADS = [*SAMPLE_LOGS, NAMED, UNNAMED]
# Logs of one format, of two, cut anywhere, with rubbish, or empty.
beginnings = st.tuples(
    st.sampled_from([*HEADS, b"", b"#Fields: date time\n", b"nonsense\n", b"\0\0\r\n"]),
    st.integers(0, 2000),
    st.sampled_from([*HEADS, b""]),
).map(lambda parts: parts[0][: parts[1]] + parts[2])


def told(head: bytes) -> str:
    try:
        return detect(head)
    except (BadInput, NoData) as error:
        return str(error)


@given(st.lists(beginnings, min_size=2, max_size=4))
@example([NAMED, UNNAMED])
def test_the_format_of_a_log_is_the_same_whichever_logs_came_before(heads: list[bytes]) -> None:
    alone = []
    for head in heads:
        every_format.cache_clear()
        alone.append(told(head))
    every_format.cache_clear()
    assert [told(head) for head in heads] == alone


def test_a_single_line_tells_the_format() -> None:
    for name in FORMATS.keys() - {"worldcup98"}:
        lines = (SAMPLES / f"{name}.log").read_bytes().splitlines(keepends=True)
        headings = [line for line in lines[:4] if line.startswith(b"#")]
        first = lines[len(headings)]
        assert detect(b"".join(headings) + first).partition(" ")[0] == name


def test_common_lines_among_combined_ones_count_like_them() -> None:
    assert detect(COMMON) == "common"
    assert detect(COMBINED * 3 + COMMON) == "combined"
    assert scan("combined", COMMON).lines["counted"] == 1


def test_a_log_that_names_its_sites_is_never_read_as_one_that_does_not() -> None:
    assert detect(VHOST) == "vhost_combined"
    assert detect(VHOST.replace(b":80", b"")) == "vhost_combined"
    assert detect(VHOST * 3 + COMBINED) == "vhost_combined"


def test_user_names_with_a_space_do_not_make_sites_of_clients() -> None:
    assert detect(COMBINED.replace(b"- - ", b"- A User ")) == "combined"
    assert detect(COMBINED.replace(b"- - ", b"- - - ")) == "combined"


@pytest.mark.parametrize(
    "more", [' "-"', ' "192.0.2.9, 192.0.2.8"', ' "-" 0.003 "x y"', ' 12 "a" "b"']
)
def test_combined_lines_with_more_behind_them_are_combined(more: str) -> None:
    assert detect(COMBINED.replace(b"\n", more.encode() + b"\n") * 3) == "combined"
    assert detect(VHOST.replace(b"\n", more.encode() + b"\n") * 3) == "vhost_combined"


def test_a_few_strange_lines_do_not_hide_the_format() -> None:
    assert (
        detect(b"\0\0\0" + COMBINED + b"junk\n" * 8 + COMBINED.replace(b"\n", b"\r\n"))
        == "combined"
    )


def test_only_whole_lines_tell_the_format() -> None:
    assert detect(COMBINED + b'{"host": "example.org", "ti') == "combined"


@pytest.mark.parametrize("head", [b"", b"\n\n", b"\0\0\0\0", b"\r\n"])
def test_an_empty_log_has_no_format_yet(head: bytes) -> None:
    with pytest.raises(NoData, match="empty"):
        detect(head)


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(b"2000-10-10 13:55:36 /x 200 5\n", id="W3C without a heading"),
        pytest.param(bytes(range(1, 256)) * 20, id="binary"),
        pytest.param(b'{"level": "info", "msg": "started"}\n', id="JSON of something else"),
        pytest.param(COMBINED + b"junk\n" * 10, id="hardly any line fits"),
    ],
)
def test_a_log_that_fits_no_format_is_refused_with_its_first_lines_and_what_was_tried(
    head: bytes,
) -> None:
    with pytest.raises(BadInput) as refused:
        detect(head)
    assert all(name in refused.value.answer for name in FORMATS)
    assert refused.value.answer.isascii()
    assert refused.value.answer.isprintable()


@pytest.mark.parametrize("name", ["haproxy", "haproxy_host"])
def test_lines_of_haproxy_that_were_written_too_early_are_refused_with_what_to_change(
    name: str,
) -> None:
    sample = (SAMPLES / f"{name}.log").read_bytes()
    early = re.sub(rb"/(\d+) (\d{3}|-1) (\d+) ", rb"/+\1 \2 +\3 ", sample)
    with pytest.raises(BadInput, match="before it had sent") as refused:
        detect(early)
    assert "option logasap" in refused.value.advice


def texts(directive: str, line: bytes) -> dict[str, bytes]:
    found = extractor(from_apache(directive))(line)
    assert found is not None
    return dict(zip(("vhost", "time", "request", "status", "bytes"), found, strict=True))


CLF = b'192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 5'


@pytest.mark.parametrize(
    ("directive", "line", "vhost", "request_"),
    [
        pytest.param(
            r"%h %l %u %t \"%r\" %>s %b", CLF, b"", b"GET / HTTP/1.1", id="as in httpd.conf"
        ),
        pytest.param(
            '%t "%r" %s %B %v',
            b'[10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 5 example.org',
            b"example.org",
            b"GET / HTTP/1.1",
            id="site last",
        ),
        pytest.param(
            '"%{Host}i" %t %m %U%q %H %>s %O',
            b'"example.org" [10/Oct/2000:13:55:36 -0700] GET /x?y HTTP/1.1 200 5',
            b"example.org",
            b"GET /x?y HTTP/1.1",
            id="request in parts",
        ),
        pytest.param(
            "%%%V:%{canonical}p|%{%FT%T%z}t|%>s|%O|%r",
            b"%example.org:443|10/Oct/2000:13:55:36 -0700|200|5|GET / HTTP/1.1",
            b"example.org:443",
            b"GET / HTTP/1.1",
            id="request last and bare",
        ),
        pytest.param(
            r"%400,501{User-Agent}i %{X}^ti %v %t \"%!304r\" %>s %<s %b %O",
            b'- - example.org [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 500 5 99',
            b"example.org",
            b"GET / HTTP/1.1",
            id="the first of a kind",
        ),
    ],
)
def test_a_directive_says_where_the_fields_are(
    directive: str, line: bytes, vhost: bytes, request_: bytes
) -> None:
    assert texts(directive, line) == {
        "vhost": vhost,
        "time": b"10/Oct/2000:13:55:36 -0700",
        "request": request_,
        "status": b"200",
        "bytes": b"5",
    }


@pytest.mark.parametrize(
    ("directive", "why"),
    [
        (r"%h %t \"%r\" %>s", "does not give bytes"),
        ("", "does not give time, status, request"),
        ("%t %r%>s %b", "nothing between them"),
        ("%{%A}t %r %>s %b", "the time %{%A}t does not say the day"),
    ],
)
def test_a_directive_that_does_not_say_enough_is_refused(directive: str, why: str) -> None:
    with pytest.raises(BadInput) as refused:
        layout_of(directive) if directive else from_apache(directive)
    assert why in refused.value.answer


def test_a_format_is_named_or_given_as_a_directive() -> None:
    assert layout_of("combined") is FORMATS["combined"]
    assert layout_of("%t %r %>s %b") == from_apache("%t %r %>s %b")
    with pytest.raises(Unknown, match="combined"):
        layout_of("apache")


def test_json_keys_must_name_the_bytes() -> None:
    keys: dict[Field, tuple[str, ...]] = {"time": ("t",), "request": ("r",), "status": ("s",)}
    with pytest.raises(BadInput, match="does not give bytes"):
        from_keys(keys)


def test_a_log_that_does_not_name_its_site_needs_a_name_for_it() -> None:
    with pytest.raises(BadInput, match="which site"):
        new_scanner(FORMATS["combined"], SiteRule(), 10)
