"""A node dies: `flex nodes down` takes it out of DNS, verified, in one go."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.api.conftest import Installation

pytestmark = pytest.mark.real


def homes(installation: Installation) -> dict[str, list[str]]:
    items = installation.flex("-o", "json", "sites", "list").json["items"]
    return {row["site"]: row["nodes"] for row in items}


def test_a_dead_node_is_out_of_dns_and_nothing_else_moves(installation: Installation) -> None:
    installation.night()
    before = homes(installation)
    said = installation.flex("nodes", "down", "n1")
    assert said.code == 0, said.err
    assert "old nodes must serve until then" in said.out
    after = homes(installation)
    assert set(after) == set(before)
    assert all(nodes and "n1" not in nodes for nodes in after.values())
    assert all(after[site] == nodes for site, nodes in before.items() if "n1" not in nodes)
    assert installation.flex("verify").code == 0
    states = {row["node"]: row["state"] for row in installation.flex("-o", "json", "nodes", "list").json["items"]}
    assert states["n1"] == "down"
    # Said again it changes nothing.
    serial = installation.serial()
    assert installation.flex("nodes", "down", "n1").code == 0
    assert installation.serial() == serial


def test_the_last_node_is_never_taken_down(installation: Installation) -> None:
    installation.night()
    assert installation.flex("nodes", "down", "n1").code == 0
    assert installation.flex("nodes", "down", "n2").code == 0
    said = installation.flex("nodes", "down", "n3")
    assert (said.code, "nowhere to go" in said.err) == (3, True)
    assert installation.flex("nodes", "up", "n1").code == 0
    assert installation.flex("nodes", "down", "n3", "--dry-run").code == 0
    assert installation.flex("verify").code == 0


def test_a_node_that_nobody_knows_is_no_node(installation: Installation) -> None:
    assert installation.flex("nodes", "down", "n9").code == 3
