"""With doors for all sites every node's files say which node owns which name, before DNS does."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flex.model.stray_requests import Counted, StrayReading
from flex.routing import haproxy, host_to_node_maps
from flex.routing.haproxy_frontends import NEIGHBOURS
from flex.routing.host_to_node_maps import MOVED, OWNERS
from flex.store import open_store
from flex_api.settings.file import load

if TYPE_CHECKING:
    from tests.api.conftest import Installation


@pytest.fixture
def with_doors(installation: Installation, tmp_path: Path) -> Path:
    """A night has passed; the folders of the nodes' files."""
    installation.extra += (
        f'[routing]\non = true\ndoors = "all"\ndirectory = "{tmp_path}"\n'
        f'socket = "{tmp_path}/s"\ndeliver = "{tmp_path}/{{node}}/haproxy"\n'
    )
    installation.write_settings()
    assert installation.night().code == 0
    return tmp_path


def owner_of(folder: Path) -> dict[str, str]:
    """As the HAProxy that reads the folder finds it."""
    both = {
        **host_to_node_maps.read((folder / OWNERS).read_text()),
        **host_to_node_maps.read((folder / MOVED).read_text()),
    }
    return {
        name: value.removeprefix("at_")
        for name, value in both.items()
        if value != host_to_node_maps.NOBODY
    }


def nodes(installation: Installation) -> list[str]:
    said = installation.flex("-o", "json", "nodes", "list").json["items"]
    return [row["node"] for row in said]


def placed(installation: Installation) -> dict[str, set[str]]:
    rows = installation.flex("-o", "json", "sites", "list").json
    return {row["site"]: set(row["nodes"]) for row in rows["items"]}


@pytest.mark.slow
def test_every_node_is_told_the_owner_of_every_site(
    installation: Installation, with_doors: Path
) -> None:
    said = [owner_of(with_doors / node / "haproxy") for node in nodes(installation)]
    assert all(one == said[0] for one in said)
    sites = placed(installation)
    assert {site for site in sites if site in said[0]} == set(sites)
    for site, of_site in sites.items():
        assert said[0][site] in of_site
    allowed = (with_doors / nodes(installation)[0] / "haproxy" / NEIGHBOURS).read_text()
    assert len(allowed.split()) >= len(said)


@pytest.mark.slow
def test_an_explanation_says_who_still_comes_to_other_nodes(
    installation: Installation, with_doors: Path
) -> None:
    assert with_doors.exists()
    site, here = next(
        (site, of_site) for site, of_site in placed(installation).items() if len(of_site) == 1
    )
    there = next(node for node in nodes(installation) if node not in here)
    reading = StrayReading(3_600, 1, 312, (Counted(site, 312, 300.0),))
    with open_store(load(installation.settings).database.url) as store:
        for node in nodes(installation):
            nothing = StrayReading(3_600, 0, 0, ())
            told = reading if node == there else nothing
            store.note_strays(node, told, datetime.now(UTC))
    said = " ".join(installation.flex("explain", site).out.split())
    assert f"visitors still come to {there}, which does not have the site" in said
    assert "312 requests since" in said
    assert "is not known" not in said
    (row,) = installation.flex("-o", "json", "explain", site).json["visitors"]
    assert (row["node"], row["requests"]) == (there, 312)
    (listed,) = installation.flex("-o", "json", "route", "show").json["strays"]
    assert listed == row
    shown = installation.flex("route", "show").out
    assert f"{site} {there} 312 " in " ".join(shown.split())
    assert "Not known of" not in shown


@pytest.mark.slow
def test_routing_says_of_which_doors_it_is_not_known_who_comes_to_them(
    installation: Installation, with_doors: Path
) -> None:
    assert with_doors.exists()
    told = nodes(installation)[0]
    with open_store(load(installation.settings).database.url) as store:
        store.note_strays(told, StrayReading(3_600, 0, 0, ()), datetime.now(UTC))
    said = installation.flex("-o", "json", "route", "show").json
    assert (said["strays"], said["strays_count"]) == ([], 0)
    assert said["strays_not_known"] == nodes(installation)[1:]
    assert "Not known of" in installation.flex("route", "show").out


@pytest.mark.slow
def test_a_plan_that_comes_changes_the_small_map_alone_and_taking_it_back_empties_it(
    installation: Installation, with_doors: Path
) -> None:
    site, before = next(
        (site, of_site) for site, of_site in placed(installation).items() if len(of_site) == 1
    )
    here = next(iter(before))
    there = next(node for node in nodes(installation) if node != here)
    folder = with_doors / here / "haproxy"
    large = (folder / OWNERS).read_text()
    assert host_to_node_maps.read((folder / MOVED).read_text()) == {}
    assert installation.flex("sites", "pin", site, "--nodes", there).code == 0
    made = installation.flex("-o", "json", "plan", "--as-of", installation.as_of())
    plan = made.json["id"]
    assert installation.flex("route", "deliver", "--plan", plan).code == 0
    assert (folder / OWNERS).read_text() == large
    assert host_to_node_maps.read((folder / MOVED).read_text())[
        site
    ] == host_to_node_maps.node_backend(there)
    assert installation.flex("route", "deliver").code == 0
    assert host_to_node_maps.read((folder / MOVED).read_text()) == {}
    assert installation.flex("apply", "--as-of", installation.as_of()).code == 0
    assert owner_of(folder)[site] == there


def test_who_only_looks_writes_no_large_map_and_names_the_version_that_is_made(
    installation: Installation,
) -> None:
    assert installation.night().code == 0
    installation.extra += '[routing]\non = true\ndoors = "all"\n'
    installation.write_settings()
    shown = installation.flex("-o", "json", "route", "show").json["nodes"]
    assert kept_digest(installation) == ""
    for row in shown:
        node = row["node"]
        files = installation.flex("-o", "json", "route", "config", node).json["files"]
        assert haproxy.version(files) == row["wanted"]
        assert kept_digest(installation) == host_to_node_maps.digest(files[OWNERS])


def kept_digest(installation: Installation) -> str:
    with open_store(load(installation.settings).database.url) as store:
        return store.large_map_digest()


@pytest.mark.slow
def test_what_a_node_fetches_is_what_is_delivered_to_it(
    installation: Installation, with_doors: Path
) -> None:
    for node in nodes(installation):
        files = installation.flex("-o", "json", "route", "config", node).json["files"]
        delivered = {
            path.name: path.read_text()
            for path in (with_doors / node / "haproxy").iterdir()
            if not path.name.endswith(".before")
        }
        assert files == delivered
        assert haproxy.is_whole(files)


def test_a_bypass_and_doors_for_all_are_refused_together(installation: Installation) -> None:
    installation.extra += '[routing]\non = true\ndoors = "all"\nbypass = true\n'
    installation.write_settings()
    said = installation.flex("config", "check")
    assert said.code == 3
    assert "bypass" in said.out + said.err
