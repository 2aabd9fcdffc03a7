"""A node dies: `flex nodes down` takes it out of DNS, verified, in one go."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import dns.query
import dns.update
import pytest

if TYPE_CHECKING:
    from tests.api.conftest import Installation

pytestmark = pytest.mark.real

DYING = Path(__file__).with_name("dying.py")


def homes(installation: Installation) -> dict[str, list[str]]:
    items = installation.flex("-o", "json", "sites", "list").json["items"]
    return {row["site"]: row["nodes"] for row in items}


@pytest.mark.slow
def test_a_dead_node_is_out_of_dns_and_nothing_else_moves(
    installation: Installation,
) -> None:
    installation.first_night()
    before = homes(installation)
    said = installation.flex("nodes", "down", "n1")
    assert said.code == 0, said.err
    assert "old nodes must serve until then" in said.out
    after = homes(installation)
    assert set(after) == set(before)
    assert all(nodes and "n1" not in nodes for nodes in after.values())
    assert all(
        after[site] == nodes for site, nodes in before.items() if "n1" not in nodes
    )
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
def test_what_somebody_changed_by_hand_meanwhile_is_left_to_him(
    installation: Installation,
) -> None:
    """The dead node's own addresses go all the same, wherever they are."""
    installation.first_night()
    sites = installation.flex("-o", "json", "sites", "list").json["items"]
    mine, *others = (row["site"] for row in sites if row["nodes"] == ["n1"])
    update = dns.update.UpdateMessage(
        installation.zone, keyring=installation.server.key.signer()
    )
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


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["propose", "sent", "before-done", "before-settle"])
def test_killed_at_any_step_it_ends_well_when_it_is_said_again(
    installation: Installation, moment: str
) -> None:
    installation.first_night()
    before = homes(installation)
    command = [sys.executable, str(DYING), str(installation.settings), moment]
    assert (
        subprocess.run(
            command, check=False, capture_output=True, timeout=300
        ).returncode
        == -9
    )
    half = [
        row["state"]
        for row in installation.flex("-o", "json", "plan", "list").json["items"]
    ]
    assert half[0] == ("proposed" if moment == "propose" else "applying")
    said = installation.flex("nodes", "down", "n1")
    assert said.code == 0, said.err
    after = homes(installation)
    assert all(nodes and "n1" not in nodes for nodes in after.values())
    assert all(
        after[site] == nodes for site, nodes in before.items() if "n1" not in nodes
    )
    assert installation.flex("verify").code == 0
    states = {
        row["state"]
        for row in installation.flex("-o", "json", "plan", "list").json["items"]
    }
    assert "applying" not in states
