"""A node dies: `flex nodes down` takes it out of DNS, verified, in one go."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import dns.query
import dns.update
import pytest

from flex_api import wiring
from flex_api.night.health_watch import HealthWatch
from flex_api.settings import file as config
from flex_dns.private.private_named import PrivateNamed
from tests.api.served import served

if TYPE_CHECKING:
    from tests.api.conftest import Installation

pytestmark = pytest.mark.real

DYING = Path(__file__).with_name("dying.py")


def homes(installation: Installation) -> dict[str, list[str]]:
    items = installation.flex("-o", "json", "sites", "list").json["items"]
    return {row["site"]: row["nodes"] for row in items}


@pytest.mark.slow
def test_a_dead_node_is_out_of_dns_and_nothing_else_moves(installation: Installation) -> None:
    installation.first_night()
    before = homes(installation)
    said = installation.flex("nodes", "down", "n1")
    assert said.code == 0, said.err
    assert "is sent to the dead node until then" in said.out
    after = homes(installation)
    assert set(after) == set(before)
    assert all(nodes and "n1" not in nodes for nodes in after.values())
    assert all(after[site] == nodes for site, nodes in before.items() if "n1" not in nodes)
    assert installation.flex("verify").code == 0
    states = {
        row["node"]: row["state"]
        for row in installation.flex("-o", "json", "nodes", "list").json["items"]
    }
    assert states["n1"] == "down"
    # Said again it changes nothing.
    serial = installation.serial()
    assert installation.flex("nodes", "down", "n1").code == 0
    assert installation.serial() == serial


@pytest.mark.slow
def test_where_the_name_server_is_away_it_is_said_what_holds_and_the_same_verb_goes_on(
    installation: Installation, free_port: int
) -> None:
    installation.first_night()
    text = installation.settings.read_text(encoding="utf-8")
    away = text.replace(f"port = {installation.server.port}\n", f"port = {free_port}\n")
    installation.settings.write_text(away, encoding="utf-8")
    said = installation.flex("nodes", "down", "n1")
    assert said.code == 30
    assert "n1 is marked as down, and its sites are on it still" in said.err
    assert "then `flex nodes down n1` again" in " ".join(said.err.split())
    installation.settings.write_text(text, encoding="utf-8")
    assert installation.flex("nodes", "down", "n1").code == 0
    assert all("n1" not in nodes for nodes in homes(installation).values())


@pytest.mark.slow
def test_what_somebody_changed_by_hand_meanwhile_is_left_to_him(installation: Installation) -> None:
    """The dead node's own addresses go all the same, wherever they are."""
    installation.first_night()
    sites = installation.flex("-o", "json", "sites", "list").json["items"]
    mine, *others = (row["site"] for row in sites if row["nodes"] == ["n1"])
    update = dns.update.UpdateMessage(installation.zone, keyring=installation.server.key.signer())
    update.replace(f"{mine}.", 60, "A", "203.0.113.9")
    dns.query.tcp(update, "127.0.0.1", port=installation.server.port)
    assert installation.flex("nodes", "down", "n1").code in {0, 32}
    assert installation.addresses(mine) == ["203.0.113.9"]
    assert all("192.0.2.1" not in installation.addresses(site) for site in others)


@pytest.mark.slow
def test_the_last_node_is_never_taken_down(installation: Installation) -> None:
    installation.first_night()
    assert installation.flex("nodes", "down", "n1").code == 0
    assert installation.flex("nodes", "down", "n2").code == 0
    said = installation.flex("nodes", "down", "n3")
    assert (said.code, "nowhere to go" in said.err) == (3, True)
    assert installation.flex("nodes", "up", "n1").code == 0
    assert installation.flex("nodes", "down", "n3", "--dry-run").code == 0
    assert installation.flex("verify").code == 0


def test_a_node_that_nobody_knows_is_no_node(installation: Installation) -> None:
    assert installation.flex("nodes", "down", "n9").code == 3


@pytest.mark.torture("propose", "before-done", "sent")
@pytest.mark.slow
@pytest.mark.parametrize("moment", ["propose", "sent", "before-done", "before-settle"])
def test_killed_at_any_step_it_ends_well_when_it_is_said_again(
    installation: Installation, moment: str
) -> None:
    installation.first_night()
    before = homes(installation)
    command = [sys.executable, str(DYING), str(installation.settings), moment]
    assert subprocess.run(command, check=False, capture_output=True, timeout=300).returncode == -9
    half = [row["state"] for row in installation.flex("-o", "json", "plan", "list").json["items"]]
    assert half[0] == ("proposed" if moment == "propose" else "applying")
    said = installation.flex("nodes", "down", "n1")
    assert said.code == 0, said.err
    after = homes(installation)
    assert all(nodes and "n1" not in nodes for nodes in after.values())
    assert all(after[site] == nodes for site, nodes in before.items() if "n1" not in nodes)
    assert installation.flex("verify").code == 0
    states = {row["state"] for row in installation.flex("-o", "json", "plan", "list").json["items"]}
    assert "applying" not in states


@pytest.fixture
def late(installation: Installation, open_folder: Path) -> Iterator[Installation]:
    """A second name server is checked, too, and never follows. One site of n1 is not FLEX's."""
    installation.first_night()
    server = installation.server
    with PrivateNamed(open_folder / "late", [installation.zone], server.key) as behind:
        text = installation.settings.read_text(encoding="utf-8")
        asked = f'settle = "1s"\nverify = ["127.0.0.1:{server.port}", "127.0.0.1:{behind.port}"]\n'
        installation.settings.write_text(
            text.replace("[dns]\n", f"[dns]\n{asked}"), encoding="utf-8"
        )
        yield installation


def excluded(late: Installation) -> str:
    site = next(site for site, nodes in homes(late).items() if nodes == ["n1"])
    assert late.flex("sites", "exclude", site).code == 0
    return site


def test_a_late_server_hides_neither_where_sites_went_nor_what_is_left(late: Installation) -> None:
    left = excluded(late)
    said = late.flex("-o", "json", "nodes", "down", "n1")
    assert said.code == 32
    assert [row["name"] for row in said.json["left"]] == [f"{left}."]
    sites = {row["node"]: row["sites"] for row in said.json["items"]}
    assert (sites["n1"], sum(sites.values())) == (0, len(homes(late)) - 1)
    assert "checking what the name servers answer" in said.err
    run = late.flex("-o", "json", "history").json["items"][0]
    newest = late.flex("-o", "json", "plan", "list").json["items"][0]
    assert (run["exit_code"], run["plan"]) == (32, newest["id"])


@pytest.mark.slow
def test_over_a_server_it_says_the_same(late: Installation) -> None:
    left = excluded(late)
    with served(late) as ask:
        said = ask("nodes", "down", "n1")
    (newest, *_) = late.flex("-o", "json", "plan", "list").json["items"]
    assert said.code == 32
    told = " ".join(said.err.split())
    assert f"sites of n1 went by plan {newest['id']}" in told
    assert f"not FLEX's to change, and on n1 still: {left}." in told
    assert "change these names where they are kept" in told


@pytest.mark.slow
def test_the_health_watch_tells_of_it_as_of_any_other(late: Installation) -> None:
    left = excluded(late)
    metrics = late.folder / "flex.prom"
    text = late.settings.read_text(encoding="utf-8")
    late.settings.write_text(
        f'{text}[metrics]\ntextfile = "{metrics}"\n[watch]\nmax_down = 0.5\n', encoding="utf-8"
    )
    settings, said = config.load(late.settings), list[str]()
    with closing(wiring.world(settings, lambda: datetime.now(UTC), say=said.append)) as here:
        watch = HealthWatch(here, lambda nodes: {node.name: [node.name != "n1"] for node in nodes})
        for _ in range(settings.watch.fails):
            watch.round()
    text = "\n".join(said)
    assert "n1 was dead and lost sites by plan" in text
    assert f"on n1 still: {left}." in text
    assert "Not every server agrees: checking what the name servers answer" in text
    assert metrics.exists(), "it tells whoever is told of plans"


@pytest.mark.torture("n1")
@pytest.mark.slow
@pytest.mark.parametrize("other", ["n1", "n2"])
def test_a_half_applied_plan_that_a_late_server_does_not_follow_keeps_no_node_in(
    late: Installation, other: str
) -> None:
    """Also where it is the one that takes this node out."""
    command = [sys.executable, str(DYING), str(late.settings), "sent"]
    assert subprocess.run(command, check=False, capture_output=True, timeout=300).returncode == -9
    said = late.flex("nodes", "down", other)
    assert said.code == 32, said.err
    assert "What was begun is finished, but checking what" in said.out
    assert "1 name server agrees" in said.out
    assert "is sent to the dead node until then" in said.out
    assert all(other not in nodes for nodes in homes(late).values())


@pytest.mark.slow
def test_a_node_that_comes_back_gets_sites_though_nobody_could_log_anything_there(
    installation: Installation,
) -> None:
    installation.first_night()
    assert installation.flex("nodes", "drain", "n1").code == 0
    installation.traffic(2)
    drained = installation.night(2, "--force", "safety.max_moved_sites")
    assert drained.code == 0, drained.err
    assert not any("n1" in nodes for nodes in homes(installation).values())
    assert installation.flex("nodes", "undrain", "n1").code == 0
    installation.traffic(3)
    # Its logs end where it lost its sites.
    later = re.compile(rb"04/Mar/2026:(0[3-9]|[12])")
    for log in installation.folder.glob("logs/n1/**/*"):
        if log.is_file():
            lines = log.read_bytes().splitlines(keepends=True)
            log.write_bytes(b"".join(one for one in lines if not later.search(one)))
    said = installation.night(3)
    assert said.code == 0, said.err
    assert any("n1" in nodes for nodes in homes(installation).values()), said.out
