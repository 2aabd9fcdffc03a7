"""Which site a log is of, where its lines do not say it; and what the names that they say stand
for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex.store import MemoryStore
from flex_logs_ingest.counts import count_files, count_files_of_days
from flex_logs_ingest.files.find_and_unpack_logs import Source
from flex_logs_ingest.reading.read_logs import ingest
from flex_logs_ingest.scan.site_rules import UNKNOWN, SiteRule, site_name
from tests.effort import calls

Line = Callable[..., bytes]

PATTERN = r"(?P<site>.+)[.]access[.]log.*"
RULE = SiteRule(pattern=PATTERN, aliases={"www.a.example": "a.example"})


@pytest.mark.parametrize(
    ("name", "site"),
    [
        ("a.example.access.log", "a.example"),
        ("a.example.access.log.3.gz", "a.example"),
        ("A.Example.access.log", "a.example"),
        ("www.a.example.access.log", "a.example"),
    ],
)
def test_a_file_is_of_the_site_it_is_named_for(name: str, site: str) -> None:
    assert RULE.rule_of_file(f"/b.example.access.log/{name}") == SiteRule(fixed=site)


@pytest.mark.parametrize("name", ["error.log", ".access.log", "-.access.log", "_.access.log"])
def test_a_name_that_says_nothing_is_of_no_site(name: str) -> None:
    assert RULE.rule_of_file(f"/logs/{name}") is None


def test_the_site_of_a_file_takes_no_longer_where_there_are_many_aliases() -> None:
    few, many = (
        replace(
            RULE, aliases={f"alias{n}.example": f"site{n}.example" for n in range(number)}
        ).rule_finder()
        for number in (1, 500)
    )
    path = "/logs/alias0.example.access.log"
    assert many(path) == few(path) == SiteRule(fixed="site0.example")
    assert calls(lambda: many(path)) == calls(lambda: few(path))


def test_a_rule_without_a_pattern_holds_for_every_file() -> None:
    assert SiteRule(fixed="a.example").rule_of_file("/logs/access.log") == SiteRule(
        fixed="a.example"
    )


def test_logs_are_counted_for_the_site_of_their_file_and_others_are_shown(
    logs: Path, line: Line, store: MemoryStore, counts: Path
) -> None:
    (logs / "a.example.access.log").write_bytes(line("/a"))
    (logs / "b.example.access.log.1").write_bytes(line("/b") * 2)
    (logs / "other.log").write_bytes(line("/c"))
    source = Source("one", (f"{logs}/*",), "node-1", SiteRule(pattern=PATTERN))
    reports = ingest([source], store, counts)
    assert [report.outcome for report in reports] == ["read", "read", "unknown site"]
    assert PATTERN in reports[2].note
    days = (0, 100_000)
    hours = [
        count_files.hours(counts, files, *days).to_pandas()
        for files in count_files_of_days.files_left(store, *days)
    ]
    found = {
        site: sent
        for table in hours
        for site, sent in zip(table["site"], table["requests"], strict=True)
    }
    assert found == {"a.example": 1, "b.example": 2}


def site_of(name: str, rule: SiteRule | None = None) -> str:
    return (rule or SiteRule()).naming()(name.encode())


@pytest.mark.parametrize(
    ("name", "site"),
    [
        ("WWW.Example.org.:443", "www.example.org"),
        ("BÜCHER.example", "xn--bcher-kva.example"),
        ("b%C3%BCcher.example:80", "xn--bcher-kva.example"),
        ("bücher。example", "xn--bcher-kva.example"),
        ("XN--BCHER-KVA.example", "xn--bcher-kva.example"),
        ("W3SVC1", "w3svc1"),
    ],
)
def test_a_host_has_one_name_however_it_is_written(name: str, site: str) -> None:
    assert site_of(name) == site


NO_HOSTS = [
    "",
    "-",
    "_",
    ".",
    "*",
    "*.example.org",
    "192.0.2.1",
    "[2001:db8::1]:80",
    "2001:db8::1",
    "a..example",
]
NO_HOSTS += [
    "_flex.example.org",
    "<b>.example",
    "straße.example",
    "a" * 64 + ".example",
    "a." * 130 + "example",
]


@pytest.mark.parametrize("name", NO_HOSTS)
def test_a_name_that_no_host_can_have_is_unknown(name: str) -> None:
    assert site_of(name) == UNKNOWN


def test_an_alias_may_be_any_name_and_lead_to_any() -> None:
    rule = SiteRule(
        aliases={
            "shop@docker": "shop.example",
            "192.0.2.1": "BÜCHER.example",
            "W3SVC2": "customer 2",
        }
    )
    assert site_of("shop@docker", rule) == "shop.example"
    assert site_of("192.0.2.1:8080", rule) == "xn--bcher-kva.example"
    assert site_of("w3svc2", rule) == "customer%202"


LISTED = SiteRule(listed=frozenset(["a.example", "www.b.example", "c.example", "www.c.example"]))


@pytest.mark.parametrize(
    ("name", "site"),
    [
        ("a.example", "a.example"),
        ("www.a.example", "a.example"),
        ("b.example", "www.b.example"),
        ("www.c.example", "www.c.example"),
        ("d.example", UNKNOWN),
        ("www.d.example", UNKNOWN),
    ],
)
def test_a_list_decides_and_www_is_told_apart_only_where_both_are_listed(
    name: str, site: str
) -> None:
    assert site_of(name, LISTED) == site


def test_www_can_always_or_never_be_the_same_site() -> None:
    assert site_of("www.a.example") == "www.a.example"
    assert site_of("www.a.example", SiteRule(www="same")) == "a.example"
    assert site_of("www.example", SiteRule(www="same")) == "www.example"
    assert site_of("www.a.example", SiteRule(www="apart", listed=LISTED.listed)) == UNKNOWN


def test_www_of_an_alias_is_that_alias() -> None:
    rule = SiteRule(aliases={"old.example": "new.example"})
    assert [site_of(name, rule) for name in ("www.old.example", "www.new.example")] == [
        "new.example"
    ] * 2


@pytest.mark.parametrize(
    ("path", "site"),
    [
        ("/shop/a.png", "/shop/"),
        ("/shop/", "/shop/"),
        ("/shop", "/"),
        ("/", "/"),
        ("/Docs/x", "docs.example"),
    ],
)
def test_the_first_directory_of_a_path_can_be_the_site(path: str, site: str) -> None:
    assert site_of(path, SiteRule(directory=True, aliases={"/Docs/": "docs.example"})) == site


def test_directories_that_are_not_listed_are_unknown() -> None:
    rule = SiteRule(directory=True, listed=frozenset(["/shop/", "/"]))
    assert [site_of(path, rule) for path in ("/shop/a", "/a", "/wp-admin/a")] == [
        "/shop/",
        "/",
        UNKNOWN,
    ]


names = st.binary(max_size=40) | st.text(max_size=40).map(str.encode)


@given(names, st.booleans())
def test_a_site_can_be_shown_and_stored_whatever_was_asked_for(
    name: bytes, directory: bool
) -> None:
    path = b"/" + name if directory else name
    rules = (
        SiteRule(directory=directory, www="same"),
        SiteRule(directory=directory, aliases={"a": "b"}),
    )
    for site in (rule.naming()(path) for rule in rules):
        assert site.isascii()
        assert site.isprintable()
        assert 0 < len(site) <= 253


@given(names)
def test_the_spelling_of_a_name_is_its_own_spelling(name: bytes) -> None:
    once = site_name(name)
    assert site_name(once.encode()) == once
