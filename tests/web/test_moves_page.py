"""The page of moves: what it says of each, and what people do there."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from flex.model.site_moves import SiteMove
from tests.made_up_moves import fill_with_moves
from tests.rest.conftest import NOW
from tests.web.scriptless import Browser

if TYPE_CHECKING:
    from tests.rest.conftest import Door


@pytest.fixture
def filled(door: Door) -> list[SiteMove]:
    sites = sorted(set(door.store.placement()[1]["site"]))
    return fill_with_moves(door.store, sites, door.store.in_force(), NOW)


def text(page: str) -> str:
    plain = re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", page))
    return html.unescape(plain).replace(" :", ":")


def rows(page: str) -> list[str]:
    (body,) = re.findall(r"<tbody>(.*?)</tbody>", page, re.DOTALL)
    return [text(row) for row in re.findall("<tr>.*?</tr>", body, re.DOTALL)]


def test_every_move_is_there_with_its_stages_times_and_reason(
    admin: Browser, filled: list[SiteMove]
) -> None:
    page = admin.get("/moves")
    shown = rows(page)
    assert len(shown) == len(filled)
    for move, row in zip(filled, shown, strict=True):
        assert move.site in row
        assert move.state in row
        assert move.reason in row
    assert "copy (files) done in 1 m 1 s, 2 tries" in shown[2]
    assert "requests waited 1.0 s" in shown[2]
    assert "check (answers) failed, 3 tries: exit code 1: no answer" in shown[5]
    assert "3 sites are on their way now" in text(page)


def test_what_a_command_printed_is_for_operators_alone(door: Door, filled: list[SiteMove]) -> None:
    answers = {
        role: (
            door.open(role).get("/api/v1/moves").text,
            Browser(door, role).get("/moves"),
            Browser(door, role).get(f"/site?name={filled[5].site}"),
        )
        for role in ("viewer", "operator")
    }
    assert not any("no answer" in one for one in answers["viewer"])
    assert all("no answer" in one for one in answers["operator"])
    assert all("it ended with 75" in one for one in answers["viewer"])


def test_it_asks_for_itself_again_while_something_is_under_way(
    door: Door, admin: Browser, filled: list[SiteMove]
) -> None:
    assert 'hx-trigger="load delay:2s"' in admin.get("/moves")
    door.store.put_site_moves([replace(move, state="done") for move in filled])
    page = admin.get("/moves")
    assert 'hx-trigger="load delay:15s"' in page
    assert "No site is on its way now" in page


@pytest.mark.parametrize(
    ("query", "states"),
    [
        ("state=stayed", ["stayed"]),
        ("state=open", ["under way", "ready", "moved", "taking back"]),
        ("node=n9", []),
        ("node=n2&state=done", ["done"]),
        ("plan=nothing", []),
    ],
)
def test_moves_are_chosen_by_state_node_and_plan(
    admin: Browser, filled: list[SiteMove], query: str, states: list[str]
) -> None:
    found = [row for row in rows(admin.get(f"/moves?{query}")) if "→" in row]
    assert len(found) == len(states)
    for row, state in zip(found, states, strict=True):
        assert state in row
    assert filled


def test_the_pages_of_site_node_and_plan_show_their_moves(
    admin: Browser, filled: list[SiteMove], door: Door
) -> None:
    one = filled[2]
    for address, link in (
        (f"/site?name={one.site}", f"/moves?site={one.site}"),
        ("/node?name=n2", "/moves?node=n2"),
        (f"/plans/{one.plan}", f"/moves?plan={one.plan}"),
    ):
        page = admin.get(address)
        assert "requests waited 1.0 s" in text(page), address
        assert f'href="{link}"' in page
    assert door.store.in_force() == one.plan


def test_a_site_that_rests_is_let_go_by_a_button(
    door: Door, admin: Browser, filled: list[SiteMove]
) -> None:
    rests = filled[5]
    assert f'name="site" value="{rests.site}"' in admin.get("/moves")
    admin.send("/moves/again", site=rests.site)
    (move,) = door.store.site_moves(site=rests.site)
    assert move.rests_until is None
    viewer = Browser(door, "viewer")
    assert "/moves/again" not in viewer.get("/moves")
    viewer.send("/moves/again", status=403, site=rests.site)


def test_a_viewer_is_offered_no_move_and_makes_none(door: Door) -> None:
    viewer = Browser(door, "viewer")
    assert 'id="move"' not in viewer.get("/moves")
    viewer.send("/moves", status=403, site="s000.example.org", to="n2")
    refused = viewer.client.get("/site?name=s000.example.org&part=move&to=n2")
    assert refused.status_code == 403


def test_what_cannot_be_meant_comes_back_to_the_form_with_what_was_typed(admin: Browser) -> None:
    page = admin.send("/moves", status=404, site="nobody.example", to="n2", back="/moves")
    assert "neither in the partition nor in the logs" in text(page)


def test_there_is_no_move_yet(admin: Browser) -> None:
    page = admin.get("/moves")
    assert "No command was run for any site yet" in page
