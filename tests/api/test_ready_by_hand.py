"""Whether a node is ready for a site is asked by hand: what a plan would be told, and nothing
moves.
"""

from __future__ import annotations

import json
import time

import pytest

from flex.errors import Unknown
from flex_api.moving.ask_ready_by_hand import ask_ready
from flex_api.moving.ready_output import ready_output
from tests.api.nights import NODES, SITES, loads
from tests.api.ready_servers import page
from tests.api.test_ready_plans import GONE, Asked, cluster

__all__ = ["cluster"]


def others_than(node: str) -> list[str]:
    return [one for one in NODES if one != node]


def test_each_node_that_does_not_serve_a_site_is_asked_beside_one_that_does(cluster: Asked) -> None:
    cluster.night(loads(0))
    site = SITES[3]
    (home,) = cluster.nodes_of(site)
    bad = others_than(home)[0]
    cluster.answers(bad, [site], GONE)
    cluster.forget()

    found = ready_output(ask_ready(cluster.world, [site.upper()])).items

    assert [row.node for row in found] == others_than(home)
    assert {row.node: row.ready for row in found} == {
        node: node != bad for node in others_than(home)
    }
    assert {row.source for row in found} == {home}
    (why,) = [row.why for row in found if not row.ready]
    assert "it answers 404, and the old node 200" in why
    assert cluster.asked == {(site, node) for node in NODES}
    assert cluster.nodes_of(site) == {home}


def test_only_the_nodes_that_are_named_are_asked(cluster: Asked) -> None:
    cluster.night(loads(0))
    (home,) = cluster.nodes_of(SITES[0])
    to = others_than(home)[1]
    cluster.forget()
    (row,) = ask_ready(cluster.world, [SITES[0], SITES[0]], [to])
    assert row.wanted.target == to
    assert cluster.asked == {(SITES[0], to), (SITES[0], home)}


@pytest.mark.parametrize(("site", "to"), [("nobody.example", ()), (SITES[0], ("n9",))])
def test_who_nobody_knows_is_an_error_and_nobody_is_asked(
    cluster: Asked, site: str, to: tuple[str, ...]
) -> None:
    cluster.night(loads(0))
    cluster.forget()
    with pytest.raises(Unknown):
        ask_ready(cluster.world, [site], to)
    assert cluster.asked == set()


def test_nobody_is_asked_more_often_in_a_second_than_the_settings_say(cluster: Asked) -> None:
    """By the clock of those who ask, which only their turns move."""
    cluster.night(loads(0))
    cluster.forget()
    settings = cluster.world.settings
    polite = settings.move.ready.model_copy(update={"per_second": 50.0, "at_once": 2})
    move = settings.move.model_copy(update={"ready": polite})
    world = cluster.world
    object.__setattr__(world, "settings", settings.model_copy(update={"move": move}))
    began = time.monotonic()
    found = ask_ready(world, SITES[:20], ["n1"])
    took = time.monotonic() - began
    asked = len(cluster.servers["n1"].asked)
    assert len(found) == 20
    assert took >= (asked - 1) / 50.0


def test_what_is_not_asked_in_time_is_not_known(cluster: Asked) -> None:
    cluster.night(loads(0))
    found = ask_ready(cluster.world, SITES[:5], seconds=0.0)
    assert found
    assert all(not one.is_asked for one in found)
    assert {row.complete for row in ready_output(found).items} == {False}


def test_an_answer_is_whole_text_for_programs(cluster: Asked) -> None:
    cluster.night(loads(0))
    cluster.answers("n1", [SITES[1]], page("a page of the site " * 9, 500))
    said = ready_output(ask_ready(cluster.world, [SITES[1]]))
    row = json.loads(said.model_dump_json())["items"][0]
    assert row.keys() >= {"site", "node", "source", "ready", "why", "asked"}
    assert row["asked"][0]["answer"].startswith(("200", "500"))
