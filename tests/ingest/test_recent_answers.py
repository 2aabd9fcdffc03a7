"""What the ends of logs say of the last hour, look by look."""

from __future__ import annotations

import gzip
import os
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from flex.model.node_answer_counts import SPAN, Answers
from flex_logs_ingest import formats
from flex_logs_ingest.files.find_and_unpack_logs import Source
from flex_logs_ingest.reading.recent_answers import RecentAnswers
from flex_logs_ingest.scan.site_rules import SiteRule

LAST = 1_900_000
SPANS = range(LAST - 4, LAST + 1)
NOW = LAST * SPAN + 60
TIMED = '$host $remote_addr - $remote_user [$time_local] "$request" $status $bytes_sent '
SHOP, BLOG = "shop.example", "blog.example"


def line(site: str, moment: int, status: int = 200, more: str = "") -> str:
    when = datetime.fromtimestamp(moment, UTC)
    return (
        f"{site}:80 192.0.2.1 - - [{when:%d/%b/%Y:%H:%M:%S} +0000] "
        f'"GET /a.html HTTP/1.1" {status} 100 "-" "x"{more}\n'
    )


def source(path: Path, **how: object) -> Source:
    given = {"node": "n1", "site": SiteRule(), **how}
    return Source("n1", (str(path),), **given)  # type: ignore[arg-type]


def counted(
    recent: RecentAnswers, *sources: Source, sites: frozenset[str] = frozenset({SHOP})
) -> dict[tuple[str, str, int], tuple[int, int]]:
    """Requests and errors."""
    found = recent.count(sources, {"n1": sites}, SPANS)
    return {
        (count.node, count.name, count.span - LAST): (count.answers.requests, count.answers.errors)
        for count in found
    }


def touched(path: Path, text: str) -> Path:
    path.write_text(text)
    os.utime(path, (NOW, NOW))
    return path


def test_the_last_spans_of_the_sites_alone(tmp_path: Path) -> None:
    old, before = NOW - 6 * SPAN, NOW - SPAN
    text = line(SHOP, old) + line(SHOP, before) + line(BLOG, before, 500) + "no line\n"
    text += line(SHOP, NOW, 502) + line(SHOP, NOW, 404) + line(SHOP, NOW)
    log = touched(tmp_path / "access.log", text)
    assert counted(RecentAnswers(), source(log)) == {
        ("n1", SHOP, -1): (1, 0),
        ("n1", SHOP, 0): (3, 1),
    }
    assert RecentAnswers().count([source(log)], {"n2": frozenset({SHOP})}, SPANS) == []


def many(site: str, number: int, status: int = 200) -> str:
    """Lines that differ, so that a log is told by its first ones."""
    return "".join(line(site, NOW, status, f" {time.perf_counter_ns()}") for _ in range(number))


@pytest.mark.parametrize("size", [1, 100])
def test_what_comes_later_is_read_once_also_behind_a_rename(tmp_path: Path, size: int) -> None:
    log = touched(tmp_path / "access.log", many(SHOP, size) + line(SHOP, NOW)[:30])
    recent, of = RecentAnswers(), source(tmp_path / "access.log*")
    assert counted(recent, of) == {("n1", SHOP, 0): (size, 0)}
    with log.open("a") as file:
        file.write(line(SHOP, NOW)[30:] + many(SHOP, 20, 500))
    assert counted(recent, of) == {("n1", SHOP, 0): (size + 21, 20)}
    log.rename(tmp_path / "access.log.1")
    touched(tmp_path / "access.log", many(SHOP, 1))
    assert counted(recent, of) == {("n1", SHOP, 0): (size + 22, 20)}
    # Emptied in place.
    touched(log, many(SHOP, 1, 503))
    assert counted(recent, of) == {("n1", SHOP, 0): (size + 22, 21)}
    touched(log, "")
    assert counted(recent, of) == {("n1", SHOP, 0): (size + 22, 21)}


def test_what_was_counted_of_a_log_that_is_packed_or_gone_still_counts(tmp_path: Path) -> None:
    log = touched(tmp_path / "access.log", many(SHOP, 100))
    recent = RecentAnswers()
    counted(recent, source(log))
    touched(log, many(SHOP, 100, 500))
    assert counted(recent, source(log)) == {("n1", SHOP, 0): (200, 100)}
    log.unlink()
    assert counted(recent, source(log)) == {("n1", SHOP, 0): (200, 100)}
    # An hour and more later nothing of it is left, and a log is read from the last hour on.
    touched(log, many(SHOP, 50))
    later = range(SPANS[-1] + 1, SPANS[-1] + 6)
    assert recent.count([source(log)], {"n1": frozenset({SHOP})}, later) == []
    assert counted(recent, source(log)) == {("n1", SHOP, 0): (50, 0)}


@pytest.mark.parametrize("size", [1, 100])
def test_no_line_counts_twice_for_two_sources_or_two_names(tmp_path: Path, size: int) -> None:
    log = touched(tmp_path / "access.log", many(SHOP, size))
    (tmp_path / "access.log.hard").hardlink_to(log)
    (tmp_path / "access.log.soft").symlink_to(log)
    sources = [source(log), source(tmp_path / "access.log*"), source(log, node="n2")]
    once = {("n1", SHOP, 0): (size, 0)}
    assert counted(RecentAnswers(), *sources) == once
    both = {"n1": frozenset({SHOP}), "n2": frozenset({SHOP})}
    (found,) = RecentAnswers().count(sources, both, SPANS)
    assert (found.node, found.answers.requests) == ("n1", size)


def test_a_log_that_is_copied_and_emptied_or_sent_again_counts_once(tmp_path: Path) -> None:
    log = touched(tmp_path / "access.log", many(SHOP, 100))
    recent, of = RecentAnswers(), source(tmp_path / "access.log*")
    counted(recent, of)
    copy = tmp_path / "access.log.1"
    shutil.copy(log, copy)
    with log.open("a") as file:
        file.write(many(SHOP, 1))
    assert counted(recent, of) == {("n1", SHOP, 0): (101, 0)}
    # That line is lost where it is so rotated.
    touched(log, many(SHOP, 3))
    assert counted(recent, of) in ({("n1", SHOP, 0): (104, 0)}, {("n1", SHOP, 0): (103, 0)})
    sent = tmp_path / "new"
    shutil.copy(log, sent)
    with sent.open("a") as file:
        file.write(many(SHOP, 100, 500))
    sent.replace(log)
    requests, errors = counted(recent, of)["n1", SHOP, 0]
    assert (requests in (203, 204), errors) == (True, 100)


def test_each_node_has_its_share_of_what_one_look_reads(tmp_path: Path) -> None:
    sources = [
        source(touched(tmp_path / node, many(SHOP, 200)), node=node) for node in ("n1", "n2")
    ]
    both = {"n1": frozenset({SHOP}), "n2": frozenset({SHOP})}
    recent = RecentAnswers(2**14)
    found = recent.count(sources, both, SPANS)
    assert {count.node for count in found} == {"n1", "n2"}


def test_a_site_that_is_watched_from_now_on_is_counted_from_the_hour_before(tmp_path: Path) -> None:
    log = touched(tmp_path / "access.log", line(SHOP, NOW - SPAN) + line(BLOG, NOW - SPAN))
    recent = RecentAnswers()
    counted(recent, source(log))
    both = counted(recent, source(log), sites=frozenset({SHOP, BLOG}))
    assert both == {("n1", SHOP, -1): (1, 0), ("n1", BLOG, -1): (1, 0)}


def test_how_long_answers_took_where_lines_say_it(tmp_path: Path) -> None:
    seconds = (0.0, 0.032, 0.033, 9.0)
    text = "".join(
        line(SHOP, NOW).replace(":80", "").replace(' "-" "x"', f" {took}") for took in seconds
    )
    log = touched(tmp_path / "access.log", text)
    timed = source(log, format=TIMED + "$request_time")
    (found,) = RecentAnswers().count([timed], {"n1": frozenset({SHOP})}, SPANS)
    assert found.answers == Answers(4, 0, (2, 1, 0, 0, 0, 0, 0, 0, 0, 1))


def test_of_a_long_log_no_more_is_read_than_the_last_hour(tmp_path: Path) -> None:
    day = range(NOW - 86_400, NOW, 5)
    log = touched(tmp_path / "access.log", "".join(line(SHOP, moment) for moment in day))
    whole = counted(RecentAnswers(), source(log))
    assert whole == {("n1", SHOP, span): (180, 0) for span in range(-4, 0)} | {
        ("n1", SHOP, 0): (12, 0)
    }
    # As many bytes as an hour and a quarter has, and a piece that a look for its begin may add.
    enough = 900 * len(line(SHOP, NOW)) + 2 * formats.LOOK
    assert counted(RecentAnswers(enough), source(log)) == whole
    recent, looks = RecentAnswers(2**12), 0
    while counted(recent, source(log)) != whole:
        looks += 1
        assert looks < 2 * enough // 2**12
    assert looks > 1


def test_files_and_lines_that_name_sites_in_other_ways(tmp_path: Path) -> None:
    bare = line(SHOP, NOW, 500).partition(" ")[2]
    touched(tmp_path / f"{SHOP}.log", bare)
    touched(tmp_path / f"{BLOG}.log", bare)
    pattern = SiteRule(pattern="(?P<site>.+)[.]log")
    assert counted(RecentAnswers(), source(tmp_path / "*.log", site=pattern)) == {
        ("n1", SHOP, 0): (1, 1)
    }
    alone = source(tmp_path / f"{BLOG}.log", site=SiteRule(fixed=SHOP))
    assert counted(RecentAnswers(), alone) == {("n1", SHOP, 0): (1, 1)}
    alias = SiteRule(aliases={"www2.example": SHOP})
    named = touched(tmp_path / "alias", line("www2.example", NOW))
    assert counted(RecentAnswers(), source(named, site=alias)) == {("n1", SHOP, 0): (1, 0)}
    by_path = touched(tmp_path / "paths", line(SHOP, NOW).replace("/a.html", "/shop/a.html"))
    directory = source(by_path, site=SiteRule(directory=True))
    found = counted(RecentAnswers(), directory, sites=frozenset({"/shop/"}))
    assert found == {("n1", "/shop/", 0): (1, 0)}


def test_what_cannot_be_read_counts_nothing(tmp_path: Path) -> None:
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(line(SHOP, NOW).encode()))
    strange = touched(tmp_path / "strange", "what is this\n" * 50)
    empty = touched(tmp_path / "empty", "")
    hostile = tmp_path / "hostile"
    hostile.write_bytes(b"\0" * 2**22 + b"\xff" * 2**21 + b"\n" + line(SHOP, NOW).encode())
    os.utime(hostile, (NOW, NOW))
    past = touched(tmp_path / "past", line(SHOP, NOW))
    os.utime(past, (NOW - 86_400, NOW - 86_400))
    nothing = [source(path) for path in (packed, strange, empty, past, tmp_path, Path("/none"))]
    assert counted(RecentAnswers(), *nothing, source(hostile, format="vhost_combined")) == {
        ("n1", SHOP, 0): (1, 0)
    }
