"""A log that was counted under another name is not counted again under this one."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from flex.store import MemoryStore
from flex_logs_ingest.files.find_and_unpack_logs import Source
from flex_logs_ingest.reading.read_logs import FileReport, ingest
from flex_logs_ingest.scan.site_rules import SiteRule

Line = Callable[..., bytes]
Read = Callable[..., dict[tuple[str, str], int]]

PATTERN = r"(?P<site>.+)[.]access[.]log.*"


@pytest.fixture
def read(store: MemoryStore, counts: Path) -> Read:
    """New lines, by source and file."""

    def run(*sources: Source) -> dict[tuple[str, str], int]:
        reports = ingest(sources, store, counts)
        return {
            (report.source, Path(report.path).name): lines(report)
            for report in reports
            if lines(report)
        }

    return run


def lines(report: FileReport) -> int:
    return sum(number for _, number in report.lines)


def of(name: str, glob: str) -> Source:
    return Source(name, (glob,), "n1", SiteRule(fixed="a.example"))


@pytest.mark.parametrize("packed", [False, True])
def test_a_log_that_rotates_into_another_source_counts_once(
    packed: bool, logs: Path, line: Line, read: Read
) -> None:
    sources = of("live", f"{logs}/access.log"), of("all", f"{logs}/access.log*")
    log = logs / "access.log"
    log.write_bytes(b"".join(line(f"/{i}") for i in range(50)))
    assert read(*sources) == {("live", "access.log"): 50}
    old = log.read_bytes() + line("/late")
    log.unlink()
    rotated = logs / ("access.log.1.gz" if packed else "access.log.1")
    rotated.write_bytes(gzip.compress(old) if packed else old)
    log.write_bytes(line("/new", 1_700_060_000) * 9)
    assert read(*sources) == {("live", "access.log"): 9, ("all", rotated.name): 1}
    assert read(*sources) == {}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("lines_", [50, 3])
def test_a_log_that_is_carried_into_another_folder_counts_once(
    packed: bool, lines_: int, logs: Path, tmp_path: Path, line: Line, read: Read
) -> None:
    """Also one that is shorter than what tells logs of several nodes apart."""
    sources = (of("live", f"{logs}/*"), replace(of("n1:a.example", f"{tmp_path}/old/*"), node="n1"))
    log, old = logs / "access.log", tmp_path / "old"
    old.mkdir()
    log.write_bytes(b"".join(line(f"/{i}") for i in range(lines_)))
    assert read(replace(sources[0], name="n1"), sources[1]) == {("n1", "access.log"): lines_}
    carried = old / ("access.log.1.gz" if packed else "access.log.1")
    carried.write_bytes(gzip.compress(log.read_bytes()) if packed else log.read_bytes())
    log.write_bytes(line("/new", 1_700_060_000) * 9)
    assert read(replace(sources[0], name="n1"), sources[1]) == {("n1", "access.log"): 9}


def test_what_was_read_for_a_source_that_is_gone_or_comes_later_now_is_not_read_again(
    logs: Path, line: Line, read: Read
) -> None:
    one, other = of("one", f"{logs}/*.log"), of("other", f"{logs}/*")
    (logs / "access.log").write_bytes(line("/x") * 5)
    assert read(one, other) == {("one", "access.log"): 5}
    assert read(other, one) == {}
    with (logs / "access.log").open("ab") as log:
        log.write(line("/y") * 3)
    assert read(other) == {("other", "access.log"): 3}
    assert read(one, other) == {}


def test_an_alias_decides_about_what_is_read_from_then_on(
    logs: Path, line: Line, read: Read
) -> None:
    source = Source("n1", (f"{logs}/*",), "n1", SiteRule(pattern=PATTERN))
    log = logs / "shop.example.access.log"
    log.write_bytes(line("/x") * 20)
    assert read(source) == {("n1", log.name): 20}
    renamed = replace(
        source, site=SiteRule(pattern=PATTERN, aliases={"shop.example": "store.example"})
    )
    assert renamed.site.rule_of_file(str(log)) != source.site.rule_of_file(str(log))
    assert read(renamed) == {}
    with log.open("ab") as more:
        more.write(line("/y") * 3)
    assert read(renamed) == {("n1", log.name): 3}


def test_a_log_named_by_hand_is_the_one_that_the_glob_found(
    logs: Path, line: Line, read: Read
) -> None:
    log = logs / "a.example.access.log"
    log.write_bytes(line("/x") * 20)
    assert read(Source("n1", (f"{logs}/*",), "n1", SiteRule(pattern=PATTERN))) == {
        ("n1", log.name): 20
    }
    assert read(Source("n1", (), "n1", SiteRule(fixed="a.example"), files=(str(log),))) == {}


def test_servers_that_heard_the_very_same_lines_have_a_log_each(
    logs: Path, line: Line, read: Read
) -> None:
    sources = [of(name, f"{logs}/{name}.log") for name in ("one", "other")]
    for source in sources:
        (logs / f"{source.name}.log").write_bytes(line("/monitor") * 60)
    assert read(*sources) == {("one", "one.log"): 60, ("other", "other.log"): 60}
    (logs / "other.log").write_bytes(line("/monitor") * 70)
    assert read(*sources) == {("other", "other.log"): 10}


@pytest.mark.parametrize("refuses", [SiteRule(pattern=PATTERN), SiteRule()])
def test_a_source_leaves_what_it_cannot_read_to_the_others(
    refuses: SiteRule, logs: Path, line: Line, read: Read
) -> None:
    """The first does not know the site by the log's name, or by its lines."""
    (logs / "other.log").write_bytes(line("/x") * 9)
    sources = Source("strict", (f"{logs}/*",), "n1", refuses), of("rest", f"{logs}/*")
    assert read(*sources) == {("rest", "other.log"): 9}
    assert read(*sources) == {}
