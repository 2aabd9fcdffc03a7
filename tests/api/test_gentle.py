"""Where the settings ask for it, a site that moves is on both nodes before it leaves the old one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.api.conftest import Installation

pytestmark = pytest.mark.real


def test_a_pinned_site_moves_by_way_of_both_nodes_and_a_dead_node_goes_at_once(installation: Installation) -> None:
    text = installation.settings.read_text(encoding="utf-8")
    gentle = text.replace("[dns]\n", "[dns]\nmake_before_break = true\nttl = 1\n")
    installation.settings.write_text(gentle, encoding="utf-8")
    installation.night()
    rows = installation.flex("-o", "json", "sites", "list").json["items"]
    site, home = next((row["site"], row["nodes"][0]) for row in rows if len(row["nodes"]) == 1)
    other = next(node for node in ("n1", "n2") if node != home)
    assert installation.flex("sites", "pin", site, "--nodes", other).code == 0
    applied = installation.run()
    assert applied.code == 0, applied.err
    assert "Resolvers have 1.0 s to learn of it; old nodes serve on" in applied.out + applied.err
    assert installation.addresses(site) == [f"192.0.2.{other[1:]}"]
    assert installation.flex("verify").code == 0
    down = installation.flex("nodes", "down", other)
    assert down.code == 0
    assert "Resolvers have" not in down.out + down.err
