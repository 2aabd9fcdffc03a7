"""Names that visitors invent: whatever they are, they cost little, and those asked for most are
shown.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flex import native_or_python
from flex_logs_ingest.formats import going_on, layout_of
from flex_logs_ingest.lines.layout import Layout
from flex_logs_ingest.scan.python_loop import ReferenceScan
from flex_logs_ingest.scan.segment_scan import Counts, Scanner
from flex_logs_ingest.scan.site_rules import UNKNOWN, SiteRule
from tests.thorough import times

NATIVE: type[ReferenceScan] = getattr(native_or_python.NATIVE, "Scan", ReferenceScan)
LAYOUT = layout_of("%v|%{sec}t|%r|%s|%b")
LISTED = SiteRule(listed=frozenset(["a.example"]))
# What every host is a site by, and rules that know names or other spellings of them.
RULES = (
    SiteRule(),
    SiteRule(www="apart"),
    SiteRule(www="same"),
    SiteRule(aliases={"b.example": "a.example"}),
    LISTED,
)

labels = st.one_of(
    st.sampled_from(["www", "a", "b", "example", "com", "1", "-a", "A", "", "x" * 63, "x" * 64])
)
hosts = st.builds(
    "{}{}".format,
    st.lists(labels, max_size=6).map(".".join),
    st.sampled_from(["", ":", ":80", ":a", ":1:2"]),
)

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
    def run(data: bytes, rule: SiteRule, layout: Layout = LAYOUT) -> Counts:
        scanner = Scanner(request.param(layout, rule, 100))
        scanner.feed(data)
        return scanner.finish()

    return run


def line(host: str, path: str = "/", status: int = 200) -> bytes:
    return f"{host}|1000|GET {path} HTTP/1.1|{status}|7\n".encode()


def sites(counts: Counts) -> dict[str, int]:
    return dict(zip(counts.hours["site"], counts.hours["requests"], strict=True))


def test_what_is_asked_of_other_names_is_one_site_with_all_its_traffic(scan: Scan) -> None:
    data = (
        line("a.example")
        + line("b.example", "/x") * 2
        + line("B.example:80", "/x")
        + line("-", status=404)
    )
    counts = scan(data, LISTED)
    assert sites(counts) == {"a.example": 1, UNKNOWN: 4}
    assert counts.partial["requests"].tolist() == [3, 1]
    assert counts.strangers == {"b.example": 3, "-": 1}


def test_names_that_stand_for_a_site_are_no_strangers(scan: Scan) -> None:
    assert scan(line("a.example") + line("www.a.example"), LISTED).strangers == {}
    assert scan(line("b.example"), SiteRule(fixed="a.example")).strangers == {}


def test_hosts_that_robots_invent_are_forgotten_and_those_asked_for_most_are_not(
    scan: Scan,
) -> None:
    invented = [line(f"{number}.invented.example", status=404) for number in range(20_000)]
    data = b"".join(
        one + line("real.example") * (number % 20 == 0) for number, one in enumerate(invented)
    )
    counts = scan(data, LISTED)
    assert sites(counts) == {UNKNOWN: 21_000}
    assert len(counts.strangers) <= 2000
    assert 1000 - 21 <= counts.strangers["real.example"] <= 1000


@pytest.mark.slow
@pytest.mark.skipif(native_or_python.NATIVE is None, reason=native_or_python.WHY_NOT)
@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=times(50))
@given(names=st.lists(st.one_of(hosts, st.text("aZ0-_.:%[]/", max_size=20)), max_size=9))
@example(
    names=[
        f"{'x' * 62}.{'x' * 62}.{'x' * 62}.{end}" for end in ("x" * 63, "x" * 64, "x" * 62 + ":443")
    ]
)
@example(
    names=[
        "b.example",
        "www.b.example",
        "www.a.example",
        "a.example.",
        "a..b",
        "a-.b",
        "\xe9.example",
    ]
)
@example(names=["1.2", "a.1", "a.1a", "192.0.2.1:80"])
def test_both_engines_take_a_name_for_the_same_site(rule: SiteRule, names: list[str]) -> None:
    data = b"".join(map(line, names))
    native, reference = (Scanner(loop(LAYOUT, rule, 100)) for loop in (NATIVE, ReferenceScan))
    native.feed(data)
    reference.feed(data)
    counts, wanted = native.finish(), reference.finish()
    assert (sites(counts), counts.strangers) == (sites(wanted), wanted.strangers)


def test_long_names_are_cut_where_they_are_shown(scan: Scan) -> None:
    (name,) = scan(line("x" * 100_000), LISTED).strangers
    assert len(name) <= 255


@pytest.mark.slow("reference")
def test_without_a_list_invented_hosts_become_so_many_sites_and_no_more(scan: Scan) -> None:
    data = b"".join(line(f"{number}.example", status=404) for number in range(50_010)) + line(
        "0.example"
    )
    found = sites(scan(data, SiteRule()))
    assert len(found) == 50_001
    assert (found[UNKNOWN], found["0.example"]) == (10, 2)


@pytest.mark.slow("ReferenceScan")
@pytest.mark.parametrize("engine_", [ReferenceScan, NATIVE])
def test_where_counts_are_handed_over_in_between_there_are_as_many_sites_and_the_same(
    engine_: type[ReferenceScan],
) -> None:
    scanner = Scanner(engine_(LAYOUT, SiteRule(), 100))
    found: dict[str, int] = {}
    for begin in range(0, 60_000, 20_000):
        scanner.feed(
            b"".join(
                line(f"{number}.example") for number in (*range(begin, begin + 20_000), 0, 59_999)
            )
        )
        for site, requests in sites(scanner.finish()).items():
            found[site] = found.get(site, 0) + requests
    assert len(found) == 50_001
    assert (found["0.example"], found["59999.example"], found[UNKNOWN]) == (4, 4, 10_000)


def test_directories_are_sites_where_the_rule_says_so(scan: Scan) -> None:
    paths = ("/shop/a", "/shop/b/c", "/shop", "/", "/%73hop/a?x", "//Shop//a")
    counts = scan(b"".join(line("any.example", path) for path in paths), SiteRule(directory=True))
    assert sites(counts) == {"/": 2, "/Shop/": 1, "/shop/": 3}
    listed = scan(
        line("any.example", "/wp-admin/x"), SiteRule(directory=True, listed=frozenset(["/"]))
    )
    assert listed.strangers == {"/wp-admin/": 1}


@pytest.mark.parametrize(
    ("heading", "format_"),
    [
        pytest.param(b"", "w3c date time cs-uri-stem sc-status sc-bytes", id="as it began"),
        pytest.param(
            b"#Fields: sc-bytes\tDATE\r\n", "w3c sc-bytes date", id="as it was changed to"
        ),
        pytest.param(b"#Fields: a\n#Remark: b\n#fields: c\xff", "w3c a", id="by whole lines"),
        pytest.param(
            b"#Fields: " + b"a " * 10_000 + b"\n", "w3c " + " ".join("a" * 2044), id="cut"
        ),
    ],
)
def test_a_log_that_names_its_columns_says_by_which_it_goes_on(
    scan: Scan, heading: bytes, format_: str
) -> None:
    began = "w3c date time cs-uri-stem sc-status sc-bytes"
    counts = scan(heading, SiteRule(fixed="a.example"), layout_of(began))
    assert going_on(began, counts.heading) == format_


def test_other_logs_go_on_as_their_format_says(scan: Scan) -> None:
    assert going_on("combined", scan(b"#Fields: a\n", LISTED).heading) == ""


ANSWERS = [("GET", 200), ("HEAD", 200), ("POST", 200), ("GET", 304), ("GET", 206), ("GET", 404)]


@pytest.mark.parametrize("bytes_", ["", " 99", " -"])
def test_a_log_without_bytes_counts_its_full_answers_instead(scan: Scan, bytes_: str) -> None:
    layout = layout_of(
        "w3c date time cs-method cs-uri-stem sc-status" + " x" * bool(bytes_), unsized=True
    )
    data = "".join(
        f"2000-10-10 20:55:36 {method} /x {status}{bytes_}\n" for method, status in ANSWERS
    )
    counts = scan(data.encode(), SiteRule(fixed="a.example"), layout)
    assert counts.partial[["requests", "bytes", "size"]].to_numpy().tolist() == [[5, 2, 1]]
    assert counts.hours[["requests", "bytes"]].to_numpy().tolist() == [[6, 2]]


def test_a_log_that_names_bytes_gives_them_also_where_sizes_are_known() -> None:
    assert not layout_of("w3c date time cs-uri-stem sc-status sc-bytes", unsized=True).unsized
    assert not layout_of("combined", unsized=True).unsized
    assert layout_of('%v %t "%r" %s', unsized=True).unsized
