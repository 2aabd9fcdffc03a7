"""Whoever applies a plan, or asks for it, hears which HAProxies reload for it before they do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flex.routing.haproxy_commands import change
from tests.api.test_doors_and_dns import placed, with_doors

if TYPE_CHECKING:
    from tests.api.conftest import Installation, Said

TOLD = "HAProxy reloads on"


@pytest.fixture(params=["doors", "replicated sites"])
def routed(installation: Installation, request: pytest.FixtureRequest) -> Installation:
    """Each node's files are delivered to a folder."""
    deliver = f'deliver = "{installation.folder}/nodes/{{node}}"\n'
    if request.param == "doors":
        with_doors(installation, deliver)
    else:
        with_doors(installation)
        text = installation.settings.read_text()
        installation.settings.write_text(text.replace('doors = "all"\n', deliver))
    assert installation.night().code in (0, 32)
    assert installation.flex("route", "deliver").code == 0
    return installation


@pytest.mark.torture("replicated sites")
@pytest.mark.slow
def test_a_plan_by_which_a_site_comes_to_several_nodes_names_where_haproxy_reloads(
    routed: Installation,
) -> None:
    site = min(placed(routed))
    assert routed.flex("sites", "pin", site, "--min-replicas", "2").code == 0
    reloading, said = shown_and_applied(routed)
    assert reloading == sorted(placed(routed)[site])
    line = next(line for line in told(said) if TOLD in line)
    assert all(node in line for node in reloading), line
    # First of all, and so before anything was routed by it.
    assert line == told(said)[0]


@pytest.mark.torture("replicated sites")
@pytest.mark.slow
def test_a_plan_by_which_sites_move_needs_no_reload_and_tells_of_none(routed: Installation) -> None:
    site, here = next((site, *nodes) for site, nodes in placed(routed).items() if len(nodes) == 1)
    there = min({"n1", "n2", "n3"} - {here})
    # Else a plan may bring some to other nodes, too.
    for other, nodes in placed(routed).items():
        if len(nodes) > 1:
            words = ("pin", other, "--nodes", ",".join(sorted(nodes)))
            assert routed.flex("sites", *words).code == 0
    assert routed.flex("sites", "pin", site, "--nodes", there).code == 0
    reloading, said = shown_and_applied(routed)
    assert placed(routed)[site] == {there}
    assert reloading == []
    assert TOLD not in said.out + said.err


def shown_and_applied(routed: Installation) -> tuple[list[str], Said]:
    """The nodes that reload, as `route show` says beforehand and as files say afterwards, and what
    was said while the plan was applied.
    """
    made = routed.flex("-o", "json", "plan", "--as-of", routed.as_of()).json
    before = {node: files(routed, node) for node in ("n1", "n2", "n3")}
    rows = routed.flex("-o", "json", "route", "show", "--plan", made["id"]).json
    shown = [row["node"] for row in rows["nodes"] if row["reload"]]
    now = routed.flex("-o", "json", "route", "show").json
    assert not any(row["reload"] for row in now["nodes"])
    in_words = routed.flex("route", "show", "--plan", made["id"]).out
    assert ("HAProxy reloads" in in_words) == bool(shown)
    said = routed.flex("apply", made["id"])
    assert said.code in (0, 32), said.err
    reloaded = [node for node, was in before.items() if change(was, files(routed, node), "").reload]
    assert sorted(shown) == reloaded
    return reloaded, said


def told(said: Said) -> list[str]:
    return [line for line in (said.err + said.out).splitlines() if line.strip()]


def files(routed: Installation, node: str) -> dict[str, str]:
    """As they were delivered."""
    folder = Path(routed.folder) / "nodes" / node
    return {
        path.name: path.read_text()
        for path in folder.iterdir()
        if path.suffix in (".cfg", ".map", ".lst")
    }
