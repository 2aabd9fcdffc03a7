"""Every other name of a site is shown with where it was learned and whether it moves with the site,
whoever asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from starlette.testclient import TestClient

from flex.model.plan import Plan
from flex.model.zone_plan import LeansOnSite, StaysBehind, ZonePlan
from flex.store import open_store
from flex_api.app import create_app
from flex_api.facts.names_of_sites import NamesOfSites, names_of_sites
from flex_api.settings import file as settings_file
from tests.api.test_names_going_along import follow, movable, write
from tests.api.test_names_in_settings import nginx, written
from tests.rest.conftest import plan as night_plan

if TYPE_CHECKING:
    from tests.api.conftest import Installation

SITE = "xn--bcher-kva.example"


def named(found: NamesOfSites, site: str) -> dict[str, tuple[str, list[str]]]:
    return {
        one.name: (one.moves, [each.source for each in one.learned])
        for one in found.names_of_site(site)
    }


@contextmanager
def pages(installation: Installation) -> Iterator[TestClient]:
    """Its web server, which lets everybody look."""
    settings = settings_file.load(installation.settings)
    everybody = settings.auth.model_copy(update={"anonymous": "viewer"})
    unhurried = settings.api.model_copy(update={"requests_per_second": 0})
    settings = settings.model_copy(update={"auth": everybody, "api": unhurried})
    with open_store(settings.database.url) as store:
        yield TestClient(create_app(settings, store), raise_server_exceptions=False)


def test_each_name_says_where_it_was_learned(tmp_path: Path) -> None:
    found = names_of_sites(
        written(
            tmp_path,
            sites=f"{SITE}\nb.example\n",
            aliases="Shop.Bücher.example. bücher.EXAMPLE.\n",
            hosts=nginx("bücher.example www.bücher.example shop.bücher.example"),
            extra="[ingest.aliases]\n'old.example' = 'Bücher.example'\n",
        ),
        None,
        [SITE, "b.example"],
    )
    assert named(found, SITE) == {
        f"www.{SITE}": ("unknown", ["vhosts"]),
        f"shop.{SITE}": ("unknown", ["aliases_file", "vhosts"]),
        "old.example": ("unknown", ["settings"]),
    }
    assert named(found, "b.example") == {"www.b.example": ("unknown", ["www"])}
    (shop,) = (one for one in found.names_of_site(SITE) if one.name == f"shop.{SITE}")
    assert [each.where for each in shop.learned] == [
        f"{tmp_path}/aliases, line 1",
        f"{tmp_path}/hosts, line 1",
    ]


def test_where_names_cannot_be_told_it_is_said_why(tmp_path: Path) -> None:
    aliases = "x.example a.example\nx.example b.example\n"
    found = names_of_sites(written(tmp_path, aliases=aliases), None, ["a.example"])
    assert found.names_of_site("a.example") == []
    assert "of two sites: of a.example" in found.not_known


DNS = '[dns]\nzones = ["example"]\n'
DOORS = '[routing]\non = true\ndoors = "all"\npublish = "doors"\n'


def planned(plan: Plan, *others: str) -> Plan:
    """With one zone in which each of these other names of a.example fares as it is called."""

    def one(kind: str) -> str:
        return f"{kind.replace('_', '-')}.example"

    zone_plan = ZonePlan(
        "example.",
        (),
        foreign=tuple(
            f"{one(kind)}. (another name of a.example, with addresses of its own at n1)"
            for kind in others
            if kind == "stays"
        ),
        stay_behind=tuple(
            StaysBehind(one(kind), "a.example", ("n1",)) for kind in others if kind == "stays"
        ),
        leaning=tuple(
            LeansOnSite("a.example", "CNAME", f"{one(kind)}.", "its other name")
            for kind in others
            if kind == "cname"
        ),
        go_along=tuple((one(kind), "a.example") for kind in others if kind == "dns"),
    )
    return replace(plan, zone_plans=(zone_plan,))


@pytest.mark.parametrize(
    ("sections", "dns"),
    [(DNS, "as planned"), (DNS + DOORS, "doors"), (DOORS, "doors"), ("", "unknown")],
)
def test_what_moves_a_name_is_what_dns_and_doors_do(
    sections: str, dns: str, tmp_path: Path
) -> None:
    kinds = ("dns", "cname", "stays", "no_address")
    names = {kind: f"{kind.replace('_', '-')}.example" for kind in kinds}
    aliases = "".join(f"{name} a.example\n" for name in names.values())
    settings = written(tmp_path, aliases=f"{aliases}far.elsewhere a.example\n", extra=sections)
    plan = planned(night_plan(1), *kinds) if DNS in sections else None
    found = named(names_of_sites(settings, plan, ["a.example"]), "a.example")
    for kind in kinds:
        moves = found[names[kind]][0]
        wanted = kind if dns == "as planned" or (kind == "dns" and plan) else dns
        assert moves == wanted, kind
    assert found["far.elsewhere"][0] == ("doors" if dns == "doors" else "unknown")


@pytest.mark.slow
@pytest.mark.real
def test_terminal_json_pages_and_rest_show_them(installation: Installation) -> None:
    installation.first_night()
    site, _, _ = movable(installation)
    zone = installation.zone[:-1]
    names = {f"goes.{zone}": "dns", f"stays.{zone}": "stays", "far.example.org": ""}
    write(installation, f"stays.{zone}", "203.0.113.9")
    (installation.folder / "aliases").write_text(
        "".join(f"{name} {site}\n" for name in names), encoding="utf-8"
    )
    text = installation.settings.read_text(encoding="utf-8")
    installation.settings.write_text(
        text.replace("[ingest]\n", '[ingest]\naliases_file = "aliases"\n'), encoding="utf-8"
    )
    follow(installation)
    assert installation.run().code == 0
    (row,) = installation.flex("-o", "json", "sites", "show", site).json["items"]
    told = {one["name"]: one for one in row["names"]}
    assert {name: told[name]["moves"] for name in names} == {
        f"goes.{zone}": "dns",
        f"stays.{zone}": "stays",
        "far.example.org": "unknown",
    }
    every = installation.flex("-o", "json", "sites", "list").json["items"]
    assert row in every
    shown = installation.flex("sites", "show", site).out
    assert f"stays.{zone}" in shown
    assert "203.0.113.9" in shown
    assert "aliases, line 1" in shown
    with pages(installation) as web:
        assert web.get(f"/api/v1/sites/{site}").json()["names"] == row["names"]
        page = web.get(f"/site?name={site}").text
        assert all(name in page for name in names)
        assert "stays behind" in page
        (installation.folder / "aliases").write_text(
            f"x.example {site}\nx.example other.{zone}\n", encoding="utf-8"
        )
    with pages(installation) as web:
        found = web.get(f"/api/v1/sites/{site}").json()
        assert found["names"] is None
        assert "of two sites" in found["names_not_known"]
        for path in (f"/site?name={site}", "/", "/sites", "/nodes", "/dns", "/metrics"):
            assert web.get(path).status_code == 200, path
        assert "of two sites" in web.get("/").text
