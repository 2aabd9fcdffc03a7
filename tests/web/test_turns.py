"""The page of a node that was drained or taken back says how many sites leave it or come, as the
command line and the REST API do.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from playwright.sync_api import expect

from flex.model.drains_and_freezes import NodeOrder
from flex.model.zone_plan import StaysBehind
from flex.planning.plan_notes_on_sites import OF_OTHER_NAMES
from flex.store import MemoryStore
from tests.rest.conftest import Door, placed, plan
from tests.web.browsing import CHROMIUM, Look, axe, axe_of_contrast, chromium, served, visitor
from tests.web.scriptless import Browser

HEADING = "What the next plan does with it"
WWW = f"1 other name of 1 site {OF_OTHER_NAMES}: www.s030.example.org (at n3)"


@pytest.fixture
def door(doors: Callable[..., Door]) -> Door:
    """A night moves four sites at most; the newest plan found a name that stays at n3."""
    found = doors(safety={"max_moved_sites": 4, "max_moved_sites_ratio": 1.0})
    last = found.store.plans(1)[0]
    behind = StaysBehind("www.s030.example.org", "s030.example.org", ("n3",))
    zone_plan = replace(last.zone_plans[0], stay_behind=(behind,))
    found.store.update(replace(last, notes=(WWW,), zone_plans=(zone_plan,)))
    return found


def section(page: str) -> list[str]:
    """The sentences; none where the page says nothing of the next plan."""
    found = re.search(r'<section id="turn">(.*?)</section>', page, re.DOTALL)
    if not found:
        return []
    said = re.findall(r"<p[^>]*>(.*?)</p>", found[1], re.DOTALL)
    return [html.unescape(re.sub("<[^>]*>", "", one)) for one in said]


def order(door: Door, method: str, way: str = "drain") -> None:
    answer = door.open("operator").request(
        method,
        f"/api/v1/nodes/n3/{way}",
        json={} if method == "PUT" else None,
        headers={"If-Match": "*"},
    )
    assert answer.status_code == 200, answer.text


def test_a_drained_node_says_what_leaves_it_with_the_next_plan_and_later(
    door: Door, admin: Browser
) -> None:
    assert section(admin.get("/node?name=n3")) == []
    _, placement = door.store.placement()
    there = int((placement["node"] == "n3").sum())
    order(door, "PUT")
    turn = door.open("viewer").get("/api/v1/nodes/n3/turn").json()
    assert (turn["way"], turn["next_plan"], turn["later"]) == ("leaves", 4, there - 4)
    said = section(admin.get("/node?name=n3"))
    assert said == turn["turn"]
    assert said[0] == (
        f"4 sites leave n3 with the next plan, {there - 4} later (safety.max_moved_sites "
        "is 4); `flex nodes drain n3 --deadline TIME` to hurry"
    )
    assert WWW in said
    assert any("www.s030.example.org; change that where" in one for one in said)


def test_a_node_that_was_taken_back_says_what_comes_until_a_plan_was_applied(
    door: Door, admin: Browser
) -> None:
    order(door, "PUT")
    order(door, "DELETE")
    turn = door.open("viewer").get("/api/v1/nodes/n3/turn").json()
    assert (turn["way"], turn["next_plan"] is not None) == ("comes", True)
    said = section(admin.get("/node?name=n3"))
    assert said == turn["turn"]
    assert "n3 with the next plan" in said[0]
    (waiting,) = door.store.plans(1, state="proposed")
    done = replace(waiting, state="applied", settled=datetime.now(UTC))
    door.store.settle(done, placed())
    assert section(admin.get("/node?name=n3")) == []


@pytest.mark.parametrize("state", ["active", "down"])
def test_where_nothing_waits_for_the_next_plan_nothing_is_worked_out(
    door: Door, admin: Browser, state: str
) -> None:
    if state == "down":
        door.store.order_node(NodeOrder("n3", "down"))
    assert section(admin.get("/node?name=n3")) == []
    assert door.app.state.house.later.held == {}


def test_where_no_plan_can_be_made_the_page_of_a_drained_node_says_so() -> None:
    """As long as no log was read."""
    store = MemoryStore()
    first = plan(1)
    store.propose(replace(first, state="proposed", settled=None), placed())
    store.settle(first, placed())
    door = Door(store)
    order(door, "PUT")
    turn = door.open("viewer").get("/api/v1/nodes/n3/turn").json()
    assert (turn["turn"], turn["way"], turn["next_plan"]) == ([], None, None)
    said = section(Browser(door, "admin").get("/node?name=n3"))
    assert said == ["No plan can be made yet."]


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.skipif(not CHROMIUM.exists(), reason=f"there is no {CHROMIUM}: apt install chromium")
def test_it_is_read_by_everybody_in_any_light_and_on_a_telephone(door: Door) -> None:
    order(door, "PUT")
    # As on a large cluster: the page asks again until it is there.
    door.app.state.house.later.patience = 0.0
    secret = door.secrets["admin"]
    with served(door.app) as address, chromium() as browser:
        for look in (Look(1600, "light"), Look(380, "dark")):
            with visitor(browser, address, secret, look) as who:
                page = who.go("/node?name=n3")
                shown = page.locator("#turn")
                expect(shown).to_contain_text("4 sites leave n3", timeout=60_000)
                who.picture("node-drained")
                assert [*axe(page), *axe_of_contrast(page, look)] == []
                assert who.wider_than_it_is() <= 0
                assert who.complaints == []
