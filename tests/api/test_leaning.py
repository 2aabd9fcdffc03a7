"""Mail that leans on the name of a site: on a real name server FLEX says it wherever it speaks, and
what it advises helps.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dns.rcode
import dns.update
import pytest

from flex.store import open_store
from flex_api import wiring
from flex_api.night import failover
from flex_api.settings import file as config
from flex_api.web.cached_views import Views
from flex_dns.private.private_named import PrivateNamed
from flex_dns.wire.key import Key
from flex_dns.wire.session import Session
from tests.api.beginnings import Home
from tests.api.conftest import HOME, passable

if TYPE_CHECKING:
    from tests.api.conftest import Installation

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def named(key: Key) -> Iterator[PrivateNamed]:
    """One that lets everybody with the key write mail records, too."""
    anything = f"type primary;\nallow-update {{ key {key.name}; }};"
    with (
        passable() as folder,
        PrivateNamed(folder / "data", [HOME], key, clause=anything) as server,
    ):
        yield server


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, named: PrivateNamed) -> Iterator[Home]:
    with tempfile.TemporaryDirectory(prefix="flex-beginnings-") as aside:
        folder = tmp_path_factory.mktemp("home")
        yield Home(folder / "flex", Path(aside), HOME, named)


def write(installation: Installation, name: str, kind: str, *values: str) -> None:
    """As somebody does who is not FLEX."""
    update = dns.update.UpdateMessage(installation.zone)
    update.replace(f"{name}.", 60, kind, *values)
    with Session(installation.server.server) as session:
        assert session.ask(update, "an edit").rcode() == dns.rcode.NOERROR


def doctor(installation: Installation) -> list[dict[str, str]]:
    checks = installation.flex("-o", "json", "doctor").json["checks"]
    return [row for row in checks if row["name"] == "what leans on sites"]


def placed(installation: Installation) -> dict[str, list[str]]:
    rows = installation.flex("-o", "json", "sites", "list").json["items"]
    return {row["site"]: row["nodes"] for row in rows}


@pytest.fixture
def site(installation: Installation) -> str:
    """A site on one node, on whose name mail leans, and which somebody wants on another."""
    installation.first_night()
    name, here = next(
        (site, nodes[0]) for site, nodes in sorted(placed(installation).items()) if len(nodes) == 1
    )
    write(installation, name, "MX", f"10 {name}.")
    other = "n2" if here == "n1" else "n1"
    wished = installation.flex("sites", "pin", name, "--nodes", other, "--reason", "x")
    assert wished.code == 0, wished.err
    installation.traffic(2)
    return name


def plan(installation: Installation) -> Any:
    made = installation.night(2)
    assert made.code == 0, made.err
    return installation.flex("-o", "json", "plan", "show", made.json["plan"]["id"]).json


@pytest.mark.slow
def test_it_is_said_by_plan_explain_sites_doctor_report_and_previews(
    installation: Installation, site: str
) -> None:
    before = installation.addresses(site)
    shown = plan(installation)
    assert installation.addresses(site) == before
    mail = f"mail for {site} (MX 10 {site}.)"
    why = f"would take along {mail}"
    assert any(why in note for note in shown["notes"])
    (zone,) = shown["zones"]
    assert f"{site}. ({why})" in zone["foreign"]
    assert zone["leaning"] == [
        {"site": site, "kind": "MX", "owner": f"{site}.", "what": mail, "stays": True}
    ]
    explained = installation.flex("-o", "json", "explain", site).json
    assert any(line.startswith("stays where it is, as a move") for line in explained["reasons"])
    assert any(line.startswith("its wish gives way") for line in explained["reasons"])
    assert explained["leaning"] == zone["leaning"]
    assert explained["others"] == []
    assert mail in installation.flex("explain", site).out
    rows = installation.flex("-o", "json", "sites", "list").json["items"]
    assert [row["site"] for row in rows if row["stays_for"] == [mail]] == [site]
    assert "1 site stays where it is" in installation.flex("sites", "list").out
    (row,) = doctor(installation)
    assert (row["state"], mail in row["detail"]) == ("warn", True)
    report = Path(installation.flex("report").out.strip()).read_text(encoding="utf-8")
    assert mail in report
    (here,) = placed(installation)[site]
    notes = installation.flex("-o", "json", "nodes", "drain", here, "--dry-run").json["preview"][
        "notes"
    ]
    assert any(note.startswith("1 site stays where it is") for note in notes)
    with open_store(f"sqlite:///{installation.folder}/flex.db") as store:
        assert Views(store).stays_for() == {site: [mail]}


@pytest.mark.slow("its zone", "all", "an address of its own")
@pytest.mark.parametrize("way", ["an address of its own", "one site", "its zone", "all"])
def test_what_it_advises_lets_the_site_move(
    installation: Installation, site: str, way: str
) -> None:
    before = installation.addresses(site)
    if way == "an address of its own":
        write(installation, f"mail.{site}", "A", "192.0.2.1")
        write(installation, site, "MX", f"10 mail.{site}.")
    else:
        text = installation.settings.read_text(encoding="utf-8")
        table = {
            "one site": f'[[dns.site]]\nname = "{site}"\ndependents = "warn"\n',
            "its zone": f'[[dns.zone]]\nname = "{installation.zone}"\ndependents = "warn"\n',
        }.get(way, "")
        if not table:
            text = text.replace("[dns]\n", '[dns]\ndependents = "warn"\n')
        installation.settings.write_text(f"{text}\n{table}", encoding="utf-8")
    shown = plan(installation)
    assert installation.addresses(site) != before
    (row,) = doctor(installation)
    if way == "an address of its own":
        assert row["state"] == "ok"
    else:
        assert row["detail"].startswith("moves along with sites")
        assert any(note.startswith("moves along with sites") for note in shown["notes"])


@pytest.mark.slow
def test_off_a_dead_node_it_moves_and_its_mail_with_it(
    installation: Installation, site: str
) -> None:
    plan(installation)
    (here,) = placed(installation)[site]
    down = installation.flex("nodes", "down", here)
    assert down.code == 0, down.err
    assert placed(installation)[site] != [here]
    (newest, *_) = installation.flex("-o", "json", "plan", "list").json["items"]
    notes = installation.flex("-o", "json", "plan", "show", newest["id"]).json["notes"]
    assert any(f"mail for {site}" in note for note in notes)


def hints(installation: Installation, site: str) -> str:
    (record,) = (
        record for rrset in installation.ask(f"{site}.", "HTTPS").answer for record in rrset
    )
    return str(record.to_text())


@pytest.mark.slow
def test_hints_follow_where_that_is_asked_for_and_come_back_and_leave_a_dead_node(
    installation: Installation, site: str
) -> None:
    write(installation, site, "MX")
    (old,) = installation.addresses(site)
    first = f'1 . alpn="h2" ipv4hint="{old}"'
    write(installation, site, "HTTPS", first)
    plan(installation)
    assert installation.addresses(site) == [old]
    (row,) = doctor(installation)
    assert 'dns.address_hints = "follow"' in row["advice"]
    let_hints_follow(installation)
    first_row, second_row = doctor(installation)
    assert first_row["detail"].startswith("address hints of 1 record set change")
    assert (first_row["state"], second_row["state"]) == ("ok", "ok")
    moved = installation.flex("-o", "json", "move", site, "--to", other_than(installation, site))
    assert moved.code == 0, moved.err
    (new,) = installation.addresses(site)
    assert (new == old, hints(installation, site)) == (False, first.replace(old, new))
    checked = installation.flex("verify")
    assert checked.code == 0, checked.err
    shown = installation.flex("plan", "show").out
    assert f"HTTPS {first}" in shown
    assert installation.flex("sites", "unpin", site).code == 0
    back = installation.flex("rollback")
    assert back.code == 0, back.err
    assert (installation.addresses(site), hints(installation, site)) == ([old], first)
    (here,) = placed(installation)[site]
    down = installation.flex("nodes", "down", here)
    assert down.code == 0, down.err
    (alive,) = installation.addresses(site)
    assert hints(installation, site) == first.replace(old, alive) != first


def let_hints_follow(installation: Installation) -> None:
    text = installation.settings.read_text(encoding="utf-8")
    text = text.replace("[dns]\n", '[dns]\naddress_hints = "follow"\n')
    installation.settings.write_text(text, encoding="utf-8")


def test_off_a_dead_node_hints_of_sites_elsewhere_go_though_no_site_is_left_there(
    installation: Installation,
) -> None:
    installation.first_night()
    let_hints_follow(installation)
    assert installation.flex("nodes", "down", "n1").code == 0
    name = next(one for one, nodes in placed(installation).items() if len(nodes) == 1)
    (address,) = installation.addresses(name)
    write(installation, name, "HTTPS", f'1 . ipv4hint="192.0.2.1,{address}"')
    with closing(
        wiring.world(config.load(installation.settings), lambda: datetime.now(UTC))
    ) as world:
        assert failover.look(world, "n1") is None
    again = installation.flex("nodes", "down", "n1")
    assert again.code == 0, again.err
    assert hints(installation, name) == f'1 . ipv4hint="{address}"'
    assert installation.addresses(name) == [address]
    # Those of an excluded site stay, and are named.
    assert installation.flex("sites", "exclude", name).code == 0
    write(installation, name, "HTTPS", '1 . ipv4hint="192.0.2.1"')
    left = installation.flex("-o", "json", "nodes", "down", "n1")
    assert [row["name"] for row in left.json["left"]] == [f"{name}."], left.err
    assert hints(installation, name) == '1 . ipv4hint="192.0.2.1"'


@pytest.mark.slow
def test_an_excluded_site_whose_hints_lead_to_a_dead_node_is_named_and_later_freed(
    installation: Installation,
) -> None:
    """It goes on elsewhere. Its marker says that it is excluded."""
    installation.first_night()
    let_hints_follow(installation)
    name = next(one for one, nodes in placed(installation).items() if nodes == ["n2"])
    assert installation.flex("sites", "exclude", name).code == 0
    assert installation.night().code == 0
    (address,) = installation.addresses(name)
    there = f'1 . ipv4hint="192.0.2.1,{address}"'
    write(installation, name, "HTTPS", there)
    down = installation.flex("-o", "json", "nodes", "down", "n1")
    assert [row["name"] for row in down.json["left"]] == [f"{name}."]
    assert (down.code, hints(installation, name)) == (33, there)
    assert installation.flex("sites", "unpin", name).code == 0
    again = installation.flex("-o", "json", "nodes", "down", "n1")
    assert (again.code, again.json["left"]) == (0, []), again.err
    assert hints(installation, name) == f'1 . ipv4hint="{address}"'
    assert installation.addresses(name) == [address]


@pytest.mark.slow
def test_the_doctor_says_nothing_of_what_leans_on_a_site_that_stays_as_it_is_excluded(
    installation: Installation, site: str
) -> None:
    let_hints_follow(installation)
    text = installation.settings.read_text(encoding="utf-8")
    text = text.replace("[dns]\n", '[dns]\ndependents = "warn"\n')
    installation.settings.write_text(text, encoding="utf-8")
    (address,) = installation.addresses(site)
    write(installation, site, "HTTPS", f'1 . ipv4hint="{address}"')
    before = "".join(row["detail"] for row in doctor(installation))
    assert "moves along with sites" in before
    assert "address hints of 1 record set change" in before
    assert installation.flex("sites", "exclude", site).code == 0
    (row,) = doctor(installation)
    assert row["detail"].startswith("no mail, service or name server")
    # So it is while its marker alone says that it is excluded.
    assert installation.night(2).code == 0
    assert installation.flex("sites", "unpin", site).code == 0
    (row,) = doctor(installation)
    assert row["detail"].startswith("no mail, service or name server")


def other_than(installation: Installation, site: str) -> str:
    (here,) = placed(installation)[site]
    return "n2" if here == "n1" else "n1"
