"""Other names of sites that have addresses of their own: on a real name server they are named
wherever FLEX speaks.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import dns.rcode
import dns.update
import pytest

from flex.planning.names_left_behind import LEFT
from flex.store import open_store
from flex_api.web.cached_views import Views
from flex_dns.wire.session import Session

if TYPE_CHECKING:
    from tests.api.conftest import Installation

pytestmark = pytest.mark.real

EVERYWHERE = [f"192.0.2.{number}" for number in (1, 2, 3)]


def write(installation: Installation, names: list[str], addresses: list[str]) -> None:
    """As somebody does who is not FLEX."""
    update = dns.update.UpdateMessage(installation.zone)
    for name in names:
        update.replace(f"{name}.", 60, "A", *addresses)
    with Session(installation.server.server) as session:
        assert session.ask(update, "an edit").rcode() == dns.rcode.NOERROR


def counted(installation: Installation) -> list[str]:
    """The sites, after a day on which every second line asked for www of its site."""
    assert installation.hosting is not None
    sites = [site for site in installation.hosting.sites if not site.startswith("www.")][:20]
    lines = [
        f"{'www.' * (number % 2)}{site}:80 192.0.2.9 - - "
        f"[02/Mar/2026:{number % 24:02}:00:00 +0000] "
        f'"GET /{number % 9} HTTP/1.1" 200 {1000 + number} "-" "-"\n'
        for number in range(120)
        for site in sites
    ]
    folder = installation.folder / "logs"
    folder.mkdir(exist_ok=True)
    (folder / "access.log").write_text("".join(lines), encoding="utf-8")
    source = (
        f'[[ingest.source]]\nglob = "{folder}/access.log"\nnode = "n1"\nformat = "vhost_combined"\n'
    )
    (installation.folder / "sources").write_text(source, encoding="utf-8")
    installation.write_settings()
    return sites


@pytest.fixture
def sites(empty: Installation) -> list[str]:
    empty.extra = "[profile]\nmin_coverage = 0.0\n"
    found = counted(empty)
    write(empty, [f"www.{site}" for site in found[:10]], EVERYWHERE)
    return found


@pytest.mark.slow
def test_they_are_named_by_doctor_plan_report_and_verify(
    empty: Installation, sites: list[str]
) -> None:
    night = empty.night()
    assert night.code == 0, night.err
    shown = empty.flex("-o", "json", "plan", "show", night.json["plan"]["id"]).json
    (zone,) = shown["zones"]
    strays = [line for line in zone["foreign"] if line.startswith("www.")]
    assert len(strays) == 10
    assert all(
        "at n1, n2, n3: it does not move with the site; 50% of its requests" in line
        for line in strays
    )
    assert any(
        note.startswith("10 other names of 10 sites with addresses of their own")
        for note in shown["notes"]
    )
    (doctor,) = [
        row
        for row in empty.flex("-o", "json", "doctor").json["checks"]
        if row["name"] == "other names"
    ]
    assert (doctor["state"], "10 other names of 10 sites" in doctor["detail"]) == ("warn", True)
    assert all(f"www.{site}" in doctor["detail"] for site in sites[:10])
    assert sorted(doctor["names"]) == sorted(f"www.{site}" for site in sites[:10])
    verified = empty.flex("-o", "json", "verify").json
    assert {row["name"] for row in verified["other_names"]} == {
        f"www.{site}" for site in sites[:10]
    }
    assert not [row["note"] for row in verified["other_names"] if "not known" in row["note"]]
    assert verified["drift"] == 0
    assert "not FLEX's to move: www." in empty.flex("verify").out
    report = Path(empty.flex("report").out.strip()).read_text(encoding="utf-8")
    assert "10 other names of 10 sites" in report
    assert f"www.{min(sites[:10])}" in report
    assert "note: 10 other names of 10 sites" in empty.flex("plan", "show", shown["id"]).out
    (said,) = [note for note in shown["notes"] if note.startswith("10 other names")]
    for tried in (("down", "n1"), ("drain", "n1")):
        asked = ("-o", "json", "nodes", *tried, "--dry-run")
        notes = empty.flex(*asked).json["preview"]["notes"]
        assert said in notes
        assert any(
            note.startswith("10 other names lead to n1 and stay there when their sites leave")
            for note in notes
        )
    drained = empty.flex("-o", "json", "nodes", "drain", "n1").json["notes"]
    assert said in drained
    assert any("lead to n1 and stay there" in note for note in drained)
    made = empty.flex("-o", "json", "plan", "--as-of", empty.as_of()).json
    moved = {move["site"] for move in made["moves"]} & set(sites[:10])
    assert moved
    behind = [row for zone in made["zones"] for row in zone["stay_behind"]]
    assert {row["name"] for row in behind} == {f"www.{site}" for site in sites[:10]}
    assert {row["site"] for row in behind if row["is_left"]} == moved
    assert all("it does not move with the site" in row["why"] for row in behind)
    (left,) = (note for note in made["notes"] if note.startswith(LEFT))
    assert all(f"www.{site} of {site} (at n1, n2, n3)" in left for site in moved)
    assert left in empty.flex("plan", "show", made["id"]).out
    report = Path(empty.flex("report").out.strip()).read_text(encoding="utf-8")
    assert "left behind by this plan" in report
    assert empty.flex("nodes", "undrain", "n1").code == 0
    write(empty, [f"www.{site}" for site in sites[:10]], [])


@pytest.mark.slow
def test_traffic_by_them_is_foretold_where_their_addresses_lead(
    empty: Installation, sites: list[str]
) -> None:
    night = empty.night()
    assert night.code == 0, night.err
    shown = empty.flex("-o", "json", "plan", "show", night.json["plan"]["id"]).json
    (after,) = [one for one in shown["forecasts"] if one["policy"] == "after"]
    on = {
        row["site"]: row["nodes"][0]
        for row in empty.flex("-o", "json", "sites", "list").json["items"]
    }
    # Every site is asked for as often; half of that goes to all three nodes, for those ten whose
    # www leads there.
    wanted = dict.fromkeys(("n1", "n2", "n3"), 0.0)
    for number, site in enumerate(sites):
        wanted[on[site]] += 60 if number < 10 else 120
        for node in wanted:
            wanted[node] += 20 if number < 10 else 0
    for node in after["nodes"]:
        assert node["requests"] == pytest.approx(wanted[node["node"]], abs=45)
    write(empty, [f"www.{site}" for site in sites[:10]], [])


@pytest.mark.slow
def test_explain_and_the_views_of_nodes_count_them_where_the_plan_does(
    empty: Installation, sites: list[str]
) -> None:
    night = empty.night()
    assert night.code == 0, night.err
    told = empty.flex("-o", "json", "explain", sites[0]).json
    said = f"www.{sites[0]}, another name of it, does not move with it: "
    (about,) = [reason for reason in told["reasons"] if reason.startswith(said)]
    assert about.endswith("are sent by that name, and count at n1, n2, n3")
    without = empty.flex("-o", "json", "explain", sites[15]).json
    assert not [why for why in without["reasons"] if "another name" in why]
    asks = [found["asks_units"]["access rate"] for found in (told, without)]
    assert asks[0] == pytest.approx(asks[1] / 2, rel=0.1)
    views = Views(open_store(f"sqlite:///{empty.folder}/flex.db"))
    plan, counted = night.json["plan"], views.rows_as_planned()
    replicas = [len(counted.nodes_of(row)) for row in range(len(counted.sites))]
    sent = {node["node"]: 0.0 for node in plan["after"]["nodes"]}
    for row, count in enumerate(replicas):
        for node in counted.nodes_of(row):
            sent[node] += counted.measures(row)["access_bytes"] / count
    total = sum(sent.values())
    for node in plan["after"]["nodes"]:
        assert sent[node["node"]] / total * 300 == pytest.approx(node["access_units"], rel=0.02)
    assert f"www.{sites[0]}" in counted.sites
    assert f"www.{sites[0]}" not in views.catalogue().sites
