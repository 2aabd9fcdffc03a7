"""A few sources of the settings read the log of each site as that site's, and no other file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from flex_api.onboarding.source_patterns import MOST_SOURCES, LogSource, sources_of
from flex_logs_ingest.files.find_and_unpack_logs import Source, paths
from flex_logs_ingest.panels.hosted_site_values import HostedSite
from flex_logs_ingest.scan.site_rules import SiteRule
from tests.thorough import times


def site(name: str, *logs: str) -> HostedSite:
    return HostedSite((name,), logs=logs)


def readings(sites: Sequence[HostedSite], folder: Path) -> list[tuple[str, str]]:
    """Which file is read as which site's, of all that lie below the folder."""
    found = sources_of(sites)
    listed = frozenset(one.name for one in sites)
    read: list[tuple[str, str]] = []
    for one in found.sources:
        rule = SiteRule(one.site or None, dict(found.aliases), one.pattern, listed=listed)
        globs = tuple(f"{folder}{pattern}" for pattern in one.globs)
        for path in paths(Source("s", globs, "n1", rule)):
            # What is named for no site is said to be so, and not read.
            if Path(path).is_file() and (of_file := rule.rule_of_file(path)):
                read.append((path.removeprefix(str(folder)), of_file.fixed or "?"))
    return sorted(read)


def written(folder: Path, *files: str) -> None:
    for file in files:
        path = folder / file.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def test_rotated_and_packed_copies_are_of_the_same_site(tmp_path: Path) -> None:
    files = [f"/l/a.example.log{end}" for end in ("", ".1", ".2.gz", "-20260101", ".3.zst")]
    written(tmp_path, *files, "/l/a.example.error.log", "/l/a.example.bytes", "/l/x.log.swp")
    found = readings([site("a.example", "/l/a.example.log")], tmp_path)
    assert found == sorted((file, "a.example") for file in files)


def test_a_site_whose_name_ends_another_ones_keeps_its_log(tmp_path: Path) -> None:
    sites = [site(name, f"/l/{name}.log") for name in ("a.example", "www.a.example", "aa.example")]
    written(tmp_path, *(one.logs[0] for one in sites))
    assert readings(sites, tmp_path) == sorted((one.logs[0], one.name) for one in sites)


def test_parts_the_other_way_round_are_the_site_that_the_panel_says(tmp_path: Path) -> None:
    sites = [site("a.example", "/l/a.example.log"), site("shop.a.example", "/l/a.example.shop.log")]
    written(tmp_path, "/l/a.example.log", "/l/a.example.shop.log")
    assert readings(sites, tmp_path) == [
        ("/l/a.example.log", "a.example"),
        ("/l/a.example.shop.log", "shop.a.example"),
    ]


def test_folders_of_customers_are_one_source(tmp_path: Path) -> None:
    sites = [site(f"s{n}.example", f"/homes/u{n}/logs/s{n}.example-access.log") for n in range(9)]
    written(tmp_path, *(one.logs[0] for one in sites))
    assert len(sources_of(sites).sources) == 1
    assert readings(sites, tmp_path) == sorted((one.logs[0], one.name) for one in sites)


def test_a_log_of_several_sites_has_lines_that_name_them() -> None:
    found = sources_of([site("a.example", "/l/x.log"), site("b.example", "/l/x.log")])
    assert found.sources == (LogSource(("/l/x.log*",), sites=2),)


def test_logs_without_any_pattern_are_sources_of_their_own_up_to_a_number() -> None:
    sites = [site(f"s{n}.example", f"/l/{n:x}/log") for n in range(MOST_SOURCES + 5)]
    found = sources_of(sites)
    assert len(found.sources) == MOST_SOURCES
    assert found.left_out == 5
    assert all(one.site for one in found.sources)


# No top level is called as a packing is.
NAMES = st.from_regex(r"\A[a-z][a-z0-9]{0,3}(\.[a-z][a-z0-9]{0,3}){1,2}\Z").filter(
    lambda name: name.rpartition(".")[2] not in {"gz", "xz", "zst", "bz2"}
)
TEMPLATES = st.sampled_from(
    [
        "/l/{}.log", "/l/{}", "/l/{}-ssl_log", "/l/{}/access.log", "/l/access_{}.log",
        "/homes/{}/logs/access.log", "/l/[{}]/a*b?.log", "/l/all.log",
    ]
)  # fmt: skip


@settings(max_examples=times(40), deadline=None)
@given(st.dictionaries(NAMES, st.lists(TEMPLATES, max_size=3, unique=True), max_size=12))
def test_every_log_is_read_and_as_nobody_elses(
    tmp_path_factory: pytest.TempPathFactory, logs: dict[str, list[str]]
) -> None:
    folder = tmp_path_factory.mktemp("logs")
    sites = [site(name, *(one.format(name) for one in of)) for name, of in logs.items()]
    every = {log: one.name for one in sites for log in one.logs}
    # One site's log cannot be the folder of another one's.
    assume(not any(Path(one).parent == Path(log) for log in every for one in every))
    written(folder, *every)
    found = readings(sites, folder)
    shared = "/l/all.log"
    assert {one for one in found if one[0] != shared} >= {
        (log, name) for log, name in every.items() if log != shared
    }
    assert shared not in every or shared in {path for path, _ in found}
    # A name that no site has counts nowhere.
    for path, who in found:
        assert who not in logs or path == shared or who == every.get(path)
