"""Which logs are told apart by what they contain, and which by whose they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from flex.store import MemoryStore
from flex_logs_ingest.files.find_and_unpack_logs import Source
from flex_logs_ingest.reading.read_logs import FileReport, ingest
from flex_logs_ingest.scan.site_rules import SiteRule

Line = Callable[..., bytes]
Read = Callable[..., list[FileReport]]

PATTERN = SiteRule(pattern=r"(?P<site>.+)[.]access[.]log.*")


@pytest.fixture
def read(store: MemoryStore, counts: Path) -> Read:
    def run(*sources: Source) -> list[FileReport]:
        return list(ingest(sources, store, counts))

    return run


def lines(reports: list[FileReport]) -> dict[str, int]:
    """New lines by the file's name."""
    return {Path(report.path).name: sum(number for _, number in report.lines) for report in reports}


def test_sites_that_heard_the_very_same_lines_are_two_logs_where_names_say_their_site(
    logs: Path, line: Line, read: Read
) -> None:
    source = Source("n1", (f"{logs}/*",), "n1", PATTERN)
    for site in "ab":
        (logs / f"{site}.example.access.log").write_bytes(line("/monitor") * 60)
    assert lines(read(source)) == {"a.example.access.log": 60, "b.example.access.log": 60}
    for site, more in (("a", 30), ("b", 20)):
        with (logs / f"{site}.example.access.log").open("ab") as log:
            log.write(line(f"/own-of-{site}") * more)
    assert lines(read(source)) == {"a.example.access.log": 30, "b.example.access.log": 20}


def test_a_short_log_of_one_site_is_no_beginning_of_anothers(
    logs: Path, line: Line, read: Read
) -> None:
    (logs / "a.example.access.log").write_bytes(line("/monitor"))
    (logs / "b.example.access.log").write_bytes(line("/monitor") + line("/more"))
    found = lines(read(Source("n1", (f"{logs}/*",), "n1", PATTERN)))
    assert found == {"a.example.access.log": 1, "b.example.access.log": 2}


def test_a_rotated_log_of_a_site_goes_on_as_the_same_log(
    logs: Path, line: Line, read: Read
) -> None:
    source = Source("n1", (f"{logs}/*",), "n1", PATTERN)
    log = logs / "a.example.access.log"
    log.write_bytes(line("/x") * 5)
    read(source)
    log.rename(logs / "a.example.access.log.1")
    log.write_bytes(line("/y") * 3)
    assert lines(read(source)) == {"a.example.access.log": 3, "a.example.access.log.1": 0}


def test_a_log_in_two_sources_counts_for_the_first_and_is_shown(
    logs: Path, line: Line, read: Read
) -> None:
    (logs / "access.log").write_bytes(line("/x") * 5)
    one, other = (
        Source(node, (f"{logs}/*",), node, SiteRule(fixed="a.example")) for node in ("n1", "n2")
    )
    first, second = read(one, other)
    assert (first.outcome, sum(number for _, number in first.lines)) == ("read", 5)
    assert (second.outcome, sum(number for _, number in second.lines)) == ("unreadable", 0)
    assert "the source n1 has read it" in second.note
