"""Names in logs are proposed as other names of a site only where something but their traffic says
so, for one site alone, and as a line that the settings take.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex.model.zone_plan import LeansOnSite, ZonePlan
from flex_api.facts.proposed_names import NamesInLogs, Proposal, proposals
from flex_api.other_names_in_settings import names_in_settings
from flex_api.settings.whole_settings import Ingest
from flex_logs_ingest.counts.sites_with_same_files import SameFiles
from tests.rest.conftest import plan as night_plan

if TYPE_CHECKING:
    from flex.model.plan import Plan
    from tests.api.conftest import Installation


def with_cnames(*pairs: tuple[str, str]) -> Plan:
    leaning = tuple(
        LeansOnSite(site, "CNAME", f"{owner}.", "its other name") for owner, site in pairs
    )
    zone_plan = ZonePlan("example.", (), leaning=leaning)
    return replace(night_plan(1), zone_plans=(zone_plan,))


def told(found: list[Proposal]) -> dict[str, tuple[str, list[str]]]:
    return {one.name: (one.site, [each.kind for each in one.evidence]) for one in found}


def test_of_listed_sites_a_cname_is_the_only_evidence() -> None:
    names = NamesInLogs(
        {"old.example": 9, "evil.example": 99, "sub.a.example": 5},
        {"a.example": 1000},
        are_listed=True,
    )
    plan = with_cnames(
        ("old.example", "a.example"), ("*.a.example", "a.example"), ("unseen", "a.example")
    )
    (one,) = proposals(names, plan, [])
    assert (one.name, one.site, one.requests) == ("old.example", "a.example", 9)
    assert one.line == "old.example a.example"
    assert proposals(names, None, []) == []


def test_without_a_list_the_same_files_and_www_are_evidence() -> None:
    names = NamesInLogs(
        {},
        {"a.example": 10, "www.a.example": 90, "b.example": 5, "shop.test": 7, "c.example": 3},
        are_listed=False,
    )
    same = [
        SameFiles("a.example", "www.a.example", 20, 22, 30),
        SameFiles("b.example", "shop.test", 9, 9, 40),
    ]
    found = proposals(names, None, same)
    assert told(found) == {
        "www.a.example": ("a.example", ["same_files", "www"]),
        "b.example": ("shop.test", ["same_files"]),
    }
    assert [one.name for one in found] == ["www.a.example", "b.example"]
    assert "9 of its 9 files" in found[1].evidence[0].said
    apart = proposals(replace(names, www="apart"), None, [])
    assert apart == []


def test_evidence_of_two_sites_is_evidence_of_none() -> None:
    sites = {"a.example": 10, "b.example": 9, "x.example": 1}
    plan = with_cnames(("x.example", "a.example"))
    same = [SameFiles("b.example", "x.example", 5, 5, 5)]
    assert proposals(NamesInLogs({}, sites, are_listed=False), plan, same) == []


hosts = st.sampled_from([f"{one}.example" for one in "abcd"] + ["www.a.example", "www.b.example"])


@given(
    unknown=st.dictionaries(hosts, st.integers(0, 9)),
    sites=st.dictionaries(hosts, st.integers(0, 9)),
    cnames=st.lists(st.tuples(hosts, hosts), max_size=4),
    same=st.lists(st.tuples(hosts, hosts), max_size=4),
    listed=st.booleans(),
)
def test_every_proposal_is_a_line_that_the_settings_take(
    unknown: dict[str, int],
    sites: dict[str, int],
    cnames: list[tuple[str, str]],
    same: list[tuple[str, str]],
    listed: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    unknown = {name: asked for name, asked in unknown.items() if name not in sites}
    names = NamesInLogs(unknown, sites, are_listed=listed)
    pairs = [SameFiles(min(pair), max(pair), 5, 5, 5) for pair in same if pair[0] != pair[1]]
    found = proposals(names, with_cnames(*cnames), pairs)
    path = tmp_path_factory.mktemp("lines") / "aliases"
    path.write_text("".join(f"{one.line}  # said\n" for one in found))
    taken = names_in_settings(
        Ingest(aliases_file=path), frozenset(sites) if listed else frozenset()
    )
    assert dict(taken.aliases) == {one.name: one.site for one in found}


@pytest.mark.real
def test_what_is_proposed_is_counted_for_its_site_once_it_is_pasted(
    installation: Installation, tmp_path: Path
) -> None:
    installation.first_night()
    text = installation.settings.read_text(encoding="utf-8")
    # Every name is a site then.
    own = text.replace('sites_file = "sites"\n', "").partition("[ingest.aliases]")[0]
    installation.settings.write_text(own, encoding="utf-8")
    logs = installation.folder / "logs"
    day = "02/Mar/2026:10:00:00 +0000"
    lines = [
        f'{host}:80 192.0.2.7 - - [{day}] "GET /f{number} HTTP/1.1" 200 {2000 + number}\n'
        for host in ("mine.home.example", "www.mine.home.example", "other.home.example")
        for number in range(8 if "other" not in host else 2)
    ]
    (logs / "own.log").write_text("".join(lines * 3), encoding="utf-8")
    source = f'[[ingest.source]]\nglob = "{logs}/own.log"\nnode = "n1"\nformat = "vhost_common"\n'
    installation.settings.write_text(f"{own}{source}", encoding="utf-8")
    ran = installation.night(1)
    assert ran.code in (0, 22), ran.err
    found = installation.flex("-o", "json", "sites", "unknown").json["proposals"]
    (one,) = (row for row in found if "mine" in row["name"])
    assert one["line"] == "www.mine.home.example mine.home.example"
    assert {each["kind"] for each in one["evidence"]} == {"same_files", "www"}
    shown = installation.flex("sites", "unknown").out
    assert "www.mine.home.example mine.home.example  # 8 of its 8 files" in shown
    (installation.folder / "pasted").write_text(
        "\n".join(line for line in shown.splitlines() if "  # " in line)
    )
    installation.settings.write_text(
        f"{own}{source}".replace("[ingest]\n", '[ingest]\naliases_file = "pasted"\n'),
        encoding="utf-8",
    )
    assert installation.flex("config", "check").code == 0
    after = installation.flex("-o", "json", "sites", "unknown").json["proposals"]
    assert one["name"] not in [row["name"] for row in after]
