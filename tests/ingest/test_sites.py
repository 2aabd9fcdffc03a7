"""Which site a log is of, where its lines do not say it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from flex.store import MemoryStore
from flex_logs_ingest import partials
from flex_logs_ingest.read import ingest
from flex_logs_ingest.sites import SiteRule
from flex_logs_ingest.sources import Source

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
    assert RULE.of_file(f"/b.example.access.log/{name}") == SiteRule(fixed=site)


@pytest.mark.parametrize("name", ["error.log", ".access.log", "-.access.log", "_.access.log"])
def test_a_name_that_says_nothing_is_of_no_site(name: str) -> None:
    assert RULE.of_file(f"/logs/{name}") is None


def test_a_rule_without_a_pattern_holds_for_every_file() -> None:
    assert SiteRule(fixed="a.example").of_file("/logs/access.log") == SiteRule(fixed="a.example")


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
    hours = [partials.hours(counts, segment.id, *days).to_pandas() for segment in store.segments(*days)]
    found = {site: sent for table in hours for site, sent in zip(table["site"], table["requests"], strict=True)}
    assert found == {"a.example": 1, "b.example": 2}
