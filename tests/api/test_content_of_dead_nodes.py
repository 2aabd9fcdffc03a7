"""A node dies that alone has what its sites need: no other node answers in its place with nothing,
or with what it had long ago.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from flex.errors import Held
from tests.api.test_failover import homes

if TYPE_CHECKING:
    from tests.api.conftest import Installation

pytestmark = pytest.mark.real

HOOK = """
[[move.hook]]
stage = "{stage}"
command = ["true"]
"""
# What in the settings says that content is at the nodes that have a site, and in which words it is
# told.
KEEPING = {
    "copied": (HOOK.format(stage="copy"), "commands copy its content"),
    "copied at last": (HOOK.format(stage="final copy"), "commands copy its content"),
    "own sites": ('[routing]\ncontent = "owner"\n', 'routing.content = "owner"'),
    "said": ('[move]\nfailover = "copy"\n', 'move.failover = "copy"'),
    "one writer": (
        '[routing]\non = true\ndoors = "all"\nstateful = true\nhold_time = "1s"\n',
        "it has one writer",
    ),
}
SHARED = {
    "nothing said": "",
    "made anew": HOOK.format(stage="prepare"),
    "for another class": HOOK.format(stage="copy")
    + 'classes = ["gold"]\n[solver.classes.gold]\nheadroom = 0.2\nsites = ["nobody.example"]\n',
    "always": '[move]\nfailover = "always"\n' + HOOK.format(stage="copy"),
}


def set_(installation: Installation, more: str) -> None:
    installation.extra = more
    installation.write_settings()


def on(where: dict[str, list[str]], node: str) -> set[str]:
    return {site for site, nodes in where.items() if nodes == [node]}


@pytest.mark.torture("copied", "said")
@pytest.mark.slow
@pytest.mark.parametrize("way", ["copied", "said", "one writer"])
def test_what_a_dead_node_alone_has_stays_there_and_the_operator_hears_of_it(
    installation: Installation, way: str
) -> None:
    installation.first_night()
    more, why = KEEPING[way]
    set_(installation, more)
    before = homes(installation)
    mine = on(before, "n1")
    assert mine
    looked = installation.flex("-o", "json", "nodes", "down", "n1", "--dry-run")
    staying = {row["site"] for row in looked.json["staying"]}
    # What other nodes have of a site with one writer is older, so that one stays, too.
    assert staying == mine if way != "one writer" else staying >= mine
    assert all("n1" in before[site] for site in staying)
    would_move = looked.json["preview"]["items"]
    assert not {row["site"] for row in would_move} & staying
    assert all(row["target"] is None for row in would_move)
    assert why in " ".join(looked.json["preview"]["notes"])
    assert homes(installation) == before
    serial = installation.serial()
    for _ in range(2):
        said = installation.flex("nodes", "down", "n1")
        assert said.code == 33, said.err
        told = " ".join(said.out.split())
        assert all(site in told for site in staying)
        assert why in told
        assert "nobody answers for it" in told
        assert "--without-content" in told
    after = homes(installation)
    assert on(after, "n1") == mine
    assert {site for site, nodes in after.items() if "n1" in nodes} == staying
    # Where every site of the node stays, DNS is as it was.
    if all(nodes == ["n1"] for nodes in before.values() if "n1" in nodes):
        assert installation.serial() == serial
    # The nights after that leave them where they are, and say so.
    installation.traffic(2)
    night = installation.night(2)
    # Sites with one writer move only to nodes that say by which order they go, and none does here.
    assert night.code == (Held.exit_code if way == "one writer" else 0), night.err
    assert not {move["site"] for move in night.json["plan"]["moves"]} & staying
    assert why in " ".join(night.json["plan"]["notes"])
    assert on(homes(installation), "n1") == mine
    one = min(mine)
    assert "nobody answers for it" in installation.flex("explain", one).out.replace("\n", " ")
    moved = installation.flex("move", one, "--to", "n2")
    assert moved.code != 0
    assert "no other node has its content" in " ".join(moved.err.split())
    # The node is back: nothing had to be moved.
    assert installation.flex("nodes", "up", "n1").code == 0
    assert on(homes(installation), "n1") == mine
    assert installation.flex("verify").code == 0


@pytest.mark.slow
@pytest.mark.parametrize("way", SHARED)
def test_what_every_node_has_goes_on_elsewhere(installation: Installation, way: str) -> None:
    installation.first_night()
    set_(installation, SHARED[way])
    said = installation.flex("nodes", "down", "n1")
    assert said.code == 0, said.err
    assert all("n1" not in nodes for nodes in homes(installation).values())
    assert installation.flex("-o", "json", "nodes", "list").json["staying"] == []


@pytest.mark.torture("copied at last", "own sites")
@pytest.mark.slow
@pytest.mark.parametrize("way", ["copied at last", "own sites", "one writer"])
def test_who_gives_up_what_the_node_had_says_so_once(installation: Installation, way: str) -> None:
    installation.first_night()
    set_(installation, KEEPING[way][0])
    mine = on(homes(installation), "n1")
    assert installation.flex("nodes", "down", "n1").code == 33
    looked = installation.flex(
        "-o", "json", "nodes", "down", "n1", "--without-content", "--dry-run"
    )
    assert looked.json["staying"] == []
    moving = {row["site"] for row in looked.json["preview"]["items"]}
    # What has one writer gives up its dead one for a node that has an older copy, too.
    assert moving == mine if way != "one writer" else moving >= mine
    assert on(homes(installation), "n1") == mine
    said = installation.flex("nodes", "down", "n1", "--without-content")
    assert said.code == 0, said.err
    after = homes(installation)
    assert all(nodes and "n1" not in nodes for nodes in after.values())
    assert installation.flex("verify").code == 0
    assert installation.flex("audit", "verify").code == 0


@pytest.mark.slow
def test_one_site_that_was_brought_elsewhere_by_hand_goes_alone(installation: Installation) -> None:
    installation.first_night()
    set_(installation, HOOK.format(stage="copy"))
    mine = on(homes(installation), "n1")
    assert len(mine) > 1
    assert installation.flex("nodes", "down", "n1").code == 33
    brought = min(mine)
    own = f'[[move.site]]\nname = "{brought}"\nfailover = "always"\n'
    set_(installation, HOOK.format(stage="copy") + own)
    said = installation.flex("nodes", "down", "n1")
    assert said.code == 33, said.err
    after = homes(installation)
    assert on(after, "n1") == mine - {brought}
    assert after[brought] != ["n1"]


@pytest.mark.slow
def test_a_site_with_a_copy_elsewhere_only_loses_the_dead_node(installation: Installation) -> None:
    installation.first_night()
    site = min(on(homes(installation), "n1"))
    pinned = installation.flex("sites", "pin", site, "--nodes", "n1,n2")
    assert pinned.code == 0, pinned.err
    installation.traffic(2)
    assert installation.night(2).code == 0
    assert set(homes(installation)[site]) == {"n1", "n2"}
    set_(installation, HOOK.format(stage="copy"))
    assert installation.flex("nodes", "down", "n1").code in {0, 33}
    assert homes(installation)[site] == ["n2"]


@pytest.mark.parametrize(
    ("more", "is_said"), [("", True), ('content = "owner"\n', False), ("stateful = true\n", False)]
)
def test_doctor_says_where_doors_answer_with_content_that_is_copied_by_commands(
    installation: Installation, more: str, is_said: bool
) -> None:
    doors = f'[routing]\non = true\ndoors = "all"\n{more}'
    set_(installation, doors + HOOK.format(stage="copy"))
    told = " ".join(installation.flex("doctor").out.split())
    assert ("commands copy content to the new node" in told) == is_said
