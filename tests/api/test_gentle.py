"""Where the settings ask for it, a site that moves is on both nodes before it leaves the old
one.
"""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from flex_api import wiring
from flex_api.night.health_watch import HealthWatch
from flex_api.settings import file as config

if TYPE_CHECKING:
    from tests.api.conftest import Installation

pytestmark = pytest.mark.real

# The run would wait for so many seconds: a week, that no test waits for.
TTL = 604_800


@pytest.mark.slow("command")
@pytest.mark.parametrize("who", ["command", "watch"])
def test_a_node_that_dies_while_a_run_waits_is_out_of_dns_at_once(
    installation: Installation, who: str
) -> None:
    """The run gives way: what it began is taken back, and it says so."""
    installation.first_night()
    site, home, other = movable(installation)
    text = installation.settings.read_text(encoding="utf-8")
    installation.settings.write_text(
        text.replace("[dns]\n", f"[dns]\nttl = {TTL}\nmake_before_break = true\nwaves = []\n"),
        encoding="utf-8",
    )
    assert installation.flex("sites", "pin", site, "--nodes", other).code == 0
    waiting = installation.process("run", "--as-of", installation.as_of())
    assert waiting.stdout is not None
    assert any("to learn of it" in line for line in waiting.stdout)
    assert len(installation.addresses(site)) == 2
    if who == "command":
        down = installation.flex("nodes", "down", "n3")
        assert down.code == 0, down.err
    else:
        watched(installation, "n3")
    homes = {
        row["site"]: row["nodes"]
        for row in installation.flex("-o", "json", "sites", "list").json["items"]
    }
    assert all("n3" not in nodes for nodes in homes.values())
    assert all("192.0.2.3" not in installation.addresses(one) for one in homes)
    assert installation.addresses(site) == [f"192.0.2.{home[1:]}"]
    _, said = waiting.communicate(timeout=300)
    assert (waiting.returncode, "a node died meanwhile" in said) == (23, True)
    assert installation.flex("verify").code == 0


def watched(installation: Installation, dead: str) -> None:
    """Rounds of the health watch in which one node does not answer."""
    settings = config.load(installation.settings)
    with closing(wiring.world(settings, lambda: datetime.now(UTC))) as here:
        watch = HealthWatch(here, lambda nodes: {node.name: [node.name != dead] for node in nodes})
        for _ in range(settings.watch.fails):
            watch.round()


def movable(installation: Installation) -> tuple[str, str, str]:
    """A site on one node, that node, and another one that is not n3."""
    rows = installation.flex("-o", "json", "sites", "list").json["items"]
    site, home = next(
        (row["site"], row["nodes"][0]) for row in rows if row["nodes"] in (["n1"], ["n2"])
    )
    return site, home, "n1" if home == "n2" else "n2"


@pytest.mark.slow
def test_a_pinned_site_moves_by_way_of_both_nodes_and_a_dead_node_goes_at_once(
    installation: Installation,
) -> None:
    text = installation.settings.read_text(encoding="utf-8")
    gentle = text.replace(
        "[dns]\n", '[dns]\nmake_before_break = true\nttl = 1\nwarm_command = ["false"]\n'
    )
    installation.settings.write_text(gentle, encoding="utf-8")
    installation.first_night()
    rows = installation.flex("-o", "json", "sites", "list").json["items"]
    site, home = next((row["site"], row["nodes"][0]) for row in rows if len(row["nodes"]) == 1)
    other = next(node for node in ("n1", "n2") if node != home)
    assert installation.flex("sites", "pin", site, "--nodes", other).code == 0
    applied = installation.run()
    assert applied.code == 0, applied.err
    assert "Warming up failed: false: it ended with 1" in applied.out + applied.err
    assert (
        "Resolvers have 1.0 s to learn of it; old nodes serve until then"
        in applied.out + applied.err
    )
    assert installation.addresses(site) == [f"192.0.2.{other[1:]}"]
    assert installation.flex("verify").code == 0
    down = installation.flex("nodes", "down", other)
    assert down.code == 0
    assert "Resolvers have" not in down.out + down.err


@pytest.mark.slow
def test_waves_stop_at_what_is_not_well_and_what_they_did_is_taken_back(
    installation: Installation,
) -> None:
    """Making a folder stands for warming up: it goes well once."""
    plain = installation.settings.read_text(encoding="utf-8").replace("[dns]\n", "[dns]\nttl = 1\n")
    installation.settings.write_text(plain, encoding="utf-8")
    installation.first_night()
    moving = two_on_one_node(installation)
    for site, _ in moving:
        assert installation.flex("sites", "pin", site, "--nodes", "n3").code == 0
    folder = installation.settings.parent / "warmed"

    def apply(also: str, rest: str = "") -> tuple[int, str]:
        gentle = f'[dns]\nmake_before_break = true\nwarm_command = ["mkdir", "{folder}"]\n{also}'
        installation.settings.write_text(plain.replace("[dns]\n", gentle) + rest, encoding="utf-8")
        said = installation.run()
        return said.code, said.out + said.err

    code, told = apply("warm_or_stop = true\n")
    assert (code, folder.is_dir()) == (22, True)
    assert "Wave 2 of " in told
    assert "File exists" in told
    assert "what was begun was taken back" in told
    assert [installation.addresses(site) for site, _ in moving] == [[home] for _, home in moving]

    code, told = apply("", '[watch]\nprobes = ["tcp:9"]\ntimeout = "1s"\nfails = 1\n')
    assert (code, "not answer the probes of [watch]" in told) == (22, True)
    assert [installation.addresses(site) for site, _ in moving] == [[home] for _, home in moving]
    assert installation.flex("verify").code == 0


def two_on_one_node(installation: Installation) -> list[tuple[str, str]]:
    """Two sites that are on one node each, and not on n3, with their addresses."""
    rows = installation.flex("-o", "json", "sites", "list").json["items"]
    alone = [(row["site"], row["nodes"][0]) for row in rows if row["nodes"] in (["n1"], ["n2"])]
    return [(site, f"192.0.2.{node[1:]}") for site, node in alone[:2]]
